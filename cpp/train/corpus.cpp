#include "train/corpus.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/need.h"
#include "base/sparse_rows.h"
#include "base/stop.h"
#include "lattice/lattice.h"

namespace tagwright {
namespace {

// A set of numbers that are added many times each; its memory grows with the distinct ones.
class Distinct {
 public:
  void add(uint64_t value) {
    values_.push_back(value);
    if (values_.size() > limit_) sort();
  }
  std::vector<uint64_t> sorted() {
    sort();
    return std::move(values_);
  }

 private:
  void sort() {
    std::sort(values_.begin(), values_.end());
    values_.erase(std::unique(values_.begin(), values_.end()), values_.end());
    limit_ = std::max(limit_, 2 * values_.size());
  }

  std::vector<uint64_t> values_;
  size_t limit_ = 1 << 14;
};

}  // namespace

void Corpus::sets_on(size_t sentence, std::vector<std::vector<int32_t>>& on) const {
  const size_t first = first_token(sentence), T = length(sentence);
  on.resize(T ? T - 1 : 0);
  for (size_t t = 1; t < T; ++t) {
    const std::span<const int32_t> ids = sets_of(first + t);
    on[t - 1].assign(ids.begin(), ids.end());
  }
}

void Corpus::check_known(const Weights& model) const {
  const auto first = [](const IndexView& its, const IndexView& mine) {
    if (its.size() > mine.size()) return false;
    for (size_t id = 0; id < its.size(); ++id)
      if (its.text(id) != mine.text(id)) return false;
    return true;
  };
  need(first(model.names(), {names}) && first(model.edge_names(), {edge_names}),
       "the corpus was not read with the features of this model");
}

Weights Corpus::weights(std::shared_ptr<const PartKeys> given, std::vector<float> values) const {
  const auto held = std::make_shared<
      const std::tuple<std::vector<float>, std::shared_ptr<const void>, std::shared_ptr<const PartKeys>>>(
      std::move(values), owner, std::move(given));
  const auto& [keys, parts] = *std::get<2>(*held);
  const std::span<const float> all = std::get<0>(*held);
  const WeightArrays<Borrowed> arrays{keys.view(),
                                      all.first(keys.nodes()),
                                      all.subspan(keys.nodes(), keys.edges()),
                                      all.subspan(keys.nodes() + keys.edges(), keys.corrections()),
                                      names,
                                      edge_names,
                                      parts,
                                      all.last(keys.ngrams())};
  return {L, arrays, false, held};
}

void Corpus::check_sentences(std::span<const int32_t> numbers) const {
  for (const int32_t s : numbers) need(s >= 0 && static_cast<size_t>(s) < sentences(), "no such sentence");
}

double Corpus::largest_weight() const {
  double largest = 1;
  for (const double own : weight) largest = std::max(largest, own);
  return largest;
}

std::span<const int32_t> Corpus::allowed_of(size_t token) const {
  if (labels[token] >= 0) return labels.subspan(token, 1);
  const size_t begin = token ? allowed_end[token - 1] : 0;
  return allowed.subspan(begin, allowed_end[token] - begin);
}

bool Corpus::may_have(size_t token, int32_t y) const {
  if (labels[token] >= 0) return labels[token] == y;
  const std::span<const int32_t> own = allowed_of(token);
  return own.empty() || std::binary_search(own.begin(), own.end(), y);
}

void Corpus::forbid_others(size_t s, double* nodes) const {
  for (size_t t = 0; t < length(s); ++t) {
    const std::span<const int32_t> own = allowed_of(first_token(s) + t);
    size_t next = 0;
    for (size_t y = 0; y < L && !own.empty(); ++y) {
      if (next < own.size() && static_cast<size_t>(own[next]) == y) {
        ++next;
      } else {
        nodes[t * L + y] = kForbidden;
      }
    }
  }
}

ObservedLabels Corpus::observed_labels() const {
  SparseRows<uint16_t> rows;
  rows.reset(features());
  for (size_t s = 0; s < sentences(); ++s) {
    visit();
    for (size_t token = first_token(s); token < sentence_end[s]; ++token)
      for (const int32_t y : allowed_of(token))
        for (const int32_t f : features_of(token)) rows.find_or_add(static_cast<size_t>(f), static_cast<uint16_t>(y));
  }
  ObservedLabels observed;
  observed.end.reserve(features());
  observed.label.reserve(rows.entries());
  for (size_t f = 0; f < rows.rows(); ++f) {
    observed.label.insert(observed.label.end(), rows.keys(f).begin(), rows.keys(f).end());
    observed.end.push_back(observed.label.size());
  }
  return observed;
}

ObservedPairs Corpus::pairs_met() const {
  Distinct edges;
  std::vector<Distinct> of_sets(sets());
  for_each_step([&](size_t token, int32_t i, int32_t j) {
    const uint64_t pair = Corrections::pair(i, j);
    edges.add(pair);
    for (const int32_t set : sets_of(token)) of_sets[static_cast<size_t>(set)].add(pair);
  });
  ObservedPairs observed{edges.sorted(), {}};
  for (Distinct& own : of_sets) observed.sets.push_back(own.sorted());
  return observed;
}

std::vector<std::pair<int32_t, int32_t>> Corpus::open_pairs() const {
  constexpr size_t kMostLabels = 256;
  std::vector<std::pair<int32_t, int32_t>> made;
  if (partial.empty() || L > kMostLabels) return made;
  std::vector<char> open(L * L, false);
  const auto for_each_label = [&](size_t token, auto&& visit_label) {
    const std::span<const int32_t> own = allowed_of(token);
    for (const int32_t y : own) visit_label(static_cast<size_t>(y));
    for (size_t y = 0; y < L && own.empty(); ++y) visit_label(y);
  };
  bool any = false;  // whether there are two such tokens beside each other: then all pairs are open
  for (size_t s = 0; s < sentences() && !any; ++s) {
    for (size_t token = first_token(s) + 1; token < sentence_end[s] && is_partial(s) && !any; ++token) {
      if (!allowed_of(token - 1).empty() && !allowed_of(token).empty()) continue;
      any = allowed_of(token - 1).empty() && allowed_of(token).empty();
      for_each_label(token - 1, [&](size_t i) { for_each_label(token, [&](size_t j) { open[i * L + j] = true; }); });
    }
  }
  for (size_t at = 0; at < open.size(); ++at)
    if (open[at]) made.emplace_back(static_cast<int32_t>(at / L), static_cast<int32_t>(at % L));
  return made;
}

namespace {

// Adds partial labels and sentence weights, after a check.
void add_marks(const Marks& marks, CorpusArrays<Owned>& corpus) {
  const size_t tokens = corpus.labels.size();
  need(marks.weight.empty() || marks.weight.size() == corpus.sentences(), "there must be one weight per sentence");
  corpus.weight.assign(marks.weight.begin(), marks.weight.end());
  const bool known = std::all_of(corpus.labels.begin(), corpus.labels.end(), [](int32_t y) { return y >= 0; });
  if (known) return;
  need(marks.allowed_end.size() == tokens, "a token without a label must have a list of allowed labels");
  corpus.allowed_end.assign(marks.allowed_end.begin(), marks.allowed_end.end());
  corpus.allowed.assign(marks.allowed.begin(), marks.allowed.end());
  for (size_t s = 0; s < corpus.sentences(); ++s) {
    const auto begin = corpus.labels.begin() + static_cast<ptrdiff_t>(corpus.first_token(s));
    const auto end = corpus.labels.begin() + static_cast<ptrdiff_t>(corpus.sentence_end[s]);
    corpus.partial.push_back(std::any_of(begin, end, [](int32_t y) { return y < 0; }));
  }
}

}  // namespace

Corpus hold(CorpusArrays<Owned> arrays, Names names, size_t L) {
  struct Held {
    CorpusArrays<Owned> arrays;
    Names names;
  };
  const auto held = std::make_shared<const Held>(Held{std::move(arrays), std::move(names)});
  const CorpusArrays<Owned>& own = held->arrays;
  const auto ids = [](const Ids& from) { return IdArrays<Borrowed>{from.id, from.value, from.end}; };
  Corpus made;
  static_cast<CorpusArrays<Borrowed>&>(made) = {{own.sentence_end, ids(own.node), ids(own.edge)},
                                                own.labels,
                                                own.allowed_end,
                                                own.allowed,
                                                own.weight,
                                                own.partial,
                                                held->names.node.view(),
                                                held->names.edge.view()};
  made.L = L;
  made.feature_count = held->names.node.size();
  made.set_count = held->names.edge.size();
  made.owner = held;
  return made;
}

Names known_names(const Weights* model) {
  Names names;
  if (!model) return names;
  add_all(model->names(), names.node);
  add_all(model->edge_names(), names.edge);
  return names;
}

Corpus read_corpus(const Text& text, const Templates& templates, std::span<const int32_t> labels,
                   const CorpusOptions& options) {
  const size_t L = options.names.size();
  need(L > 0 && L <= kMostLabels, "a model has between 1 and 65,535 labels");
  need(labels.size() == text.tokens(), "there must be one label per token");
  templates.check_text(text);
  const bool sees_labels = templates.history() > 0;
  for (const int32_t y : labels)
    need(y >= -1 && y < static_cast<int32_t>(L) && (y >= 0 || !sees_labels), "no such label");
  Names names = known_names(options.known);
  const size_t known = names.node.size(), known_sets = names.edge.size();
  CorpusArrays<Owned> made{encode(text, templates, {options.names, labels}, names, options.threads)};
  const auto drop = [&](Ids& ids, Index& index, size_t kept) {
    FeatureCounts counts;
    counts.add(ids, index.size());
    rename(ids, drop_rare(counts, index, options.min_count, kept));
  };
  if (options.min_count > 1) {
    drop(made.node, names.node, known);
    drop(made.edge, names.edge, known_sets);
  }
  made.labels.assign(labels.begin(), labels.end());
  add_marks(options.marks, made);
  Corpus corpus = hold(std::move(made), std::move(names), L);
  corpus.check();
  corpus.digest = corpus.computed_digest();
  return corpus;
}

// --- checks: every number is read once, in order ---

namespace {

// Bytes of a mapped file that are read at a time.
constexpr size_t kPiece = size_t{1} << 22;

// Calls visit(piece) for an array, piece by piece.
template <class V, class Visit>
void for_each_piece(const Corpus& corpus, std::span<const V> array, Visit&& visit) {
  constexpr size_t kMost = kPiece / sizeof(V);
  for (size_t at = 0; at < array.size(); at += kMost) {
    check_stop();
    visit(array.subspan(at, std::min(kMost, array.size() - at)));
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
       "a token without a label must have a list of allowed labels");
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
  // A shard or a cut of a corpus has no names.
  const auto named = [](const NameArrays<Borrowed>& given, size_t count) {
    if (given.ends.empty() && given.slots.empty()) return;
    check_index({given});
    need(given.ends.size() == count, "corpus: there must be one name per feature");
  };
  named(names, features());
  named(edge_names, sets());
}

Digest Corpus::computed_digest() const {
  Digest digest{};
  for_each_corpus_array(*this, [&](const std::string&, const auto& array) {
    for_each_piece(*this, array,
                   [&](const auto& piece) { digest = digest_of(piece.data(), piece.size_bytes(), digest); });
    const uint64_t size = array.size();
    digest = digest_of(&size, sizeof(size), digest);
  });
  return digest;
}

// --- some sentences as a corpus of their own ---

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
  check_sentences(chosen);
  for (const int32_t number : chosen) {
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
