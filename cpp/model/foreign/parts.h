// What the readers of foreign models share: bounds-checked access to bytes, and a builder of weights.
#pragma once

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "features/index.h"
#include "model/foreign/foreign.h"
#include "model/model_file.h"

namespace tagwright::foreign {

[[noreturn]] inline void fail_at(size_t offset, std::string_view message) {
  throw ModelFileError(std::string("offset ").append(std::to_string(offset)).append(": ").append(message));
}

inline void need_at(bool condition, size_t offset, std::string_view message) {
  if (!condition) fail_at(offset, message);
}

// Little-endian numbers and strings at offsets of a file.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : bytes_(bytes) {}

  size_t size() const { return bytes_.size(); }
  // Throws if the bytes from `offset` on are fewer than `count`.
  std::string_view piece(size_t offset, size_t count) const {
    need_at(offset <= bytes_.size() && count <= bytes_.size() - offset, offset, "the file is truncated");
    return bytes_.substr(offset, count);
  }
  template <class V>
  V number(size_t offset) const {
    static_assert(std::endian::native == std::endian::little);
    V value;
    std::memcpy(&value, piece(offset, sizeof value).data(), sizeof value);
    return value;
  }
  uint32_t u32(size_t offset) const { return number<uint32_t>(offset); }
  void need_tag(size_t offset, std::string_view tag) const {
    if (piece(offset, tag.size()) != tag) fail_at(offset, std::string(tag).append(" expected"));
  }

 private:
  std::string_view bytes_;
};

// Collects weights in any order. Weights of the same feature and labels are added.
class WeightBuilder {
 public:
  explicit WeightBuilder(size_t L) : L_(L) {}

  Index features, edge_features;

  void node(int32_t feature, uint32_t label, double weight) {
    if (weight != 0) nodes_.push_back({static_cast<uint64_t>(feature) * L_ + label, weight});
  }
  void edge(uint32_t previous, uint32_t current, double weight) {
    if (weight != 0) edges_.push_back({uint64_t{previous} * L_ + current, weight});
  }
  void edge(int32_t feature, uint32_t previous, uint32_t current, double weight) {
    if (weight != 0) sets_.push_back({(static_cast<uint64_t>(feature) * L_ + previous) * L_ + current, weight});
  }
  // Throws ModelFileError for a weight that is not finite in single precision.
  WeightArrays<Owned> finish() &&;

 private:
  struct Entry {
    uint64_t key;
    double weight;
  };
  // Sorts entries by key, adds those of the same key and drops sums of 0.
  static void merge(std::vector<Entry>& entries);

  size_t L_;
  std::vector<Entry> nodes_, edges_, sets_;
};

// Throws ModelFileError unless there is a label, labels differ, are UTF-8 and not more than a model can have.
void check_labels(const std::vector<std::string>& labels);

}  // namespace tagwright::foreign
