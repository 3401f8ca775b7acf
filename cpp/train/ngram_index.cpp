#include "train/ngram_index.h"

#include "base/need.h"

namespace tagwright {
namespace {

constexpr size_t kLongest = NgramList::kLongest, kShortest = NgramList::kShortest;

size_t length_of(PackedNgram ngram) { return (ngram & 0xffffU) == kNoLabel ? kShortest : kLongest; }

}  // namespace

NgramIndex::NgramIndex(const Corpus& corpus, const NgramOptions& options) : options_(options) {
  need(options.order >= 1 && options.order < kLongest, "order must be 1, 2 or 3");
  need(options.min_count >= 1, "min_ngram_count must be at least 1");
  add(corpus);
}

bool NgramIndex::add(const Corpus& corpus) {
  if (options_.order == 1) return false;
  std::vector<PackedNgram> observed, frequent;
  for (size_t s = 0; s < corpus.sentences(); ++s) {
    corpus.visit();
    const std::span<const int32_t> labels = std::span(corpus.labels).subspan(corpus.first_token(s), corpus.length(s));
    for (size_t length = kShortest; length <= options_.order + 1; ++length) {
      for (size_t end = length; end <= labels.size(); ++end) {
        const auto ngram = labels.subspan(end - length, length);
        if (std::find(ngram.begin(), ngram.end(), -1) == ngram.end()) observed.push_back(packed_ngram(ngram));
      }
    }
  }
  std::sort(observed.begin(), observed.end());
  std::vector<std::pair<PackedNgram, size_t>> rare;
  auto old = rare_.begin();
  for (size_t begin = 0, end = 0; begin < observed.size(); begin = end) {
    const PackedNgram ngram = observed[begin];
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
  return add(frequent);
}

bool NgramIndex::add(const Weights& model, std::span<const uint16_t> renamed) {
  std::vector<PackedNgram> more;
  model.for_each_ngram(renamed, [&](std::span<const int32_t> ngram, float) {
    more.push_back(packed_ngram(ngram));
    need(length_of(more.back()) <= options_.order + 1, "the model has longer n-grams than this order allows");
  });
  return add(more);
}

bool NgramIndex::add(std::span<const PackedNgram> more) {
  const size_t before = ngrams_.size();
  ngrams_.insert(ngrams_.end(), more.begin(), more.end());
  std::sort(ngrams_.begin(), ngrams_.end());
  ngrams_.erase(std::unique(ngrams_.begin(), ngrams_.end()), ngrams_.end());
  return ngrams_.size() > before;
}

std::vector<uint16_t> NgramIndex::keys() const {
  std::vector<uint16_t> made;
  made.reserve(size() * kLongest);
  for (const PackedNgram ngram : ngrams_)
    for (size_t n = kLongest; n-- > 0;) made.push_back(static_cast<uint16_t>(ngram >> (16 * n)));
  return made;
}

std::vector<int32_t> NgramIndex::labels() const { return wide_labels(keys()); }

bool NgramIndex::is_valid(PackedNgram ngram, size_t L) const {
  bool valid = length_of(ngram) <= options_.order + 1;
  for (size_t n = 0; n < length_of(ngram); ++n) valid &= (ngram >> (16 * (kLongest - 1 - n)) & 0xffffU) < L;
  return valid;
}

void NgramIndex::place(const LabelNgrams& trie) {
  const std::vector<int32_t> all = labels();
  node_.clear();
  of_node_.assign(trie.nodes(), -1);
  for (size_t q = 0; q < size(); ++q) {
    node_.push_back(trie.find(std::span(all).subspan(q * kLongest, length_of(ngrams_[q]))));
    of_node_[static_cast<size_t>(node_.back())] = static_cast<int32_t>(q);
  }
}

}  // namespace tagwright
