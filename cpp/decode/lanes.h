// Many sentences with few labels, side by side.
#pragma once

#include <functional>
#include <optional>

#include "decode/batch.h"

namespace tagwright {

// Whether sentences over these edges are decoded faster side by side: few labels, one matrix for all.
bool few_enough_for_lanes(const Edges& edges);
// Whether these sentences are: one path each.
bool worth_lanes(const std::vector<Sentence>& sentences, const Plan& plan);

using TakePath = std::function<void(size_t sentence, const int32_t* labels, double score)>;

// Viterbi, one sentence per lane: the best paths, and of equal ones the same, as `viterbi` in double precision finds
// them, and the same scores. take(sentence, labels, score) is called once per sentence that has tokens. Returns false
// where a sentence has no path or a number that is no score: the others may have been taken, and decode_all says what
// is wrong.
bool decode_in_lanes(const std::vector<Sentence>& sentences, size_t threads, const TakePath& take);
// The same for lattices over the same edges, without corrections, on this thread. No answers where a sentence has no
// path.
std::optional<std::vector<Answer>> viterbi_in_lanes(std::span<const Lattice* const> lattices, Arena& arena);

}  // namespace tagwright
