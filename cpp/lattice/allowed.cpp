#include "lattice/allowed.h"

#include <algorithm>

namespace tagwright {
namespace {

template <class V>
const V* masked_copy(const V* nodes, size_t T, size_t L, const Allowed& allowed, Arena& arena) {
  V* const made = arena.array<V>(times(T, L));
  for (size_t t = 0; t < T; ++t) {
    const V* from = nodes + t * L;
    V* to = made + t * L;
    if (allowed[t].empty()) {
      std::copy_n(from, L, to);
      continue;
    }
    std::fill_n(to, L, static_cast<V>(kForbidden));
    for (const int32_t y : allowed[t]) to[y] = from[y];
  }
  return made;
}

}  // namespace

Scores masked(Scores nodes, size_t T, size_t L, const Allowed& allowed, Arena& arena) {
  if (!allowed) return nodes;
  if (nodes.f) return {masked_copy(nodes.f, T, L, allowed, arena), nullptr};
  return {nullptr, masked_copy(nodes.d, T, L, allowed, arena)};
}

}  // namespace tagwright
