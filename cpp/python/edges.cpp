// Edge scores as Python gives them.
#include <limits>

#include "python/bindings.h"

namespace tagwright {
namespace {

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
  std::shared_ptr<void> owner = owner_of(std::move(scores));
  nb::gil_scoped_release release;
  return Edges::stepwise(L, steps, view, std::move(owner));
}

std::unique_ptr<Edges> edges_from_exceptions(size_t L, double fallback, IntArray previous, IntArray current,
                                             RealArray scores) {
  need(L > 0 && L < std::numeric_limits<int32_t>::max() / 2, "L must be between 1 and 2**30 - 2");
  need(previous.shape(0) == current.shape(0) && previous.shape(0) == scores.shape(0),
       "previous, current and scores must have the same length");
  return Edges::sparse(L, fallback, span_of(previous), span_of(current), span_of(scores));
}

}  // namespace

void bind_edges(nb::module_& m) {
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
}

}  // namespace tagwright
