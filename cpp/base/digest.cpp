#include "base/digest.h"

#include <cstring>

namespace tagwright {
namespace {

constexpr uint64_t kOdd = 0x9e3779b97f4a7c15U;
constexpr size_t kLanes = 16, kStripe = kLanes * sizeof(uint64_t);

uint64_t scrambled(uint64_t x) {
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93U;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93U;
  return x ^ x >> 32;
}

// Each lane takes in one word of a stripe: a 32 by 32 bit product, which every vector unit has, and the word itself
// in its neighbour, so that no bit is lost where a factor is 0.
void absorb(const char* stripe, const uint64_t* key, uint64_t* lane) {
  uint64_t word[kLanes], mixed[kLanes];
  std::memcpy(word, stripe, kStripe);
  for (size_t n = 0; n < kLanes; ++n) mixed[n] = word[n] ^ key[n];
  for (size_t n = 0; n < kLanes; ++n) lane[n] += (mixed[n] & 0xffffffffU) * (mixed[n] >> 32);
  for (size_t n = 0; n < kLanes; ++n) lane[n ^ 1] += word[n];
}

}  // namespace

Digest digest_of(const void* bytes, size_t n, const Digest& seed) {
  uint64_t lane[kLanes], key[kLanes];
  for (size_t l = 0; l < kLanes; ++l) {
    key[l] = scrambled(kOdd * (l + 1));
    lane[l] = scrambled(seed[l % seed.size()] + key[l]);
  }
  const char* at = static_cast<const char*>(bytes);
  // Sums alone would not see two stripes change places: every few, the lanes are mixed.
  constexpr size_t kBlock = 16;
  size_t left = n, in_block = 0;
  for (; left >= kStripe; at += kStripe, left -= kStripe) {
    absorb(at, key, lane);
    for (size_t l = 0; l < kLanes; ++l) key[l] += kOdd;
    if (++in_block < kBlock) continue;
    for (size_t l = 0; l < kLanes; ++l) lane[l] = (lane[l] ^ lane[l] >> 47 ^ key[l]) * (kOdd >> 32 | 1);
    in_block = 0;
  }
  char tail[kStripe] = {};
  if (left) std::memcpy(tail, at, left);
  absorb(tail, key, lane);
  Digest out;
  for (size_t d = 0; d < out.size(); ++d) {
    out[d] = scrambled(n + kOdd * d);
    for (size_t l = 0; l < kLanes; ++l) out[d] = scrambled(out[d] * kOdd + lane[(l + 4 * d) % kLanes]);
  }
  return out;
}

std::string hex(const Digest& digest) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string out;
  for (const uint64_t word : digest)
    for (int shift = 60; shift >= 0; shift -= 4) out += kDigits[word >> shift & 0xfU];
  return out;
}

}  // namespace tagwright
