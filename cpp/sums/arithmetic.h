// The two arithmetics of forward-backward (forward_backward.cpp): factors that are scaled, and logarithms.
//
// Values are one for each of some labels.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "kernels/kernels.h"
#include "lattice/factors.h"
#include "lattice/lattice.h"

namespace tagwright {

using Labels = std::span<const int32_t>;

// With factors, each column scaled to a sum of 1. Numbers may underflow; whether it matters depends on the edges. Where
// all edge scores are finite and at most kTame apart, a node that is so much worse than another one of its column is on
// no path that counts, since the other could take its place. Where edges forbid, a node near underflow may be the only
// way to go on: that is noticed, and the sentence is summed again with logarithms, as it is where edges are further
// apart.
class Scaled {
 public:
  static constexpr bool kLogs = false;

  Scaled(const Lattice& lattice, const Factors* factors, Arena& arena)
      : lattice_(lattice),
        factors_(factors),
        scores_(arena.array<double>(lattice.L)),
        edges_(arena.array<double>(lattice.L)),
        totals_(arena.array<double>(2 * lattice.L)) {}

  // Returns whether something was lost that may matter.
  bool trouble() const { return trouble_; }
  double shift(size_t t) { return at(t).shift; }
  static double log(double sum) { return sum > 0 ? std::log(sum) : kForbidden; }
  static double one() { return 1; }
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

  // out = a * b, scaled to a sum of 1; returns what the sum was.
  double product(const double* a, const double* b, size_t n, double* out) {
    const double sum = kernels().multiply_d(a, b, n, out);
    if (!(sum > 0)) return 0;
    divide(out, n, sum);
    if (watched_)
      for (size_t y = 0; y < n; ++y) trouble_ = trouble_ || (out[y] > 0 && out[y] < kTiny);
    return sum;
  }
  static void divide(double* values, size_t n, double by) {
    if (by < 1e-300) {
      for (size_t y = 0; y < n; ++y) values[y] /= by;
      return;
    }
    const double inverse = 1 / by;
    for (size_t y = 0; y < n; ++y) values[y] *= inverse;
  }

