#include "features/index.h"

#include <cstring>
#include <limits>
#include <stdexcept>

#include "base/need.h"

namespace tagwright {
namespace {

uint64_t load(const char* at, size_t n) {
  uint64_t word = 0;
  std::memcpy(&word, at, n);
  return word;
}

// Both halves of the product, so that every bit of a and b affects every bit of the result.
uint64_t mix(uint64_t a, uint64_t b) {
  const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// Tables are at most four fifths full when they are saved, and at most two thirds while they grow.
size_t slots_for(size_t n) { return n + n / 4 + 8; }

}  // namespace

uint64_t hash_of(std::string_view text) {
  constexpr uint64_t kA = 0x9e3779b97f4a7c15U, kB = 0xd1342543de82ef95U;
  const char* at = text.data();
  size_t n = text.size();
  uint64_t hash = kA ^ n;
  for (; n >= 8; at += 8, n -= 8) hash = mix(hash ^ load(at, 8), kB);
  if (n) hash = mix(hash ^ load(at, n), kB);
  return mix(hash ^ kB, kA);
}

int32_t IndexView::find(uint64_t hash, std::string_view name) const {
  if (slots.empty()) return kNoId;
  const uint64_t mark = hash >> 32;
  for (size_t at = slot(hash);; at = at + 1 == slots.size() ? 0 : at + 1) {
    const uint64_t slot = slots[at];
    if (slot == 0) return kNoId;
    const size_t id = (slot & 0xffffffffU) - 1;
    if (slot >> 32 == mark && text(id) == name) return static_cast<int32_t>(id);
  }
}

Index::Index(std::vector<std::string_view> texts) {
  for (const std::string_view text : texts) {
    bytes_.insert(bytes_.end(), text.begin(), text.end());
    ends_.push_back(static_cast<uint32_t>(bytes_.size()));
  }
  if (bytes_.size() > std::numeric_limits<uint32_t>::max()) throw std::length_error("more than 4 GB of feature names");
  rebuild(slots_for(texts.size()));
}

int32_t Index::add(uint64_t hash, std::string_view text) {
  const int32_t found = view().find(hash, text);
  if (found != kNoId) return found;
  if (bytes_.size() + text.size() > std::numeric_limits<uint32_t>::max() ||
      ends_.size() + 1 >= static_cast<size_t>(std::numeric_limits<int32_t>::max()))
    throw std::length_error("more than 4 GB of feature names; raise min_count or use fewer templates");
  if (3 * (ends_.size() + 1) > 2 * slots_.size()) rebuild(slots_.empty() ? 64 : 2 * slots_.size());
  bytes_.insert(bytes_.end(), text.begin(), text.end());
  ends_.push_back(static_cast<uint32_t>(bytes_.size()));
  place(hash, static_cast<uint32_t>(ends_.size() - 1));
  return static_cast<int32_t>(ends_.size() - 1);
}

void Index::rebuild(size_t slots) {
  slots_.assign(slots, 0);
  for (size_t id = 0; id < ends_.size(); ++id) place(hash_of(text(id)), static_cast<uint32_t>(id));
}

void Index::place(uint64_t hash, uint32_t id) {
  size_t at = view().slot(hash);
  while (slots_[at]) at = at + 1 == slots_.size() ? 0 : at + 1;
  slots_[at] = (hash >> 32 << 32) | (uint64_t{id} + 1);
}

void check_index(const IndexView& index) {
  size_t before = 0;
  for (const uint32_t end : index.ends) {
    need(end >= before, "feature index: the ends of names do not rise");
    before = end;
  }
  need(before == index.bytes.size(), "feature index: the names have another length than said");
  size_t taken = 0;
  for (const uint64_t slot : index.slots) {
    const uint64_t number = slot & 0xffffffffU;
    need(slot == 0 || (number > 0 && number <= index.size()), "feature index: a slot names no feature");
    taken += slot != 0;
  }
  // A search ends at an empty slot: there must be one.
  need(taken == index.size() && (taken < index.slots.size() || taken == 0),
       "feature index: the table does not hold every feature once");
}

}  // namespace tagwright
