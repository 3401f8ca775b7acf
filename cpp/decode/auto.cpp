// auto: picks an exact decoder by what the edges are.
#include <algorithm>

#include "decode/table.h"

namespace tagwright {
namespace {

// Tree is worth trying where there are more than a few labels, but not with one matrix per step: making bounds would
// read all its edges, and by then Viterbi is done.
//
// Where few labels are allowed, tree looks at these only.
bool worth_a_tree(const Lattice& lattice, const Options& options) {
  constexpr size_t kFew = 128, kFewSparse = 64, kFewAllowed = 8, kFewPatterns = 12;
  const Edges& edges = lattice.edges;
  if (options.deadline < std::numeric_limits<double>::infinity()) return true;
  if (edges.is_stepwise()) return false;
  if (edges.L() > (edges.ngrams() ? kFewPatterns : edges.is_sparse() ? kFewSparse : kFew)) return true;
  if (!lattice.allowed) return false;
  size_t labels = 0;
  for (size_t t = 0; t < lattice.T; ++t) labels += lattice.allowed[t].empty() ? edges.L() : lattice.allowed[t].size();
  return labels * kFewAllowed <= lattice.T * edges.L();
}

}  // namespace

Answer automatic(const Lattice& lattice, const Options& options, Arena& arena) {
  if (worth_a_tree(lattice, options)) return tree(lattice, options, arena);
  return unlisted(options.k == 1 ? viterbi : viterbi_astar, lattice, options, arena);
}

std::vector<Answer> automatic_together(std::span<const Lattice* const> lattices, const Options& options, Arena& arena) {
  const auto for_tree = [&](const Lattice* lattice) { return worth_a_tree(*lattice, options); };
  if (std::all_of(lattices.begin(), lattices.end(), for_tree)) return tree_together(lattices, options, arena);
  return viterbi_together(Unlisted(lattices, arena).all(), options, arena);
}

}  // namespace tagwright
