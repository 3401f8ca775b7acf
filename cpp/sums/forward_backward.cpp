// Forward-backward, exact and sparse (Pal, Sutton and McCallum 2006, section 3).
//
// Sparse passes keep, in each column, the labels that a rule chooses by their beliefs. Forward, the belief is alpha
// (beta is still 1). Messages are passed from kept labels to all labels, and alpha is stored for all of them, so that
// the backward pass, which chooses anew by alpha * beta, can bring labels back in. Unlike the paper we then go forward
// once more, over the labels that were kept in the end and only over these. So log Z, node and edge probabilities are
// those of one distribution: the exact one, restricted to sequences of kept labels.
//
// A column has the labels that are allowed for it, or that were chosen for it on the way forward, and everything about
// it is held for these only: [q] is the q-th of them.
#include "sums/forward_backward.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/need.h"
#include "base/stop.h"
#include "kernels/kernels.h"
#include "sums/arithmetic.h"
#include "sums/ngram_sums.h"

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

// The passes over one sentence, in one of the arithmetics of sums/arithmetic.h.
template <class Arithmetic>
class Passes {
 public:
  // L: the most labels of a column.
  Passes(size_t T, size_t L, Arithmetic& numbers, const SumPruning& pruning, Arena& arena)
      : T_(T),
        L_(L),
        numbers_(numbers),
        pruning_(pruning),
        arena_(arena),
        stride_((L + 7) / 8 * 8),
        held_(arena.array<Held>(T)),
        message_(arena.array<double>(stride_)),
        believed_(arena.array<double>(stride_)),
        ones_(arena.array<double>(L)),
        chosen_(arena.array<int32_t>(L + 1)),
        beta_(arena.array<const double*>(T)) {
    std::fill_n(ones_, L, numbers.one());
    sums_.logs = Arithmetic::kLogs;
  }

  Sums run() {
    double log_z = 0;
    if (!forward(log_z) || !backward()) return std::move(sums_);
    if (!exact()) log_z = 0;
    if (finish(log_z)) sums_.log_z = log_z;
    return std::move(sums_);
  }

 private:
  static constexpr size_t kForward = 0, kBackward = 1;

  // What a column holds for each of its labels.
  struct Held {
    Labels labels;
    double* psi;    // node factors
    double* alpha;  // with room for a row of a matrix
    double lowered;
    Kept kept;  // after the backward pass
  };

  bool exact() const { return pruning_.rule.all(); }
  double* array(size_t n) { return arena_.array<double>(n == L_ ? stride_ : n); }

  Kept choose(size_t t, const double* values) {
    thread_local Chooser chooser;
    const Labels labels = held_[t].labels;
    if (exact()) return {labels};
    const double* belief = numbers_.belief(values, labels.size(), believed_);
    int32_t also_at = pruning_.also ? pruning_.also[t] : -1;
    if (also_at >= 0 && labels.size() < L_)
      also_at = static_cast<int32_t>(std::lower_bound(labels.begin(), labels.end(), also_at) - labels.begin());
    const size_t n = chooser.choose(pruning_.rule, belief, labels.size(), also_at, chosen_);
    int32_t *places = arena_.array<int32_t>(n), *own = arena_.array<int32_t>(n);
    std::copy_n(chosen_, n, places);
    for (size_t q = 0; q < n; ++q) own[q] = labels[static_cast<size_t>(places[q])];
    return {{own, n}, {places, n}};
  }

