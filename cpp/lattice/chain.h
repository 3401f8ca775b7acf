// Blocks of labels and the bounds between them.
//
// A node of a coarse lattice is a label (0 .. L-1) or a block (L .. L+B-1). A block's node score is the largest of
// its members', its edge scores the largest over member pairs, so a path over blocks bounds every path inside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lattice/scores.h"

namespace tagwright {

// The chain of Kaji et al. 2010 (section 3.2) and Huang et al. 2012: block m holds the labels ranked 2^m and worse;
// it splits into the labels ranked 2^m .. 2^(m+1)-1 and block m+1. A column starts with the first label and block 0.
struct Chain {
  size_t L = 0, B = 0;         // labels and blocks
  std::vector<int32_t> order;  // [rank], labels
  bool by_number = true;       // order[r] == r
  std::vector<size_t> inside;  // [label]: it is a member of blocks 0 .. inside - 1

  // How many labels rank before block m; all where there is no such block.
  size_t before(size_t m) const { return m < B ? size_t{1} << m : L; }
};
Chain make_chain(size_t L, std::span<const int32_t> order);

// Largest edge scores of one matrix between the nodes of a chain.
struct Bounds {
  size_t L = 0, B = 0;
  std::vector<double> to;       // [label i][block b]: best edge from i into b
  std::vector<double> from;     // [block b][label j]: best edge from b to j
  std::vector<double> between;  // [block b][block c]
  std::vector<double> out;      // [node]: best edge out of a label or block
  std::vector<double> in;       // [node]: best edge into one
  double largest = kForbidden;  // of all edges
};

// Updates the bounds after the edge from i to j has risen to this score.
void raise_bounds(Bounds& bounds, const Chain& chain, size_t i, size_t j, double score);

// No float less than a score.
float rounded_up(double score);

// Kaji's equation 1: out[b] = largest of scores[y] over the members y of block b.
void block_scores(const Chain& chain, Scores scores, double* out);

}  // namespace tagwright
