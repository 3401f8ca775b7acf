#include "train/ngram_index.h"

#include <algorithm>

#include "base/need.h"

namespace tagwright {

constexpr size_t kLongest = NgramList::kLongest, kShortest = NgramList::kShortest;

NgramIndex::NgramIndex(const Corpus& corpus, const NgramOptions& options) : options_(options) {
  need(options.order >= 1 && options.order < kLongest, "order must be 1, 2 or 3");
  need(options.min_count >= 1, "min_ngram_count must be at least 1");
  add(corpus);
}

bool NgramIndex::merge(std::vector<Ngram> more) {
  const size_t before = ngrams_.size();
  ngrams_.insert(ngrams_.end(), more.begin(), more.end());
  std::sort(ngrams_.begin(), ngrams_.end());
  ngrams_.erase(std::unique(ngrams_.begin(), ngrams_.end()), ngrams_.end());
  return ngrams_.size() > before;
}

bool NgramIndex::add(const Corpus& corpus) {
  if (options_.order == 1) return false;
  std::vector<Ngram> observed;
  for (size_t s = 0; s < corpus.sentences(); ++s) {
    corpus.visit();
    const std::span<const int32_t> labels = std::span(corpus.labels).subspan(corpus.first_token(s), corpus.length(s));
    for (size_t length = kShortest; length <= options_.order + 1; ++length) {
      for (size_t end = length; end <= labels.size(); ++end) {
        const auto ngram = labels.subspan(end - length, length);
        if (std::find(ngram.begin(), ngram.end(), -1) != ngram.end()) continue;
        observed.emplace_back();
        observed.back().fill(kNoLabel);
        std::copy(ngram.begin(), ngram.end(), observed.back().begin());
      }
    }
  }
  std::sort(observed.begin(), observed.end());
  std::vector<Ngram> frequent;
  std::vector<std::pair<Ngram, size_t>> rare;
  auto old = rare_.begin();
  for (size_t begin = 0, end = 0; begin < observed.size(); begin = end) {
    const Ngram& ngram = observed[begin];
    while (end < observed.size() && observed[end] == ngram) ++end;
    while (old != rare_.end() && old->first < ngram) rare.push_back(*old++);
    const bool again = old != rare_.end() && old->first == ngram;
    const size_t count = end - begin + (again ? (old++)->second : 0);
    if (count >= options_.min_count) {
      frequent.push_back(ngram);
    } else {
      rare.emplace_back(ngram, count);
    }
  }
  rare.insert(rare.end(), old, rare_.end());
  rare_ = std::move(rare);
  return merge(std::move(frequent));
}

bool NgramIndex::add(const Weights& model, std::span<const uint16_t> renamed) {
  std::vector<Ngram> more;
  model.for_each_ngram(renamed, [&](const auto& ngram, float) {
    need((ngram.back() < 0 ? kShortest : kLongest) <= options_.order + 1,
         "the model has longer n-grams than this order allows");
    more.emplace_back();
    for (size_t n = 0; n < kLongest; ++n) more.back()[n] = ngram[n] < 0 ? kNoLabel : static_cast<uint16_t>(ngram[n]);
  });
  return merge(std::move(more));
}

bool NgramIndex::add(std::span<const uint64_t> packed) {
  std::vector<Ngram> more;
  for (const uint64_t own : packed)
    if (find_packed(own) == kNoPlace) more.push_back(unpacked(own));
  return !more.empty() && merge(std::move(more));
}

std::vector<int32_t> NgramIndex::labels() const {
  std::vector<int32_t> made;
  made.reserve(size() * kLongest);
  for (const Ngram& ngram : ngrams_)
    for (const uint16_t label : ngram) made.push_back(label == kNoLabel ? -1 : label);
  return made;
}

std::vector<uint16_t> NgramIndex::keys() const {
  std::vector<uint16_t> made;
  made.reserve(size() * kLongest);
  for (const Ngram& ngram : ngrams_) made.insert(made.end(), ngram.begin(), ngram.end());
  return made;
}

uint64_t NgramIndex::packed(const Ngram& ngram) {
  uint64_t made = 0;
  for (const uint16_t label : ngram) made = made << 16 | label;
  return made;
}

NgramIndex::Ngram NgramIndex::unpacked(uint64_t packed) {
  Ngram made;
  for (size_t n = kLongest; n-- > 0; packed >>= 16) made[n] = static_cast<uint16_t>(packed & 0xffffU);
  return made;
}

bool NgramIndex::is_valid(uint64_t packed, size_t L) const {
  const Ngram ngram = unpacked(packed);
  const size_t length = ngram.back() == kNoLabel ? kShortest : kLongest;
  return length <= options_.order + 1 &&
         std::all_of(ngram.begin(), ngram.begin() + length, [&](uint16_t label) { return label < L; });
}

size_t NgramIndex::find_packed(uint64_t packed) const {
  const Ngram ngram = unpacked(packed);
  const auto found = std::lower_bound(ngrams_.begin(), ngrams_.end(), ngram);
  return found != ngrams_.end() && *found == ngram ? static_cast<size_t>(found - ngrams_.begin()) : kNoPlace;
}

size_t NgramIndex::find(const std::array<int32_t, kLongest>& ngram) const {
  uint64_t packed = 0;
  for (const int32_t label : ngram) packed = packed << 16 | static_cast<uint16_t>(label);  // -1 becomes kNoLabel
  return find_packed(packed);
}

void NgramIndex::place(const LabelNgrams& trie) {
  node_.clear();
  of_node_.assign(trie.nodes(), -1);
  for (size_t q = 0; q < size(); ++q) {
    int32_t ngram[kLongest];
    std::copy(ngrams_[q].begin(), ngrams_[q].end(), ngram);
    node_.push_back(trie.find({ngram, ngrams_[q].back() == kNoLabel ? kShortest : kLongest}));
    of_node_[static_cast<size_t>(node_.back())] = static_cast<int32_t>(q);
  }
}

}  // namespace tagwright
