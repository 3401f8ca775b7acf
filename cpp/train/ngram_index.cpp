#include "train/ngram_index.h"

#include <algorithm>

#include "base/need.h"

namespace tagwright {

constexpr size_t kLongest = NgramList::kLongest, kShortest = NgramList::kShortest;

NgramIndex::NgramIndex(const Corpus& corpus, const NgramOptions& options) : order_(options.order) {
  need(options.order >= 1 && options.order < kLongest, "order must be 1, 2 or 3");
  need(options.min_count >= 1, "a ngram must occur at least once");
  std::vector<Run> met;
  for (size_t s = 0; s < corpus.sentences(); ++s) {
    const std::span<const int32_t> labels = std::span(corpus.labels).subspan(corpus.first_token(s), corpus.length(s));
    for (size_t length = kShortest; length <= options.order + 1; ++length) {
      for (size_t end = length; end <= labels.size(); ++end) {
        const auto run = labels.subspan(end - length, length);
        if (std::find(run.begin(), run.end(), -1) != run.end()) continue;
        met.emplace_back();
        met.back().fill(kNoLabel);
        std::copy(run.begin(), run.end(), met.back().begin());
      }
    }
  }
  std::sort(met.begin(), met.end());
  for (size_t begin = 0, end = 0; begin < met.size(); begin = end) {
    while (end < met.size() && met[end] == met[begin]) ++end;
    if (end - begin >= options.min_count) runs_.push_back(met[begin]);
  }
}

void NgramIndex::add(const Weights& model, std::span<const uint16_t> renamed) {
  model.for_each_ngram(renamed, [&](const auto& run, float) {
    need((run.back() < 0 ? kShortest : kLongest) <= order_ + 1, "the model has longer ngrams than this order allows");
    runs_.emplace_back();
    for (size_t n = 0; n < kLongest; ++n) runs_.back()[n] = run[n] < 0 ? kNoLabel : static_cast<uint16_t>(run[n]);
  });
  std::sort(runs_.begin(), runs_.end());
  runs_.erase(std::unique(runs_.begin(), runs_.end()), runs_.end());
}

std::vector<int32_t> NgramIndex::labels() const {
  std::vector<int32_t> made;
  made.reserve(size() * kLongest);
  for (const Run& run : runs_)
    for (const uint16_t label : run) made.push_back(label == kNoLabel ? -1 : label);
  return made;
}

std::vector<uint16_t> NgramIndex::keys() const {
  std::vector<uint16_t> made;
  made.reserve(size() * kLongest);
  for (const Run& run : runs_) made.insert(made.end(), run.begin(), run.end());
  return made;
}

uint64_t NgramIndex::packed(size_t q) const {
  uint64_t made = 0;
  for (const uint16_t label : runs_[q]) made = made << 16 | label;
  return made;
}

size_t NgramIndex::find_packed(uint64_t run) const {
  Run wanted;
  for (size_t n = kLongest; n-- > 0; run >>= 16) wanted[n] = static_cast<uint16_t>(run & 0xffffU);
  const auto found = std::lower_bound(runs_.begin(), runs_.end(), wanted);
  return found != runs_.end() && *found == wanted ? static_cast<size_t>(found - runs_.begin()) : kNoPlace;
}

size_t NgramIndex::find(const std::array<int32_t, kLongest>& run) const {
  uint64_t packed = 0;
  for (const int32_t label : run) packed = packed << 16 | static_cast<uint16_t>(label);  // -1 becomes kNoLabel
  return find_packed(packed);
}

void NgramIndex::place(const LabelNgrams& ngrams) {
  node_.clear();
  of_node_.assign(ngrams.nodes(), -1);
  for (size_t q = 0; q < size(); ++q) {
    int32_t run[kLongest];
    std::copy(runs_[q].begin(), runs_[q].end(), run);
    node_.push_back(ngrams.find({run, runs_[q].back() == kNoLabel ? kShortest : kLongest}));
    of_node_[node_.back()] = static_cast<int32_t>(q);
  }
}

}  // namespace tagwright
