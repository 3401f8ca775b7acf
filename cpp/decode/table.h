// What a decoder returns, and the table that says everything about each.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/arena.h"
#include "decode/options.h"
#include "lattice/lattice.h"

namespace tagwright {

// Paths, best first; none where every path is forbidden.
struct Answer {
  std::vector<Path> paths;
  Work work;
  bool exact = true;  // whether these are all that was asked for, as far as the decoder can tell
  double gap = 0;     // how far below the best path the first may be
};

using Decode = Answer(const Lattice& lattice, const Options& options, Arena& arena);
// One answer per lattice, as Decode returns them for k = 1. The lattices have the same edges.
using Together = std::vector<Answer>(std::span<const Lattice* const> lattices, const Options& options, Arena& arena);

// What nearly all decoders maximise: the score of a path.
inline constexpr std::string_view kScore = "score";

// What to say where an answer can only come of scores that another thread wrote in the meantime.
inline constexpr const char* kScoresChanged = "the scores changed while they were decoded";

struct Decoder {
  std::string_view name;
  std::string_view paper;
  std::string_view maximises = kScore;  // what the best path has most of
  bool exact = true;                    // whether it always finds the best
  bool kbest = false;                   // whether k may be more than 1
  bool deadline = false;                // whether it can stop at a deadline
  bool ngrams = false;                  // whether it knows ngrams of the edges
  bool lists = false;                   // whether it knows Lattice::allowed; others are given scores of -inf instead
  size_t bytes = 0;                     // of memory that it takes for each label of each token, about, in bad cases
  bool windows = false;                 // whether very long sentences may be decoded in windows (windows.h)
  std::vector<Option> options = {};
  Decode* decode;
  Together* together = nullptr;  // decodes several sentences over one large matrix faster than one by one, or none
  // What to say where every path was lost. Decoders that are not exact have it.
  std::string (*lost)(const Options& options) = nullptr;

  const Option* option(std::string_view named) const;
  // Throws std::invalid_argument where the edges have ngrams and the decoder does not know them.
  void need_ngrams(const Edges& edges) const;
};

std::span<const Decoder> decoders();
// The decoder of this name, or none.
const Decoder* decoder_named(std::string_view name);

// A decoder and its options.
struct Plan {
  const Decoder* decoder;
  Options options;

  // The same for k paths; throws std::invalid_argument where the decoder returns one only.
  Plan with(size_t k) const;
};

// A decoder that knows no lists, for a lattice that may have some.
inline Answer unlisted(Decode* decode, const Lattice& lattice, const Options& options, Arena& arena) {
  return lattice.allowed ? decode(Lattice(lattice, arena), options, arena) : decode(lattice, options, arena);
}

// Lattices as a decoder sees them that knows no lists.
class Unlisted {
 public:
  Unlisted(std::span<const Lattice* const> lattices, Arena& arena) : all_(lattices.begin(), lattices.end()) {
    own_.reserve(static_cast<size_t>(
        std::count_if(all_.begin(), all_.end(), [](const Lattice* lattice) { return bool(lattice->allowed); })));
    for (const Lattice*& lattice : all_)
      if (lattice->allowed) lattice = &own_.emplace_back(*lattice, arena);
  }
  const std::vector<const Lattice*>& all() const { return all_; }

 private:
  std::vector<Lattice> own_;
  std::vector<const Lattice*> all_;
};

// Decoders with which others begin, or to which they leave a sentence.
Decode viterbi, viterbi_astar, beam, tree;
Together viterbi_together, tree_together;

}  // namespace tagwright