  // The passes return false where nothing is left, or where numbers left the range of the arithmetic.
  bool forward(double& log_z) {
    Kept kept;
    size_t most = pruning_.most;
    const double* sent = nullptr;
    for (size_t t = 0; t < T_; ++t) {
      Held& held = held_[t];
      held.labels = numbers_.labels(t);
      const size_t n = held.labels.size();
      if (n == 0) return false;
      held.psi = arena_.array<double>(n);
      held.alpha = array(n);
      meter_.count(n * (t ? kept.labels.size() : 1));
      held.lowered = numbers_.nodes(t, held.labels, held.psi);
      if (held.lowered == kForbidden) return false;
      if (t) numbers_.send(t - 1, kForward, {kept.labels, sent}, held.labels, held.alpha);
      const double sum = numbers_.product(t ? held.alpha : ones_, held.psi, n, held.alpha);
      if (numbers_.is_none(sum) || numbers_.trouble()) return false;
      log_z += numbers_.log(sum) + held.lowered + (t ? numbers_.shift(t - 1) : 0);
      if (!numbers_.reached(t, {held.psi, held.alpha, sum, held.lowered})) return false;
      if (t + 1 == T_) break;
      kept = choose(t, held.alpha);
      sums_.wide = kept.labels.size() > most;
      if (sums_.wide) return false;
      most -= kept.labels.size();
      sent = kept.of(held.alpha, arena_);
    }
    return true;
  }

  bool backward() {
    sums_.columns.resize(T_);
    for (size_t t = T_; t-- > 0;) {
      Sums::Column& column = sums_.columns[t];
      const Labels labels = held_[t].labels;
      double* back = array(labels.size());
      std::copy(ones_, ones_ + labels.size(), back);
      if (t + 1 < T_) {
        meter_.count(labels.size() * sums_.columns[t + 1].labels.size());
        numbers_.send(t, kBackward, {sums_.columns[t + 1].labels, sums_.columns[t + 1].to}, labels, back);
      }
      if (numbers_.is_none(numbers_.product(held_[t].alpha, back, labels.size(), message_))) return false;
      const Kept own = held_[t].kept = choose(t, message_);
      column.labels = own.labels;
      column.shift = t + 1 < T_ ? numbers_.shift(t) : 0;
      if constexpr (requires { numbers_.factors(t); }) column.factors = numbers_.factors(t);
      beta_[t] = own.of(back, arena_);
      const size_t n = column.labels.size();
      double* to = arena_.array<double>(n);
      const double* factor = own.of(held_[t].psi, arena_);
      const double* believed_here = own.of(message_, arena_);
      // What cannot be reached is left out, lest it outweighs the rest.
      for (size_t q = 0; q < n; ++q)
        to[q] = believed_here[q] == (Arithmetic::kLogs ? kForbidden : 0) ? believed_here[q] : beta_[t][q];
      if (numbers_.is_none(numbers_.product(to, factor, n, to))) return false;
      column.to = to;
    }
    return true;
  }

  // Fills `from` and the probabilities of nodes: over pruned columns after one more pass forward.
  bool finish(double& log_z) {
    const double* sent = nullptr;
    for (size_t t = 0; t < T_; ++t) {
      Sums::Column& column = sums_.columns[t];
      const size_t n = column.labels.size();
      meter_.count(n * n);
      double* from = arena_.array<double>(n);
      if (exact()) {
        std::copy_n(held_[t].alpha, n, from);
      } else {
        double* const before = array(n);
        std::copy_n(ones_, n, before);
        if (t) numbers_.send(t - 1, kForward, {sums_.columns[t - 1].labels, sent}, column.labels, before);
        const double sum = numbers_.product(before, held_[t].kept.of(held_[t].psi, arena_), n, from);
        if (numbers_.is_none(sum)) return false;
        log_z += numbers_.log(sum) + held_[t].lowered + (t ? numbers_.shift(t - 1) : 0);
        double* own = arena_.array<double>(n);
        std::copy_n(from, n, own);
        sent = own;
      }
      double* node = arena_.array<double>(n);
      const double sum = numbers_.product(from, beta_[t], n, node);
      if (numbers_.is_none(sum)) return false;
      numbers_.divide(from, n, sum);
      if (Arithmetic::kLogs && !Arithmetic::kMaxima) {
        kernels().exp_d(node, 0, n, node);
        divide_factors(node, n, kernels().sum_d(node, n));  // Large scores are rounded by more than these digits.
      }
      column.node = node;
      column.from = from;
    }
    return true;
  }

