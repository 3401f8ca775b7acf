// The arithmetics of forward-backward (forward_backward.cpp): scaled factors, the log domain with sums or maxima, and
// the factors of chosen columns.
//
// An arithmetic has the labels of each column; values are one per label.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/elementary.h"
#include "kernels/kernels.h"
#include "lattice/sum_steps.h"
#include "sums/forward_backward.h"

namespace tagwright {

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

// What arithmetics with factors share.
struct FactorNumbers {
  static constexpr bool kLogs = false, kMaxima = false;
  static bool is_none(double sum) { return !(sum > 0); }
  static double log(double sum) { return portable_log(sum); }
  static double one() { return 1; }
  static const double* belief(const double* values, size_t, double*) { return values; }
  static void divide(double* values, size_t n, double by) { divide_factors(values, n, by); }
};

// With factors, each column scaled to a sum of 1. Numbers may underflow; whether it matters depends on the edges. Where
// all edge scores are finite and at most kTame apart, a node that is so much worse than another one of its column is on
// no path that counts, since the other could take its place. Where edges forbid, a node near underflow may be the only
// way to go on: that is noticed, and the sentence is summed again with logarithms, as it is where edges are further
// apart.
class Scaled : public FactorNumbers {
 public:
  Scaled(const Lattice& lattice, Arena& arena) : lattice_(lattice), steps_(lattice, arena) {}

  // Returns whether something was lost that may matter.
  bool trouble() const { return trouble_; }
  double shift(size_t t) { return steps_.shift(t); }
  Labels labels(size_t t) const { return labels_of(lattice_, t); }
  static bool reached(size_t, const ReachedColumn&) { return true; }

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

  void send(size_t t, size_t side, const LabelValues& from, Labels targets, double* out) {
    steps_.send(t, side, from, targets, out);
  }

 private:
  // A product of two numbers no smaller than this and of an edge factor does not underflow.
  static constexpr double kTiny = 1e-80;

  // Looks at the edges that lead into column t, and where these forbid, at its nodes.
  template <class Score>
  void look(size_t t, const Score* scores, size_t n, double best) {
    if (t > 0) {
      trouble_ = trouble_ || !steps_.close(t - 1);
      watched_ = watched_ || steps_.forbids(t - 1);
    } else if (lattice_.T > 1) {
      watched_ = steps_.may_forbid();
    }
    if (!watched_) return;
    const double least = best + portable_log(kTiny);
    for (size_t q = 0; q < n; ++q)
      trouble_ = trouble_ || (scores[q] < least && static_cast<double>(scores[q]) != kForbidden);
  }

  const Lattice& lattice_;
  FactorSteps steps_;
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
        steps_(lattice, arena),
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
  void send(size_t t, size_t side, const LabelValues& from, Labels targets, double* out) {
    // Edge kind: with few edges into a label, the terms of several labels are summed in one call.
    const bool listed = steps_.is_listed(t);
    if (kBest && !side && !listed) return send_rows(t, from, targets, out);
    steps_.with(t, side, from, [&](auto&& terms) {
      for (size_t q = 0; q < targets.size(); ++q) {
        const auto y = static_cast<size_t>(targets[q]);
        if (kBest || !listed) {
          out[q] = sum(terms_, terms(y, terms_));
        } else {
          log_sums_.add(terms(y, log_sums_.terms()), out + q);
        }
      }
    });
    log_sums_.flush();
  }

 private:
  // Overwrites the terms.
  static double sum(double* terms, size_t n) {
    if (kBest) return n ? kernels().max_d(terms, n) : kForbidden;
    return log_sum(terms, n);
  }
  // Maxima by rows of edges, since columns of a matrix are far apart in memory.
  void send_rows(size_t t, const LabelValues& from, Labels targets, double* out) {
    std::fill_n(out, targets.size(), kForbidden);
    for (size_t p = 0; p < from.size(); ++p) {
      lattice_.row(t, static_cast<size_t>(from.labels[p]), edges_);
      for (size_t q = 0; q < targets.size(); ++q) out[q] = std::max(out[q], from.value[p] + edges_[targets[q]]);
    }
  }

  const Lattice& lattice_;
  LogSteps steps_;
  LogSums log_sums_;
  double *edges_, *terms_;  // [label]
};

// With the factors of columns that are chosen on the way forward.
class ChosenColumns : public FactorNumbers {
 public:
  ChosenColumns(ColumnSource& source, size_t T, Arena& arena)
      : source_(source), columns_(arena.array<ColumnSource::Column>(T)) {}

  static bool trouble() { return false; }
  static double shift(size_t) { return 0; }
  Labels labels(size_t t) { return (columns_[t] = source_.column(t)).labels; }
  bool reached(size_t t, const ReachedColumn& column) { return source_.reached(t, column); }
  const double* factors(size_t t) const { return columns_[t].factors; }

  double nodes(size_t t, Labels labels, double* out) const {
    const double best = kernels().max_d(columns_[t].scores, labels.size());
    if (best != kForbidden) kernels().exp_d(columns_[t].scores, best, labels.size(), out);
    return best;
  }
  static double product(const double* a, const double* b, size_t n, double* out) {
    return scaled_product(a, b, n, out);
  }
  void send(size_t t, size_t side, const LabelValues& from, Labels targets, double* out) const {
    const auto& [labels, value] = from;
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
