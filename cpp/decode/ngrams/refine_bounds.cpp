// How the bounds of a column are made tighter where n-grams make them leak.
#include <algorithm>

#include "decode/tree/bounds.h"
#include "kernels/kernels.h"

namespace tagwright {

// The best sum + out of the labels of column t that have less than `least`.
float TreeBounds::best_below(size_t t, float least) const {
  const TreeColumn& c = columns_[t];
  float best = -std::numeric_limits<float>::infinity();
  const auto visit = [&](float key) { best = key < least ? std::max(best, key) : best; };
  if (!c.blocks) {
    for (size_t q = 0; q < lattice_.allowed[t].size(); ++q) visit(c.sum[q] + c.out[q]);
    return best;
  }
  for (size_t b = 0; b < width_ / kTreeLanes; ++b) {
    visit(c.blocks[b]);
    if (c.blocks[b] < least) continue;
    const size_t first = b / kTreeLanes * kGroup + b % kTreeLanes;
    for (size_t y = first; y < first + kGroup; y += kTreeLanes) visit(c.sum[y] + c.out[y]);
  }
  return best;
}

bool TreeBounds::heat(size_t t, float leak, size_t most, Work& work) {
  TreeColumn& c = columns_[t];
  const size_t before = c.hots;
  const float heated = c.top - (c.rest - leak);
  if (!(heated <= std::numeric_limits<float>::max())) return false;
  c.heated = std::max(c.heated, heated);
  choose(t, most, true);
  states_->enter(t, columns_, work);
  work.nodes += c.hots;
  return c.hots > before && c.hots < most;
}

bool TreeBounds::keep_apart(size_t t, float leak, Work& work) {
  constexpr float kMost = 8;
  TreeColumn& c = columns_[t];
  if (c.near > kMost * static_cast<float>(scale_)) return false;
  c.near += leak + static_cast<float>(scale_) / kMost;
  states_->enter(t, columns_, work);
  return true;
}

}  // namespace tagwright
