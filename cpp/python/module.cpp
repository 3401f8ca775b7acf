// The Python face of the core; bindings_features.cpp and bindings_models.cpp are the rest of it, and no other file
// knows Python. Shapes and types are checked here or before; nothing behind this file sees an array.
#include <limits>
#include <optional>

#include "kernels/kernels.h"
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

std::unique_ptr<Edges> edges_from_matrix(AnyArray scores) {
  need(scores.ndim() == 2 && scores.shape(0) == scores.shape(1) && scores.shape(0) > 0,
       "edge scores must have shape (L, L) with L > 0");
  const size_t L = scores.shape(0);
  const Scores view = scores_of(scores);
  nb::gil_scoped_release release;
  return Edges::dense(L, view);
}

std::unique_ptr<Edges> edges_from_steps(AnyArray scores) {
  need(scores.ndim() == 3 && scores.shape(1) == scores.shape(2) && scores.shape(1) > 0,
       "edge scores must have shape (T-1, L, L) with L > 0");
  const size_t steps = scores.shape(0), L = scores.shape(1);
  const Scores view = scores_of(scores);
  std::shared_ptr<void> keep = keeper(std::move(scores));
  nb::gil_scoped_release release;
  return Edges::stepwise(L, steps, view, std::move(keep));
}

std::unique_ptr<Edges> edges_from_exceptions(size_t L, double fallback, IntArray previous, IntArray current,
                                             RealArray scores) {
  need(L > 0 && L < std::numeric_limits<int32_t>::max() / 2, "L must be between 1 and 2**30 - 2");
  need(previous.shape(0) == current.shape(0) && previous.shape(0) == scores.shape(0),
       "previous, current and scores must have the same length");
  return Edges::sparse(L, fallback, span_of(previous), span_of(current), span_of(scores));
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
}  // namespace tagwright

NB_MODULE(_core, m) {
  using namespace tagwright;
  m.doc() = "The native core of tagwright.";
  // What a traceback still holds when Python ends is no leak of ours, and no user's concern.
  nb::set_leak_warnings(false);
  kernels();  // A bad TAGWRIGHT_SIMD is told at import, not at the first decoding.
  m.def("simd", [] { return std::string(kernels().name); }, "The kernel level in use: 'avx2' or 'base'.");
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

  nb::class_<Edges>(m, "Edges")
      .def_static("from_matrix", &edges_from_matrix, "scores"_a)
      .def_static("from_steps", &edges_from_steps, "scores"_a)
      .def_static("from_exceptions", &edges_from_exceptions, "L"_a, "default"_a, "previous"_a, "current"_a, "scores"_a)
      .def("find_exceptions", &Edges::find_exceptions, "share"_a, nb::call_guard<nb::gil_scoped_release>())
      .def(
          "set_start", [](Edges& e, RealArray scores) { e.set_start(span_of(scores)); }, "scores"_a)
      .def(
          "set_stop", [](Edges& e, RealArray scores) { e.set_stop(span_of(scores)); }, "scores"_a)
      .def(
          "set_order", [](Edges& e, IntArray labels) { e.set_order(span_of(labels)); }, "labels"_a)
      .def(
          "set_corrections",
          [](Edges& e, size_t sets, IntArray set, IntArray previous, IntArray current, RealArray scores) {
            need(set.shape(0) == previous.shape(0) && set.shape(0) == current.shape(0) &&
                     set.shape(0) == scores.shape(0),
                 "set, previous, current and scores must have the same length");
            e.set_corrections(sets, span_of(set), span_of(previous), span_of(current), span_of(scores));
          },
          "sets"_a, "set"_a, "previous"_a, "current"_a, "scores"_a)
      .def(
          "prepare",
          [](const Edges& e) {
            e.chain();
            if (!e.is_stepwise()) e.reach();
          },
          nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("L", &Edges::L)
      .def_prop_ro("is_sparse", &Edges::is_sparse)
      .def_prop_ro("is_stepwise", &Edges::is_stepwise)
      .def_prop_ro("default", &Edges::fallback)
      .def_prop_ro("exceptions", [](const Edges& e) { return e.rows().entries(); })
      .def_prop_ro("correction_sets", [](const Edges& e) { return e.corrections().rows(); });

  nb::class_<Plan>(m, "Plan").def_static("make", &make_plan, "decoder"_a, "width"_a, "expand_all"_a, "bound"_a,
                                         "extra"_a, "keep"_a, "prune"_a = true);
  m.def("decode", &decode, "nodes"_a, "edges"_a, "switched_on"_a.none(), "plan"_a, "k"_a, "threads"_a, "deadline"_a,
        "Labels of all paths one behind the other; their scores; and for each sentence its paths, rounds, nodes, "
        "edges, gap.");
  m.def("score", &score, "nodes"_a, "edges"_a, "switched_on"_a.none(), "labels"_a,
        "The score of one path, summed from left to right in double precision.");
  bind_sums(m);
  bind_features(m);
  bind_training(m);
  bind_models(m);
  bind_crf(m);
  bind_memm(m);
}
