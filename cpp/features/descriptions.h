// Features in words, derived from the templates that make them: "suffix ies" for U23:ies.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "features/templates.h"
#include "features/text.h"

namespace tagwright {

struct DescribedFeature {
  std::string feature;  // as it is written
  std::string words;
};

// Returns the features of a token, and of the edges into it, in the order of their templates, without those that look
// at labels. Ready-made features have no templates: there are none.
std::vector<DescribedFeature> described_features(const Templates& templates, const Text& text, size_t sentence,
                                                 size_t t);

}  // namespace tagwright
