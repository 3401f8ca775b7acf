#include "train/corpus.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/need.h"
#include "lattice/scores.h"

namespace tagwright {
namespace {

template <class V>
Digest joined(const std::vector<V>& values, const Digest& before) {
  return digest_of(values.data(), values.size() * sizeof(V), before);
}

void add_all(const IndexView& from, Index& to) {
  for (size_t id = 0; id < from.size(); ++id) to.add(from.text(id));
}

NameArrays<Borrowed> view_of(const Index& index) {
  return {index.slots(), index.ends(), {reinterpret_cast<const uint8_t*>(index.bytes().data()), index.bytes().size()}};
}

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
  const auto first = [](const IndexView& its, const Index& mine) {
    if (its.size() > mine.size()) return false;
    for (size_t id = 0; id < its.size(); ++id)
      if (its.text(id) != mine.text(id)) return false;
    return true;
  };
  need(first(model.names(), names->node) && first(model.edge_names(), names->edge),
       "the corpus was not read with the features of this model");
}

Weights Corpus::weights(const WeightKeys<Borrowed>& keys, std::vector<float> values, std::span<const uint16_t> parts,
                        std::shared_ptr<const void> owner) const {
  const auto held =
      std::make_shared<const std::tuple<std::vector<float>, std::shared_ptr<const Names>, std::shared_ptr<const void>>>(
          std::move(values), names, owner);
  const std::span<const float> all = std::get<0>(*held);
  const WeightArrays<Borrowed> arrays{keys,
                                      all.first(keys.nodes()),
                                      all.subspan(keys.nodes(), keys.edges()),
                                      all.subspan(keys.nodes() + keys.edges(), keys.corrections()),
                                      view_of(names->node),
                                      view_of(names->edge),
                                      parts,
                                      all.last(keys.patterns())};
  return {L, arrays, false, held};
}

double Corpus::largest_weight() const {
  double largest = 1;
  for (const double own : weight) largest = std::max(largest, own);
  return largest;
}

std::span<const int32_t> Corpus::allowed_of(size_t token) const {
  if (labels[token] >= 0) return std::span(labels).subspan(token, 1);
  const size_t begin = token ? allowed_end[token - 1] : 0;
  return std::span(allowed).subspan(begin, allowed_end[token] - begin);
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
  if (partial.empty()) return labels_met(node, labels, features());
  Ids ids;  // each token once for each of its labels
  std::vector<int32_t> own;
  for (size_t token = 0; token < labels.size(); ++token) {
    for (const int32_t y : allowed_of(token)) {
      const std::span<const int32_t> features = features_of(token);
      ids.id.insert(ids.id.end(), features.begin(), features.end());
      ids.end.push_back(ids.id.size());
      own.push_back(y);
    }
  }
  return labels_met(ids, own, features());
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
void add_marks(const Marks& marks, Corpus& corpus) {
  const size_t tokens = corpus.labels.size();
  need(marks.weight.empty() || marks.weight.size() == corpus.sentences(), "there must be one weight per sentence");
  for (const double own : marks.weight)
    need(std::isfinite(own) && own >= 0 && own <= 1e9, "the weight of a sentence must be between 0 and 1e9");
  corpus.weight.assign(marks.weight.begin(), marks.weight.end());
  const bool known = std::all_of(corpus.labels.begin(), corpus.labels.end(), [](int32_t y) { return y >= 0; });
  if (known) return;
  need(marks.allowed_end.size() == tokens, "a token without a label, and nothing said of those it may have");
  uint64_t before = 0;
  for (const uint64_t end : marks.allowed_end) {
    need(end >= before && end <= marks.allowed.size(), "allowed labels must follow each other");
    for (uint64_t q = before; q < end; ++q)
      need(marks.allowed[q] >= 0 && static_cast<size_t>(marks.allowed[q]) < corpus.L &&
               (q == before || marks.allowed[q - 1] < marks.allowed[q]),
           "the labels that a token may have must be labels, in order");
    before = end;
  }
  need(before == marks.allowed.size(), "allowed labels must follow each other");
  corpus.allowed_end.assign(marks.allowed_end.begin(), marks.allowed_end.end());
  corpus.allowed.assign(marks.allowed.begin(), marks.allowed.end());
  for (size_t s = 0; s < corpus.sentences(); ++s) {
    const auto begin = corpus.labels.begin() + static_cast<ptrdiff_t>(corpus.first_token(s));
    const auto end = corpus.labels.begin() + static_cast<ptrdiff_t>(corpus.sentence_end[s]);
    corpus.partial.push_back(std::any_of(begin, end, [](int32_t y) { return y < 0; }));
  }
}

}  // namespace

Corpus read_corpus(const Text& text, const Templates& templates, std::span<const int32_t> labels,
                   const CorpusOptions& options) {
  need(options.L > 0 && options.L <= kMostLabels, "a model has between 1 and 65,535 labels");
  need(labels.size() == text.tokens(), "there must be one label per token");
  templates.check_text(text);
  need(options.label_names.empty() || options.label_names.size() == options.L, "there must be one name per label");
  const bool sees_labels = templates.history() > 0;
  for (const int32_t y : labels)
    need(y >= -1 && y < static_cast<int32_t>(options.L) && (y >= 0 || !sees_labels), "no such label");
  const auto names = std::make_shared<Names>();
  if (options.known) {
    add_all(options.known->names(), names->node);
    add_all(options.known->edge_names(), names->edge);
  }
  const size_t known = names->node.size(), known_sets = names->edge.size();
  Corpus made{encode(text, templates, {options.label_names, labels}, *names, options.threads)};
  drop_rare(made, *names, options.min_count, known, known_sets);
  made.L = options.L;
  made.labels.assign(labels.begin(), labels.end());
  made.names = names;
  add_marks(options.marks, made);
  Digest digest = joined(made.labels, {});
  for (const Ids* ids : {&made.node, &made.edge})
    digest = joined(ids->end, joined(ids->value, joined(ids->id, digest)));
  for (const Index* index : {&names->node, &names->edge})
    digest = joined(index->ends(), joined(index->bytes(), digest));
  if (!made.partial.empty()) digest = joined(made.allowed_end, joined(made.allowed, digest));
  if (!made.weight.empty()) digest = joined(made.weight, digest);
  made.digest = joined(made.sentence_end, digest);
  return made;
}

}  // namespace tagwright
