// Decoding of very long sentences, a window of columns at a time.
//
// Checkpointed dynamic programming (Grice, Hughey and Speck 1997): the forward pass keeps only the scores of each
// window's last column; the backward pass computes a window's scores again when the path reaches it. T tokens take the
// memory of one window and of T / window columns, and twice the time.
#pragma once

#include <functional>
#include <vector>

#include "decode/table.h"

namespace tagwright {

// Scores of a sentence that are computed by the thread that decodes it. nodes: valid until the arena is reset.
struct Supplied {
  Scores nodes;
  std::vector<std::vector<int32_t>> on;  // correction sets active at each step between the columns
  Allowed allowed = {};
};

// Returns the scores of columns begin .. end - 1 of a sentence. Windows overlap: the first column of one is the last of
// the one before.
using Columns = std::function<Supplied(size_t begin, size_t end, Arena& arena)>;

// Sentences whose scores take more are processed in windows.
inline constexpr size_t kWholeBytes = size_t{256} << 20;

// Returns the number of columns of a window; 0 where all columns fit into `whole` bytes. bytes: per label and column.
size_t window_of(size_t T, const Edges& edges, size_t bytes, size_t whole = kWholeBytes);

// Returns the same for decoding; options.window, where set, decides. given: whether node scores are in memory already.
size_t window_to_decode(size_t T, const Edges& edges, const Plan& plan, bool given);

// Returns the bytes that decoding a sentence at once takes. held: bytes of scores per label and token.
double bytes_to_decode(size_t T, const Edges& edges, const Plan& plan, size_t held);

// Returns the best path, with the labels and score of `viterbi` in double precision. Throws std::invalid_argument for
// the first token with a bad score, or where there is no path.
Answer viterbi_in_windows(size_t T, const Edges& edges, size_t window, const Columns& columns, Arena& arena);

// Returns the score of a path, as path_score() sums it.
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
