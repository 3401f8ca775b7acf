// Models of other tools: CRFsuite, CRF++ and Wapiti, converted to the weights of a model of our own.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/weights.h"

namespace tagwright {

struct ForeignModel {
  std::string tool;   // "crfsuite", "crf++" or "wapiti"
  bool memm = false;  // otherwise a CRF
  std::vector<std::string> labels;
  std::optional<std::string> templates;  // none: tokens are ready-made features
  WeightArrays<Owned> weights;           // sorted, without weights of 0
};

// Returns which tool has written a file, judged by its first bytes; empty if it is not recognised.
std::string_view foreign_tool(std::string_view bytes);

// Reads the bytes of a model file. Throws ModelFileError, with the offset or line of the error, if the file is
// damaged, or of a tool or version that is not supported.
ForeignModel read_foreign(std::string_view bytes);

ForeignModel read_crfsuite(std::string_view bytes);
ForeignModel read_crfpp(std::string_view bytes);
ForeignModel read_crfpp_text(std::string_view bytes);
ForeignModel read_wapiti(std::string_view bytes);

}  // namespace tagwright
