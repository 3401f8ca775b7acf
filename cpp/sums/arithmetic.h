// The arithmetics of forward-backward (forward_backward.cpp): scaled factors, the log domain with sums or maxima, and
// the factors of chosen columns.
//
// An arithmetic has the labels of each column; values are one per label.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "kernels/elementary.h"
#include "kernels/kernels.h"
#include "lattice/factors.h"
#include "lattice/lattice.h"
#include "sums/forward_backward.h"

namespace tagwright {

using Labels = std::span<const int32_t>;

// The labels that are allowed for a column.
inline Labels labels_of(const Lattice& lattice, size_t t) {
  thread_local std::vector<int32_t> all;
  while (all.size() < lattice.L) all.push_back(static_cast<int32_t>(all.size()));
  return lattice.allowed[t].empty() ? Labels(all.data(), lattice.L) : lattice.allowed[t];
}

inline void divide_factors(double* values, size_t n, double by) {
  if (by < 1e-300) {
    for (size_t y = 0; y < n; ++y) values[y] /= by;
    return;
  }
  const double inverse = 1 / by;
  for (size_t y = 0; y < n; ++y) values[y] *= inverse;
}

// out = a * b, scaled to a sum of 1; returns what the sum was.
inline double scaled_product(const double* a, const double* b, size_t n, double* out) {
  const double sum = kernels().multiply_d(a, b, n, out);
  if (!(sum > 0)) return 0;
  divide_factors(out, n, sum);
  return sum;
}

// Returns log(sum of exp(term)), -inf where there is none. Overwrites the terms.
inline double log_sum(double* terms, size_t n) {
  const double best = n ? kernels().max_d(terms, n) : kForbidden;
  if (best == kForbidden) return kForbidden;
  kernels().exp_d(terms, best, n, terms);
  return best + portable_log(kernels().sum_d(terms, n));
}

// log_sum of many short lists of terms: exponentials are taken of the terms of many lists at once.
class LogSums {
 public:
  // Room for lists of up to `most` terms.
  LogSums(size_t most, Arena& arena)
      : terms_(arena.array<double>(kBlock + most)), lists_(arena.array<List>(kBlock + 1)) {}

  // Where the terms of the next list are written.
  double* terms() { return terms_ + filled_; }
  // Ends a list of n terms, whose log_sum is written to out, at the latest by flush().
  void add(size_t n, double* out) {
    double* const own = terms();
    double best = kForbidden, other = kForbidden;  // two chains of comparisons, which the processor overlaps
    for (size_t e = 0; e + 1 < n; e += 2) {
      best = own[e] > best ? own[e] : best;
      other = own[e + 1] > other ? own[e + 1] : other;
    }
    if (n % 2) best = own[n - 1] > best ? own[n - 1] : best;
    best = std::max(best, other);
    *out = best;
    // In a short list, terms that are lost where they are added to the best are left out.
    const double least = n <= kFew ? best - kVanishing : kForbidden;
    size_t kept = 0;
    for (size_t e = 0; e < n; ++e) kept += own[e] > least;
    if (kept <= 1) return;
    kept = 0;
    for (size_t e = 0; e < n; ++e) {
      const double term = own[e];
      own[kept] = term - best;
      kept += term > least;
    }
    lists_[count_++] = {out, kept};
    filled_ += kept;
    if (filled_ >= kBlock || count_ == kBlock) flush();
  }
  void flush() {
    kernels().exp_d(terms_, 0, filled_, terms_);
    const double* term = terms_;
    for (size_t list = 0; list < count_; ++list) {
      double sum = 0;
      for (const double* end = term + lists_[list].n; term < end; ++term) sum += *term;
      *lists_[list].out += portable_log(sum);
    }
    filled_ = count_ = 0;
  }

 private:
  static constexpr size_t kBlock = 1024, kFew = 16;
  static constexpr double kVanishing = 42;  // kFew * exp(-kVanishing) is lost where it is added to 1
  struct List {
    double* out;  // the best term
    size_t n;
  };
  double* const terms_;  // less the best of their list
  List* const lists_;
  size_t filled_ = 0, count_ = 0;
};

// The entries of sparse edges whose default is -inf: all edges that exist.
class ExistingEntries {
 public:
  ExistingEntries(const Lattice& lattice, Arena& arena)
      : lattice_(lattice), listed_(lattice.edges.sparse() && lattice.edges.sparse()->fallback() == kForbidden) {
    if (!listed_) return;
    value_ = arena.array<double>(lattice.L);
    std::fill_n(value_, lattice.L, kForbidden);
  }

