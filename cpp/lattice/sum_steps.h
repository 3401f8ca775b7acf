// Sum steps: what the values of a column's labels send over the edges of a step, corrections included; as factors, or
// in the log domain.
//
// In both directions: side 0 leads from column t to column t + 1, side 1 back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/arena.h"
#include "lattice/factors.h"
#include "lattice/lattice.h"

namespace tagwright {

// Edges as factors, exp(score - shift).
class FactorSteps {
 public:
  FactorSteps(const Lattice& lattice, Arena& arena);

  double shift(size_t t) { return at(t).shift; }
  // Whether the finite edge scores of step t are within kTame of each other.
  bool close(size_t t);
  // Whether one is -inf; may_forbid: whether that is possible at any step.
  bool forbids(size_t t);
  bool may_forbid() { return !lattice_.is_uniform() || at(0).forbids; }

  // out[q] = sum_p value[p] * factor(labels[p], targets[q]). out: with room for room() numbers where all labels are
  // targets.
  void send(size_t t, size_t side, const LabelValues& from, Labels targets, double* out);
  size_t room() const { return (lattice_.L + 7) / 8 * 8; }

  // The expected value of edge score - shift(t) at step t, where an edge has the probability from * factor * to.
  double expected(size_t t, double shift, const LabelValues& from, const LabelValues& to);

 private:
  class Defaults;

  const Factors& at(size_t t);
  void send_listed(size_t t, size_t side, const LabelValues& from, Labels targets, double* out);
  double correct(size_t t, size_t side, const LabelValues& from, double* out);
  double sum_again(size_t t, size_t side, const LabelValues& from, size_t j);
  double expected_of_exceptions(const Factors& factors, const LabelValues& from, const LabelValues& to);
  double expected_of_matrix(const Factors& factors, const LabelValues& from, const LabelValues& to);

  const Lattice& lattice_;
  Arena& arena_;
  const Factors* factors_;  // of all steps, or nullptr where they differ
  Factors made_;            // of one step
  size_t made_for_ = SIZE_MAX;
  double *scores_, *edges_;   // [label]
  double* totals_;            // see Defaults
  int32_t* place_ = nullptr;  // [label]: -1
};

// Edges in the log domain. Where the default edge is -inf, only the entries that exist are visited.
class LogSteps {
 public:
  LogSteps(const Lattice& lattice, Arena& arena);

  // Whether the entries are all edges of step t: others are -inf.
  bool is_listed(size_t t) const { return entries_ && lattice_.patch(t).empty(); }

  // Calls use(terms) for some labels of a column: terms(y, out) fills out with value + edge score for the edges that
  // exist between these labels and label y of the other column, -inf among them, and returns their number. side: that
  // which leads to y.
  template <class Use>
  void with(size_t t, size_t side, const LabelValues& from, Use&& use) {
    select(t, side, from);
    use([&](size_t y, double* out) { return terms(y, out); });
    deselect();
  }

 private:
  void select(size_t t, size_t side, const LabelValues& from);
  void deselect();
  size_t terms(size_t y, double* out);

  const Lattice& lattice_;
  const SparseEdges* const entries_;  // all edges that exist; nullptr where the default is one
  double* edges_;                     // [label]
  double* value_ = nullptr;           // [label]: -inf, or the value of a selected label
  size_t t_ = 0, side_ = 0;           // of the selected labels:
  LabelValues from_ = {};
  bool listed_ = false;
};

}  // namespace tagwright
