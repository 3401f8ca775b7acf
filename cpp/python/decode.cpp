// Decoders, their options, and decoding of any scores.
#include <optional>

#include "python/bindings.h"

namespace tagwright {

Plan Plan::with(size_t k) const {
  need(k >= 1, "k must be at least 1");
  need(k == 1 || decoder->kbest, "this decoder gives one path only");
  Plan plan = *this;
  plan.options.k = k;
  return plan;
}

namespace {

Plan make_plan(size_t decoder, size_t width, bool expand_all, int bound, size_t extra, const KeepTuple& keep,
               bool prune) {
  need(decoder < decoders().size(), "no such decoder");
  need(width >= 1 && extra >= 1, "width and extra must be at least 1");
  const auto& [rule, value, at_least] = keep;
  return {&decoders()[decoder],
          {.width = width,
           .keep = keep_of(rule, value, at_least),
           .expand_all = expand_all,
           .prune = prune,
           .bound = bound,
           .extra = extra}};
}

nb::tuple decode(const std::vector<AnyArray>& nodes, const std::vector<const Edges*>& edges,
                 const std::optional<std::vector<std::optional<std::vector<std::vector<int32_t>>>>>& switched_on,
                 const Plan& chosen, size_t k, size_t threads, double deadline) {
  Plan plan = chosen.with(k);
  plan.options.deadline = deadline;
  need(threads >= 1, "threads must be at least 1");
  need(edges.size() == 1 || edges.size() == nodes.size(), "edges: one, or one a sentence");
  need(!switched_on || switched_on->size() == nodes.size(), "switched_on: one a sentence");
  std::vector<Sentence> sentences(nodes.size());
  for (size_t s = 0; s < nodes.size(); ++s) {
    const Edges* own = edges.size() == 1 ? edges[0] : edges[s];
    need(own && nodes[s].ndim() == 2 && nodes[s].shape(1) == own->L(), "node scores must have shape (T, L)");
    const auto* on = switched_on && (*switched_on)[s] ? &*(*switched_on)[s] : nullptr;
    sentences[s] = {nodes[s].shape(0), scores_of(nodes[s]), own, on};
  }
  std::vector<Answer> answers;
  {
    nb::gil_scoped_release release;
    answers = decode_all(sentences, *plan.decoder, plan.options, threads);
  }
  return pack(answers);
}

double score(AnyArray nodes, const Edges& edges, const std::optional<std::vector<std::vector<int32_t>>>& switched_on,
             IntArray labels) {
  need(nodes.ndim() == 2 && nodes.shape(1) == edges.L(), "node scores must have shape (T, L)");
  need(labels.shape(0) == nodes.shape(0), "a path has one label a token");
  for (const int32_t y : span_of(labels)) need(y >= 0 && static_cast<size_t>(y) < edges.L(), "no such label");
  const Lattice lattice(edges, nodes.shape(0), scores_of(nodes), switched_on ? &*switched_on : nullptr);
  return path_score(lattice, span_of(labels));
}

}  // namespace

void bind_decode(nb::module_& m) {
  m.def(
      "decoders",
      [] {
        nb::list rows;
        for (const Decoder& d : decoders())
          rows.append(nb::make_tuple(std::string(d.name), std::string(d.paper), d.exact, d.kbest));
        return rows;
      },
      nb::sig("def decoders() -> list[tuple[str, str, bool, bool]]"),
      "The decoder table: rows of name, paper, exact, kbest.");

  nb::class_<Plan>(m, "Plan").def_static("make", &make_plan, "decoder"_a, "width"_a, "expand_all"_a, "bound"_a,
                                         "extra"_a, "keep"_a, "prune"_a = true);
  m.def("decode", &decode, "nodes"_a, "edges"_a, "switched_on"_a.none(), "plan"_a, "k"_a, "threads"_a, "deadline"_a,
        "Labels of all paths one behind the other; their scores; and for each sentence its paths, rounds, nodes, "
        "edges, gap.");
  m.def("score", &score, "nodes"_a, "edges"_a, "switched_on"_a.none(), "labels"_a,
        "The score of one path, summed from left to right in double precision.");
}

}  // namespace tagwright
