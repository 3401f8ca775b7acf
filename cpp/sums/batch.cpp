#include "sums/batch.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <type_traits>

#include "base/need.h"
#include "base/thread_pool.h"
#include "sums/batch_lanes.h"
#include "sums/forward_backward.h"

namespace tagwright {
namespace {

// Starting a thread takes as long as this many multiplications.
constexpr double kWorthAThread = 1e6;

void check(const Batch& batch, size_t L) {
  need(batch.lengths.size() == batch.B, "lengths: one per sentence");
  for (size_t b = 0; b < batch.B; ++b) {
    need(batch.lengths[b] >= 0 && batch.length(b) <= batch.T, "lengths must be between 0 and T");
    if (!batch.tags) continue;
    for (size_t t = 0; t < batch.length(b); ++t) {
      const int64_t tag = batch.tags[b * batch.T + t];
      if (tag < 0 || static_cast<size_t>(tag) >= L)
        throw std::invalid_argument("sentence " + std::to_string(b) + ": token " + std::to_string(t) + " has label " +
                                    std::to_string(tag) + ", but labels go from 0 to " + std::to_string(L - 1));
    }
  }
}

size_t threads_for(const BatchEdges& edges, const Batch& batch, size_t threads) {
  double tokens = 0;
  for (size_t b = 0; b < batch.B; ++b) tokens += static_cast<double>(batch.length(b));
  const double L = static_cast<double>(edges.L);
  const double per_token = 20 * L + 3 * (edges.matrix ? L * L : static_cast<double>(edges.pairs->size()));
  return std::clamp<size_t>(static_cast<size_t>(tokens * per_token / kWorthAThread), 1, threads);
}

template <class Out>
void add(Out* out, size_t at, double value) {
  out[at] = static_cast<Out>(out[at] + value);
}

// What does not depend on the precision of the sums.
class BatchWork {
 public:
  BatchWork(const BatchEdges& edges, const Batch& batch) : edges_(edges), batch_(batch), L_(edges.L) {}

  void clear_padding() const {
    for (size_t b = 0; b < batch_.B; ++b) {
      const size_t from = (b * batch_.T + batch_.length(b)) * L_, to = (b + 1) * batch_.T * L_;
      if (batch_.nodes_f) std::fill(batch_.nodes_f + from, batch_.nodes_f + to, 0.0F);
      if (batch_.nodes_d) std::fill(batch_.nodes_d + from, batch_.nodes_d + to, 0.0);
      if (batch_.length(b) == 0) batch_.log_z[b] = 0;
    }
  }

  // Throws for the first node score that is none.
  void check_nodes() const {
    for (size_t b = 0; b < batch_.B; ++b) {
      const size_t n = batch_.length(b) * L_;
      const Scores nodes = batch_.nodes.from(b * batch_.T * L_);
      const size_t bad = check_scores(nodes, n).bad;
      if (bad < n)
        throw std::invalid_argument("sentence " + std::to_string(b) + ": the node score of token " +
                                    std::to_string(bad / L_) + ", label " + std::to_string(bad % L_) +
                                    why_no_score(nodes[bad]));
    }
  }

  // The sums of one sentence, by themselves: of those that a rule keeps, or that lanes cannot hold.
  // count: [as edge counts], added to; or empty.
  void sum_one(const Edges& whole, size_t b, std::span<double> count) const {
    Arena& arena = thread_arena();
    arena.reset();
    const Trimmed trimmed(arena, size_t{64} << 20);
    const size_t T = batch_.length(b), first = b * batch_.T;
    Scores nodes = batch_.nodes.from(first * L_);
    if (batch_.allowed) {
      double* const own = arena.array<double>(times(T, L_));
      for (size_t q = 0; q < T * L_; ++q) own[q] = batch_.allowed[first * L_ + q] ? nodes[q] : kForbidden;
      nodes = {nullptr, own};
    }
    std::vector<int32_t> also;
    if (batch_.tags)
      for (size_t t = 0; t < T; ++t) also.push_back(static_cast<int32_t>(batch_.tags[first + t]));
    const Lattice lattice(whole, T, nodes, nullptr);
    const Sums sums = forward_backward(lattice, {batch_.keep, also.empty() ? nullptr : also.data()}, arena);
    need(sums.log_z != kForbidden, batch_.keep.all() ? "no path: -inf scores forbid every labelling"
                                                     : "no path among the labels that keep chose; keep more");
    batch_.log_z[b] = sums.log_z;
    std::vector<double> step;
    for (size_t t = 0; t < T; ++t) {
      const Sums::Column& column = sums.columns[t];
      const auto fill = [&](auto* out) {
        out += (first + t) * L_;
        std::fill(out, out + L_, 0);
        for (size_t q = 0; q < column.labels.size(); ++q)
          add(out, static_cast<size_t>(column.labels[q]), batch_.weight(b) * column.node[q]);
      };
      if (batch_.nodes_f) fill(batch_.nodes_f);
      if (batch_.nodes_d) fill(batch_.nodes_d);
      if (count.empty() || t + 1 == T) continue;
      const Sums::Column& next = sums.columns[t + 1];
      sums.step(t, step);
      for (size_t p = 0; p < column.labels.size(); ++p)
        for (size_t q = 0; q < next.labels.size(); ++q)
          count_edge(static_cast<size_t>(column.labels[p]), static_cast<size_t>(next.labels[q]),
                     batch_.weight(b) * step[p * next.labels.size() + q], count.data());
    }
  }

