// Sentences of text to labels and probabilities: each sentence's features are found and scored once.
#pragma once

#include <vector>

#include "decode/batch.h"
#include "model/scorer.h"
#include "sums/keep.h"

namespace tagwright {

// Of one sentence.
struct Sure {
  double log_z = 0;
  std::vector<double> label;  // the probabilities of the labels of its paths, one path behind the other
};

// One answer per sentence, in order. sure: filled, where it is given, with what exact sums say of each.
std::vector<Answer> tag_all(const Scorer& scorer, const Text& text, const Edges& edges, const Plan& plan,
                            size_t threads, std::vector<Sure>* sure = nullptr);

// [sentence]: the probabilities of all labels, [t * L + y].
std::vector<std::vector<float>> label_marginals(const Scorer& scorer, const Text& text, const Edges& edges,
                                                const Keep& keep, size_t threads);

}  // namespace tagwright
