// Which pairs of features and labels a corpus has, and how often.
#include <algorithm>

#include "train/crf/crf.h"

namespace tagwright {
namespace {

// Sorts and leaves out what is there twice.
template <class V>
void make_distinct(std::vector<V>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

}  // namespace

CrfPairs pairs_of(const Encoded& corpus, std::span<const int32_t> labels, size_t L, size_t features, size_t sets,
                  bool edges, bool all) {
  CrfPairs made;
  if (all) {
    for (size_t f = 0; f < features; ++f) {
      for (size_t y = 0; y < L; ++y) made.node_label.push_back(static_cast<uint16_t>(y));
      made.node_end.push_back(made.node_label.size());
    }
  } else {
    LabelsMet met = labels_met(corpus.node, labels, features);
    made.node_end = std::move(met.end);
    made.node_label = std::move(met.label);
  }
  std::vector<uint64_t> met;
  std::vector<std::vector<uint64_t>> set_met(sets);
  for (size_t s = 0; s < corpus.sentences(); ++s) {
    for (size_t token = corpus.first_token(s) + 1; token < corpus.sentence_end[s]; ++token) {
      const uint64_t pair = Corrections::pair(labels[token - 1], labels[token]);
      met.push_back(pair);
      for (size_t at = corpus.edge.begin(token); at < corpus.edge.end[token]; ++at)
        set_met[static_cast<size_t>(corpus.edge.id[at])].push_back(pair);
    }
  }
  if (all) {
    met.clear();
    for (size_t i = 0; i < L; ++i)
      for (size_t j = 0; j < L; ++j) met.push_back(Corrections::pair(static_cast<int32_t>(i), static_cast<int32_t>(j)));
  }
  make_distinct(met);
  if (!edges) met.clear();
  for (const uint64_t pair : met) {
    made.previous.push_back(Corrections::previous(pair));
    made.current.push_back(Corrections::current(pair));
  }
  for (std::vector<uint64_t>& set : set_met) {
    make_distinct(set);
    made.set_pair.insert(made.set_pair.end(), set.begin(), set.end());
    made.set_end.push_back(made.set_pair.size());
  }
  return made;
}

void Crf::observe(std::span<const int32_t> sentences, double* counts) const {
  std::fill(counts, counts + pairs_.size(), 0.0);
  for (const int32_t s : sentences)
    each_observed(static_cast<size_t>(s), [&](size_t q, double times) { counts[q] += times; });
}

void Crf::each_observed(size_t s, const std::function<void(size_t, double)>& take) const {
  const auto find = [&](const auto& keys, size_t begin, size_t end, auto key, size_t shift, double times) {
    const auto first = keys.begin() + static_cast<ptrdiff_t>(begin), last = keys.begin() + static_cast<ptrdiff_t>(end);
    const auto found = std::lower_bound(first, last, key);
    if (found != last && *found == key) take(shift + static_cast<size_t>(found - keys.begin()), times);
  };
  for (size_t t = 0; t < length(s); ++t) {
    const size_t token = corpus_.first_token(s) + t;
    for (size_t at = corpus_.node.begin(token); at < corpus_.node.end[token]; ++at) {
      const size_t f = static_cast<size_t>(corpus_.node.id[at]);
      find(pairs_.node_label, node_begin(f), pairs_.node_end[f], static_cast<uint16_t>(labels_[token]), 0,
           corpus_.node.value_of(at));
    }
    if (t == 0) continue;
    if (const size_t entry = edge_of(labels_[token - 1], labels_[token]); entry != kNoPlace)
      take(pairs_.nodes() + entry, 1);
    for (size_t at = corpus_.edge.begin(token); at < corpus_.edge.end[token]; ++at) {
      const size_t set = static_cast<size_t>(corpus_.edge.id[at]);
      find(pairs_.set_pair, set ? pairs_.set_end[set - 1] : 0, pairs_.set_end[set],
           Corrections::pair(labels_[token - 1], labels_[token]), pairs_.nodes() + pairs_.edges(), 1);
    }
  }
}

}  // namespace tagwright
