// Many sentences through one decoder, on several threads.
#pragma once

#include <functional>
#include <vector>

#include "decode/table.h"

namespace tagwright {

struct Sentence {
  size_t T;
  Scores nodes;
  const Edges* edges;
  const std::vector<std::vector<int32_t>>* on;  // correction sets switched on at each step, or none
};

// What a sentence lacks, computed when its turn comes on the thread that decodes it. nodes stay valid until the arena
// is reset.
struct Supplied {
  Scores nodes;
  std::vector<std::vector<int32_t>> on;
};
using Supply = std::function<Supplied(size_t sentence, Arena& arena)>;
// Is called when a sentence has its answer, while its scores are still there.
using Finish = std::function<void(size_t sentence, const Lattice& lattice, const Answer& answer)>;

// Returns one answer per sentence, in order, the same for any number of threads. Throws std::invalid_argument for the
// first sentence with a bad score or without a path.
std::vector<Answer> decode_all(const std::vector<Sentence>& sentences, const Decoder& decoder, const Options& options,
                               size_t threads, const Supply& supply = {}, const Finish& finish = {});

}  // namespace tagwright
