// Sparse rows of weights that grow, each weight with what it remembers of its changes.
//
// A row is one block of memory, sorted keys first, then weights, then moments: a small row is one cache line. Blocks do
// not move unless their row outgrows them. Rows are dealt to a fixed number of shards, which have blocks of their own:
// threads may change rows of different shards at the same time.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace tagwright {

// In 8 bytes: with squared gradients both numbers in single precision, without them the sum in double precision.
struct Moments {
  float squares = 0;  // of the gradients, summed
  float sum = 0;      // of the changes, each times the number of sentences visited before it

  double precise_sum() const { return std::bit_cast<double>(*this); }
  void set_precise_sum(double value) { *this = std::bit_cast<Moments>(value); }
};

template <class Key>
class WeightRows {
 public:
  static constexpr size_t kShards = 8;
  static constexpr size_t kNoPlace = static_cast<size_t>(-1);

  // More rows, which are empty.
  void grow(size_t rows) { rows_.resize(std::max(rows, rows_.size())); }
  static size_t shard_of(size_t r) { return r % kShards; }
  size_t rows() const { return rows_.size(); }
  size_t entries() const {
    size_t sum = 0;
    for (const Shard& shard : shards_) sum += shard.entries;
    return sum;
  }
  size_t size(size_t r) const { return rows_[r].size; }
  std::span<const Key> keys(size_t r) const { return {rows_[r].keys(), rows_[r].size}; }
  std::span<const float> values(size_t r) const { return {rows_[r].weights(), rows_[r].size}; }
  std::span<const Moments> moments(size_t r) const { return {rows_[r].moments(), rows_[r].size}; }
  void prefetch(size_t r) const {
    const Row& row = rows_[r];
    __builtin_prefetch(row.block);
    __builtin_prefetch(row.weights() + row.size);
  }

  // The place of a key in its row, or kNoPlace; a missing one may be added, with a weight of 0.
  size_t find(size_t r, Key key) const {
    const size_t place = place_of(rows_[r], key);
    return place < rows_[r].size && rows_[r].keys()[place] == key ? place : kNoPlace;
  }
  size_t find_or_add(size_t r, Key key) {
    Row& row = rows_[r];
    const size_t place = place_of(row, key);
    if (place < row.size && row.keys()[place] == key) return place;
    Shard& shard = shards_[shard_of(r)];
    if (row.size == row.room) enlarge(row, shard);
    insert(row.keys(), row.size, place, key);
    insert(row.weights(), row.size, place, 0.0F);
    insert(row.moments(), row.size, place, Moments());
    ++row.size;
    ++shard.entries;
    return place;
  }
  float& weight(size_t r, size_t place) { return rows_[r].weights()[place]; }
  Moments& moments(size_t r, size_t place) { return rows_[r].moments()[place]; }
  // The weight of a key, 0 where it has none.
  float at(size_t r, Key key) const {
    const size_t place = find(r, key);
    return place == kNoPlace ? 0.0F : rows_[r].weights()[place];
  }

 private:
  struct Row {
    std::byte* block = nullptr;
    uint32_t size = 0, room = 0;  // room: a power of 2, or 0

    Key* keys() const { return reinterpret_cast<Key*>(block); }
    float* weights() const { return reinterpret_cast<float*>(block + size_t{room} * sizeof(Key)); }
    Moments* moments() const {
      return reinterpret_cast<Moments*>(block + size_t{room} * (sizeof(Key) + sizeof(float)));
    }
  };
  struct alignas(64) Shard {
    std::vector<std::unique_ptr<std::byte[]>> chunks;
    std::byte* next = nullptr;                       // of the last chunk
    size_t left = 0;                                 // bytes behind it
    size_t chunk = size_t{1} << 12;                  // the size of the next one
    std::array<std::vector<std::byte*>, 33> unused;  // [log2 of the room]
    size_t entries = 0;
  };

  static size_t place_of(const Row& row, Key key) {
    const Key* base = row.keys();
    // Rows are mostly filled in order.
    if (row.size == 0 || base[row.size - 1] < key) return row.size;
    // std::lower_bound without branches: where a key lies in a row cannot be guessed.
    for (size_t n = row.size; n > 1;) {
      const size_t half = n / 2;
      base += half & -static_cast<size_t>(base[half - 1] < key);  // written as a choice, it becomes a jump
      n -= half;
    }
    return static_cast<size_t>(base - row.keys());
  }
  template <class V>
  static void insert(V* values, size_t size, size_t place, V value) {
    std::copy_backward(values + place, values + size, values + size + 1);
    values[place] = value;
  }
  static std::byte* allocate(size_t room, Shard& shard) {
    auto& unused = shard.unused[static_cast<size_t>(std::countr_zero(room))];
    if (!unused.empty()) {
      std::byte* const block = unused.back();
      unused.pop_back();
      return block;
    }
    const size_t bytes = (room * (sizeof(Key) + sizeof(float) + sizeof(Moments)) + 7) / 8 * 8;
    if (bytes > shard.left) {
      constexpr size_t kLargest = size_t{1} << 20;
      const size_t size = std::max(bytes, shard.chunk);
      shard.chunks.push_back(std::unique_ptr<std::byte[]>(new std::byte[size]));
      shard.next = shard.chunks.back().get();
      shard.left = size;
      shard.chunk = std::min(2 * shard.chunk, kLargest);
    }
    shard.left -= bytes;
    return std::exchange(shard.next, shard.next + bytes);
  }
  static void enlarge(Row& row, Shard& shard) {
    Row larger{nullptr, row.size, row.room ? 2 * row.room : 2};
    larger.block = allocate(larger.room, shard);
    std::copy_n(row.keys(), row.size, larger.keys());
    std::copy_n(row.weights(), row.size, larger.weights());
    std::copy_n(row.moments(), row.size, larger.moments());
    if (row.room) shard.unused[static_cast<size_t>(std::countr_zero(row.room))].push_back(row.block);
    row = larger;
  }

  std::vector<Row> rows_;
  std::array<Shard, kShards> shards_;
};

}  // namespace tagwright
