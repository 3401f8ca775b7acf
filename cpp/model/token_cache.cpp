#include "model/token_cache.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

namespace tagwright {
namespace {

constexpr size_t kBytes = size_t{16} << 20;       // of the tokens of a cache
constexpr size_t kSharedBytes = size_t{2} << 20;  // of the sums that tokens share
constexpr size_t kFewest = 64, kMost = size_t{1} << 16;
constexpr size_t kLine = 64;

void* zeros(size_t bytes) {
  void* made = std::calloc(bytes, 1);
  if (!made) throw std::bad_alloc();
  return made;
}

}  // namespace

TokenCache::TokenCache(size_t rows, size_t sums, size_t shared)
    : rows_(rows), stride_((rows * sizeof(RowAt) + sums * sizeof(float) + kLine - 1) / kLine * kLine), shared_(shared) {
  const size_t entries = std::bit_floor(std::clamp(kBytes / (stride_ + sizeof(Slot)), kFewest, kMost));
  shift_ = 64 - static_cast<unsigned>(std::bit_width(entries / kWays) - 1);
  slots_.reset(static_cast<Slot*>(zeros(entries * sizeof(Slot))));
  entries_.reset(static_cast<char*>(zeros((entries + 1) * stride_)));
  const size_t some = std::bit_floor(std::clamp<size_t>(kSharedBytes / (shared * sizeof(float) + 1), 8, 1024));
  sums_.resize(2 * some);
}

TokenCache::Entry TokenCache::entry(size_t n) const {
  char* const at = entries_.get() + n * stride_;
  return {reinterpret_cast<RowAt*>(at), reinterpret_cast<float*>(at + rows_ * sizeof(RowAt))};
}

TokenCache::Shared* TokenCache::shared_of(std::span<const RowAt> rows) {
  uint64_t hash = 0;
  for (const RowAt& row : rows) hash = (hash ^ reinterpret_cast<uintptr_t>(row.weight)) * 0x9e3779b97f4a7c15U;
  const auto same = [&](const Shared& one) {
    return std::equal(rows.begin(), rows.end(), one.rows.begin(), one.rows.end(),
                      [](const RowAt& row, const float* weight) { return row.weight == weight; });
  };
  const size_t mask = sums_.size() - 1;
  for (size_t at = hash >> 40 & mask;; at = (at + 1) & mask) {
    if (sums_[at].sum.empty()) {
      if (2 * sums_made_ >= sums_.size()) return nullptr;
      ++sums_made_;
      for (const RowAt& row : rows) sums_[at].rows.push_back(row.weight);
      return &sums_[at];
    }
    if (same(sums_[at])) return &sums_[at];
  }
}

bool TokenCache::find(const TokenKey& key, Entry& found) {
  if (key.text.size() > TokenKey::kMost) return false;
  Slot* const set = set_of(key);
  for (size_t way = 0; way < kWays && set[way].used; ++way) {
    if (set[way].hash != key.hash || set[way].used != key.text.size() + 1) continue;
    if (std::memcmp(set[way].text, key.text.data(), key.text.size()) != 0) continue;
    found = entry(set[way].entry);
    // The most recently used one is first.
    if (way) std::rotate(set, set + way, set + way + 1);
    return true;
  }
  return false;
}

TokenCache::Entry TokenCache::add(const TokenKey& key) {
  if (key.text.size() > TokenKey::kMost) return entry(0);
  Slot* const set = set_of(key);
  std::rotate(set, set + kWays - 1, set + kWays);
  if (!set->used) set->entry = static_cast<uint32_t>(++made_);
  set->hash = key.hash;
  set->used = static_cast<uint16_t>(key.text.size() + 1);
  std::memcpy(set->text, key.text.data(), key.text.size());
  return entry(set->entry);
}

}  // namespace tagwright
