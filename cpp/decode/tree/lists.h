// Lattices in which every column is narrow: Viterbi over the labels of the lists.
#pragma once

#include <optional>

#include "decode/table.h"

namespace tagwright {

// The best path, or no paths where there is none; nothing where this is not the way to find it: a column is wide, lists
// are long, or k paths are requested.
std::optional<Answer> viterbi_over_lists(const Lattice& lattice, const Options& options, Arena& arena);

}  // namespace tagwright
