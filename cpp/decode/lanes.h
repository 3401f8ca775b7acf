// Many sentences with few labels, side by side.
#pragma once

#include <functional>

#include "decode/batch.h"

namespace tagwright {

// Whether these sentences are decoded faster side by side: few labels, one matrix for all, one path each.
bool worth_lanes(const std::vector<Sentence>& sentences, const Plan& plan);

// Viterbi in double precision, one sentence per lane: the same sums, and of equal paths the same one, as `viterbi` in
// double precision. take(sentence, labels, score) is called once per sentence that has tokens. Returns false where a
// sentence has no path or a number that is no score: the others may have been taken, and decode_all says what is wrong.
bool decode_in_lanes(const std::vector<Sentence>& sentences, size_t threads,
                     const std::function<void(size_t sentence, const int32_t* labels, double score)>& take);

}  // namespace tagwright
