// What the faces of trainers share.
#include "python/train.h"

#include <cmath>
#include <cstdio>

namespace tagwright {
namespace {

template <class V>
Digest joined(const std::vector<V>& values, const Digest& before) {
  return digest_of(values.data(), values.size() * sizeof(V), before);
}

// The arrays of a model: features without weights are left out, but for words, so that a model knows what it has met.
// least: node weights smaller than this are left out, too. word: what the names of words begin with, or nothing.
nb::dict trained_arrays(const TrainedWeights& a, double least, const std::string& word) {
  std::vector<bool> used(a.names->node.size(), false), used_set(a.names->edge.size(), false);
  std::vector<uint64_t> row_end;
  std::vector<uint16_t> label;
  std::vector<float> weight;
  for (size_t f = 0, at = 0; f < a.node_end.size(); ++f) {
    const size_t before = label.size();
    for (; at < a.node_end[f]; ++at) {
      if (std::fabs(a.node_weight[at]) < least) continue;
      label.push_back(a.node_label[at]);
      weight.push_back(a.node_weight[at]);
    }
    used[f] = label.size() > before || (!word.empty() && a.names->node.text(f).starts_with(word));
    if (used[f]) row_end.push_back(label.size());
  }
  for (const int32_t set : a.set) used_set[static_cast<size_t>(set)] = true;
  std::vector<int32_t> renamed(used_set.size()), set(a.set.size());
  for (size_t s = 0, next = 0; s < used_set.size(); ++s) renamed[s] = static_cast<int32_t>(used_set[s] ? next++ : next);
  for (size_t q = 0; q < set.size(); ++q) set[q] = renamed[static_cast<size_t>(a.set[q])];
  nb::dict out;
  out["names"] = arrays_of(select(a.names->node, used));
  out["edge_names"] = arrays_of(select(a.names->edge, used_set));
  out["row_end"] = array_of(std::move(row_end));
  out["label"] = array_of(std::move(label));
  out["weight"] = array_of(std::move(weight));
  out["edges"] = nb::make_tuple(array_of(a.previous), array_of(a.current), array_of(a.edge));
  out["corrections"] = nb::make_tuple(array_of(std::move(set)), array_of(a.set_previous), array_of(a.set_current),
                                      array_of(a.correction));
  return out;
}

}  // namespace

TrainingCorpus read_corpus(const Text& text, const Templates& templates, IntArray labels, size_t L,
                           const std::vector<std::string_view>& known_node,
                           const std::vector<std::string_view>& known_edge, size_t min_count, size_t threads,
                           const std::vector<std::string>& label_names) {
  need(labels.shape(0) == text.tokens(), "there must be one label a token");
  need_columns(text, templates);
  need(label_names.empty() || label_names.size() == L, "there must be one name a label");
  TrainingCorpus made;
  made.labels.assign(labels.data(), labels.data() + labels.shape(0));
  for (const int32_t y : made.labels) need(y >= 0 && static_cast<size_t>(y) < L, "no such label");
  made.names = std::make_shared<Names>();
  for (const std::string_view name : known_node) made.names->node.add(name);
  for (const std::string_view name : known_edge) made.names->edge.add(name);
  nb::gil_scoped_release release;
  made.corpus = encode(text, templates, {label_names, made.labels}, *made.names, threads);
  drop_rare(made.corpus, *made.names, min_count, known_node.size(), known_edge.size());
  Digest digest = joined(made.labels, {});
  for (const Ids* ids : {&made.corpus.node, &made.corpus.edge})
    digest = joined(ids->end, joined(ids->value, joined(ids->id, digest)));
  for (const Index* index : {&made.names->node, &made.names->edge})
    digest = joined(index->ends(), joined(index->bytes(), digest));
  made.digest = joined(made.corpus.sentence_end, digest);
  return made;
}

std::string hex(const Digest& digest) {
  std::string out;
  char word[17];
  for (const uint64_t part : digest) {
    std::snprintf(word, sizeof word, "%016llx", static_cast<unsigned long long>(part));
    out += word;
  }
  return out;
}

void bind_training(nb::module_& m) {
  nb::class_<TrainedWeights>(m, "TrainedWeights")
      .def("arrays", &trained_arrays, "least"_a, "word"_a)
      .def_prop_ro("weights",
                   [](const TrainedWeights& a) { return a.node_weight.size() + a.edge.size() + a.set.size(); });

  m.def(
      "digest",
      [](const std::vector<nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>>& pieces) {
        nb::gil_scoped_release release;
        Digest digest{};
        for (const auto& piece : pieces) digest = digest_of(piece.data(), piece.nbytes(), digest);
        return hex(digest);
      },
      "pieces"_a, "A digest of arrays, one after the other, in hexadecimal.");
}

}  // namespace tagwright
