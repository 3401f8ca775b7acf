// The table of decoders, what a decoder returns, and how it is called.
#pragma once

#include <algorithm>
#include <exception>
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
  bool exact = true;              // whether these are proven to be the requested paths
  double gap = 0;                 // by how much another path may exceed the first
  std::exception_ptr error = {};  // why there is no path, where that is known
};

// Decoders return paths as labels: Decoder::run() scores them.
using Decode = Answer(const Lattice& lattice, const Options& options, Arena& arena);
// One answer per lattice, as Decode returns them for k = 1. The lattices have the same edges, without n-grams.
using DecodeBatch = std::vector<Answer>(std::span<const Lattice* const> lattices, const Options& options, Arena& arena);

// The objective of nearly all decoders: the score of a path.
inline constexpr std::string_view kScore = "score";

// The error where another thread must have changed the scores of a lattice during decoding.
inline constexpr const char* kScoresChanged = "the scores changed while they were decoded";

// How a decoder works on one kind of state: labels, or contexts of label n-grams.
struct Variant {
  Decode* decode = nullptr;      // nullptr where it cannot handle them
  DecodeBatch* batch = nullptr;  // faster for several sentences over one large matrix, or nullptr
  bool viterbi = false;          // whether its best path may be found by Viterbi; see Plan::is_viterbi
};

struct Decoder {
  std::string_view name;
  std::string_view paper;
  std::string_view maximises = kScore;  // the objective
  bool exact = true;                    // whether it always finds the best path
  bool kbest = false;                   // whether k may be more than 1
  bool deadline = false;                // whether it can stop at a deadline
  bool lists = false;                   // whether it reads Lattice::allowed; others get scores of -inf instead
  size_t bytes = 0;                     // of memory per label and token, about, in bad cases
  std::vector<Option> options = {};
  Variant labels;
  Variant contexts = {};
  // Returns the message where every path was lost; only of decoders that are not exact.
  std::string (*lost)(const Options& options) = nullptr;

  const Option* option(std::string_view named) const;
  // Returns the variant for these edges: the one place that asks for label n-grams. Throws std::invalid_argument where
  // the edges have some and the decoder cannot handle them.
  const Variant& variant(const Edges& edges) const;

  // Decodes lattices over the same edges; one path each where there are several. The one place from which decoders are
  // called: it applies lists of allowed labels for those that do not read them, chooses the variant, scores paths by
  // path_score, and searches on where the paths violate rules about whole labellings.
  std::vector<Answer> run(std::span<const Lattice* const> lattices, const Options& options, Arena& arena) const;
  Answer run(const Lattice& lattice, const Options& options, Arena& arena) const;
  // The same without rules about whole labellings: for searches that are part of another one.
  Answer run_without_rules(const Lattice& lattice, const Options& options, Arena& arena) const;
  // The same without scores, too: for decoders that fall back to another one.
  std::vector<Answer> search(std::span<const Lattice* const> lattices, const Options& options, Arena& arena) const;
  Answer search(const Lattice& lattice, const Options& options, Arena& arena) const;
};

std::span<const Decoder> decoders();
// Returns the decoder of this name, or nullptr.
const Decoder* decoder_named(std::string_view name);
// Returns the exact decoder that others fall back to.
const Decoder& fallback_decoder(const Options& options);

// A decoder and its options.
struct Plan {
  const Decoder* decoder;
  Options options;

  // Whether the answer is one path that Viterbi finds, too: in SIMD lanes where there are few labels (lanes.h), in
  // windows where sentences are very long (windows.h).
  bool is_viterbi(const Edges& edges) const;
  // Returns the plan for k paths; throws std::invalid_argument where the decoder returns one path only.
  Plan with(size_t k) const;
};

}  // namespace tagwright
