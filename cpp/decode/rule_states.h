// Search for labellings that satisfy rules about whole labellings: A* over labels and counts of units.
#pragma once

#include <optional>

#include "decode/table.h"

namespace tagwright {

// How a search over counts ended.
struct StateSearch {
  std::vector<Path> paths;         // that satisfy all rules, best first, proven
  bool complete = false;           // whether these are k paths, or all there are
  double bound = kForbidden;       // no other path is better
  std::optional<Path> other = {};  // where there are no paths: one that satisfies all rules, of a beam search
  Work work;
};

// Returns the k best paths under the labelling rules of the lattice. seconds: until it stops. None where this search
// does not suit the lattice: many labels, or more rules at once than it can count.
std::optional<StateSearch> search_states(const Lattice& lattice, size_t k, double seconds);

}  // namespace tagwright
