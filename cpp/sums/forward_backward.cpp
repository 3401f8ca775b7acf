// Forward-backward, exact and sparse (Pal, Sutton and McCallum 2006, section 3).
//
// Sparse passes keep, in each column, the labels that a rule chooses by their beliefs. Forward, the belief is alpha
// (beta is still 1). Messages are passed from kept labels to all labels, and alpha is stored for all of them, so that
// the backward pass, which chooses anew by alpha * beta, can bring labels back in. Unlike the paper we then go forward
// once more, over the labels that were kept in the end and only over these. So log Z, node and edge probabilities are
// those of one distribution: the exact one, restricted to sequences of kept labels.
#include "sums/forward_backward.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/kernels.h"

namespace tagwright {
namespace {

using Labels = std::span<const int32_t>;

// --- two arithmetics; values are [y], or one for each of some labels ---

// With factors, each column scaled to a sum of 1. Numbers may underflow; whether it matters depends on the edges. Where
// all edge scores are finite and at most kTame apart, a node that is so much worse than another one of its column is on
// no path that counts, since the other could take its place. Where edges forbid, a node near underflow may be the only
// way to go on: that is noticed, and the sentence is summed again with logarithms, as it is where edges are further
// apart.
class Scaled {
 public:
  static constexpr bool kLogs = false;

  Scaled(const Lattice& lattice, const Factors* factors, Arena& arena)
      : lattice_(lattice), factors_(factors), scores_(arena.array<double>(lattice.L)) {}

  // Returns whether something was lost that may matter.
  bool trouble() const { return trouble_; }
  double shift(size_t t) { return at(t).shift; }
  static double log(double sum) { return sum > 0 ? std::log(sum) : kForbidden; }
  static double one() { return 1; }
  static const double* belief(const double* values, size_t, double*) { return values; }

