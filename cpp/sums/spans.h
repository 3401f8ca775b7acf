// Probabilities of spans: that a labelling contains a span of this type with exactly these tokens.
//
// A span continues from token t to t + 1 if both labels have its type, the first can be continued and the second
// continues. The sum over all labellings that contain a span is a product of transition probabilities of the posterior
// between the labels of its type, times the probabilities that it begins and ends there.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sums/posterior.h"

namespace tagwright {

// The role of each label in spans. Throws std::invalid_argument where arrays do not fit together.
class SpanRules {
 public:
  // type: [y], -1 outside of spans; goes_on, continues: [y].
  SpanRules(std::span<const int32_t> type, std::span<const uint8_t> goes_on, std::span<const uint8_t> continues);

  size_t L() const { return type_.size(); }
  size_t types() const { return labels_.size(); }
  int32_t type(int32_t y) const { return type_[static_cast<size_t>(y)]; }
  bool goes_on(int32_t y) const { return goes_on_[static_cast<size_t>(y)]; }
  bool continues(int32_t y) const { return continues_[static_cast<size_t>(y)]; }
  std::span<const int32_t> labels(size_t type) const { return labels_[type]; }
  // Whether a span continues from a label i to a label j behind it.
  bool joined(int32_t i, int32_t j) const { return type(i) == type(j) && goes_on(i) && continues(j); }

 private:
  std::vector<int32_t> type_;
  std::vector<uint8_t> goes_on_, continues_;
  std::vector<std::vector<int32_t>> labels_;  // [type], in their order
};

struct Span {
  int32_t type;
  size_t begin, end;  // tokens begin .. end - 1
  double probability;
};

// Which spans are requested: those of a labelling, from left to right, where k is 0; or the k most probable of any, the
// most probable first, fewer where no more are possible.
struct SpanQuery {
  const SpanRules& rules;
  size_t k = 0;

  // labels: the labelling.
  std::vector<Span> answer(const Lattice& lattice, const Sums& sums, std::span<const int32_t> labels,
                           Arena& arena) const;
};

}  // namespace tagwright
