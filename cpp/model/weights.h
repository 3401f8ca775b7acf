// The weights of a model, in the one layout that files, scorers and what training returns have in common.
//
//   rows         [feature]                one weight for each of some labels, or parts of labels
//   edges        (previous, current)      one weight for each of some pairs of labels
//   corrections  (set, previous, current) the same, added where a token has the edge feature that names the set
//   ngrams       (3 or 4 labels)          one weight for each of some label n-grams
//
// As one vector of numbers, those of rows come first, then those of edges, of corrections and of ngrams. Keys rise:
// labels within a row, pairs among the edges, pairs within a set, n-grams.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/arrays.h"
#include "base/need.h"
#include "features/index.h"
#include "lattice/edge_scores.h"
#include "model/parts.h"
#include "model/rows.h"

namespace tagwright {

inline constexpr size_t kMostLabels = 65'535;  // and parts of labels
inline constexpr uint16_t kNoLabel = 65'535;

// Which weights there are.
template <template <class> class Array>
struct WeightKeys {
  Array<uint64_t> row_end;  // [feature]
  Array<uint16_t> row_label;
  Array<uint16_t> previous, current;  // [edge]
  Array<int32_t> set;                 // [correction]
  Array<uint16_t> set_previous, set_current;
  Array<uint16_t> runs = {};  // [ngram * NgramList::kLongest + n]; kNoLabel follows a trigram

  size_t nodes() const { return row_label.size(); }
  size_t edges() const { return previous.size(); }
  size_t corrections() const { return set.size(); }
  size_t ngrams() const { return runs.size() / NgramList::kLongest; }
  size_t size() const { return nodes() + edges() + corrections() + ngrams(); }
  WeightKeys<Borrowed> view() const {
    return {row_end, row_label, previous, current, set, set_previous, set_current, runs};
  }
};

// Throws std::invalid_argument unless the keys are in order and in range, `keys` being labels and parts of labels.
void check_keys(const WeightKeys<Borrowed>& a, size_t L, size_t keys);

// Labels as lattices have them: -1 for kNoLabel.
std::vector<int32_t> wide_labels(Borrowed<uint16_t> labels);

// Weights beside the keys of edges, corrections and n-grams.
struct EdgeWeights {
  Scores edges, corrections;
  std::span<const double> ngrams = {};
  bool keep_all = false;  // n-grams of weight 0, too
};
// sets: of corrections. form: chosen where there is none. extras: what else the edges have.
EdgeScores edges_of(size_t L, const WeightKeys<Borrowed>& keys, size_t sets, const EdgeWeights& weights,
                    std::optional<EdgeForm> form, EdgeExtras extras = {});

// Calls visit(name, array) for the arrays of keys, by the names they have in files.
template <class Keys, class Visit>
void for_each_key_array(Keys& a, Visit&& visit) {
  visit("rows.end", a.row_end);
  visit("rows.label", a.row_label);
  visit("edges.previous", a.previous);
  visit("edges.current", a.current);
  visit("corrections.set", a.set);
  visit("corrections.previous", a.set_previous);
  visit("corrections.current", a.set_current);
  visit("ngrams.labels", a.runs);
}

// All arrays of a model's file that hold weights or say what they are for.
template <template <class> class Array>
struct WeightArrays : WeightKeys<Array> {
  Array<float> row_weight, edge_score, correction_score;
  NameArrays<Array> names, edge_names;  // edge_names: of the sets, in the order of their numbers
  Array<uint16_t> parts;                // [k * L + y]: the k-th part of label y
  Array<float> ngram_score = {};
};

// The arrays that every file has, those of token-dependent edges, of parts of labels, and of ngrams.
enum ArrayGroup : uint8_t { kAlways, kSets, kParts, kNgrams };
inline constexpr size_t kArrayGroups = 4;

// Calls visit(group, name, array) for all arrays, by the names they have in files.
template <class Arrays, class Visit>
void for_each_array(Arrays& a, Visit&& visit) {
  visit(kAlways, "names.slots", a.names.slots);
  visit(kAlways, "names.ends", a.names.ends);
  visit(kAlways, "names.bytes", a.names.bytes);
  visit(kAlways, "rows.end", a.row_end);
  visit(kAlways, "rows.label", a.row_label);
  visit(kAlways, "rows.weight", a.row_weight);
  visit(kAlways, "edges.previous", a.previous);
  visit(kAlways, "edges.current", a.current);
  visit(kAlways, "edges.score", a.edge_score);
  visit(kSets, "edge_names.slots", a.edge_names.slots);
  visit(kSets, "edge_names.ends", a.edge_names.ends);
  visit(kSets, "edge_names.bytes", a.edge_names.bytes);
  visit(kSets, "corrections.set", a.set);
  visit(kSets, "corrections.previous", a.set_previous);
  visit(kSets, "corrections.current", a.set_current);
  visit(kSets, "corrections.score", a.correction_score);
  visit(kParts, "parts", a.parts);
  visit(kNgrams, "ngrams.labels", a.runs);
  visit(kNgrams, "ngrams.score", a.ngram_score);
}

// The place of a pair of labels among those from begin to end, or kNoPlace.
size_t find_pair(Borrowed<uint16_t> previous, Borrowed<uint16_t> current, size_t begin, size_t end, int32_t i,
                 int32_t j);

class Weights {
 public:
  Weights() = default;
  // Numbers that lie elsewhere; `owner` holds them. first_only: of an HMM: a token's scores are the row of the first of
  // its features that is there, and labels not in it are forbidden. Otherwise they are the sum of all its rows.
  Weights(size_t L, const WeightArrays<Borrowed>& arrays, bool first_only, std::shared_ptr<const void> owner);

