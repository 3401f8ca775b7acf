// Many sentences with few labels, side by side.
#pragma once

#include <functional>

#include "decode/batch.h"

namespace tagwright {

// Whether these sentences are decoded faster side by side: few labels, one matrix for all, one path each.
bool worth_lanes(const std::vector<Sentence>& sentences, const Plan& plan);

using TakePath = std::function<void(size_t sentence, const int32_t* labels, double score)>;

// Viterbi, one sentence per lane: the best paths, and of equal ones the same, as `viterbi` in double precision finds
// them, and the same scores. take(sentence, labels, score) is called once per sentence that has tokens. Returns false
// where a sentence has no path or a number that is no score: the others may have been taken, and decode_all says what
// is wrong.
bool decode_in_lanes(const std::vector<Sentence>& sentences, size_t threads, const TakePath& take);

}  // namespace tagwright
