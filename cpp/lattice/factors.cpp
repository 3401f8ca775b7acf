#include "lattice/factors.h"

namespace tagwright {

double Factors::at(size_t i, size_t j) const {
  if (dense) return side[0].matrix[i * stride + j];
  const size_t entry = side[0].find(i, j);
  if (entry == Csr::kNoPlace) return rules && !rules->allows(i, j) ? 0 : rest;
  return side[0].factor[entry];
}

}  // namespace tagwright
