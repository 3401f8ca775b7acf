// Edge scores as Python gives them.
#include <limits>

#include "python/bindings.h"

namespace tagwright {
namespace {

// How many sets there are; set, previous, current and score of each correction.
using CorrectionArrays = std::tuple<size_t, Vector<int32_t>, Vector<int32_t>, Vector<int32_t>, Vector<double>>;
// N-grams of labels, (N, 4), and their scores.
using NgramArrays =
    std::tuple<nb::ndarray<const int32_t, nb::shape<-1, 4>, nb::c_contig, nb::device::cpu>, Vector<double>>;
// What stands beside the scores: start, stop, order, corrections, ngrams.
using Sides = std::tuple<std::optional<Vector<double>>, std::optional<Vector<double>>, std::optional<Vector<int32_t>>,
                         std::optional<CorrectionArrays>, std::optional<NgramArrays>>;

EdgeExtras extras_of(const Sides& sides) {
  const auto& [start, stop, order, corrections, ngrams] = sides;
  EdgeExtras made;
  if (start) made.start = span_of(*start);
  if (stop) made.stop = span_of(*stop);
  if (order) made.order = span_of(*order);
  if (ngrams) {
    const auto& [runs, score] = *ngrams;
    need(runs.shape(0) == score.shape(0), "ngrams: there must be one score per run");
    made.ngrams = {{runs.data(), runs.size()}, span_of(score)};
  }
  if (!corrections) return made;
  const auto& [sets, set, previous, current, score] = *corrections;
  need(set.shape(0) == previous.shape(0) && set.shape(0) == current.shape(0) && set.shape(0) == score.shape(0),
       "set, previous, current and scores must have the same length");
  made.correction_sets = sets;
  made.correction_set = span_of(set);
  made.corrections = {span_of(previous), span_of(current), {nullptr, score.data()}};
  return made;
}

std::unique_ptr<Edges> from_matrix(AnyArray scores, std::optional<bool> sparse, const Sides& sides) {
  need(scores.ndim() == 2 && scores.shape(0) == scores.shape(1) && scores.shape(0) > 0,
       "edge scores must have shape (L, L) with L > 0");
  const size_t L = scores.shape(0);
  const Scores view = scores_of(scores);
  const EdgeExtras extras = extras_of(sides);
  std::optional<EdgeForm> form;
  if (sparse) form = *sparse ? EdgeForm::kBoth : EdgeForm::kDense;
  return without_gil([&] { return std::make_unique<Edges>(EdgeScores::from_matrix(L, view, form, extras)); });
}

std::unique_ptr<Edges> from_steps(AnyArray scores, const Sides& sides) {
  need(scores.ndim() == 3 && scores.shape(1) == scores.shape(2) && scores.shape(1) > 0,
       "edge scores must have shape (T-1, L, L) with L > 0");
  const size_t steps = scores.shape(0), L = scores.shape(1);
  const Scores view = scores_of(scores);
  const EdgeExtras extras = extras_of(sides);
  std::shared_ptr<void> owner = owner_of(std::move(scores));
  return without_gil(
      [&] { return std::make_unique<Edges>(EdgeScores::from_steps(L, steps, view, std::move(owner), extras)); });
}

// choose_form: or else the triples are all that is held.
std::unique_ptr<Edges> from_triples(size_t L, double fallback, Vector<int32_t> previous, Vector<int32_t> current,
                                    AnyArray scores, bool choose_form, const Sides& sides) {
  need(L > 0 && L < std::numeric_limits<int32_t>::max() / 2, "L must be between 1 and 2**30 - 2");
  need(scores.ndim() == 1 && previous.shape(0) == current.shape(0) && previous.shape(0) == scores.shape(0),
       "previous, current and scores must have the same length");
  const EdgeTriples triples{span_of(previous), span_of(current), scores_of(scores)};
  const EdgeExtras extras = extras_of(sides);
  std::optional<EdgeForm> form;
  if (!choose_form) form = EdgeForm::kSparse;
  return without_gil(
      [&] { return std::make_unique<Edges>(EdgeScores::from_triples(L, fallback, triples, form, extras)); });
}

}  // namespace

void bind_edges(nb::module_& m) {
  nb::class_<Edges>(m, "Edges")
      .def_static("from_matrix", &from_matrix, "scores"_a, "sparse"_a.none(), "sides"_a)
      .def_static("from_steps", &from_steps, "scores"_a, "sides"_a)
      .def_static("from_triples", &from_triples, "L"_a, "default"_a, "previous"_a, "current"_a, "scores"_a,
                  "choose_form"_a, "sides"_a)
      .def("constrained",
           native(+[](const Edges& e, std::shared_ptr<PairRules> rules, std::shared_ptr<LabellingRules> labelling) {
             EdgeScores made = e.constrained(std::move(rules));
             if (labelling) made = made.with_labelling_rules(std::move(labelling));
             return std::make_unique<Edges>(std::move(made));
           }),
           "rules"_a, "labelling"_a.none() = nb::none())
      .def("prepare", native(+[](const Edges& e) {
             e.chain();
             e.reach();
           }))
      .def("without_labelling_rules",
           native(+[](const Edges& e) { return std::make_unique<Edges>(e.without_labelling_rules()); }))
      .def_prop_ro("has_labelling_rules", [](const Edges& e) { return bool(e.labelling_rules()); })
      .def_prop_ro("L", &Edges::L)
      .def(
          "ends",
          [](const Edges& e) {
            std::vector<double> start(e.L()), stop(e.L());
            for (size_t y = 0; y < e.L(); ++y) start[y] = e.start(y), stop[y] = e.stop(y);
            return nb::make_tuple(array_of(std::move(start)), array_of(std::move(stop)));
          },
          "Returns the scores of being the first label and of being the last, 0 where there are none.")
      .def_prop_ro("is_sparse", [](const Edges& e) { return e.facts().sparse; })
      .def_prop_ro("is_stepwise", [](const Edges& e) { return e.facts().stepwise; })
      .def_prop_ro("default", [](const Edges& e) { return e.facts().fallback; })
      .def_prop_ro("exceptions", [](const Edges& e) { return e.facts().exceptions; })
      .def_prop_ro("ngrams", [](const Edges& e) { return e.facts().ngrams; })
      .def_prop_ro("correction_sets", [](const Edges& e) { return e.facts().sets; });
}

}  // namespace tagwright