  // Whether the entries are all edges of step t.
  bool listed(size_t t) const { return listed_ && lattice_.patch(t).empty(); }

  // Sets the values of some labels, which are -inf before, and makes them -inf again.
  void place(Labels labels, const double* value) {
    for (size_t p = 0; p < labels.size(); ++p) value_[labels[p]] = value[p];
  }
  void clear(Labels labels) {
    for (const int32_t y : labels) value_[y] = kForbidden;
  }
  // Fills out with value + edge score for the entries into label y (side 0) or out of it (side 1); returns their
  // number.
  size_t terms(size_t side, size_t y, double* out) const {
    const Exceptions& entries = side ? lattice_.edges.sparse()->rows() : lattice_.edges.sparse()->columns();
    const std::span<const int32_t> others = entries.keys(y);
    const std::span<const double> scores = entries.values(y);
    for (size_t e = 0; e < others.size(); ++e) out[e] = value_[others[e]] + scores[e];
    return others.size();
  }

 private:
  const Lattice& lattice_;
  const bool listed_;
  double* value_ = nullptr;  // [label]
};

// With factors, each column scaled to a sum of 1. Numbers may underflow; whether it matters depends on the edges. Where
// all edge scores are finite and at most kTame apart, a node that is so much worse than another one of its column is on
// no path that counts, since the other could take its place. Where edges forbid, a node near underflow may be the only
// way to go on: that is noticed, and the sentence is summed again with logarithms, as it is where edges are further
// apart.
class Scaled {
 public:
  static constexpr bool kLogs = false, kMaxima = false;

  Scaled(const Lattice& lattice, const Factors* factors, Arena& arena)
      : lattice_(lattice),
        factors_(factors),
        scores_(arena.array<double>(lattice.L)),
        edges_(arena.array<double>(lattice.L)),
        totals_(arena.array<double>(2 * lattice.L)) {}

  // Returns whether something was lost that may matter.
  bool trouble() const { return trouble_; }
  double shift(size_t t) { return at(t).shift; }
  static bool is_none(double sum) { return !(sum > 0); }
  static double log(double sum) { return portable_log(sum); }
  static double one() { return 1; }
  Labels labels(size_t t) const { return labels_of(lattice_, t); }
  static bool reached(size_t, const ReachedColumn&) { return true; }
  static const double* belief(const double* values, size_t, double*) { return values; }

  // Fills out with the node factors of a column's labels; returns by how much their scores were lowered.
  double nodes(size_t t, Labels labels, double* out) {
    const size_t L = lattice_.L, n = labels.size();
    const Scores nodes = lattice_.nodes.from(t * L);
    double best;
    if (t == 0 || t + 1 == lattice_.T || n < L) {
      for (size_t q = 0; q < n; ++q) out[q] = lattice_.end_node(t, static_cast<size_t>(labels[q]));
      best = kernels().max_d(out, n);
      look(t, out, n, best);
      if (best != kForbidden) kernels().exp_d(out, best, n, out);
    } else if (nodes.f) {
      best = kernels().max_f(nodes.f, L);
      look(t, nodes.f, L, best);
      if (best != kForbidden) kernels().exp_f(nodes.f, best, L, out);
    } else {
      best = kernels().max_d(nodes.d, L);
      look(t, nodes.d, L, best);
      if (best != kForbidden) kernels().exp_d(nodes.d, best, L, out);
    }
    return best;
  }

  double product(const double* a, const double* b, size_t n, double* out) {
    const double sum = scaled_product(a, b, n, out);
    for (size_t y = 0; y < n && watched_ && sum > 0; ++y) trouble_ = trouble_ || (out[y] > 0 && out[y] < kTiny);
    return sum;
  }
  static void divide(double* values, size_t n, double by) { divide_factors(values, n, by); }

  // out[q] = sum_p value[p] * factor(labels[p], targets[q]); side 1: the other way round. out: with room for a row of
  // the matrix where all labels are targets.
  void send(size_t t, size_t side, Labels labels, const double* value, Labels targets, double* out) {
    const Factors& factors = at(t);
    const bool all = targets.size() == lattice_.L;
    if (lattice_.allowed && !all) return send_listed(t, side, labels, value, targets, out);
    double* const reached = all ? out : scores_;  // [label]
    std::optional<Defaults> defaults;
    double taken = 0;
    if (factors.dense) {
      send_rows(factors, side, labels, value, targets, reached);
    } else {
      const Factors::Side& rows = factors.side[side];
      defaults.emplace(factors, side, labels, value, totals_);
      for (const int32_t j : targets) reached[j] = defaults->into(j);
      for (size_t p = 0; p < labels.size(); ++p) {
        const size_t i = static_cast<size_t>(labels[p]);
        for (size_t q = rows.begin[i]; q < rows.begin[i + 1]; ++q) reached[rows.index[q]] += value[p] * rows.more[q];
      }
      if (factors.mild) defaults.reset();
    }
    if (!lattice_.patch(t).empty()) taken = correct(t, side, labels, value, reached);
    for (size_t q = 0; q < targets.size() && !all; ++q) out[q] = reached[targets[q]];
    // What is left of much that was taken away cannot be trusted.
    if (!defaults && taken == 0) return;
    for (size_t q = 0; q < targets.size(); ++q) {
      const double most = std::max(taken, defaults ? defaults->into(targets[q]) : 0);
      if (out[q] < kFewDigits * most) out[q] = sum_again(t, side, labels, value, static_cast<size_t>(targets[q]));
    }
  }

