// The weights of the features of a word's vector, and their products with vectors: what a word adds to each key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "model/row_forms.h"

namespace tagwright {

// Of one template.
class VectorWeights {
 public:
  // rows: [component], of all weights; RowAt{} where a component has none.
  VectorWeights(const PackedRows<float>& all, std::span<const int32_t> rows, size_t keys);

  // out[key] = sum over components of weight * value, in their order. out: room for whole panels, room().
  void multiply(std::span<const float> vector, float* out) const;
  static size_t room(size_t keys) { return (keys + kProductKeys - 1) / kProductKeys * kProductKeys; }

 private:
  PackedRows<float> all_;
  std::vector<int32_t> rows_;
  size_t keys_;
  std::vector<float> panels_;  // [key / kProductKeys][component][key % kProductKeys]; empty where few have weights
};

// The products of the words that occurred last; memory of one thread. Text is Zipfian: most words occurred before.
class ProductCache {
 public:
  // most: how many products there are at all, of these templates.
  ProductCache(size_t keys, size_t most, size_t templates);

  // The product with this number. make(out): fills it where it is not there. Valid until the next call.
  template <class Make>
  const float* get(uint64_t number, Make&& make) {
    bool there;
    float* const product = place(number, there);
    if (!there) make(product);
    return product;
  }

 private:
  static constexpr size_t kWays = 4;
  struct Slot {
    uint64_t number;  // and one more; 0 where the slot is empty
    uint32_t entry;
  };
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  // The least recently used of a set makes room.
  float* place(uint64_t number, bool& there);

  size_t stride_;
  unsigned shift_;
  uint32_t made_ = 0;
  std::vector<Slot> slots_;
  // The system gives pages of zeros when they are first used.
  std::unique_ptr<float[], Free> products_;
};

}  // namespace tagwright
