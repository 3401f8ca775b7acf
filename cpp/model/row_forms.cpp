#include "model/row_forms.h"

#include <algorithm>
#include <bit>

namespace tagwright {
namespace {

constexpr size_t kFewest = 8;                // entries; shorter rows are fast as they are
constexpr size_t kBytes = size_t{32} << 20;  // of rows held in another form; the largest rows come first
constexpr size_t kBlock = kBlockKeys;

// Which of the blocks of all keys a row has: for each sixteen of them their bits, and how many it has before them.
// These pairs of numbers stand before the first keys of the row's blocks.
constexpr size_t kMarked = 16;
constexpr size_t marks_of(size_t keys) { return 2 * ((keys + kBlock * kMarked - 1) / (kBlock * kMarked)); }

}  // namespace

RowForms::RowForms(const PackedRows<float>& rows, size_t keys) : rows_(rows), keys_(keys), least_(SIZE_MAX) {
  if (keys < kBlock) return;
  std::vector<size_t> many;
  for (size_t r = 0; r < rows_.rows(); ++r)
    if (rows_.size(r) >= kFewest) many.push_back(r);
  std::sort(many.begin(), many.end(),
            [&](size_t a, size_t b) { return rows_.size(a) != rows_.size(b) ? rows_.size(a) > rows_.size(b) : a < b; });
  std::vector<size_t> rows_held;
  for (const size_t r : many) {
    if (weight_.size() * sizeof(float) + block_.size() * sizeof(uint16_t) > kBytes) break;
    const size_t before = held_.size();
    hold(r);
    if (held_.size() > before) rows_held.push_back(r);
    least_ = rows_.size(r);
  }
  slots_.resize(std::bit_ceil(2 * rows_held.size() + 2));
  shift_ = 64 - static_cast<unsigned>(std::bit_width(slots_.size()) - 1);
  for (size_t n = 0; n < rows_held.size(); ++n) {
    size_t at = slot_of(rows_held[n]);
    while (slots_[at].held) at = (at + 1) % slots_.size();
    slots_[at] = {static_cast<uint32_t>(rows_held[n]), static_cast<uint32_t>(n + 1)};
  }
}

// Eight keys in one step cost about as much as one and a half entries of a sparse row; whole rows save the look at
// where the next block is.
void RowForms::hold(size_t r) {
  const auto key = rows_.keys(r);
  const auto weight = rows_.values(r);
  // The last block ends with the last key, so that nothing is ever written behind it.
  const auto first_of = [&](size_t k) { return std::min(k / kBlock * kBlock, keys_ - kBlock); };
  const size_t all = (keys_ + kBlock - 1) / kBlock;
  std::vector<size_t> blocks;
  for (const uint16_t k : key) blocks.push_back(first_of(k));
  std::sort(blocks.begin(), blocks.end());
  blocks.erase(std::unique(blocks.begin(), blocks.end()), blocks.end());
  const bool whole = 4 * blocks.size() >= 3 * all;
  if (!whole && 2 * blocks.size() >= key.size()) return;
  if (!whole) mark(blocks);
  Held made{block_.size(), weight_.size(), 0, whole ? RowAt::Form::kWhole : RowAt::Form::kBlocks};
  made.n = static_cast<uint32_t>(whole ? keys_ : blocks.size());
  weight_.resize(weight_.size() + (whole ? keys_ : blocks.size() * kBlock), 0.0F);
  if (!whole)
    for (const size_t first : blocks) block_.push_back(static_cast<uint16_t>(first));
  for (size_t q = 0; q < key.size(); ++q) {
    size_t place = key[q];
    if (!whole) {
      const size_t first = first_of(key[q]);
      const auto block = std::lower_bound(blocks.begin(), blocks.end(), first) - blocks.begin();
      place = static_cast<size_t>(block) * kBlock + (key[q] - first);
    }
    weight_[made.weight + place] = weight[q];
  }
  held_.push_back(made);
}

void RowForms::mark(const std::vector<size_t>& blocks) {
  std::vector<uint16_t> marks(marks_of(keys_), 0);
  for (const size_t first : blocks) {
    const size_t number = (first + kBlock - 1) / kBlock;
    marks[2 * (number / kMarked)] |= static_cast<uint16_t>(1U << number % kMarked);
  }
  for (size_t q = 2; q < marks.size(); q += 2)
    marks[q + 1] = static_cast<uint16_t>(marks[q - 1] + std::popcount(marks[q - 2]));
  block_.insert(block_.end(), marks.begin(), marks.end());
}

RowAt RowForms::at(size_t row) const {
  const size_t begin = rows_.begin(row), n = rows_.end[row] - begin;
  if (n >= least_) {
    for (size_t slot = slot_of(row); slots_[slot].held; slot = (slot + 1) & (slots_.size() - 1)) {
      if (slots_[slot].row != row) continue;
      const Held& held = held_[slots_[slot].held - 1];
      return {block_.data() + held.key, weight_.data() + held.weight, held.n, held.form};
    }
  }
  return {rows_.key.data() + begin, rows_.weight.data() + begin, static_cast<uint32_t>(n), RowAt::Form::kSparse};
}

void RowForms::prefetch(const RowAt& row) {
  // The hardware prefetches the lines behind the first ones.
  constexpr size_t kLine = 64, kLines = 2;
  const size_t each = row.form == RowAt::Form::kBlocks ? kBlock * sizeof(float) : sizeof(float);
  const auto lines = [&](const void* from, size_t bytes) {
    const char* at = static_cast<const char*>(from);
    for (size_t line = 0; line < kLines && line * kLine < bytes; ++line) __builtin_prefetch(at + line * kLine);
  };
  if (row.form != RowAt::Form::kWhole) lines(row.key, row.n * sizeof(uint16_t));
  lines(row.weight, row.n * each);
}

void RowForms::add(const RowAt& row, float value, float* out) const {
  switch (row.form) {
    case RowAt::Form::kSparse:
      for (size_t q = 0; q < row.n; ++q) out[row.key[q]] += row.weight[q] * value;
      return;
    case RowAt::Form::kBlocks:
      return kernels().add_blocks_f(row.key, row.weight, row.n, value, out);
    case RowAt::Form::kWhole:
      return kernels().add_scaled_f(row.weight, value, row.n, out);
  }
}

void RowForms::prefetch_keys(const RowAt& row) const {
  if (row.form == RowAt::Form::kWhole) return;
  const uint16_t* const from = row.form == RowAt::Form::kBlocks ? row.key - marks_of(keys_) : row.key;
  __builtin_prefetch(from);
  __builtin_prefetch(from + 32);
}

// Where the weights of some keys are: to[q] is that of only[q].
void RowForms::find(const RowAt& row, std::span<const uint16_t> only, const float** to) const {
  static constexpr float kNothing = 0;
  if (row.form == RowAt::Form::kWhole) {
    for (size_t q = 0; q < only.size(); ++q) to[q] = row.weight + only[q];
    return;
  }
  if (row.form == RowAt::Form::kBlocks) {
    const uint16_t* const marks = row.key - marks_of(keys_);
    for (size_t q = 0; q < only.size(); ++q) {
      const size_t block = only[q] / kBlock, first = std::min(block * kBlock, keys_ - kBlock);
      const uint16_t* const mark = marks + 2 * (block / kMarked);
      const unsigned own = 1U << block % kMarked;
      const size_t place = mark[1] + static_cast<size_t>(std::popcount(mark[0] & (own - 1)));
      to[q] = mark[0] & own ? row.weight + place * kBlock + (only[q] - first) : &kNothing;
    }
    return;
  }
  const uint16_t* at = row.key;
  const uint16_t* const end = row.key + row.n;
  for (size_t q = 0; q < only.size(); ++q) {
    // std::lower_bound without branches.
    for (size_t n = static_cast<size_t>(end - at); n > 0;) {
      const size_t half = (n + 1) / 2;
      at += half & -static_cast<size_t>(at[half - 1] < only[q]);
      n -= half;
    }
    to[q] = at < end && *at == only[q] ? row.weight + (at - row.key) : &kNothing;
  }
}

// The weights lie anywhere in memory, so all are prefetched before the first is added.
void RowForms::add_some(std::span<const RowAt* const> rows, std::span<const uint16_t> only, float* out) const {
  thread_local std::vector<const float*> weight;  // [row][key]
  weight.resize(rows.size() * only.size());
  for (size_t r = 0; r < rows.size(); ++r) {
    const float** const to = weight.data() + r * only.size();
    find(*rows[r], only, to);
    for (size_t q = 0; q < only.size(); ++q) __builtin_prefetch(to[q]);
  }
  for (size_t q = 0; q < only.size(); ++q) {
    float sum = out[only[q]];
    for (size_t at = q; at < weight.size(); at += only.size()) sum += *weight[at];
    out[only[q]] = sum;
  }
}

}  // namespace tagwright
