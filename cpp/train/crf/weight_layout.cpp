#include "train/crf/weight_layout.h"

#include <algorithm>
#include <numeric>

#include "base/need.h"
#include "lattice/edge_scores.h"

namespace tagwright {
namespace {

constexpr size_t kLongest = NgramList::kLongest, kShortest = NgramList::kShortest;

void add_pairs(const std::vector<uint64_t>& pairs, std::vector<uint16_t>& previous, std::vector<uint16_t>& current) {
  for (const uint64_t pair : pairs) {
    previous.push_back(static_cast<uint16_t>(Corrections::previous(pair)));
    current.push_back(static_cast<uint16_t>(Corrections::current(pair)));
  }
}

// The pairs of labels that have an edge weight, in order.
std::vector<uint64_t> edge_pairs(const Corpus& corpus, const LayoutOptions& options, std::vector<uint64_t> observed) {
  std::vector<uint64_t> pairs;
  if (!options.edges) return pairs;
  const auto L = static_cast<int32_t>(corpus.L);
  if (options.all_pairs) {
    for (int32_t i = 0; i < L; ++i)
      for (int32_t j = 0; j < L; ++j) pairs.push_back(Corrections::pair(i, j));
    return pairs;
  }
  pairs = std::move(observed);
  for (const auto& [i, j] : corpus.open_pairs()) pairs.push_back(Corrections::pair(i, j));
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  return pairs;
}

// The rows of nodes: all keys, or the labels that a feature occurs with and their parts.
void add_rows_of(const Corpus& corpus, const LayoutOptions& options, WeightKeys<Owned>& made) {
  const Parts parts = Parts::of_array(options.parts, corpus.L);
  if (options.all_pairs) {
    for (size_t f = 0; f < corpus.features(); ++f) {
      for (size_t key = 0; key < parts.keys(); ++key) made.row_label.push_back(static_cast<uint16_t>(key));
      made.row_end.push_back(made.row_label.size());
    }
    return;
  }
  ObservedLabels observed = corpus.observed_labels();
  if (parts.each == 0) {
    made.row_end = std::move(observed.end);
    made.row_label = std::move(observed.label);
    return;
  }
  std::vector<uint16_t> row;
  for (size_t f = 0, begin = 0; f < observed.end.size(); begin = observed.end[f++]) {
    row.assign(observed.label.data() + begin, observed.label.data() + observed.end[f]);
    const size_t labels = row.size();
    for (size_t q = 0; q < labels; ++q)
      for (size_t k = 0; k < parts.each; ++k) row.push_back(static_cast<uint16_t>(parts.key(k, row[q])));
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
    made.row_label.insert(made.row_label.end(), row.begin(), row.end());
    made.row_end.push_back(made.row_label.size());
  }
}

WeightKeys<Owned> keys_of(const Corpus& corpus, const LayoutOptions& options) {
  WeightKeys<Owned> made;
  add_rows_of(corpus, options, made);
  ObservedPairs observed = corpus.pairs_met();
  add_pairs(edge_pairs(corpus, options, std::move(observed.edges)), made.previous, made.current);
  for (size_t set = 0; set < observed.sets.size(); ++set) {
    made.set.insert(made.set.end(), observed.sets[set].size(), static_cast<int32_t>(set));
    add_pairs(observed.sets[set], made.set_previous, made.set_current);
  }
  made.runs = NgramIndex(corpus, options.ngrams).keys();
  return made;
}

}  // namespace

WeightLayout::WeightLayout(const Corpus& corpus, const LayoutOptions& options)
    : WeightLayout(keys_of(corpus, options), corpus, options.parts) {}

WeightLayout::WeightLayout(WeightKeys<Owned> keys, const Corpus& corpus, std::vector<uint16_t> parts)
    : L_(corpus.L),
      sets_(corpus.sets()),
      held_(std::make_shared<const PartKeys>(PartKeys{std::move(keys), std::move(parts)})),
      keys_(held_->keys.view()),
      parts_(Parts::of_array(held_->parts, L_)),
      set_end_(sets_, 0),
      dense_row_(corpus.features(), -1),
      ngrams_(Corpus(), {.order = kLongest - 1}) {
  need(keys_.row_end.size() == corpus.features(), "weights: there must be one row per feature");
  parts_.check();
  check_keys(keys_, L_, parts_.keys());
  need(keys_.set.empty() || (keys_.set.front() >= 0 && static_cast<size_t>(keys_.set.back()) < sets_),
       "weights: a set of corrections that is not there");
  for (const int32_t set : keys_.set) ++set_end_[static_cast<size_t>(set)];
  std::partial_sum(set_end_.begin(), set_end_.end(), set_end_.begin());
  for (size_t f = 0; f < dense_row_.size(); ++f)
    if (row_size(f) < parts_.keys() && is_large(row_size(f), parts_.keys()))
      dense_row_[f] = static_cast<int32_t>(dense_rows_++);
  find_ngrams();
}

void WeightLayout::find_ngrams() {
  if (keys_.ngrams() == 0) return;
  std::vector<PackedNgram> packed;
  for (size_t at = 0; at < keys_.runs.size(); at += kLongest)
    packed.push_back(packed_ngram(keys_.runs.subspan(at, kLongest)));
  ngrams_.add(packed);
  trie_ = std::make_shared<const MutableNgrams>(L_, ngrams_.labels());
  ngrams_.place(*trie_);
}

size_t WeightLayout::node(size_t feature, size_t key) const {
  const std::span<const uint16_t> row = row_keys(feature);
  const auto found = std::lower_bound(row.begin(), row.end(), key);
  if (found == row.end() || *found != key) return kNoPlace;
  return row_begin(feature) + static_cast<size_t>(found - row.begin());
}

size_t WeightLayout::edge(int32_t i, int32_t j) const {
  const size_t found = find_pair(keys_.previous, keys_.current, 0, keys_.edges(), i, j);
  return found == kNoPlace ? kNoPlace : first_edge() + found;
}

size_t WeightLayout::correction(size_t set, int32_t i, int32_t j) const {
  const size_t shift = first_correction(), begin = set_begin(set) - shift, end = set_end(set) - shift;
  const size_t found = find_pair(keys_.set_previous, keys_.set_current, begin, end, i, j);
  return found == kNoPlace ? kNoPlace : shift + found;
}

void WeightLayout::warm_start(const Weights& model, std::span<const int32_t> label, std::span<double> weights) const {
  const auto put = [&](size_t at, float weight) {
    if (at != kNoPlace) weights[at] = weight;
  };
  const std::vector<uint16_t> renamed = model.renamed_keys(label, parts_);
  model.for_each_ngram(renamed, [&](std::span<const int32_t> labels, float weight) {
    const size_t length = labels.back() < 0 ? kShortest : kLongest;
    need(trie_ && length <= trie_->order() + 1, "the model has longer n-grams than this order allows");
    if (const size_t q = ngrams_.find(packed_ngram(labels)); q != kNoPlace) put(first_ngram() + q, weight);
  });
  model.each(
      renamed, [&](size_t f, uint16_t key, float weight) { put(node(f, key), weight); },
      [&](int32_t i, int32_t j, float weight) { put(edge(i, j), weight); },
      [&](size_t set, int32_t i, int32_t j, float weight) { put(correction(set, i, j), weight); });
}

}  // namespace tagwright