  // Adds to the count of an edge, if it is counted.
  template <class Out>
  void count_edge(size_t i, size_t j, double value, Out* count) const {
    if (!batch_.counted) return add(count, i * L_ + j, value);
    const size_t entry = batch_.counted->find(i, j);
    if (entry != PairShape::kNoPlace) add(count, batch_.counted->side(0).given[entry], value);
  }

  // Fills the score of the tags, and takes what they count from the derivatives.
  template <class E>
  void take_tags(size_t b, std::span<E> count) const {
    const int64_t* const tags = batch_.tags + b * batch_.T;
    const size_t T = batch_.length(b);
    batch_.scores[b] = 0;
    if (T == 0) return;
    double score = edges_.start_of(static_cast<size_t>(tags[0]));
    for (size_t t = 0; t < T; ++t) {
      const auto j = static_cast<size_t>(tags[t]);
      const size_t at = (b * batch_.T + t) * L_ + j;
      if (t) {
        const auto i = static_cast<size_t>(tags[t - 1]);
        score += edges_.edge(i, j);
        if (!count.empty()) count_edge(i, j, -batch_.weight(b), count.data());
      }
      score += batch_.nodes[at];
      if (batch_.nodes_f) add(batch_.nodes_f, at, -batch_.weight(b));
      if (batch_.nodes_d) add(batch_.nodes_d, at, -batch_.weight(b));
    }
    batch_.scores[b] = score + edges_.stop_of(static_cast<size_t>(tags[T - 1]));
  }

  // The derivatives of start and stop scores are sums of those of the first and last nodes.
  void sum_ends() const {
    const auto sum = [&](double* out, auto&& token) {
      if (!out) return;
      std::fill(out, out + L_, 0.0);
      for (size_t b = 0; b < batch_.B; ++b) {
        if (batch_.length(b) == 0) continue;
        const size_t at = (b * batch_.T + token(b)) * L_;
        for (size_t y = 0; y < L_; ++y)
          out[y] += batch_.nodes_f ? static_cast<double>(batch_.nodes_f[at + y]) : batch_.nodes_d[at + y];
      }
    };
    sum(batch_.start, [](size_t) { return size_t{0}; });
    sum(batch_.stop, [&](size_t b) { return batch_.length(b) - 1; });
  }

