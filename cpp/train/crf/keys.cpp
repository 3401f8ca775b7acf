// Which weights a CRF has, where each is found, how they come from a model and how they become one.
#include <algorithm>
#include <cmath>

#include "base/need.h"
#include "train/crf/crf.h"

namespace tagwright {
namespace {

void add_pairs(const std::vector<uint64_t>& pairs, std::vector<uint16_t>& previous, std::vector<uint16_t>& current) {
  for (const uint64_t pair : pairs) {
    previous.push_back(static_cast<uint16_t>(Corrections::previous(pair)));
    current.push_back(static_cast<uint16_t>(Corrections::current(pair)));
  }
}

}  // namespace

WeightKeys<Owned> keys_of(const Corpus& corpus, bool edges, bool all, const PairRules* rules,
                          const NgramOptions& runs) {
  const size_t L = corpus.L;
  WeightKeys<Owned> made;
  if (all) {
    for (size_t f = 0; f < corpus.features(); ++f) {
      for (size_t y = 0; y < L; ++y) made.row_label.push_back(static_cast<uint16_t>(y));
      made.row_end.push_back(made.row_label.size());
    }
  } else {
    LabelsMet met = corpus.met();
    made.row_end = std::move(met.end);
    made.row_label = std::move(met.label);
  }
  PairsMet pairs = corpus.pairs_met();
  std::vector<uint64_t> met;
  if (edges && !all) met = std::move(pairs.edges);
  if (edges && !all)
    for (const auto& [i, j] : corpus.open_pairs()) met.push_back(Corrections::pair(i, j));
  for (size_t i = 0; i < L && edges && all; ++i)
    for (size_t j = 0; j < L; ++j) met.push_back(Corrections::pair(static_cast<int32_t>(i), static_cast<int32_t>(j)));
  if (rules)
    for (const auto& [i, j] : rules->forbidden()) met.push_back(Corrections::pair(i, j));
  std::sort(met.begin(), met.end());
  met.erase(std::unique(met.begin(), met.end()), met.end());
  add_pairs(met, made.previous, made.current);
  for (size_t set = 0; set < pairs.sets.size(); ++set) {
    made.set.insert(made.set.end(), pairs.sets[set].size(), static_cast<int32_t>(set));
    add_pairs(pairs.sets[set], made.set_previous, made.set_current);
  }
  made.runs = NgramIndex(corpus, runs).keys();
  return made;
}

void check_keys(const WeightKeys<Owned>& keys, const Corpus& corpus) {
  const size_t L = corpus.L;
  need(keys.row_end.size() == corpus.features(), "there must be one row per feature");
  need(keys.previous.size() == keys.current.size(), "previous and current must have the same length");
  need(keys.set_previous.size() == keys.set.size() && keys.set_current.size() == keys.set.size(),
       "corrections: arrays of unequal length");
  uint64_t before = 0;
  for (const uint64_t end : keys.row_end) {
    need(end >= before && end <= keys.nodes(), "rows must follow each other");
    for (uint64_t q = before; q < end; ++q)
      need(keys.row_label[q] < L && (q == before || keys.row_label[q - 1] < keys.row_label[q]),
           "labels of a row must be in order");
    before = end;
  }
  need(before == keys.nodes(), "rows must follow each other");
  for (size_t q = 0; q < keys.edges(); ++q) {
    need(keys.previous[q] < L && keys.current[q] < L, "an edge between labels that are not there");
    const auto pair = [&](size_t at) { return Corrections::pair(keys.previous[at], keys.current[at]); };
    need(q == 0 || pair(q - 1) < pair(q), "edges must be in order");
  }
  for (size_t q = 0; q < keys.corrections(); ++q) {
    need(keys.set[q] >= 0 && static_cast<size_t>(keys.set[q]) < corpus.sets() && keys.set_previous[q] < L &&
             keys.set_current[q] < L && (q == 0 || keys.set[q - 1] <= keys.set[q]),
         "corrections must be in order");
  }
}

Crf Crf::closed(const Text& text, size_t L, const std::vector<std::string_view>& names, WeightKeys<Owned> keys) {
  need(L > 0 && L <= kMostLabels, "a model has between 1 and 65,535 labels");
  need(text.ready, "features must be ready-made");
  Names known;
  for (const std::string_view name : names) known.node.add(name);
  need(known.node.size() == names.size(), "names must differ");
  CorpusArrays<Owned> corpus{encode(text, Templates({}, {}, {}), {}, known, 1)};
  need(known.node.size() == names.size(), "a feature that has no row");
  Corpus made = hold(std::move(corpus), std::move(known), L);
  check_keys(keys, made);
  return {std::move(made), std::move(keys), {.closed = true}};
}

size_t Crf::node_of(size_t feature, int32_t label) const {
  const auto row = keys_.row_label.subspan(node_begin(feature), keys_.row_end[feature] - node_begin(feature));
  const auto found = std::lower_bound(row.begin(), row.end(), label);
  if (found == row.end() || *found != label) return kNoPlace;
  return node_begin(feature) + static_cast<size_t>(found - row.begin());
}

size_t Crf::edge_of(int32_t i, int32_t j) const {
  return find_pair(keys_.previous, keys_.current, 0, keys_.edges(), i, j);
}

size_t Crf::correction_of(size_t set, int32_t i, int32_t j) const {
  return find_pair(keys_.set_previous, keys_.set_current, set_begin(set), set_end_[set], i, j);
}

Weights Crf::trained(std::span<const double> weights) const {
  check({}, {weights.size()}, {});
  return corpus_.weights(keys_, std::vector<float>(weights.begin(), weights.end()), {}, held_);
}

void Crf::start_from(const Weights& old, std::span<const int32_t> label, std::span<double> weights) const {
  check({}, {weights.size()}, {});
  corpus_.check_known(old);
  const auto put = [&](size_t shift, size_t place, float w) {
    if (place != kNoPlace) weights[shift + place] = w;
  };
  const std::vector<uint16_t> renamed = old.renamed_keys(label, Parts::of_array({}, corpus_.L));
  old.for_each_ngram(renamed, [&](const auto& run, float w) {
    const size_t length = run.back() < 0 ? NgramList::kShortest : NgramList::kLongest;
    need(runs_ && length <= runs_->order() + 1, "the model has longer ngrams than this order allows");
    const LabelNgrams::Node node = runs_->find(std::span(run).first(length));
    const int32_t q = node == LabelNgrams::kNoNode ? -1 : run_of_node_[static_cast<size_t>(node)];
    if (q >= 0) put(keys_.size() - keys_.ngrams(), static_cast<size_t>(q), w);
  });
  old.each(
      renamed, [&](size_t f, int32_t y, float w) { put(0, node_of(f, y), w); },
      [&](int32_t i, int32_t j, float w) { put(keys_.nodes(), edge_of(i, j), w); },
      [&](size_t set, int32_t i, int32_t j, float w) {
        put(keys_.nodes() + keys_.edges(), correction_of(set, i, j), w);
      });
}

void Crf::check(std::span<const int32_t> sentences, std::initializer_list<size_t> sizes,
                std::span<const double> weights) const {
  for (const int32_t s : sentences) need(s >= 0 && static_cast<size_t>(s) < corpus_.sentences(), "no such sentence");
  for (const size_t size : sizes) need(size == keys_.size(), "there must be one number per weight");
  for (const double w : weights)
    need(std::isfinite(w) || (w == kForbidden && options_.closed), "a weight that is not finite");
}

void Crf::need_labels() const {
  need(!corpus_.labels.empty() || corpus_.node.end.empty(), "the right labels are not known");
}

}  // namespace tagwright
