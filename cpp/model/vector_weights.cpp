#include "model/vector_weights.h"

#include <algorithm>
#include <bit>
#include <new>

namespace tagwright {
namespace {

constexpr size_t kBytes = size_t{32} << 20;  // of the products of a template
constexpr size_t kFewest = 64, kMost = size_t{1} << 16;
constexpr size_t kSparse = 4;  // if fewer than one in kSparse weights is there, rows are added one by one

}  // namespace

VectorWeights::VectorWeights(const PackedRows<float>& all, std::span<const int32_t> rows, size_t keys)
    : all_(all), rows_(rows.begin(), rows.end()), keys_(keys) {
  size_t entries = 0;
  for (const int32_t row : rows_) entries += row == kNoId ? 0 : all_.size(static_cast<size_t>(row));
  if (entries * kSparse < rows_.size() * keys_) return;
  panels_.assign(room(keys_) * rows_.size(), 0.0F);
  for (size_t k = 0; k < rows_.size(); ++k) {
    if (rows_[k] == kNoId) continue;
    const auto row = static_cast<size_t>(rows_[k]);
    const auto key = all_.keys(row);
    const auto weight = all_.values(row);
    for (size_t q = 0; q < key.size(); ++q) {
      const size_t panel = key[q] / kProductKeys;
      panels_[(panel * rows_.size() + k) * kProductKeys + key[q] % kProductKeys] = weight[q];
    }
  }
}

void VectorWeights::multiply(std::span<const float> vector, float* out) const {
  if (!panels_.empty())
    return kernels().multiply_panels_f(panels_.data(), vector.data(), vector.size(), room(keys_) / kProductKeys, out);
  std::fill_n(out, room(keys_), 0.0F);
  for (size_t k = 0; k < rows_.size(); ++k) {
    if (rows_[k] == kNoId) continue;
    const auto row = static_cast<size_t>(rows_[k]);
    const auto key = all_.keys(row);
    const auto weight = all_.values(row);
    for (size_t q = 0; q < key.size(); ++q) out[key[q]] += weight[q] * vector[k];
  }
}

ProductCache::ProductCache(size_t keys, size_t most, size_t templates) : stride_(VectorWeights::room(keys)) {
  // Twice as many as there are, since sets fill unevenly.
  const size_t room = std::clamp(templates * kBytes / (stride_ * sizeof(float)), kFewest, kMost);
  const size_t entries = std::bit_floor(std::clamp(2 * most, kFewest, room));
  shift_ = 64 - static_cast<unsigned>(std::bit_width(entries / kWays) - 1);
  slots_.resize(entries);
  products_.reset(static_cast<float*>(std::calloc(entries * stride_, sizeof(float))));
  if (!products_) throw std::bad_alloc();
}

float* ProductCache::place(uint64_t number, bool& there) {
  Slot* const set = slots_.data() + ((number + 1) * 0x9e3779b97f4a7c15U >> shift_) * kWays;
  size_t way = 0;
  while (way < kWays && set[way].number && set[way].number != number + 1) ++way;
  there = way < kWays && set[way].number;
  way = std::min(way, kWays - 1);
  // The most recently used one is first.
  std::rotate(set, set + way, set + way + 1);
  if (!set->number) set->entry = made_++;
  set->number = number + 1;
  return products_.get() + set->entry * stride_;
}

}  // namespace tagwright
