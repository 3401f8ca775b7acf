// How edge scores are held, and the one rule that chooses it.
#pragma once

#include <cstddef>

namespace tagwright {

enum class EdgeForm {
  kDense,   // a matrix
  kSparse,  // default + exceptions: the score that most edges have, and the edges that differ from it
  kBoth,    // exceptions, and a matrix beside them in which a single edge is found at once
};

// What a matrix of L * L scores may cost.
enum class EdgeUse {
  kGiven,     // nothing: there is one already
  kModel,     // 9 MB, or 1,500 labels: it must be made before the first sentence is labelled
  kTraining,  // 256 MB, or 8,192 labels: each epoch looks up single edges again and again
};

// The rule. There is a matrix where it may cost what it costs. There are exceptions where at most 30 % of the edges
// are some, beyond which dense loops win, and where there is no matrix.
//
// exceptions: how many of the L * L edges differ from the most common score, or are expected to.
EdgeForm choose_edge_form(size_t L, size_t exceptions, EdgeUse use);

}  // namespace tagwright
