#include "lattice/factors.h"

namespace tagwright {

double Factors::at(size_t i, size_t j) const {
  const size_t place = entry(i, j);
  if (place == Csr::kNoPlace) return rules && !rules->allows(i, j) ? 0 : rest;
  return dense ? side[0].matrix[place] : side[0].factor[place];
}

size_t Factors::entry(size_t i, size_t j) const { return dense ? i * stride + j : side[0].find(i, j); }

void Factors::count(const LabelValues& from, const LabelValues& to, double grain, double* zeros, double* counts) const {
  const Side& rows = side[0];
  for (size_t q = 0; q < to.size() && !dense; ++q) zeros[to.labels[q]] = to.value[q];
  for (size_t p = 0; p < from.size(); ++p) {
    const auto i = static_cast<size_t>(from.labels[p]);
    if (!dense) {
      for (size_t e = rows.begin[i]; e < rows.begin[i + 1]; ++e)
        counts[e] += to_grain(from.value[p] * rows.factor[e] * zeros[rows.index[e]], grain);
      continue;
    }
    double* const count = counts + i * stride;
    const double* const factor = rows.matrix.data() + i * stride;
    if (to.size() == L) {
      kernels().count_row(from.value[p], factor, to.value, L, grain, count);
    } else {
      for (size_t q = 0; q < to.size(); ++q)
        count[to.labels[q]] += to_grain(from.value[p] * factor[to.labels[q]] * to.value[q], grain);
    }
  }
  for (size_t q = 0; q < to.size() && !dense; ++q) zeros[to.labels[q]] = 0;
}

}  // namespace tagwright