  // out[q] = sum_p value[p] * factor(labels[p], wanted[q]); side 1: the other way round. out: with room for a row of
  // the matrix where all labels are wanted.
  void send(size_t t, size_t side, Labels labels, const double* value, Labels wanted, double* out) {
    const Factors& factors = at(t);
    const bool all = wanted.size() == lattice_.L;
    if (lattice_.allowed && !all) return send_listed(t, side, labels, value, wanted, out);
    double* const reached = all ? out : scores_;  // [label]
    std::optional<Defaults> defaults;
    double taken = 0;
    if (factors.dense) {
      send_rows(factors, side, labels, value, wanted, reached);
    } else {
      const Factors::Side& rows = factors.side[side];
      defaults.emplace(factors, side, labels, value, totals_);
      for (const int32_t j : wanted) reached[j] = defaults->into(j);
      for (size_t p = 0; p < labels.size(); ++p) {
        const size_t i = static_cast<size_t>(labels[p]);
        for (size_t q = rows.begin[i]; q < rows.begin[i + 1]; ++q) reached[rows.index[q]] += value[p] * rows.more[q];
      }
      if (factors.mild) defaults.reset();
    }
    if (lattice_.patched()) taken = correct(t, side, labels, value, reached);
    for (size_t q = 0; q < wanted.size() && !all; ++q) out[q] = reached[wanted[q]];
    // What is left of much that was taken away cannot be trusted.
    if (!defaults && taken == 0) return;
    for (size_t q = 0; q < wanted.size(); ++q) {
      const double most = std::max(taken, defaults ? defaults->into(wanted[q]) : 0);
      if (out[q] < kFewDigits * most) out[q] = sum_again(t, side, labels, value, static_cast<size_t>(wanted[q]));
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

  static void send_rows(const Factors& factors, size_t side, Labels labels, const double* value, Labels wanted,
                        double* reached) {
    const Factors::Side& rows = factors.side[side];
    if (wanted.size() == factors.L) {
      std::fill(reached, reached + factors.stride, 0.0);
      return kernels().spread_rows(rows.matrix.data(), factors.stride, labels.data(), value, labels.size(), reached);
    }
    for (const int32_t j : wanted) reached[j] = 0;
    for (size_t p = 0; p < labels.size(); ++p) {
      const double* row = rows.matrix.data() + static_cast<size_t>(labels[p]) * factors.stride;
      for (const int32_t j : wanted) reached[j] += value[p] * row[j];
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
      double* const sums = room + to.others.size();
      std::fill(sums, sums + from.others.size(), 0.0);
      for (size_t p = 0; p < labels.size(); ++p) sums[from.of[static_cast<size_t>(labels[p])]] += value[p];
      for (size_t c = 0; c < to.others.size(); ++c) {
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
  void send_listed(size_t t, size_t side, Labels labels, const double* value, Labels wanted, double* out) {
    const Factors& factors = at(t);
    const Factors::Side& columns = factors.side[1 - side];
    std::optional<Defaults> defaults;
    if (labels.size() == factors.L && !factors.dense) defaults.emplace(factors, side, labels, value, totals_);
    for (size_t q = 0; q < wanted.size(); ++q) {
      const size_t j = static_cast<size_t>(wanted[q]);
      double sum = 0;
      if (lattice_.patched()) {
        sum = sum_again(t, side, labels, value, j);
      } else if (defaults) {
        sum = defaults->into(wanted[q]);
        for (size_t e = columns.begin[j]; e < columns.begin[j + 1]; ++e)
          sum += value[columns.index[e]] * columns.more[e];
        if (!factors.mild && sum < kFewDigits * defaults->into(wanted[q])) sum = sum_again(t, side, labels, value, j);
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
      if (lattice_.patched()) {
        for (const Override& e : lattice_.patch(t - 1).by_row) {
          watched_ = watched_ || e.score == kForbidden;
          trouble_ = trouble_ || (e.score != kForbidden && std::fabs(e.score - factors.shift) > kTame);
        }
      }
    } else if (lattice_.T > 1) {
      watched_ = lattice_.edges.is_stepwise() || lattice_.patched() || at(0).forbids;
    }
    if (!watched_) return;
    const double least = best + std::log(kTiny);
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
        out[side ? e.i : e.j] += value[p] * (std::exp(e.score - factors.shift) - before);
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
        sum += value[p] * std::exp((side ? lattice_.edge(t, j, i) : lattice_.edge(t, i, j)) - shift);
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

// With logarithms, for scores of any size: slower, since every edge is asked for its score.
class Logs {
 public:
  static constexpr bool kLogs = true;

  Logs(const Lattice& lattice, Arena& arena) : lattice_(lattice), scores_(arena.array<double>(lattice.L)) {}

  static double shift(size_t) { return 0; }
  static double log(double sum) { return sum; }
  static double one() { return 0; }
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
  static double product(const double* a, const double* b, size_t n, double* out) {
    for (size_t y = 0; y < n; ++y) out[y] = a[y] + b[y];
    const double best = kernels().max_d(out, n);
    if (best == kForbidden) return kForbidden;
    double sum = 0;
    for (size_t y = 0; y < n; ++y) sum += std::exp(out[y] - best);
    const double all = best + std::log(sum);
    divide(out, n, all);
    return all;
  }
  static void divide(double* values, size_t n, double by) {
    for (size_t y = 0; y < n; ++y) values[y] -= by;
  }
  void send(size_t t, size_t side, Labels labels, const double* value, Labels wanted, double* out) {
    constexpr size_t kFew = 16;
    for (size_t q = 0; q < wanted.size(); ++q) {
      const size_t j = static_cast<size_t>(wanted[q]);
      if (labels.size() > kFew) {
        side ? lattice_.row(t, j, scores_) : lattice_.column(t, j, scores_);
      } else {
        for (const int32_t label : labels) {
          const size_t i = static_cast<size_t>(label);
          scores_[i] = side ? lattice_.edge(t, j, i) : lattice_.edge(t, i, j);
        }
      }
      double best = kForbidden, sum = 0;
      for (size_t p = 0; p < labels.size(); ++p) best = std::max(best, value[p] + scores_[labels[p]]);
      out[q] = best;
      if (best == kForbidden) continue;
      for (size_t p = 0; p < labels.size(); ++p) sum += std::exp(value[p] + scores_[labels[p]] - best);
      out[q] += std::log(sum);
    }
  }

 private:
  const Lattice& lattice_;
  double* scores_;
};

}  // namespace tagwright