 private:
  // A product of two numbers no smaller than this and of an edge factor does not underflow.
  static constexpr double kTiny = 1e-80;

  const Factors& at(size_t t) {
    if (factors_) return *factors_;
    if (made_for_ != t) {
      made_ = factors_of(lattice_.edges, t);
      made_for_ = t;
    }
    return made_;
  }

  static void send_rows(const Factors& factors, size_t side, Labels labels, const double* value, Labels targets,
                        double* reached) {
    const Factors::Side& rows = factors.side[side];
    if (targets.size() == factors.L) {
      std::fill(reached, reached + factors.stride, 0.0);
      return kernels().spread_rows(rows.matrix.data(), factors.stride, labels.data(), value, labels.size(), reached);
    }
    for (const int32_t j : targets) reached[j] = 0;
    for (size_t p = 0; p < labels.size(); ++p) {
      const double* row = rows.matrix.data() + static_cast<size_t>(labels[p]) * factors.stride;
      for (const int32_t j : targets) reached[j] += value[p] * row[j];
    }
  }

  // What default edges bring, exceptions not left out.
  class Defaults {
   public:
    // room: for two numbers per class of labels, where there are rules.
    Defaults(const Factors& factors, size_t side, Labels labels, const double* value, double* room) {
      if (!factors.rules) {
        rest_ = factors.rest * kernels().sum_d(value, labels.size());
        return;
      }
      const PairClasses::Side &from = factors.rules->classes().side[side],
                              &to = factors.rules->classes().side[1 - side];
      class_of_ = to.of.data();
      per_class_ = room;
      double* const sums = room + to.others.rows();
      std::fill(sums, sums + from.others.rows(), 0.0);
      for (size_t p = 0; p < labels.size(); ++p) sums[from.of[static_cast<size_t>(labels[p])]] += value[p];
      for (size_t c = 0; c < to.others.rows(); ++c) {
        double sum = 0;
        for (const int32_t r : to.others[c]) sum += sums[r];
        per_class_[c] = factors.rest * sum;
      }
    }
    double into(int32_t label) const { return class_of_ ? per_class_[class_of_[label]] : rest_; }

   private:
    double rest_ = 0;
    const int32_t* class_of_ = nullptr;
    double* per_class_ = nullptr;
  };

  // Into the few labels that are allowed: edge by edge, or from all labels by what leads to each.
  void send_listed(size_t t, size_t side, Labels labels, const double* value, Labels targets, double* out) {
    const Factors& factors = at(t);
    const Factors::Side& columns = factors.side[1 - side];
    std::optional<Defaults> defaults;
    if (labels.size() == factors.L && !factors.dense) defaults.emplace(factors, side, labels, value, totals_);
    for (size_t q = 0; q < targets.size(); ++q) {
      const size_t j = static_cast<size_t>(targets[q]);
      double sum = 0;
      if (!lattice_.patch(t).empty()) {
        sum = sum_again(t, side, labels, value, j);
      } else if (defaults) {
        sum = defaults->into(targets[q]);
        for (size_t e = columns.begin[j]; e < columns.begin[j + 1]; ++e)
          sum += value[columns.index[e]] * columns.more[e];
        if (!factors.mild && sum < kFewDigits * defaults->into(targets[q])) sum = sum_again(t, side, labels, value, j);
      } else if (factors.dense) {
        const double* column = columns.matrix.data() + j * factors.stride;
        for (size_t p = 0; p < labels.size(); ++p) sum += value[p] * column[labels[p]];
      } else {
        for (size_t p = 0; p < labels.size(); ++p) {
          const size_t i = static_cast<size_t>(labels[p]);
          sum += value[p] * (side ? factors.at(j, i) : factors.at(i, j));
        }
      }
      out[q] = sum;
    }
  }