  const size_t T_, L_;
  Arithmetic& numbers_;
  const SumPruning pruning_;
  Arena& arena_;
  const size_t stride_;
  Held* const held_;  // [t]
  double *const message_, *const believed_, *const ones_;
  int32_t* const chosen_;
  const double** const beta_;  // [t], beside the kept labels
  Sums sums_;
  Meter meter_;
};

}  // namespace

double Sums::edge(size_t t, size_t p, size_t q) const {
  const Column &left = columns[t], &right = columns[t + 1];
  if (right.factors) return left.from[p] * right.factors[p * right.labels.size() + q] * right.to[q];
  const double score = lattice->edge(t, static_cast<size_t>(left.labels[p]), static_cast<size_t>(right.labels[q]));
  return left.from[p] * portable_exp(score - left.shift) * right.to[q];
}

void Sums::step(size_t t, std::vector<double>& out) const {
  if (ngrams) return ngrams->pairs(t + 1, out);
  const Column &left = columns[t], &right = columns[t + 1];
  const size_t n = right.labels.size();
  out.resize(times(left.labels.size(), n));
  for (size_t p = 0; p < left.labels.size(); ++p) {
    for (size_t q = 0; q < n; ++q) {
      const size_t i = static_cast<size_t>(left.labels[p]), j = static_cast<size_t>(right.labels[q]);
      out[p * n + q] = logs ? left.from[p] + lattice->edge(t, i, j) + right.to[q] : edge(t, p, q);
    }
  }
  if (logs) kernels().exp_d(out.data(), kernels().max_d(out.data(), out.size()), out.size(), out.data());
  // 1, but for rounding, which is large where scores are.
  divide_factors(out.data(), out.size(), kernels().sum_d(out.data(), out.size()));
}

void need_no_labelling_rules(const EdgeScores& edges) {
  if (const LabellingRules* const rules = edges.labelling_rules())
    throw std::invalid_argument(
        "probabilities, samples and other sums over labellings cannot apply rules about whole "
        "labellings (" +
        rules->names() + "); leave out these rules, or decode without probabilities");
}

Sums forward_backward(const Lattice& lattice, const SumPruning& pruning, Arena& arena, NgramSums& ngrams) {
  // Edge kind: the recursion is over contexts of n-grams, or over labels.
  if (!lattice.edges.ngrams()) return sums_without_ngrams(lattice, pruning, arena);
  sum_ngrams(lattice, pruning, arena, ngrams);
  return ngrams.sums(&lattice);
}

Sums forward_backward(const Lattice& lattice, const SumPruning& pruning, Arena& arena) {
  lattice.edges.need_no_ngrams(
      "these sums ignore label n-grams, but the edges have some; use shorter sentences, or a model of order 1");
  return sums_without_ngrams(lattice, pruning, arena);
}

Sums sums_without_ngrams(const Lattice& lattice, const SumPruning& pruning, Arena& arena) {
  need_no_labelling_rules(lattice.edges);
  Scaled scaled(lattice, arena);
  Sums sums = Passes(lattice.T, lattice.L, scaled, pruning, arena).run();
  if (!sums.wide && (scaled.trouble() || sums.log_z == kForbidden)) {
    LogDomain<false> logs(lattice, arena);
    sums = Passes(lattice.T, lattice.L, logs, pruning, arena).run();
  }
  sums.lattice = &lattice;
  return sums;
}

Sums max_marginals(const Lattice& lattice, Arena& arena, NgramSums& ngrams) {
  // Edge kind: as above.
  if (lattice.edges.ngrams()) {
    maximise_ngrams(lattice, arena, ngrams);
    return ngrams.sums(&lattice);
  }
  LogDomain<true> maxima(lattice, arena);
  Sums sums = Passes(lattice.T, lattice.L, maxima, {}, arena).run();
  sums.lattice = &lattice;
  return sums;
}

Sums forward_backward(ColumnSource& source, size_t T, size_t L, Arena& arena) {
  ChosenColumns chosen(source, T, arena);
  return Passes(T, L, chosen, {}, arena).run();
}

}  // namespace tagwright
