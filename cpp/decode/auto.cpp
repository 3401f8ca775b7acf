// auto: picks an exact decoder by what the edges are.
#include "decode/table.h"

namespace tagwright {
namespace {

// Tree is worth trying where there are more than a few labels, but not with one matrix per step: making bounds would
// read all its edges, and by then Viterbi is done.
bool worth_a_tree(const Edges& edges, const Options& options) {
  constexpr size_t kFew = 128, kFewSparse = 64;
  const bool timed = options.deadline < std::numeric_limits<double>::infinity();
  return timed || (!edges.is_stepwise() && edges.L() > (edges.is_sparse() ? kFewSparse : kFew));
}

}  // namespace

Answer automatic(const Lattice& lattice, const Options& options, Arena& arena) {
  if (worth_a_tree(lattice.edges, options)) return tree(lattice, options, arena);
  return (options.k == 1 ? viterbi : viterbi_astar)(lattice, options, arena);
}

std::vector<Answer> automatic_together(std::span<const Lattice* const> lattices, const Options& options, Arena& arena) {
  return (worth_a_tree(lattices[0]->edges, options) ? tree_together : viterbi_together)(lattices, options, arena);
}

}  // namespace tagwright
