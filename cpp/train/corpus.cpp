#include "train/corpus.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/need.h"
#include "base/sparse_rows.h"
#include "lattice/lattice.h"

namespace tagwright {
namespace {

NameArrays<Borrowed> view_of(const Index& index) {
  return {index.slots(), index.ends(), {reinterpret_cast<const uint8_t*>(index.bytes().data()), index.bytes().size()}};
}

// Numbers of which many are the same; what is held grows with those that differ.
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
  need(first(model.names(), names.view()) && first(model.edge_names(), edge_names.view()),
       "the corpus was not read with the features of this model");
}

Weights Corpus::weights(const WeightKeys<Borrowed>& keys, std::vector<float> values, std::span<const uint16_t> parts,
                        std::shared_ptr<const void> owner) const {
  const auto held =
      std::make_shared<const std::tuple<std::vector<float>, std::shared_ptr<const void>, std::shared_ptr<const void>>>(
          std::move(values), this->owner, owner);
  const std::span<const float> all = std::get<0>(*held);
  const WeightArrays<Borrowed> arrays{keys,
                                      all.first(keys.nodes()),
                                      all.subspan(keys.nodes(), keys.edges()),
                                      all.subspan(keys.nodes() + keys.edges(), keys.corrections()),
                                      names,
                                      edge_names,
                                      parts,
                                      all.last(keys.ngrams())};
  return {L, arrays, false, held};
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

LabelsMet Corpus::met() const {
  SparseRows<uint16_t> rows;
  rows.reset(features());
  for (size_t s = 0; s < sentences(); ++s) {
    visit();
    for (size_t token = first_token(s); token < sentence_end[s]; ++token)
      for (const int32_t y : allowed_of(token))
        for (const int32_t f : features_of(token)) rows.find_or_add(static_cast<size_t>(f), static_cast<uint16_t>(y));
  }
  LabelsMet met;
  met.end.reserve(features());
  met.label.reserve(rows.entries());
  for (size_t f = 0; f < rows.rows(); ++f) {
    met.label.insert(met.label.end(), rows.keys(f).begin(), rows.keys(f).end());
    met.end.push_back(met.label.size());
  }
  return met;
}

std::vector<uint64_t> Corpus::met_pairs() const {
  Distinct met;
  for (size_t token = 0; token < tokens(); ++token)
    for (const int32_t y : allowed_of(token))
      for (const int32_t f : features_of(token)) met.add(static_cast<uint64_t>(f) << 16 | static_cast<uint64_t>(y));
  return met.sorted();
}

PairsMet Corpus::pairs_met() const {
  Distinct edges;
  std::vector<Distinct> of_sets(sets());
  for_each_step([&](size_t token, int32_t i, int32_t j) {
    const uint64_t pair = Corrections::pair(i, j);
    edges.add(pair);
    for (const int32_t set : sets_of(token)) of_sets[static_cast<size_t>(set)].add(pair);
  });
  PairsMet met{edges.sorted(), {}};
  for (Distinct& own : of_sets) met.sets.push_back(own.sorted());
  return met;
}

std::vector<std::pair<int32_t, int32_t>> Corpus::open_pairs() const {
  constexpr size_t kMostLabels = 256;
  std::vector<std::pair<int32_t, int32_t>> made;
  if (partial.empty() || L > kMostLabels) return made;
  std::vector<char> open(L * L, false);
  const auto each = [&](size_t token, auto&& take) {
    const std::span<const int32_t> own = allowed_of(token);
    for (const int32_t y : own) take(static_cast<size_t>(y));
    for (size_t y = 0; y < L && own.empty(); ++y) take(y);
  };
  bool any = false;  // whether there are two such tokens beside each other: then all pairs are open
  for (size_t s = 0; s < sentences() && !any; ++s) {
    for (size_t token = first_token(s) + 1; token < sentence_end[s] && is_partial(s) && !any; ++token) {
      if (!allowed_of(token - 1).empty() && !allowed_of(token).empty()) continue;
      any = allowed_of(token - 1).empty() && allowed_of(token).empty();
      each(token - 1, [&](size_t i) { each(token, [&](size_t j) { open[i * L + j] = true; }); });
    }
  }
  for (size_t at = 0; at < open.size(); ++at)
    if (open[at]) made.emplace_back(static_cast<int32_t>(at / L), static_cast<int32_t>(at % L));
  return made;
}

namespace {

// Takes over what is known beyond one label per token, after a check.
void add_marks(const Marks& marks, CorpusArrays<Owned>& corpus) {
  const size_t tokens = corpus.labels.size();
  need(marks.weight.empty() || marks.weight.size() == corpus.sentences(), "there must be one weight per sentence");
  corpus.weight.assign(marks.weight.begin(), marks.weight.end());
  const bool known = std::all_of(corpus.labels.begin(), corpus.labels.end(), [](int32_t y) { return y >= 0; });
  if (known) return;
  need(marks.allowed_end.size() == tokens, "a token without a label, and nothing said of those it may have");
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
                                                view_of(held->names.node),
                                                view_of(held->names.edge)};
  made.L = L;
  made.feature_count = held->names.node.size();
  made.set_count = held->names.edge.size();
  made.owner = held;
  return made;
}

Corpus read_corpus(const Text& text, const Templates& templates, std::span<const int32_t> labels,
                   const CorpusOptions& options) {
  need(options.L > 0 && options.L <= kMostLabels, "a model has between 1 and 65,535 labels");
  need(labels.size() == text.tokens(), "there must be one label per token");
  templates.check_text(text);
  need(options.label_names.empty() || options.label_names.size() == options.L, "there must be one name per label");
  const bool sees_labels = templates.history() > 0;
  for (const int32_t y : labels)
    need(y >= -1 && y < static_cast<int32_t>(options.L) && (y >= 0 || !sees_labels), "no such label");
  Names names;
  if (options.known) {
    add_all(options.known->names(), names.node);
    add_all(options.known->edge_names(), names.edge);
  }
  const size_t known = names.node.size(), known_sets = names.edge.size();
  CorpusArrays<Owned> made{encode(text, templates, {options.label_names, labels}, names, options.threads)};
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
  Corpus corpus = hold(std::move(made), std::move(names), options.L);
  corpus.check();
  corpus.digest = corpus.computed_digest();
  return corpus;
}

}  // namespace tagwright
