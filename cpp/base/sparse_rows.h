// Sparse rows that can grow: row r holds values for some keys, sorted by key.
//
// All rows lie in one pool. A row that outgrows its place moves to the end of the pool with twice the room.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

namespace tagwright {

template <class Key, class... Values>
class SparseRows {
 public:
  static constexpr size_t kNoPlace = static_cast<size_t>(-1);

  // `rows` empty rows; room: how many entries each is going to have, where that is known.
  void reset(size_t rows, std::span<const size_t> room = {}) {
    row_.assign(rows, {});
    entries_ = 0;
    size_t end = 0;
    for (size_t r = 0; r < room.size(); ++r) {
      row_[r] = {end, 0, static_cast<uint32_t>(room[r])};
      end += room[r];
    }
    key_.assign(end, Key());
    std::apply([&](auto&... pool) { (pool.assign(end, {}), ...); }, values_);
  }

  // More rows, which are empty.
  void grow(size_t rows) { row_.resize(std::max(rows, row_.size())); }

  size_t rows() const { return row_.size(); }
  size_t entries() const { return entries_; }
  size_t begin(size_t r) const { return row_[r].begin; }
  size_t size(size_t r) const { return row_[r].size; }
  std::span<const Key> keys(size_t r) const { return {key_.data() + row_[r].begin, row_[r].size}; }
  // The values of a row, or the value of one entry; I: which of them.
  template <size_t I = 0>
  auto values(size_t r) const {
    return std::span(std::get<I>(values_).data() + row_[r].begin, row_[r].size);
  }
  template <size_t I = 0>
  auto& at(size_t entry) {
    return std::get<I>(values_)[entry];
  }
  template <size_t I = 0>
  const auto& at(size_t entry) const {
    return std::get<I>(values_)[entry];
  }

  void prefetch(size_t r) const {
    __builtin_prefetch(key_.data() + row_[r].begin);
    __builtin_prefetch(std::get<0>(values_).data() + row_[r].begin);
  }

  // Returns the entry of the pool, or kNoPlace.
  size_t find(size_t r, Key key) const {
    const size_t place = place_of(r, key);
    return place < row_[r].size && keys(r)[place] == key ? row_[r].begin + place : kNoPlace;
  }

  // The same; a missing entry is inserted with values of 0.
  size_t find_or_add(size_t r, Key key) {
    const size_t place = place_of(r, key);
    Row& row = row_[r];
    if (place < row.size && keys(r)[place] == key) return row.begin + place;
    if (row.size == row.room) grow(row);
    open(key_, row, place) = key;
    std::apply([&](auto&... pool) { ((open(pool, row, place) = {}), ...); }, values_);
    ++row.size;
    ++entries_;
    return row.begin + place;
  }

  void erase(size_t r, Key key) {
    const size_t entry = find(r, key);
    if (entry == kNoPlace) return;
    Row& row = row_[r];
    const size_t end = row.begin + row.size;
    close(key_, entry, end);
    std::apply([&](auto&... pool) { (close(pool, entry, end), ...); }, values_);
    --row.size;
    --entries_;
  }

 private:
  struct Row {
    size_t begin = 0;
    uint32_t size = 0, room = 0;
  };

  size_t place_of(size_t r, Key key) const {
    const std::span<const Key> in = keys(r);
    // Rows are mostly filled in order.
    if (in.empty() || in.back() < key) return in.size();
    // std::lower_bound without branches: where a key lies in a row cannot be guessed.
    const Key* base = in.data();
    for (size_t n = in.size(); n > 1;) {
      const size_t half = n / 2;
      base += half & -static_cast<size_t>(base[half - 1] < key);  // written as a choice, it becomes a jump
      n -= half;
    }
    return static_cast<size_t>(base - in.data());
  }
  template <class V>
  static V& open(std::vector<V>& pool, const Row& row, size_t place) {
    V* const begin = pool.data() + row.begin;
    std::copy_backward(begin + place, begin + row.size, begin + row.size + 1);
    return begin[place];
  }
  template <class V>
  static void close(std::vector<V>& pool, size_t entry, size_t end) {
    std::copy(pool.data() + entry + 1, pool.data() + end, pool.data() + entry);
  }
  template <class V>
  static void move_to(std::vector<V>& pool, const Row& row, size_t end, size_t room) {
    pool.resize(end + room);
    std::copy_n(pool.data() + row.begin, row.size, pool.data() + end);
  }
  void grow(Row& row) {
    const size_t end = key_.size(), room = row.room ? 2 * size_t{row.room} : 2;
    move_to(key_, row, end, room);
    std::apply([&](auto&... pool) { (move_to(pool, row, end, room), ...); }, values_);
    row.begin = end;
    row.room = static_cast<uint32_t>(room);
  }

  std::vector<Row> row_;  // [r]
  std::vector<Key> key_;
  std::tuple<std::vector<Values>...> values_;  // beside the keys
  size_t entries_ = 0;
};

}  // namespace tagwright