 private:
  const BatchEdges& edges_;
  const Batch& batch_;
  const size_t L_;
};

// Sums sentences in lanes of precision E; returns those that lanes cannot hold. count: in the order of entries, raw.
template <class E>
std::vector<size_t> sum_lanes(const BatchFactors<E>& factors, const BatchEdges& edges, const Batch& batch,
                              std::span<const size_t> sentences, std::span<E> count, size_t threads) {
  constexpr size_t kSmall = size_t{1} << 20;  // of memory for several units
  // Enough units for two threads, of like size; whatever the number of threads, for the same sums.
  const size_t least = sentences.size() > kMostLanes<E> / 2 ? 2 : 1;
  const size_t units_needed = std::max(least, (sentences.size() + kMostLanes<E> - 1) / kMostLanes<E>);
  const size_t most = (sentences.size() + units_needed - 1) / units_needed;
  std::vector<std::unique_ptr<LaneUnit<E>>> units;
  for (size_t at = 0; at < sentences.size(); at += most)
    units.push_back(std::make_unique<LaneUnit<E>>(factors, edges, batch,
                                                  sentences.subspan(at, std::min(most, sentences.size() - at))));
  PairEntries counted;
  if (batch.counted) counted = {batch.counted->side(0).begin, batch.counted->side(0).index};
  // Units lie in memory until their edges are counted: a few at a time. The sums do not depend on how many.
  std::vector<size_t> trouble;
  Arena& arena = thread_arena();
  const Trimmed trimmed(arena, size_t{16} << 20);
  for (size_t from = 0, to = 0; from < units.size(); from = to) {
    arena.reset();
    std::vector<E*> memory;
    size_t bytes = 0;
    for (to = from; to < units.size(); ++to) {
      const size_t more = units[to]->room() * sizeof(E);
      if (to - from >= threads && bytes + more > kSmall) break;
      bytes += more;
      memory.push_back(arena.array<E>(units[to]->room()));
    }
    in_parallel(to - from, threads,
                [&](size_t u) { units[from + u]->run(memory[u], batch.wants_nodes() || !count.empty()); });
    if (!count.empty()) {
      const size_t rows = std::max(kCountDown, (edges.L / (4 * threads) + kCountDown) / kCountDown * kCountDown);
      const size_t parts = threads == 1 ? 1 : (edges.L + rows - 1) / rows;
      in_parallel(parts, threads, [&](size_t part) {
        const size_t first = part * rows, last = parts == 1 ? edges.L : std::min(edges.L, first + rows);
        for (size_t u = from; u < to; ++u)
          units[u]->count(first, last, batch.counted ? &counted : nullptr, count.data());
      });
    }
    for (size_t u = from; u < to; ++u)
      for (const size_t b : units[u]->in_trouble()) trouble.push_back(b);
    for (size_t u = from; u < to; ++u) units[u].reset();
  }
  std::sort(trouble.begin(), trouble.end());
  return trouble;
}

// Multiplies what lanes counted by the factors of the edges, in the order of the given pairs.
template <class C, class E>
void finish_counts(const BatchFactors<C>& factors, const BatchEdges& edges, const Batch& batch, std::span<C> raw,
                   std::span<E> out) {
  const double weight = batch.alike() && batch.B ? batch.weight(0) : 1.0;
  std::vector<double> row(edges.L);
  for (size_t i = 0; i < edges.L; ++i) {
    if (edges.matrix) {
      for (size_t j = 0; j < edges.L; ++j) row[j] = edges.matrix[i * edges.L + j];
      kernels().exp_d(row.data(), factors.shift, edges.L, row.data());
    } else {
      const PairShape::Side& side = edges.pairs->side(0);
      if (batch.counted != edges.pairs) std::fill(row.begin(), row.end(), factors.rest);
      for (size_t q = side.begin[i]; q < side.begin[i + 1]; ++q)
        row[static_cast<size_t>(side.index[q])] = static_cast<double>(factors.factor[1][q]);
    }
    const auto counted = [&](size_t q, size_t j) {
      return static_cast<E>(static_cast<double>(raw[q]) * row[j] * weight);
    };
    if (!batch.counted) {
      for (size_t j = 0; j < edges.L; ++j) out[i * edges.L + j] = counted(i * edges.L + j, j);
    } else {
      const PairShape::Side& side = batch.counted->side(0);
      for (size_t q = side.begin[i]; q < side.begin[i + 1]; ++q)
        out[side.given[q]] = counted(q, static_cast<size_t>(side.index[q]));
    }
  }
}

// Sums in lanes of precision C, where the factors fit it; returns the sentences that are left.
template <class C, class E>
std::vector<size_t> in_lanes(const BatchFactors<C>& factors, const BatchEdges& edges, const Batch& batch,
                             std::span<const size_t> sentences, std::span<E> counts, size_t threads) {
  std::vector<C> own;
  std::span<C> raw;
  if constexpr (std::is_same_v<C, E>)
    if (!batch.counted) raw = counts;
  if (raw.empty()) {
    own.resize(counts.size());  // Those of pairs lie in the order of entries first.
    raw = own;
  }
  std::vector<size_t> left = sum_lanes<C>(factors, edges, batch, sentences, raw, threads);
  if (!counts.empty()) finish_counts<C, E>(factors, edges, batch, raw, counts);
  return left;
}

}  // namespace

template <class E>
void sum_batch(const BatchEdges& edges, const Batch& batch, std::span<E> edge_counts, size_t threads) {
  check(batch, edges.L);
  edges.check();
  const BatchWork work(edges, batch);
  work.clear_padding();
  threads = threads_for(edges, batch, threads);

  std::vector<size_t> order;
  for (size_t b = 0; b < batch.B; ++b)
    if (batch.length(b)) order.push_back(b);
  std::vector<size_t> alone = order;
  std::fill(edge_counts.begin(), edge_counts.end(), E{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return batch.length(a) > batch.length(b); });
  const auto try_lanes = [&]<class C>(const BatchFactors<C>& factors) {
    // Where edges forbid, single precision would lose what may be the only way to continue.
    if (!factors.fits || (sizeof(C) == 4 && factors.forbids)) return false;
    alone = in_lanes<C, E>(factors, edges, batch, order, edge_counts, threads);
    return true;
  };
  try {
    if (batch.keep.all() && (sizeof(E) == 8 || !try_lanes(BatchFactors<float>(edges))))
      try_lanes(BatchFactors<double>(edges));
  } catch (const std::invalid_argument&) {
    work.check_nodes();
    throw;
  }

  if (!alone.empty()) {
    const Edges whole = edges.whole();
    std::vector<std::vector<double>> counts(threads);
    for (size_t from = 0; from < alone.size(); from += threads) {
      in_parallel(std::min(threads, alone.size() - from), threads, [&](size_t n) {
        counts[n].assign(edge_counts.size(), 0.0);
        try {
          work.sum_one(whole, alone[from + n], counts[n]);
        } catch (const std::invalid_argument& error) {
          fail_in(alone[from + n], error);
        }
      });
      for (size_t n = 0; n < std::min(threads, alone.size() - from); ++n)
        for (size_t q = 0; q < edge_counts.size(); ++q) add(edge_counts.data(), q, counts[n][q]);
    }
  }
  if (batch.tags)
    for (size_t b = 0; b < batch.B; ++b) work.take_tags<E>(b, edge_counts);
  work.sum_ends();
}

template void sum_batch<float>(const BatchEdges&, const Batch&, std::span<float>, size_t);
template void sum_batch<double>(const BatchEdges&, const Batch&, std::span<double>, size_t);

}  // namespace tagwright
