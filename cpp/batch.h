// Many sentences through one decoder, on several threads.
#pragma once

#include <vector>

#include "algorithms.h"

namespace tagwright {

struct Sentence {
  size_t T;
  Scores nodes;
  const Edges* edges;
  const std::vector<std::vector<int32_t>>* on;  // correction sets switched on at each step, or none
};

// One answer a sentence, in order, the same for any number of threads. Throws std::invalid_argument for the first
// sentence with a bad score or without a path.
std::vector<Answer> decode_all(const std::vector<Sentence>& sentences, const Decoder& decoder, const Options& options,
                               size_t threads);

}  // namespace tagwright
