// Some sentences of a corpus as a corpus of their own.
#include "base/need.h"
#include "train/corpus.h"

namespace tagwright {
namespace {

// Appends numbers of a corpus.
template <class V>
void append(const Corpus& corpus, std::span<const V> from, std::vector<V>& to) {
  if (corpus.pages) {
    corpus.pages->copy(from, to);
  } else {
    to.insert(to.end(), from.begin(), from.end());
  }
}

// Appends where the lists of the tokens from `first` to `last` end, the first of them beginning at `held`. Returns
// where they begin and end in the corpus.
std::pair<size_t, size_t> append_ends(const Corpus& corpus, Borrowed<uint64_t> ends, size_t first, size_t last,
                                      size_t held, std::vector<uint64_t>& to) {
  const size_t at = to.size(), before = first ? 1 : 0;
  // The end of the token before is where the first list begins.
  append(corpus, ends.subspan(first - before, last - first + before), to);
  const size_t begin = before ? to[at] : 0, end = to.size() > at ? to.back() : 0;
  to.erase(to.begin() + static_cast<ptrdiff_t>(at), to.begin() + static_cast<ptrdiff_t>(at + before));
  for (size_t q = at; q < to.size(); ++q) {
    need(to[q] >= begin && to[q] <= end, "corpus: lists do not follow each other");
    to[q] = to[q] - begin + held;
  }
  return {begin, end};
}

// Appends lists of the tokens from `first` to `last`.
void append_ids(const Corpus& corpus, const IdArrays<Borrowed>& from, size_t first, size_t last, Ids& to) {
  const auto [begin, end] = append_ends(corpus, from.end, first, last, to.id.size(), to.end);
  need(begin <= end && end <= from.id.size(), "corpus: lists do not follow each other");
  append(corpus, from.id.subspan(begin, end - begin), to.id);
  if (!from.value.empty()) append(corpus, from.value.subspan(begin, end - begin), to.value);
}

}  // namespace

Corpus Corpus::cut(std::span<const int32_t> chosen) const {
  CorpusArrays<Owned> made;
  std::vector<std::pair<size_t, size_t>> from;
  std::vector<uint64_t> ends;
  for (const int32_t number : chosen) {
    need(number >= 0 && static_cast<size_t>(number) < sentences(), "no such sentence");
    const auto s = static_cast<size_t>(number);
    ends.clear();
    append(*this, sentence_end.subspan(s ? s - 1 : 0, s ? 2 : 1), ends);
    const size_t first = s ? ends[0] : 0, last = ends.back();
    need(first <= last && last <= tokens(), "corpus: sentences do not follow each other");
    if (last > first) {
      append_ids(*this, node, first, last, made.node);
      append_ids(*this, edge, first, last, made.edge);
      if (!labels.empty()) append(*this, labels.subspan(first, last - first), made.labels);
      if (!allowed_end.empty()) {
        const auto [begin, end] = append_ends(*this, allowed_end, first, last, made.allowed.size(), made.allowed_end);
        need(begin <= end && end <= allowed.size(), "corpus: lists do not follow each other");
        append(*this, allowed.subspan(begin, end - begin), made.allowed);
      }
    }
    if (!weight.empty()) append(*this, weight.subspan(s, 1), made.weight);
    if (!partial.empty()) append(*this, partial.subspan(s, 1), made.partial);
    made.sentence_end.push_back(made.node.end.size());
    from.push_back(origin.empty() ? std::pair(s, first) : origin[s]);
  }
  Corpus corpus = hold(std::move(made), {}, L);
  corpus.feature_count = feature_count;
  corpus.set_count = set_count;
  corpus.origin = std::move(from);
  corpus.check();  // a file may have changed since it was opened
  return corpus;
}

}  // namespace tagwright
