// Sentences of text to labels and probabilities: each sentence's features are found and scored once.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "decode/batch.h"
#include "features/lines.h"
#include "features/tag_dictionary.h"
#include "model/scorer.h"
#include "sums/spans.h"

namespace tagwright {

// Probabilities of one sentence.
struct Posteriors {
  double log_z = 0;
  std::vector<double> label;  // the probabilities of the labels of its paths, one path behind the other
  std::vector<Span> spans;    // where they are requested
};

// One answer per sentence, in order. allowed: the lists of all tokens, or none. posteriors: filled, where
// given, with those of exact sums. spans: which spans, or none.
std::vector<Answer> tag_all(const Scorer& scorer, const Text& text, const Edges& edges, const Plan& plan,
                            size_t threads, const AllowedLists* allowed = nullptr,
                            std::vector<Posteriors>* posteriors = nullptr, const SpanQuery* spans = nullptr);

// [sentence]: the probabilities of all labels, [t * L + y]. window: columns of a window; 0: by what memory allows.
std::vector<std::vector<float>> label_marginals(const Scorer& scorer, const Text& text, const Edges& edges,
                                                const PruningRule& keep, size_t threads,
                                                const AllowedLists* allowed = nullptr, size_t window = 0);

// Returns the lines of a block with the best labels, in order, each piece of it read, tagged and written by one thread.
// names: of the labels. dictionary: a tag dictionary, or nullptr. Returns none if the block is malformed or a sentence
// has no labelling: reading it line by line reports the error.
std::optional<std::string> tag_lines(const Scorer& scorer, std::string_view block, const LineFormat& format,
                                     const Edges& edges, const Plan& plan, size_t threads,
                                     std::span<const std::string_view> names,
                                     const TagDictionary* dictionary = nullptr);

}  // namespace tagwright
