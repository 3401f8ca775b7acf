// auto: chooses an exact decoder by what edges cost.
#include <algorithm>

#include "decode/table.h"

namespace tagwright {
namespace {

// Tree is worth trying where bounds cost less than max steps, or few labels are allowed: it reads only these.
bool worth_a_tree(const Lattice& lattice, const Options& options) {
  constexpr size_t kFewAllowed = 8;
  const size_t L = lattice.L, few = lattice.edges.costs().few_labels;
  if (options.deadline < std::numeric_limits<double>::infinity() || L > few) return true;
  if (!lattice.allowed || few == SIZE_MAX) return false;
  size_t labels = 0;
  for (size_t t = 0; t < lattice.T; ++t) labels += lattice.allowed[t].empty() ? L : lattice.allowed[t].size();
  return labels * kFewAllowed <= lattice.T * L;
}

const Decoder& tree_decoder() {
  static const Decoder& tree = *decoder_named("tree");
  return tree;
}

}  // namespace

Answer automatic(const Lattice& lattice, const Options& options, Arena& arena) {
  return (worth_a_tree(lattice, options) ? tree_decoder() : fallback_decoder(options)).search(lattice, options, arena);
}

std::vector<Answer> automatic_batch(std::span<const Lattice* const> lattices, const Options& options, Arena& arena) {
  const auto for_tree = [&](const Lattice* lattice) { return worth_a_tree(*lattice, options); };
  const bool all = std::all_of(lattices.begin(), lattices.end(), for_tree);
  return (all ? tree_decoder() : fallback_decoder(options)).search(lattices, options, arena);
}

}  // namespace tagwright
