// Viterbi over all pairs of labels: the plain second-order one, L*L*L edges per token, in the loops of the first order.
#pragma once

#include "decode/table.h"

namespace tagwright {

// Whether ngrams are of three labels and so many that looking at all pairs is faster than looking at contexts.
bool worth_pairs(const Edges& edges);
// Whether there is memory for them; worth_pairs() says no where there is not.
bool can_pairs(const Edges& edges);

// One path, or none where every path is forbidden. Of ngrams of three labels.
Answer pair_viterbi(const Lattice& lattice, Arena& arena);

}  // namespace tagwright
