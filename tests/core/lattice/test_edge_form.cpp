// How the form of edges is chosen, at the limits of the rule.
#include "check.h"
#include "lattice/edge_form.h"

namespace tagwright {
namespace {

constexpr EdgeUse kUses[] = {EdgeUse::kGiven, EdgeUse::kModel, EdgeUse::kTraining};

TEST(a_matrix_is_made_where_it_may_cost_what_it_costs) {
  for (const size_t exceptions : {size_t{0}, size_t{5000}}) {
    CHECK(choose_edge_form(1500, exceptions, EdgeUse::kModel) == EdgeForm::kBoth);
    CHECK(choose_edge_form(1501, exceptions, EdgeUse::kModel) == EdgeForm::kSparse);
    CHECK(choose_edge_form(8192, exceptions, EdgeUse::kTraining) == EdgeForm::kBoth);
    CHECK(choose_edge_form(8193, exceptions, EdgeUse::kTraining) == EdgeForm::kSparse);
    CHECK(choose_edge_form(100000, exceptions, EdgeUse::kGiven) == EdgeForm::kBoth);
  }
}

TEST(exceptions_are_held_where_at_most_thirty_percent_are_some) {
  for (const EdgeUse use : kUses)
    for (const size_t L : {10, 100, 1000}) {
      CHECK(choose_edge_form(L, 3 * L * L / 10, use) == EdgeForm::kBoth);
      CHECK(choose_edge_form(L, 3 * L * L / 10 + 1, use) == EdgeForm::kDense);
      CHECK(choose_edge_form(L, L * L, use) == EdgeForm::kDense);
    }
}

TEST(without_a_matrix_there_are_exceptions_however_many) {
  CHECK(choose_edge_form(2000, size_t{2000} * 2000, EdgeUse::kModel) == EdgeForm::kSparse);
  CHECK(choose_edge_form(9000, size_t{9000} * 9000, EdgeUse::kTraining) == EdgeForm::kSparse);
}

TEST(no_labels_and_one_label_have_a_form) {
  for (const EdgeUse use : kUses) {
    CHECK(choose_edge_form(0, 0, use) == EdgeForm::kBoth);
    CHECK(choose_edge_form(1, 0, use) == EdgeForm::kBoth);
    CHECK(choose_edge_form(1, 1, use) == EdgeForm::kDense);
  }
}

}  // namespace
}  // namespace tagwright
