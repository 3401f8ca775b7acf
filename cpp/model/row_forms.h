// A model's rows of weights, each in the form in which it is added fastest.
//
//   sparse  key by key, as files hold it: rows of few entries
//   blocks  eight neighbouring keys at a time, zeros included; frequent labels have low numbers, so that rows are dense
//           at their beginnings
//   whole   one weight per key
//
// All forms add the same numbers to the same keys; a key of a row that has no weight gets 0 added, or nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/rows.h"

namespace tagwright {

// Where a row lies, and in which form. n: keys, blocks or 0.
struct RowAt {
  enum class Form : uint32_t { kSparse, kBlocks, kWhole };
  const uint16_t* key = nullptr;  // of blocks: the first of each
  const float* weight = nullptr;
  uint32_t n = 0;
  Form form = Form::kSparse;
};

class RowForms {
 public:
  RowForms(const PackedRows<float>& rows, size_t keys);

  RowAt at(size_t row) const;
  void prefetch_place(size_t row) const { __builtin_prefetch(rows_.end.data() + row); }
  static void prefetch(const RowAt& row);
  void prefetch_keys(const RowAt& row) const;
  // out[key] += weight * value for the entries of a row.
  void add(const RowAt& row, float value, float* out) const;
  // out[key] += weight for some keys, in rising order, and the entries of one row after the other.
  void add_some(std::span<const RowAt* const> rows, std::span<const uint16_t> only, float* out) const;
  // Calls each(weight) for what a row adds to a key, as it is added.
  template <class Each>
  void for_each_weight(size_t row, size_t key, Each&& each) const {
    const RowAt at_row = at(row);
    if (at_row.form == RowAt::Form::kWhole) {
      if (at_row.weight[key] != 0) each(at_row.weight[key]);
      return;
    }
    const size_t width = at_row.form == RowAt::Form::kBlocks ? kBlockKeys : 1;
    for (size_t b = 0; b < at_row.n; ++b) {
      if (key < at_row.key[b] || key >= at_row.key[b] + width) continue;
      const float weight = at_row.weight[b * width + (key - at_row.key[b])];
      if (weight != 0 || width == 1) each(weight);
    }
  }

 private:
  struct Held {
    size_t key, weight;  // where it begins
    uint32_t n;
    RowAt::Form form;
  };
  void hold(size_t row);
  void mark(const std::vector<size_t>& blocks);
  void find(const RowAt& row, std::span<const uint16_t> only, const float** to) const;

  PackedRows<float> rows_;
  const size_t keys_;
  size_t least_;                 // entries of a row that may be held in another form
  std::vector<uint16_t> block_;  // the first key of each block
  std::vector<float> weight_;    // of blocks and whole rows
  std::vector<Held> held_;
  // Which row is held as which, by a hash of the row: one look at memory, where a map of the library has three.
  struct Slot {
    uint32_t row, held;  // held: and one more; 0 where the slot is empty
  };
  std::vector<Slot> slots_;
  size_t slot_of(size_t row) const { return row * 0x9e3779b97f4a7c15U >> shift_; }
  unsigned shift_ = 0;
};

}  // namespace tagwright
