// The rules of labels of spans, such as B-NP, I-NP and O (src/tagwright/schemes.py).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lattice/pair_rules.h"

namespace tagwright {

// Returns the rules of the labels' scheme; nullptr unless all labels are of one scheme that marks where spans begin.
std::shared_ptr<const PairRules> span_rules(const std::vector<std::string>& labels);

}  // namespace tagwright
