// Encoded corpora: read from text, or borrowed.
#include "train/corpus.h"

#include <algorithm>

#include "features/piecewise.h"
#include "python/bindings.h"

namespace tagwright {
namespace {

// What is known beyond one label per token: where the allowed labels of each end, those labels, and sentences' weights.
using MarkArrays = std::optional<std::tuple<Vector<uint64_t>, Vector<int32_t>, Vector<double>>>;

Marks marks_of(const MarkArrays& given) {
  if (!given) return {};
  const auto& [end, allowed, weight] = *given;
  return {span_of(end), span_of(allowed), span_of(weight)};
}

// names: of the labels.
Corpus read(const Text& text, const Templates& templates, std::span<const int32_t> labels,
            const std::vector<std::string>& names, const Weights* known, size_t min_count, size_t threads,
            const MarkArrays& marks) {
  return without_gil(
      [&] { return read_corpus(text, templates, labels, {names, min_count, known, threads, marks_of(marks)}); });
}

// Arrays that lie elsewhere. mapped: the file that all of them are in, where they are mapped from one, and its
// descriptor, which is left open.
Corpus opened(const nb::dict& arrays, size_t L, size_t features, size_t sets,
              const std::optional<Vector<uint8_t>>& mapped, int descriptor, size_t first) {
  Corpus made;
  NamedArrays named(arrays);
  for_each_corpus_array(made, [&](const std::string& name, auto& array) {
    if (named.has(name)) named.read(name, array);
  });
  made.L = L;
  made.feature_count = features;
  made.set_count = sets;
  if (mapped) made.pages = std::make_shared<Pages>(std::as_bytes(span_of(*mapped)), descriptor);
  made.owner = owner_of(std::make_pair(named.owner(), mapped));
  without_gil([&] {
    made.check();
    made.digest = made.computed_digest();
    for (size_t s = 0; s < made.sentences() && first; ++s) made.origin.emplace_back(first + s, made.first_token(s));
  });
  return made;
}

std::unique_ptr<PiecewiseEncoder> make_encoder(std::shared_ptr<Templates> templates, const Weights* known,
                                               size_t min_count) {
  return without_gil(
      [&] { return std::make_unique<PiecewiseEncoder>(std::move(templates), known_names(known), min_count); });
}

// Features by new numbers, without those that have none.
nb::tuple rename_ids(std::span<const int32_t> id, std::span<const float> value, std::span<const uint64_t> end,
                     std::span<const int32_t> renamed) {
  Ids ids{copied(id), copied(value), copied(end)};
  without_gil([&] {
    need(value.empty() || value.size() == id.size(), "there must be one value per feature");
    need(std::is_sorted(end.begin(), end.end()) && (end.empty() ? 0 : end.back()) == id.size(), "ends must rise");
    for (const int32_t own : id) need(own >= 0 && static_cast<size_t>(own) < renamed.size(), "no such feature");
    rename(ids, renamed);
  });
  return nb::make_tuple(array_of(std::move(ids.id)), array_of(std::move(ids.value)), array_of(std::move(ids.end)));
}

}  // namespace

void bind_corpus(nb::module_& m) {
  nb::class_<Corpus>(m, "Corpus")
      .def_static("read", &read, "text"_a, "templates"_a, "labels"_a, nb::kw_only(), "names"_a,
                  "known"_a.none() = nb::none(), "min_count"_a = 1, "threads"_a = 1, "marks"_a.none() = nb::none(),
                  "Reads sentences, numbers their features and leaves out rare ones.")
      .def_static(
          "opened", &opened, "arrays"_a, "L"_a, "features"_a, "sets"_a, "mapped"_a.none() = nb::none(),
          "descriptor"_a = -1, "first"_a = 0,
          "Returns a corpus of arrays that lie elsewhere, after a check; mapped, descriptor: the file that they "
          "are in; first: of a shard, the number of its first sentence in the whole corpus.")
      .def(
          "arrays",
          [](const Corpus& corpus) {
            ArrayDict out;
            for_each_corpus_array(corpus, [&](const std::string& name, const auto& array) {
              if (!array.empty()) out(name, array);
            });
            return out.dict;
          },
          "Returns a copy of all arrays, from which opened() makes the corpus again.")
      .def("lengths", &lengths_of<Corpus>)
      .def_prop_ro("features", &Corpus::features)
      .def_prop_ro("sets", &Corpus::sets)
      .def("cut", native(&Corpus::cut), "sentences"_a, "Returns these sentences as a corpus of their own.")
      .def_prop_ro("mapped", [](const Corpus& corpus) { return corpus.pages != nullptr; })
      .def_prop_ro("sentences", [](const Corpus& corpus) { return corpus.sentences(); })
      .def_prop_ro("tokens", &Corpus::tokens)
      .def_prop_ro(
          "occurrences", [](const Corpus& corpus) { return corpus.node.id.size(); }, "Features of all tokens together.")
      .def_prop_ro("digest", [](const Corpus& corpus) { return hex(corpus.digest); });

  nb::class_<PiecewiseEncoder>(m, "Encoder")
      .def_static("make", &make_encoder, "templates"_a, "known"_a.none(), "min_count"_a,
                  "Returns what numbers the features of a corpus that comes in pieces.")
      .def_prop_ro("surveys", &PiecewiseEncoder::surveys, "Whether all pieces are surveyed before one is encoded.")
      .def("survey", native(&PiecewiseEncoder::survey), "text"_a)
      .def("encode",
           native(&PiecewiseEncoder::encode,
                  [](Encoded made) {
                    ArrayDict out;
                    for_each_encoded_array(made, out);
                    return out.dict;
                  }),
           "text"_a, "threads"_a, "Returns the arrays of a piece, whose ends begin at 0.")
      .def("finish",
           native(&PiecewiseEncoder::finish,
                  [](PiecewiseEncoder::Renamed renamed) {
                    return nb::make_tuple(array_of(std::move(renamed.node)), array_of(std::move(renamed.edge)));
                  }),
           "Returns the new numbers of features of nodes and of edges, -1 for those left out; empty where none is.")
      .def_prop_ro(
          "sizes",
          [](const PiecewiseEncoder& encoder) {
            return std::pair(encoder.names().node.size(), encoder.names().edge.size());
          },
          "How many features of nodes and of edges there are by now.")
      .def("names", [](const PiecewiseEncoder& encoder) {
        ArrayDict out;
        for_each_name_array("names", encoder.names().node.view(), out);
        for_each_name_array("edge_names", encoder.names().edge.view(), out);
        return out.dict;
      });
  m.def("rename_features", &rename_ids, "id"_a, "value"_a, "end"_a, "renamed"_a,
        "Returns id, value and end with new numbers, without features that have none.");
}

}  // namespace tagwright
