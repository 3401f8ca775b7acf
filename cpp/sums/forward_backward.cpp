// Forward-backward, exact and sparse (Pal, Sutton and McCallum 2006, section 3).
//
// Sparse passes keep, in each column, the labels that a rule chooses by their beliefs. Forward, the belief is alpha
// (beta is still 1). Messages are passed from kept labels to all labels, and alpha is stored for all of them, so that
// the backward pass, which chooses anew by alpha * beta, can bring labels back in. Unlike the paper we then go forward
// once more, over the labels that were kept in the end and only over these. So log Z, node and edge probabilities are
// those of one distribution: the exact one, restricted to sequences of kept labels.
//
// A column has the labels that are allowed for it, and everything about it is held for these only: [q] is the q-th of
// them.
#include "sums/forward_backward.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/need.h"
#include "base/stop.h"
#include "kernels/kernels.h"
#include "sums/arithmetic.h"

namespace tagwright {
namespace {

// The labels of a column that are kept.
struct Kept {
  Labels labels;
  Labels places = {};  // [q]: where labels[q] stands among the column's labels; empty where all are kept

  const double* of(const double* values, Arena& arena) const {
    if (places.empty()) return values;
    double* out = arena.array<double>(places.size());
    for (size_t q = 0; q < places.size(); ++q) out[q] = values[places[q]];
    return out;
  }
};

template <class Arithmetic>
Sums passes(const Lattice& lattice, Arithmetic& numbers, const PruningRule& keep, const int32_t* also, Arena& arena,
            size_t most) {
  const size_t T = lattice.T, L = lattice.L, stride = (L + 7) / 8 * 8;
  constexpr size_t kForward = 0, kBackward = 1;
  const bool all = keep.all();
  thread_local Chooser chooser;
  thread_local std::vector<int32_t> everyone, chosen;
  while (everyone.size() < L) everyone.push_back(static_cast<int32_t>(everyone.size()));
  chosen.resize(L + 1);
  // What the column holds for each of its labels.
  struct Held {
    Labels labels;
    double* psi;    // node factors
    double* alpha;  // with room for a row of a matrix
    double lowered = 0;
  };
  Held* const held = arena.array<Held>(T);
  double* const message = arena.array<double>(stride);
  double* const believed = arena.array<double>(stride);
  double* const ones = arena.array<double>(L);
  std::fill(ones, ones + L, numbers.one());

  const auto choose = [&](size_t t, const double* values) -> Kept {
    const Labels labels = held[t].labels;
    if (all) return {labels};
    const double* belief = numbers.belief(values, labels.size(), believed);
    int32_t also_at = also ? also[t] : -1;
    if (also_at >= 0 && labels.size() < L)
      also_at = static_cast<int32_t>(std::lower_bound(labels.begin(), labels.end(), also_at) - labels.begin());
    const size_t n = chooser.choose(keep, belief, labels.size(), also_at, chosen.data());
    int32_t *places = arena.array<int32_t>(n), *own = arena.array<int32_t>(n);
    std::copy_n(chosen.data(), n, places);
    for (size_t q = 0; q < n; ++q) own[q] = labels[static_cast<size_t>(places[q])];
    return {{own, n}, {places, n}};
  };

  Sums sums;
  sums.logs = Arithmetic::kLogs;
  double log_z = 0;
  Kept kept;
  const double* sent = nullptr;
  Meter meter;
  for (size_t t = 0; t < T; ++t) {
    const bool wide = lattice.allowed[t].empty();
    held[t].labels = wide ? Labels(everyone.data(), L) : lattice.allowed[t];
    const size_t n = held[t].labels.size();
    held[t].psi = arena.array<double>(n);
    held[t].alpha = arena.array<double>(wide ? stride : n);
    double* column = held[t].alpha;
    meter.count(n * (t ? kept.labels.size() : 1));
    held[t].lowered = numbers.nodes(t, held[t].labels, held[t].psi);
    if (held[t].lowered == kForbidden) return sums;
    if (t) numbers.send(t - 1, kForward, kept.labels, sent, held[t].labels, column);
    const double sum = numbers.log(numbers.product(t ? column : ones, held[t].psi, n, column));
    if (sum == kForbidden || numbers.trouble()) return sums;
    log_z += sum + held[t].lowered + (t ? numbers.shift(t - 1) : 0);
    if (t + 1 == T) break;
    kept = choose(t, column);
    sums.wide = kept.labels.size() > most;
    if (sums.wide) return sums;
    most -= kept.labels.size();
    sent = kept.of(column, arena);
  }

  sums.columns.resize(T);
  std::vector<Kept> chosen_last(T);
  std::vector<const double*> beta(T);  // beside the kept labels
  for (size_t t = T; t-- > 0;) {
    Sums::Column& column = sums.columns[t];
    const Labels labels = held[t].labels;
    double* back = arena.array<double>(labels.size() == L ? stride : labels.size());
    std::copy(ones, ones + labels.size(), back);
    if (t + 1 < T) {
      meter.count(labels.size() * sums.columns[t + 1].labels.size());
      numbers.send(t, kBackward, sums.columns[t + 1].labels, sums.columns[t + 1].to, labels, back);
    }
    if (numbers.log(numbers.product(held[t].alpha, back, labels.size(), message)) == kForbidden) return sums;
    const Kept own = chosen_last[t] = choose(t, message);
    column.labels = own.labels;
    column.shift = t + 1 < T ? numbers.shift(t) : 0;
    beta[t] = own.of(back, arena);
    const size_t n = column.labels.size();
    double* to = arena.array<double>(n);
    const double* factor = own.of(held[t].psi, arena);
    const double* believed_here = own.of(message, arena);
    // What cannot be reached is left out, lest it outweighs the rest.
    for (size_t q = 0; q < n; ++q)
      to[q] = believed_here[q] == (Arithmetic::kLogs ? kForbidden : 0) ? believed_here[q] : beta[t][q];
    if (numbers.log(numbers.product(to, factor, n, to)) == kForbidden) return sums;
    column.to = to;
  }

  if (!all) log_z = 0;
  for (size_t t = 0; t < T; ++t) {
    Sums::Column& column = sums.columns[t];
    const size_t n = column.labels.size();
    meter.count(n * n);
    double* from = arena.array<double>(n);
    if (all) {
      std::copy_n(held[t].alpha, n, from);
    } else {
      double* const before = arena.array<double>(n == L ? stride : n);
      std::copy_n(ones, n, before);
      if (t) numbers.send(t - 1, kForward, sums.columns[t - 1].labels, sent, column.labels, before);
      const double sum = numbers.log(numbers.product(before, chosen_last[t].of(held[t].psi, arena), n, from));
      if (sum == kForbidden) return sums;
      log_z += sum + held[t].lowered + (t ? numbers.shift(t - 1) : 0);
      double* own = arena.array<double>(n);
      std::copy_n(from, n, own);
      sent = own;
    }
    double* node = arena.array<double>(n);
    const double sum = numbers.product(from, beta[t], n, node);
    if (numbers.log(sum) == kForbidden) return sums;
    numbers.divide(from, n, sum);
    if (Arithmetic::kLogs && !Arithmetic::kMaxima) {
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

Sums forward_backward(const Lattice& lattice, const Factors* factors, const PruningRule& keep, const int32_t* also,
                      Arena& arena, size_t most) {
  need(!lattice.edges.ngrams(),
       "these sums know no ngrams of labels, but the edges have some; use shorter sentences, or a model of order 1");
  return sums_without_ngrams(lattice, factors, keep, also, arena, most);
}

Sums sums_without_ngrams(const Lattice& lattice, const Factors* factors, const PruningRule& keep, const int32_t* also,
                         Arena& arena, size_t most) {
  Scaled scaled(lattice, factors, arena);
  Sums sums = passes(lattice, scaled, keep, also, arena, most);
  if (sums.wide || (!scaled.trouble() && sums.log_z != kForbidden)) return sums;
  Logs logs(lattice, arena);
  return passes(lattice, logs, keep, also, arena, most);
}

Sums max_marginals(const Lattice& lattice, Arena& arena) {
  need(!lattice.edges.ngrams(), "these maxima ignore label n-grams, but the edges have some");
  Maxima maxima(lattice, arena);
  return passes(lattice, maxima, {}, nullptr, arena, SIZE_MAX);
}

}  // namespace tagwright
