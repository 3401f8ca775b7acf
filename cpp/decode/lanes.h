// Viterbi for many sentences with few labels: one sentence per SIMD lane.
#pragma once

#include <functional>
#include <optional>

#include "decode/batch.h"

namespace tagwright {

using VisitPath = std::function<void(size_t sentence, const int32_t* labels)>;

// The best paths, and of equal ones the same, as `viterbi` in double precision finds them. visit(sentence, labels) is
// called once per sentence that has tokens. Returns false where lanes are not faster, and where a sentence has no path
// or a number that is not a score: others may have been visited, and decode_all reports what is wrong.
bool decode_in_lanes(const std::vector<Sentence>& sentences, const Plan& plan, size_t threads, const VisitPath& visit);
// The same for uniform lattices over the same edges, on this thread. No answers where a sentence has no path.
std::optional<std::vector<Answer>> viterbi_in_lanes(std::span<const Lattice* const> lattices, Arena& arena);

}  // namespace tagwright
