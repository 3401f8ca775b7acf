#include "lattice/edge_form.h"

namespace tagwright {

EdgeForm choose_edge_form(size_t L, size_t exceptions, EdgeUse use) {
  constexpr size_t kModelLabels = 1500, kTrainingLabels = 8192;
  constexpr double kFew = 0.3;  // trained models have exceptions in 1 to 11 % of the matrix
  const bool matrix = use == EdgeUse::kGiven || L <= (use == EdgeUse::kModel ? kModelLabels : kTrainingLabels);
  if (!matrix) return EdgeForm::kSparse;
  const bool few = exceptions <= static_cast<size_t>(kFew * static_cast<double>(L * L));
  return few ? EdgeForm::kBoth : EdgeForm::kDense;
}

}  // namespace tagwright