  // Looks at the edges that lead into column t, and where these forbid, at its nodes.
  template <class Score>
  void look(size_t t, const Score* scores, size_t n, double best) {
    if (t > 0) {
      const Factors& factors = at(t - 1);
      trouble_ = trouble_ || !factors.close;
      watched_ = watched_ || factors.forbids;
      for (const Override& e : lattice_.patch(t - 1).by_row) {
        watched_ = watched_ || e.score == kForbidden;
        trouble_ = trouble_ || (e.score != kForbidden && std::fabs(e.score - factors.shift) > kTame);
      }
    } else if (lattice_.T > 1) {
      watched_ = !lattice_.is_uniform() || at(0).forbids;
    }
    if (!watched_) return;
    const double least = best + portable_log(kTiny);
    for (size_t q = 0; q < n; ++q)
      trouble_ = trouble_ || (scores[q] < least && static_cast<double>(scores[q]) != kForbidden);
  }

  // Puts corrected factors in the place of the shared ones; returns the largest amount that was taken away.
  double correct(size_t t, size_t side, Labels labels, const double* value, double* out) {
    const Factors& factors = at(t);
    const Patch& patch = lattice_.patch(t);
    double taken = 0;
    for (size_t p = 0; p < labels.size(); ++p) {
      for (const Override& e : side ? patch.column(labels[p]) : patch.row(labels[p])) {
        const double before = factors.at(static_cast<size_t>(e.i), static_cast<size_t>(e.j));
        out[side ? e.i : e.j] += value[p] * (portable_exp(e.score - factors.shift) - before);
        taken = std::max(taken, value[p] * before);
      }
    }
    return taken;
  }

  double sum_again(size_t t, size_t side, Labels labels, const double* value, size_t j) {
    const double shift = at(t).shift;
    double sum = 0;
    constexpr size_t kFew = 16;
    if (labels.size() <= kFew) {
      for (size_t p = 0; p < labels.size(); ++p) {
        const size_t i = static_cast<size_t>(labels[p]);
        sum += value[p] * portable_exp((side ? lattice_.edge(t, j, i) : lattice_.edge(t, i, j)) - shift);
      }
      return sum;
    }
    side ? lattice_.row(t, j, edges_) : lattice_.column(t, j, edges_);
    kernels().exp_d(edges_, shift, lattice_.L, edges_);
    for (size_t p = 0; p < labels.size(); ++p) sum += value[p] * edges_[labels[p]];
    return sum;
  }

  const Lattice& lattice_;
  const Factors* factors_;
  Factors made_;  // of one step
  size_t made_for_ = SIZE_MAX;
  double *scores_, *edges_;  // [label]
  double* totals_;           // see Defaults
  bool watched_ = false, trouble_ = false;
};

// In the log domain, for scores of any magnitude. Slower, since every edge takes an exponential; where the default
// edge is -inf, only the entries that exist are visited. kBest: the best in the place of the sum; the same passes then
// give the best path through each node.
template <bool kBest>
class LogDomain {
 public:
  static constexpr bool kLogs = true, kMaxima = kBest;

  LogDomain(const Lattice& lattice, Arena& arena)
      : lattice_(lattice),
        entries_(lattice, arena),
        log_sums_(lattice.L, arena),
        edges_(arena.array<double>(lattice.L)),
        terms_(arena.array<double>(lattice.L)) {}

  static bool trouble() { return false; }
  static double shift(size_t) { return 0; }
  static bool is_none(double sum) { return sum == kForbidden; }
  static double log(double sum) { return sum; }
  static double one() { return 0; }
  Labels labels(size_t t) const { return labels_of(lattice_, t); }
  static bool reached(size_t, const ReachedColumn&) { return true; }
  static const double* belief(const double* values, size_t n, double* out) {
    kernels().exp_d(values, kernels().max_d(values, n), n, out);
    // What is not forbidden is not 0.
    for (size_t y = 0; y < n; ++y)
      if (values[y] != kForbidden) out[y] = std::max(out[y], std::numeric_limits<double>::min());
    return out;
  }
  double nodes(size_t t, Labels labels, double* out) {
    for (size_t q = 0; q < labels.size(); ++q) out[q] = lattice_.end_node(t, static_cast<size_t>(labels[q]));
    return kernels().max_d(out, labels.size()) == kForbidden ? kForbidden : 0;
  }
  double product(const double* a, const double* b, size_t n, double* out) {
    for (size_t y = 0; y < n; ++y) out[y] = a[y] + b[y];
    if (!kBest) std::copy_n(out, n, terms_);
    const double all = sum(kBest ? out : terms_, n);
    if (all != kForbidden) divide(out, n, all);
    return all;
  }
  static void divide(double* values, size_t n, double by) {
    for (size_t y = 0; y < n; ++y) values[y] -= by;
  }
  void send(size_t t, size_t side, Labels labels, const double* value, Labels targets, double* out) {
    if (entries_.listed(t)) {
      entries_.place(labels, value);
      for (size_t q = 0; q < targets.size(); ++q) {
        const auto y = static_cast<size_t>(targets[q]);
        if constexpr (kBest)
          out[q] = sum(terms_, entries_.terms(side, y, terms_));
        else
          log_sums_.add(entries_.terms(side, y, log_sums_.terms()), out + q);
      }
      log_sums_.flush();
      return entries_.clear(labels);
    }
    if (kBest && !side) return send_rows(t, labels, value, targets, out);
    for (size_t q = 0; q < targets.size(); ++q) {
      fill_edges(t, side, labels, static_cast<size_t>(targets[q]));
      for (size_t p = 0; p < labels.size(); ++p) terms_[p] = edges_[labels[p]] + value[p];
      out[q] = sum(terms_, labels.size());
    }
  }

