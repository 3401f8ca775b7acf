// What decoders return, and the table that describes each of them.
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
  bool exact = true;  // whether these are all requested paths, as far as the decoder can tell
  double gap = 0;     // how far below the best path the first may be
};

// Decoders return paths as labels: Decoder::run() scores them.
using Decode = Answer(const Lattice& lattice, const Options& options, Arena& arena);
// One answer per lattice, as Decode returns them for k = 1. The lattices have the same edges, without n-grams.
using DecodeBatch = std::vector<Answer>(std::span<const Lattice* const> lattices, const Options& options, Arena& arena);

// What nearly all decoders maximise: the score of a path.
inline constexpr std::string_view kScore = "score";

// The message where scores must have been changed by another thread while they were decoded.
inline constexpr const char* kScoresChanged = "the scores changed while they were decoded";

struct Decoder {
  std::string_view name;
  std::string_view paper;
  std::string_view maximises = kScore;  // what the best path has most of
  bool exact = true;                    // whether it always finds the best
  bool kbest = false;                   // whether k may be more than 1
  bool deadline = false;                // whether it can stop at a deadline
  bool lists = false;                   // whether it reads Lattice::allowed; others get scores of -inf instead
  bool lanes = false;                   // whether sentences with few labels may be decoded in SIMD lanes (lanes.h)
  size_t bytes = 0;                     // of memory that it takes for each label of each token, about, in bad cases
  bool windows = false;                 // whether very long sentences may be decoded in windows (windows.h)
  std::vector<Option> options = {};
  Decode* decode;
  Decode* with_ngrams = nullptr;  // the same for edges with label n-grams; nullptr where it cannot handle them
  DecodeBatch* batch = nullptr;   // decodes several sentences over one large matrix faster than one by one, or nullptr
  // The message where every path was lost. Decoders that are not exact have it.
  std::string (*lost)(const Options& options) = nullptr;

  const Option* option(std::string_view named) const;
  // Throws std::invalid_argument where the edges have n-grams and the decoder cannot handle them.
  void need_ngrams(const Edges& edges) const;

  // Decodes lattices over the same edges; one path each where there are several. The one place from which decoders are
  // called: it applies lists of allowed labels for those that do not read them, chooses the variant for n-grams, and
  // scores paths by path_score.
  std::vector<Answer> run(std::span<const Lattice* const> lattices, const Options& options, Arena& arena) const;
  Answer run(const Lattice& lattice, const Options& options, Arena& arena) const;
  // The same without scores: for decoders that leave a sentence to another one.
  std::vector<Answer> search(std::span<const Lattice* const> lattices, const Options& options, Arena& arena) const;
  Answer search(const Lattice& lattice, const Options& options, Arena& arena) const;
};

std::span<const Decoder> decoders();
// The decoder of this name, or nullptr.
const Decoder* decoder_named(std::string_view name);
// The exact decoder that others leave a sentence to.
const Decoder& fallback_decoder(const Options& options);

// A decoder and its options.
struct Plan {
  const Decoder* decoder;
  Options options;

  // The same for k paths; throws std::invalid_argument where the decoder returns one only.
  Plan with(size_t k) const;
};

}  // namespace tagwright
