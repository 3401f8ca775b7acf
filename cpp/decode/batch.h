// Decoding of many sentences on several threads.
#pragma once

#include <functional>
#include <vector>

#include "decode/windows.h"

namespace tagwright {

struct Sentence {
  size_t T;
  Scores nodes;
  const Edges* edges;
  const std::vector<std::vector<int32_t>>* on;  // correction sets active at each step, or none
  Allowed allowed = {};
};

// Returns the scores of columns begin .. end - 1 of a sentence: of all columns, or of one window after the other.
using Supply = std::function<Supplied(size_t sentence, size_t begin, size_t end, Arena& arena)>;
// Called with each answer while the scores of the sentence are in memory; lattice: nullptr if decoded in windows.
using Finish = std::function<void(size_t sentence, const Lattice* lattice, const Answer& answer)>;

// Returns one answer per sentence, in order, the same for any number of threads. Throws std::invalid_argument for the
// first sentence with a bad score or without a path.
std::vector<Answer> decode_all(const std::vector<Sentence>& sentences, const Decoder& decoder, const Options& options,
                               size_t threads, const Supply& supply = {}, const Finish& finish = {});

}  // namespace tagwright
