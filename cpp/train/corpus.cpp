#include "train/corpus.h"

#include <tuple>

#include "base/need.h"

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
                                      all.last(keys.corrections()),
                                      view_of(names->node),
                                      view_of(names->edge),
                                      parts};
  return {L, arrays, false, held};
}

Corpus read_corpus(const Text& text, const Templates& templates, std::span<const int32_t> labels,
                   const CorpusOptions& options) {
  need(options.L > 0 && options.L <= kMostLabels, "a model has between 1 and 65,535 labels");
  need(labels.size() == text.tokens(), "there must be one label per token");
  templates.check_text(text);
  need(options.label_names.empty() || options.label_names.size() == options.L, "there must be one name per label");
  for (const int32_t y : labels) need(y >= 0 && static_cast<size_t>(y) < options.L, "no such label");
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
  Digest digest = joined(made.labels, {});
  for (const Ids* ids : {&made.node, &made.edge})
    digest = joined(ids->end, joined(ids->value, joined(ids->id, digest)));
  for (const Index* index : {&names->node, &names->edge})
    digest = joined(index->ends(), joined(index->bytes(), digest));
  made.digest = joined(made.sentence_end, digest);
  return made;
}

}  // namespace tagwright
