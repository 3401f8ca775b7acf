// tree: our own exact decoder.
#pragma once

#include "decode/table.h"

namespace tagwright {

Decode tree;
// Tree for each sentence; those that it gives up are left to one Viterbi pass together.
Together tree_together;

}  // namespace tagwright
