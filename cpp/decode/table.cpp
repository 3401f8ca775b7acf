// The table of decoders: what the Python face, the command line, the documentation, the benchmarks and the tests
// are made from.
#include <array>

#include "decode/algorithms.h"

namespace tagwright {

bool worth_a_tree(const Edges& edges, const Options& options) {
  constexpr size_t kFew = 128, kFewSparse = 64;
  const bool timed = options.deadline < std::numeric_limits<double>::infinity();
  return timed || (!edges.is_stepwise() && edges.L() > (edges.is_sparse() ? kFewSparse : kFew));
}

Answer automatic(const Lattice& lattice, const Options& options, Arena& arena) {
  if (worth_a_tree(lattice.edges, options)) return tree(lattice, options, arena);
  return (options.k == 1 ? viterbi : viterbi_astar)(lattice, options, arena);
}

namespace {

constexpr std::array kDecoders = {
    Decoder{"auto", "picks one of the exact ones below", true, true, automatic},
    Decoder{"viterbi", "Viterbi 1967; Huang 2012, 3.1 and 3.4", true, true, viterbi},
    Decoder{"beam", "Huang 2012, Table 1", false, true, beam},
    Decoder{"staggered", "Kaji 2010; Huang 2012, Algorithm 1", true, false, staggered},
    Decoder{"carpediem", "Esposito & Radicioni 2009", true, false, carpediem},
    Decoder{"astar", "Huang 2012, 4.1 and 4.3", true, true, astar},
    Decoder{"iterative_astar", "Huang 2012, 4.2", true, false, iterative_astar},
    Decoder{"viterbi_astar", "Huang 2012, Algorithm 3", true, true, viterbi_astar},
    Decoder{"iterative_viterbi_astar", "Huang 2012, Algorithm 4", true, true, iterative_viterbi_astar},
    Decoder{"tree", "ours", true, true, tree},
};

}  // namespace

std::span<const Decoder> decoders() { return kDecoders; }

}  // namespace tagwright
