// Weights that grow and are averaged over all that training has seen, as a perceptron's are.
//
// Averaging is lazy: beside each weight w stands u, the sum of its changes times the number of sentences seen before
// them, and the average over n sentences is w - u / n. So an update costs what it touches.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/sparse_rows.h"
#include "train/ngram_index.h"

namespace tagwright {

// The entries of one kind of weights as a checkpoint holds them.
template <template <class> class Array>
struct OldStateArrays {
  Array<uint32_t> row;
  Array<uint64_t> key;
  Array<float> weight;
  Array<double> sum;
};
// Of nodes, edges, sets and ngrams; the last are not there where nobody asked for some.
template <template <class> class Array>
using State = std::array<OldStateArrays<Array>, 4>;
inline constexpr std::array<const char*, 4> kOldStateKinds = {"nodes", "edges", "sets", "ngrams"};

// Calls take(name, array) for the arrays of one kind.
template <class Arrays, class Take>
void for_each_state_array(Arrays& a, Take&& take) {
  take("row", a.row);
  take("key", a.key);
  take("weight", a.weight);
  take("sum", a.sum);
}

struct AveragedWeights {
  // Values: w; u.
  using Rows = SparseRows<uint16_t, float, double>;
  using PairRows = SparseRows<uint64_t, float, double>;

  Rows nodes;     // [feature]: label or part
  Rows edges;     // [previous]: current
  PairRows sets;  // [set]: pair of labels
  double seen = 0;
  // [run]
  std::vector<float> run_weight;
  std::vector<double> run_sum;

  void change_run(size_t q, float by) {
    run_weight[q] += by;
    run_sum[q] += seen * static_cast<double>(by);
  }

  // The entry, its w and u changed; kNoPlace where there is none and none may be made.
  template <class AnyRows, class Key>
  size_t change(AnyRows& rows, size_t row, Key key, double by, bool make) {
    const size_t entry = make ? rows.find_or_add(row, key) : rows.find(row, key);
    if (entry == AnyRows::kNoPlace) return entry;
    rows.template at<0>(entry) += static_cast<float>(by);
    rows.template at<1>(entry) += seen * by;
    return entry;
  }
  // The same, set; an entry that is not there is made.
  template <class AnyRows, class Key>
  void set(AnyRows& rows, size_t row, Key key, float w, double u) {
    const size_t entry = rows.find_or_add(row, key);
    rows.template at<0>(entry) = w;
    rows.template at<1>(entry) = u;
  }

  Weights average(const Corpus& corpus, const NgramIndex& runs, std::span<const uint16_t> parts) const;
  State<Owned> state(const NgramIndex& runs) const;
};

}  // namespace tagwright
