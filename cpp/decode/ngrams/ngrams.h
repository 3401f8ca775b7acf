// Decoders of lattices whose edges have n-grams. Each is reached through the decoder of the table that it belongs to.
#pragma once

#include "decode/table.h"

namespace tagwright {

// Viterbi over contexts; k best by Viterbi A* over contexts.
Decode ngram_viterbi;

// tree over n-grams, but false where it is Viterbi's turn; the work is counted in any case.
bool try_ngram_tree(const Lattice& lattice, const Options& options, Arena& arena, Answer& answer);

}  // namespace tagwright
