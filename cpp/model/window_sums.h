// Probabilities of a sentence too long to be held at once, a window of columns at a time (decode/windows.h).
#pragma once

#include "decode/windows.h"

namespace tagwright {

// What exact sums take for each label of each column.
inline constexpr size_t kSumBytes = 6 * sizeof(double);

// Is given the probabilities of a column's labels, [y]; from the last window to the first.
using TakeColumn = std::function<void(size_t t, const double* probability)>;

// Returns log Z. Throws std::invalid_argument where there is no path.
double sums_in_windows(size_t T, const Edges& edges, size_t window, const Columns& columns, const TakeColumn& take,
                       Arena& arena);

}  // namespace tagwright
