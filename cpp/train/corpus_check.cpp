// Whether the arrays of a corpus fit together, and their digest: both read every number once, in order.
#include <algorithm>
#include <cmath>

#include "base/need.h"
#include "base/stop.h"
#include "train/corpus.h"

namespace tagwright {
namespace {

// Mapped files are read so many bytes at a time.
constexpr size_t kPiece = size_t{1} << 22;

// Calls take(piece) for an array, piece by piece.
template <class V, class Take>
void for_each_piece(const Corpus& corpus, std::span<const V> array, Take&& take) {
  constexpr size_t kMost = kPiece / sizeof(V);
  for (size_t at = 0; at < array.size(); at += kMost) {
    check_stop();
    take(array.subspan(at, std::min(kMost, array.size() - at)));
    if (corpus.pages) corpus.pages->forget();
  }
}

// Ends rise, and the last is `last`.
void check_ends(const Corpus& corpus, Borrowed<uint64_t> ends, size_t last, const char* what) {
  uint64_t before = 0;
  bool rising = true;
  for_each_piece(corpus, ends, [&](Borrowed<uint64_t> piece) {
    for (const uint64_t end : piece) {
      rising &= end >= before;
      before = end;
    }
  });
  need(rising && before == last, std::string("corpus: ") + what + " do not follow each other");
}

void check_ids(const Corpus& corpus, const IdArrays<Borrowed>& ids, size_t tokens, size_t names) {
  need(ids.end.size() == tokens, "corpus: there must be one list of features per token");
  check_ends(corpus, ids.end, ids.id.size(), "lists of features");
  need(ids.value.empty() || ids.value.size() == ids.id.size(), "corpus: there must be one value per feature");
  bool inside = true, finite = true;
  for_each_piece(corpus, ids.id, [&](Borrowed<int32_t> piece) {
    for (const int32_t id : piece) inside &= id >= 0 && static_cast<size_t>(id) < names;
  });
  for_each_piece(corpus, ids.value, [&](Borrowed<float> piece) {
    for (const float value : piece) finite &= std::isfinite(value);
  });
  need(inside && finite, "corpus: a feature that is not there, or whose value is not finite");
}

void check_labels(const Corpus& corpus) {
  const auto L = static_cast<int32_t>(corpus.L);
  bool known = true, inside = true, ordered = true, weighed = true;
  for_each_piece(corpus, corpus.labels, [&](Borrowed<int32_t> piece) {
    for (const int32_t y : piece) {
      inside &= y >= -1 && y < L;
      known &= y >= 0;
    }
  });
  need(inside, "corpus: a label that is not there");
  need(known || (corpus.allowed_end.size() == corpus.tokens() && corpus.partial.size() == corpus.sentences()),
       "a token without a label, and nothing said of those it may have");
  need(corpus.partial.empty() || corpus.partial.size() == corpus.sentences(), "corpus: one mark per sentence");
  for (size_t s = 0; s < corpus.partial.size(); ++s) {
    corpus.visit();
    const auto own = corpus.labels.subspan(corpus.first_token(s), corpus.length(s));
    ordered &= corpus.is_partial(s) == std::any_of(own.begin(), own.end(), [](int32_t y) { return y < 0; });
  }
  need(ordered, "corpus: a sentence that is wrongly marked");
  check_ends(corpus, corpus.allowed_end, corpus.allowed.size(), "allowed labels");
  for (size_t token = 0; token < corpus.allowed_end.size(); ++token) {
    const size_t begin = token ? corpus.allowed_end[token - 1] : 0;
    for (size_t q = begin; q < corpus.allowed_end[token]; ++q)
      ordered &=
          corpus.allowed[q] >= 0 && corpus.allowed[q] < L && (q == begin || corpus.allowed[q - 1] < corpus.allowed[q]);
  }
  need(ordered, "the labels that a token may have must be labels, in order");
  need(corpus.weight.empty() || corpus.weight.size() == corpus.sentences(), "there must be one weight per sentence");
  for (const double own : corpus.weight) weighed &= std::isfinite(own) && own >= 0 && own <= 1e9;
  need(weighed, "the weight of a sentence must be between 0 and 1e9");
}

}  // namespace

void Corpus::check() const {
  need(L > 0 && L <= kMostLabels, "a model has between 1 and 65,535 labels");
  check_ends(*this, sentence_end, tokens(), "sentences");
  check_ids(*this, node, tokens(), features());
  check_ids(*this, edge, tokens(), sets());
  need(labels.empty() || labels.size() == tokens(), "there must be one label per token");
  check_labels(*this);
  // Of a part of a corpus, the names are elsewhere.
  const auto named = [](const NameArrays<Borrowed>& given, size_t count) {
    if (given.ends.empty() && given.slots.empty()) return;
    check_index(given.view(), given.bytes.size());
    need(given.ends.size() == count, "corpus: there must be one name per feature");
  };
  named(names, features());
  named(edge_names, sets());
}

Digest Corpus::computed_digest() const {
  Digest digest{};
  for_each_corpus_array(*this, [&](const char*, const auto& array) {
    for_each_piece(*this, array,
                   [&](const auto& piece) { digest = digest_of(piece.data(), piece.size_bytes(), digest); });
    const uint64_t size = array.size();
    digest = digest_of(&size, sizeof(size), digest);
  });
  return digest;
}

}  // namespace tagwright
