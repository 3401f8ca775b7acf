// A corpus as numbers: every token's features, indexed once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "features/index.h"
#include "features/templates.h"
#include "features/text.h"

namespace tagwright {

// The features of tokens one behind the other, and where each token's end.
struct Ids {
  std::vector<int32_t> id;
  std::vector<float> value;  // beside id; empty where all are 1
  std::vector<size_t> end;   // [token]

  size_t begin(size_t token) const { return token ? end[token - 1] : 0; }
  float value_of(size_t at) const { return value.empty() ? 1.0F : value[at]; }
};

struct Encoded {
  std::vector<size_t> sentence_end;  // in tokens
  Ids node, edge;                    // edge: of the step into the token

  size_t sentences() const { return sentence_end.size(); }
  size_t first_token(size_t s) const { return s ? sentence_end[s - 1] : 0; }
};

// What features are called: those of nodes and those of edges.
struct Names {
  Index node, edge;
};

// The labels of a corpus, for templates that look at them.
struct Labelled {
  std::span<const std::string> names;
  std::span<const int32_t> labels;  // of every token
};

// Numbers the features of a text, new ones in the order in which they come, whatever the number of threads. Templates
// that look at earlier labels see the right ones.
Encoded encode(const Text& text, const Templates& templates, const Labelled& labelled, Names& names, size_t threads);

// Forgets features that occur on fewer than min_count tokens, but for the first `kept` of each kind.
void drop_rare(Encoded& corpus, Names& names, size_t min_count, size_t kept_node, size_t kept_edge);

// The labels that each feature was met with, in their order, one feature behind the other. labels: of every token.
struct LabelsMet {
  std::vector<size_t> end;  // [feature]
  std::vector<uint16_t> label;
};
LabelsMet labels_met(const Ids& ids, std::span<const int32_t> labels, size_t features);

// The features that are chosen, in their order, as a new index.
Index select(const IndexView& from, const std::vector<bool>& chosen);

}  // namespace tagwright