 private:
  // Overwrites the terms.
  static double sum(double* terms, size_t n) {
    if (kBest) return n ? kernels().max_d(terms, n) : kForbidden;
    return log_sum(terms, n);
  }
  // Maxima by rows of edges, since columns of a matrix are far apart in memory.
  void send_rows(size_t t, Labels labels, const double* value, Labels targets, double* out) {
    std::fill_n(out, targets.size(), kForbidden);
    for (size_t p = 0; p < labels.size(); ++p) {
      lattice_.row(t, static_cast<size_t>(labels[p]), edges_);
      for (size_t q = 0; q < targets.size(); ++q) out[q] = std::max(out[q], value[p] + edges_[targets[q]]);
    }
  }
  // edges_[i]: the edge between label j and each of some labels.
  void fill_edges(size_t t, size_t side, Labels labels, size_t j) {
    constexpr size_t kFew = 16;
    if (labels.size() > kFew) return side ? lattice_.row(t, j, edges_) : lattice_.column(t, j, edges_);
    for (const int32_t label : labels) {
      const auto i = static_cast<size_t>(label);
      edges_[i] = side ? lattice_.edge(t, j, i) : lattice_.edge(t, i, j);
    }
  }

  const Lattice& lattice_;
  ExistingEntries entries_;
  LogSums log_sums_;
  double *edges_, *terms_;  // [label]
};

// With the factors of columns that are chosen on the way forward.
class ChosenColumns {
 public:
  static constexpr bool kLogs = false, kMaxima = false;

  ChosenColumns(ColumnSource& source, size_t T, Arena& arena)
      : source_(source), columns_(arena.array<ColumnSource::Column>(T)) {}

  static bool trouble() { return false; }
  static double shift(size_t) { return 0; }
  static bool is_none(double sum) { return !(sum > 0); }
  static double log(double sum) { return portable_log(sum); }
  static double one() { return 1; }
  Labels labels(size_t t) { return (columns_[t] = source_.column(t)).labels; }
  bool reached(size_t t, const ReachedColumn& column) { return source_.reached(t, column); }
  static const double* belief(const double* values, size_t, double*) { return values; }
  const double* factors(size_t t) const { return columns_[t].factors; }

  double nodes(size_t t, Labels labels, double* out) const {
    const double best = kernels().max_d(columns_[t].scores, labels.size());
    if (best != kForbidden) kernels().exp_d(columns_[t].scores, best, labels.size(), out);
    return best;
  }
  static double product(const double* a, const double* b, size_t n, double* out) {
    return scaled_product(a, b, n, out);
  }
  static void divide(double* values, size_t n, double by) { divide_factors(values, n, by); }
  void send(size_t t, size_t side, Labels labels, const double* value, Labels targets, double* out) const {
    const double* factor = columns_[t + 1].factors;
    if (side) {
      for (size_t q = 0; q < targets.size(); ++q, factor += labels.size()) {
        out[q] = 0;
        for (size_t p = 0; p < labels.size(); ++p) out[q] += factor[p] * value[p];
      }
      return;
    }
    std::fill_n(out, targets.size(), 0.0);
    for (size_t p = 0; p < labels.size(); ++p, factor += targets.size())
      for (size_t q = 0; q < targets.size(); ++q) out[q] += value[p] * factor[q];
  }

 private:
  ColumnSource& source_;
  ColumnSource::Column* const columns_;  // [t]
};

}  // namespace tagwright
