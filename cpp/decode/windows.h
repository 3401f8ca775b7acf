// Sentences too long to be held at once, decoded a window of columns at a time.
//
// Checkpointed dynamic programming (Grice, Hughey and Speck 1997): a pass forward keeps the scores of each window's
// last column only; on the way back a window's scores are computed again when the path comes to it. So T tokens take
// the memory of one window and of T / window columns, and twice the time.
#pragma once

#include <functional>
#include <vector>

#include "decode/table.h"

namespace tagwright {

// What a sentence lacks, computed when its turn comes on the thread that decodes it. nodes stay valid until the arena
// is reset.
struct Supplied {
  Scores nodes;
  std::vector<std::vector<int32_t>> on;  // correction sets active at each step between the columns
  Allowed allowed = {};
};

// The scores of columns begin .. end - 1 of a sentence. Windows overlap: the first column of one is the last of the one
// before.
using Columns = std::function<Supplied(size_t begin, size_t end, Arena& arena)>;

// What the scores of a sentence may take before it is worked on in windows.
inline constexpr size_t kWholeBytes = size_t{256} << 20;

// How many columns a window has given the bytes that each label of each column takes; 0 where all are held at once.
size_t window_of(size_t T, const Edges& edges, size_t bytes, size_t whole = kWholeBytes);

// The same for decoding; options.window, where it is set, decides. given: whether node scores are there already.
size_t window_to_decode(size_t T, const Edges& edges, const Plan& plan, bool given);

// What a sentence takes that is decoded at once. held: bytes of what is known of each label of each token.
double bytes_to_decode(size_t T, const Edges& edges, const Plan& plan, size_t held);

// The best path, with the labels and score of `viterbi` in double precision. Throws std::invalid_argument for the first
// token with a bad score, or where there is no path.
Answer viterbi_in_windows(size_t T, const Edges& edges, size_t window, const Columns& columns, Arena& arena);

// The score of a path, as path_score() has it.
double score_in_windows(const Edges& edges, size_t window, const Columns& columns, std::span<const int32_t> labels,
                        Arena& arena);

// Calls visit(w, begin, end) for the windows of T columns in order, or from the last to the first.
template <class Visit>
void for_each_window(size_t T, size_t window, bool backwards, Visit&& visit) {
  const size_t n = (T + window - 1) / window;
  for (size_t q = 0; q < n; ++q) {
    const size_t w = backwards ? n - 1 - q : q;
    visit(w, w ? w * window - 1 : 0, std::min(T, (w + 1) * window));
  }
}

}  // namespace tagwright
