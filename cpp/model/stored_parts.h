// What the files of all kinds of models have in common: labels, templates and constraints.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "features/tag_dictionary.h"
#include "features/templates.h"
#include "lattice/labelling_rules.h"
#include "lattice/pair_rules.h"
#include "model/model_file.h"

namespace tagwright {

// All throw ModelFileError where something is missing or of another type.
const Json& member(const Json& object, std::string_view name);
std::vector<std::string> strings(const Json& value, const std::string& name);
// Those of a model, with the vectors that it has; none for ready-made features.
Templates stored_templates(const ModelFile& file);

struct StoredLimits {
  std::shared_ptr<const PairRules> pairs;           // nullptr: none
  std::shared_ptr<const LabellingRules> rules;      // nullptr: none
  std::shared_ptr<const TagDictionary> dictionary;  // nullptr: none
};
// The arrays that src/tagwright/constraints/arrays.py writes, whose names begin with a prefix.
StoredLimits stored_limits(const ModelFile& file, size_t L, const std::string& prefix);

}  // namespace tagwright
