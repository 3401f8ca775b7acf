#include "train/online/steps.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/need.h"

namespace tagwright {
namespace {

void check_ends(const std::vector<uint64_t>& ends, size_t count, size_t last) {
  need(ends.size() == count && std::is_sorted(ends.begin(), ends.end()) && (ends.empty() ? 0 : ends.back()) == last,
       "steps: lists do not follow each other");
}

template <class V>
void check_below(const std::vector<V>& values, size_t limit) {
  for (const V value : values) need(static_cast<size_t>(value) < limit, "steps: a number that is not there");
}

template <class V>
void check_finite(const std::vector<V>& values) {
  for (const V value : values) need(std::isfinite(value), "steps: a number that is not finite");
}

}  // namespace

std::vector<uint8_t> packed(const Steps& steps) {
  size_t size = 0;
  for_each_step_array(steps, [&](const auto& array) { size += sizeof(uint64_t) + array.size() * sizeof(array[0]); });
  std::vector<uint8_t> bytes(size);
  uint8_t* to = bytes.data();
  const auto put = [&](const void* from, size_t n) {
    if (n) std::memcpy(to, from, n);
    to += n;
  };
  for_each_step_array(steps, [&](const auto& array) {
    const uint64_t count = array.size();
    put(&count, sizeof(count));
    put(array.data(), count * sizeof(array[0]));
  });
  return bytes;
}

Steps unpacked(std::span<const uint8_t> bytes, const Corpus& corpus, size_t keys) {
  Steps steps;
  const auto take = [&](void* to, size_t n) {
    need(n <= bytes.size(), "steps: cut short");
    if (n) std::memcpy(to, bytes.data(), n);
    bytes = bytes.subspan(n);
  };
  for_each_step_array(steps, [&](auto& array) {
    uint64_t size = 0;
    take(&size, sizeof(size));
    need(size <= bytes.size() / sizeof(array[0]), "steps: cut short");
    array.resize(size);
    take(array.data(), size * sizeof(array[0]));
  });
  need(bytes.empty(), "steps: more than there should be");
  const size_t sentences = steps.sentence_end.size(), tokens = sentences ? steps.sentence_end.back() : 0;
  check_ends(steps.sentence_end, sentences, tokens);
  check_ends(steps.feature_end, tokens, steps.feature.size());
  check_ends(steps.set_end, tokens, steps.set.size());
  check_ends(steps.node_end, tokens, steps.node.size());
  check_ends(steps.edge_end, sentences, steps.edge_token.size());
  need((steps.value.empty() || steps.value.size() == steps.feature.size()) &&
           steps.node_gradient.size() == steps.node.size() && steps.edge_previous.size() == steps.edge_token.size() &&
           steps.edge_current.size() == steps.edge_token.size() &&
           steps.edge_gradient.size() == steps.edge_token.size(),
       "steps: arrays of unequal length");
  for (const size_t size : {steps.loss.size(), steps.missing.size(), steps.kept.size(), steps.exact.size()})
    need(size == sentences, "steps: arrays of unequal length");
  check_below(steps.feature, corpus.features());
  check_below(steps.set, corpus.sets());
  check_below(steps.node, keys);
  check_below(steps.edge_previous, corpus.L);
  check_below(steps.edge_current, corpus.L);
  for (size_t s = 0, e = 0; s < sentences; ++s)
    for (; e < steps.edge_end[s]; ++e)
      need(steps.edge_token[e] < steps.sentence_end[s] - (s ? steps.sentence_end[s - 1] : 0),
           "steps: a token that is not there");
  check_finite(steps.value);
  check_finite(steps.node_gradient);
  check_finite(steps.edge_gradient);
  return steps;
}

}  // namespace tagwright
