// What the faces of trainers share.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/digest.h"
#include "features/encode.h"
#include "python/bindings.h"

namespace tagwright {

// A labelled corpus in numbers.
struct TrainingCorpus {
  std::shared_ptr<Names> names;
  Encoded corpus;
  std::vector<int32_t> labels;  // of every token
  Digest digest;                // of all that
};
// known: names that features have already, in their order; they are never rare. label_names: for templates that look at
// earlier labels; others do without.
TrainingCorpus read_corpus(const Text& text, const Templates& templates, IntArray labels, size_t L,
                           const std::vector<std::string_view>& known_node,
                           const std::vector<std::string_view>& known_edge, size_t min_count, size_t threads,
                           const std::vector<std::string>& label_names = {});

// Weights that are not 0, by the numbers of a trainer's features.
struct TrainedWeights {
  std::shared_ptr<const Names> names;
  std::vector<size_t> node_end;
  std::vector<uint16_t> node_label;
  std::vector<float> node_weight;
  std::vector<int32_t> previous, current;  // of edges
  std::vector<double> edge;
  std::vector<int32_t> set, set_previous, set_current;
  std::vector<double> correction;
};

std::string hex(const Digest& digest);

}  // namespace tagwright
