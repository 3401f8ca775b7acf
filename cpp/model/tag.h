// Sentences of text to labels and probabilities: each sentence's features are found and scored once.
#pragma once

#include <vector>

#include "decode/batch.h"
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

}  // namespace tagwright