  // Throws std::invalid_argument unless the arrays fit together: no look-up then leaves them.
  void check() const;

  size_t L() const { return parts_.L; }
  bool first_only() const { return first_only_; }
  const Parts& parts() const { return parts_; }
  const WeightArrays<Borrowed>& arrays() const { return arrays_; }
  IndexView names() const { return {arrays_.names}; }
  IndexView edge_names() const { return {arrays_.edge_names}; }
  PackedRows<float> rows() const { return {arrays_.row_end, arrays_.row_label, arrays_.row_weight}; }

  // What a model needs: without weights of 0, and of rows without those smaller than `least`. Features that are left
  // with none go, but for those that begin with `word` (where it is not empty), so that a model knows the words of its
  // training data.
  WeightArrays<Owned> dropped(double least, std::string_view word) const;

  // Where the labels and parts of these weights are found under other names. label: [label] its new number; parts: of
  // the labels under their new numbers. Longer labels that are new may have more parts; the old labels' come first.
  std::vector<uint16_t> renamed_keys(std::span<const int32_t> label, const Parts& parts) const;

  // Calls row(feature, key, weight), edge(i, j, score) and correction(set, i, j, score) for all, with renamed keys.
  template <class Row, class Edge, class Correction>
  void each(std::span<const uint16_t> renamed, Row&& row, Edge&& edge, Correction&& correction) const {
    const WeightArrays<Borrowed>& a = arrays_;
    for (size_t f = 0, q = 0; f < a.row_end.size(); ++f)
      for (; q < a.row_end[f]; ++q) row(f, renamed[a.row_label[q]], a.row_weight[q]);
    for (size_t q = 0; q < a.edges(); ++q) edge(renamed[a.previous[q]], renamed[a.current[q]], a.edge_score[q]);
    for (size_t q = 0; q < a.corrections(); ++q)
      correction(static_cast<size_t>(a.set[q]), renamed[a.set_previous[q]], renamed[a.set_current[q]],
                 a.correction_score[q]);
  }
  // Calls visit(run, score) for all ngrams, with renamed labels. run: [NgramList::kLongest], -1 for kNoLabel.
  template <class Visit>
  void for_each_ngram(std::span<const uint16_t> renamed, Visit&& visit) const {
    std::array<int32_t, NgramList::kLongest> run;
    for (size_t q = 0; q < arrays_.ngrams(); ++q) {
      for (size_t n = 0; n < run.size(); ++n) {
        const uint16_t label = arrays_.runs[q * run.size() + n];
        run[n] = label == kNoLabel ? -1 : renamed[label];
      }
      visit(run, arrays_.ngram_score[q]);
    }
  }

 private:
  WeightArrays<Borrowed> arrays_;
  Parts parts_;
  bool first_only_ = false;
  std::shared_ptr<const void> owner_;
};

// Reads the weights of L labels from a source of arrays, which has the methods has(name), read(name, array) and
// owner(). Throws std::invalid_argument if an array is missing or the arrays do not fit together.
template <class Source>
Weights read_weights(size_t L, Source&& source, bool first_only) {
  WeightArrays<Borrowed> a;
  bool has[kArrayGroups] = {true};
  for_each_array(a, [&](ArrayGroup group, const char* name, auto&) { has[group] |= source.has(name); });
  for_each_array(a, [&](ArrayGroup group, const char* name, auto& array) {
    if (has[group]) source.read(name, array);
  });
  need(!has[kSets] || !a.set.empty(), "the sets of corrections are not those that have names");
  Weights made(L, a, first_only, source.owner());
  made.check();
  return made;
}

}  // namespace tagwright