  // Fills out with the column's node factors; returns by how much their scores were lowered.
  double nodes(size_t t, double* out) {
    const size_t L = lattice_.L;
    const Scores nodes = lattice_.nodes.from(t * L);
    double best;
    if (t == 0 || t + 1 == lattice_.T) {
      for (size_t y = 0; y < L; ++y) out[y] = lattice_.end_node(t, y);
      best = kernels().max_d(out, L);
      look(t, out, best);
      if (best != kForbidden) kernels().exp_d(out, best, L, out);
    } else if (nodes.f) {
      best = kernels().max_f(nodes.f, L);
      look(t, nodes.f, best);
      if (best != kForbidden) kernels().exp_f(nodes.f, best, L, out);
    } else {
      best = kernels().max_d(nodes.d, L);
      look(t, nodes.d, best);
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

  // out[j] = sum_i value[i] * factor(i, j), for all j or for those that are wanted; side 1: the other way round.
  // out: [y], with room for a row of the matrix.
  void send(size_t t, size_t side, Labels labels, const double* value, const Labels* wanted, double* out) {
    const Factors& factors = at(t);
    const Factors::Side& rows = factors.side[side];
    double least = 0;  // that can be trusted
    if (factors.dense && wanted) {
      for (const int32_t j : *wanted) out[j] = 0;
      for (size_t p = 0; p < labels.size(); ++p) {
        const double* row = rows.matrix.data() + static_cast<size_t>(labels[p]) * factors.stride;
        for (const int32_t j : *wanted) out[j] += value[p] * row[j];
      }
    } else if (factors.dense) {
      std::fill(out, out + factors.stride, 0.0);
      kernels().spread_rows(rows.matrix.data(), factors.stride, labels.data(), value, labels.size(), out);
    } else {
      const double rest = factors.rest * kernels().sum_d(value, labels.size());
      if (!wanted) std::fill(out, out + factors.L, rest);
      if (wanted)
        for (const int32_t j : *wanted) out[j] = rest;
      for (size_t p = 0; p < labels.size(); ++p) {
        const size_t i = static_cast<size_t>(labels[p]);
        for (size_t q = rows.begin[i]; q < rows.begin[i + 1]; ++q) out[rows.index[q]] += value[p] * rows.more[q];
      }
      if (!factors.mild) least = kFewDigits * rest;
    }
    if (lattice_.patched()) least = std::max(least, kFewDigits * correct(t, side, labels, value, out));
    if (least == 0) return;
    const auto look_at = [&](size_t j) {
      if (out[j] < least) out[j] = sum_again(t, side, labels, value, j);
    };
    if (wanted) {
      for (const int32_t j : *wanted) look_at(static_cast<size_t>(j));
    } else {
      for (size_t j = 0; j < factors.L; ++j) look_at(j);
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

  // Looks at the edges that lead into column t, and where these forbid, at its nodes.
  template <class Score>
  void look(size_t t, const Score* scores, double best) {
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
    for (size_t y = 0; y < lattice_.L; ++y)
      trouble_ = trouble_ || (scores[y] < least && static_cast<double>(scores[y]) != kForbidden);
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
    side ? lattice_.row(t, j, scores_) : lattice_.column(t, j, scores_);
    kernels().exp_d(scores_, at(t).shift, lattice_.L, scores_);
    double sum = 0;
    for (size_t p = 0; p < labels.size(); ++p) sum += value[p] * scores_[labels[p]];
    return sum;
  }

  const Lattice& lattice_;
  const Factors* factors_;
  Factors made_;  // of one step
  size_t made_for_ = SIZE_MAX;
  double* scores_;
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
  double nodes(size_t t, double* out) {
    for (size_t y = 0; y < lattice_.L; ++y) out[y] = lattice_.end_node(t, y);
    return kernels().max_d(out, lattice_.L) == kForbidden ? kForbidden : 0;
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
  void send(size_t t, size_t side, Labels labels, const double* value, const Labels* wanted, double* out) {
    const auto one = [&](size_t j) {
      side ? lattice_.row(t, j, scores_) : lattice_.column(t, j, scores_);
      double best = kForbidden, sum = 0;
      for (size_t p = 0; p < labels.size(); ++p) best = std::max(best, value[p] + scores_[labels[p]]);
      out[j] = best;
      if (best == kForbidden) return;
      for (size_t p = 0; p < labels.size(); ++p) sum += std::exp(value[p] + scores_[labels[p]] - best);
      out[j] += std::log(sum);
    };
    if (wanted) {
      for (const int32_t j : *wanted) one(static_cast<size_t>(j));
    } else {
      for (size_t j = 0; j < lattice_.L; ++j) one(j);
    }
  }

 private:
  const Lattice& lattice_;
  double* scores_;
};

// --- the passes ---

// values at labels, one behind the other.
double* gather(Labels labels, const double* values, Arena& arena) {
  double* out = arena.array<double>(labels.size());
  for (size_t q = 0; q < labels.size(); ++q) out[q] = values[labels[q]];
  return out;
}

template <class Arithmetic>
Sums passes(const Lattice& lattice, Arithmetic& numbers, const Keep& keep, const int32_t* also, Arena& arena,
            size_t most) {
  const size_t T = lattice.T, L = lattice.L, stride = (L + 7) / 8 * 8;
  constexpr size_t kForward = 0, kBackward = 1;
  const bool all = keep.all();
  thread_local Chooser chooser;
  thread_local std::vector<int32_t> everyone, chosen;
  while (everyone.size() < L) everyone.push_back(static_cast<int32_t>(everyone.size()));
  chosen.resize(L + 1);
  double* const psi = arena.array<double>(times(T, L));         // [t * L + y]: node factors
  double* const alpha = arena.array<double>(times(T, stride));  // [t * stride + y]
  double* const message = arena.array<double>(stride);
  double* const believed = arena.array<double>(stride);
  double* const ones = arena.array<double>(L);
  double* const lowered = arena.array<double>(T);
  std::fill(ones, ones + L, numbers.one());

  const auto choose = [&](size_t t, const double* values) -> Labels {
    if (all) return {everyone.data(), L};
    const double* belief = numbers.belief(values, L, believed);
    const size_t n = chooser.choose(keep, belief, L, also ? also[t] : -1, chosen.data());
    int32_t* own = arena.array<int32_t>(n);
    std::copy_n(chosen.data(), n, own);
    return {own, n};
  };
  const auto at = [&](Labels labels, const double* values) -> const double* {
    return all ? values : gather(labels, values, arena);
  };

  Sums sums;
  sums.logs = Arithmetic::kLogs;
  double log_z = 0;
  Labels kept;
  const double* sent = nullptr;
  for (size_t t = 0; t < T; ++t) {
    double* column = alpha + t * stride;
    lowered[t] = numbers.nodes(t, psi + t * L);
    if (lowered[t] == kForbidden) return sums;
    if (t) numbers.send(t - 1, kForward, kept, sent, nullptr, column);
    const double sum = numbers.log(numbers.product(t ? column : ones, psi + t * L, L, column));
    if (sum == kForbidden) return sums;
    log_z += sum + lowered[t] + (t ? numbers.shift(t - 1) : 0);
    if (t + 1 == T) break;
    kept = choose(t, column);
    sums.wide = kept.size() > most;
    if (sums.wide) return sums;
    most -= kept.size();
    sent = at(kept, column);
  }

  sums.columns.resize(T);
  std::vector<const double*> beta(T);  // beside the kept labels
  for (size_t t = T; t-- > 0;) {
    Sums::Column& column = sums.columns[t];
    double* back = arena.array<double>(stride);
    std::copy(ones, ones + L, back);
    if (t + 1 < T) numbers.send(t, kBackward, sums.columns[t + 1].labels, sums.columns[t + 1].to, nullptr, back);
    if (numbers.log(numbers.product(alpha + t * stride, back, L, message)) == kForbidden) return sums;
    column.labels = choose(t, message);
    column.shift = t + 1 < T ? numbers.shift(t) : 0;
    beta[t] = at(column.labels, back);
    const size_t n = column.labels.size();
    double* to = arena.array<double>(n);
    const double* factor = at(column.labels, psi + t * L);
    // What cannot be reached is left out, lest it outweighs the rest.
    for (size_t q = 0; q < n; ++q)
      to[q] =
          message[column.labels[q]] == (Arithmetic::kLogs ? kForbidden : 0) ? message[column.labels[q]] : beta[t][q];
    if (numbers.log(numbers.product(to, factor, n, to)) == kForbidden) return sums;
    column.to = to;
  }

  if (!all) log_z = 0;
  for (size_t t = 0; t < T; ++t) {
    Sums::Column& column = sums.columns[t];
    const size_t n = column.labels.size();
    double* from = arena.array<double>(n);
    if (all) {
      std::copy_n(alpha + t * stride, n, from);
    } else {
      if (t) numbers.send(t - 1, kForward, sums.columns[t - 1].labels, sent, &column.labels, message);
      const double* before = t ? gather(column.labels, message, arena) : ones;
      const double sum = numbers.log(numbers.product(before, gather(column.labels, psi + t * L, arena), n, from));
      if (sum == kForbidden) return sums;
      log_z += sum + lowered[t] + (t ? numbers.shift(t - 1) : 0);
      double* own = arena.array<double>(n);
      std::copy_n(from, n, own);
      sent = own;
    }
    double* node = arena.array<double>(n);
    const double sum = numbers.product(from, beta[t], n, node);
    if (numbers.log(sum) == kForbidden) return sums;
    numbers.divide(from, n, sum);
    if (Arithmetic::kLogs) {
      kernels().exp_d(node, 0, n, node);
      Scaled::divide(node, n, kernels().sum_d(node, n));  // Large scores are rounded by more than these digits.
    }
    column.node = node;
    column.from = from;
  }
  sums.log_z = log_z;
  return sums;
}

}  // namespace

double Sums::edge(const Lattice& lattice, size_t t, size_t p, size_t q) const {
  const Column &left = columns[t], &right = columns[t + 1];
  const double score = lattice.edge(t, static_cast<size_t>(left.labels[p]), static_cast<size_t>(right.labels[q]));
  return left.from[p] * std::exp(score - left.shift) * right.to[q];
}

void Sums::step(const Lattice& lattice, size_t t, std::vector<double>& out) const {
  const Column &left = columns[t], &right = columns[t + 1];
  const size_t n = right.labels.size();
  out.resize(times(left.labels.size(), n));
  for (size_t p = 0; p < left.labels.size(); ++p) {
    for (size_t q = 0; q < n; ++q) {
      const size_t i = static_cast<size_t>(left.labels[p]), j = static_cast<size_t>(right.labels[q]);
      out[p * n + q] = logs ? left.from[p] + lattice.edge(t, i, j) + right.to[q] : edge(lattice, t, p, q);
    }
  }
  if (logs) kernels().exp_d(out.data(), kernels().max_d(out.data(), out.size()), out.size(), out.data());
  // 1, but for rounding, which is large where scores are.
  Scaled::divide(out.data(), out.size(), kernels().sum_d(out.data(), out.size()));
}

Sums forward_backward(const Lattice& lattice, const Factors* factors, const Keep& keep, const int32_t* also,
                      Arena& arena, size_t most) {
  Scaled scaled(lattice, factors, arena);
  Sums sums = passes(lattice, scaled, keep, also, arena, most);
  if (sums.wide || (!scaled.trouble() && sums.log_z != kForbidden)) return sums;
  Logs logs(lattice, arena);
  return passes(lattice, logs, keep, also, arena, most);
}

}  // namespace tagwright
