// Iterative parameter mixing.
#include <cmath>

#include "base/need.h"
#include "train/perceptron.h"

namespace tagwright {
namespace {

// Of each entry: the sum of the parts' weights, and of the weights that it had for each sentence that a part has seen.
template <class Key>
using Sums = SparseRows<Key, double, double>;

template <class Key>
void add(const OldStateArrays<Borrowed>& a, double seen, Sums<Key>& sums, auto&& known) {
  const size_t n = a.row.size();
  need(a.key.size() == n && a.weight.size() == n && a.sum.size() == n, "state: arrays of unequal length");
  for (size_t q = 0; q < n; ++q) {
    need(a.row[q] < sums.rows() && known(a.key[q]), "state: a weight for what is not there");
    need(std::isfinite(a.weight[q]) && std::isfinite(a.sum[q]), "state: a weight that is not finite");
    const size_t entry = sums.find_or_add(a.row[q], static_cast<Key>(a.key[q]));
    sums.template at<0>(entry) += a.weight[q];
    sums.template at<1>(entry) += seen * a.weight[q] - a.sum[q];
  }
}

}  // namespace

void Perceptron::mix(std::span<const std::pair<double, State<Borrowed>>> shards) {
  const size_t L = corpus_.L;
  need(!shards.empty(), "nothing to mix");
  need(runs_.empty(), "weights of ngrams are not mixed");
  double after = weights_.seen;
  for (const auto& [seen, state] : shards) {
    need(std::isfinite(seen) && seen >= 0, "state: sentences seen must be a number");
    after += seen;
  }
  const auto mixed = [&](size_t kind, const auto& rows, auto sums, auto&& known, auto&& set) {
    sums.reset(rows.rows());
    for (const auto& [seen, state] : shards) add(state[kind], seen, sums, known);
    for (size_t r = 0; r < sums.rows(); ++r) {
      for (size_t q = 0; q < sums.size(r); ++q) {
        const auto key = sums.keys(r)[q];
        const size_t entry = rows.find(r, key);
        // The sum of this weight over all sentences seen before.
        const double before =
            entry == kNoPlace ? 0 : weights_.seen * rows.template at<0>(entry) - rows.template at<1>(entry);
        const auto w = static_cast<float>(sums.template values<0>(r)[q] / static_cast<double>(shards.size()));
        set(r, key, w, after * w - (before + sums.template values<1>(r)[q]));
      }
    }
  };
  mixed(
      0, weights_.nodes, Sums<uint16_t>(), [&](uint64_t key) { return key < parts_.keys(); },
      [&](size_t f, uint16_t key, float w, double u) { set_node(f, key, w, u); });
  mixed(
      1, weights_.edges, Sums<uint16_t>(), [&](uint64_t j) { return j < L; },
      [&](size_t i, uint16_t j, float w, double u) { set_edge(i, j, w, u); });
  mixed(
      2, weights_.sets, Sums<uint64_t>(), [&](uint64_t pair) { return pair >> 32 < L && (pair & 0xffffffffU) < L; },
      [&](size_t set, uint64_t pair, float w, double u) {
        set_pair(set, static_cast<size_t>(pair >> 32), static_cast<size_t>(pair & 0xffffffffU), w, u);
      });
  weights_.seen = after;
}

}  // namespace tagwright
