#include <algorithm>
#include <set>
#include <string>

#include "base/digest.h"
#include "check.h"

namespace tagwright {
namespace {

constexpr Digest kSeed = {1, 2, 3, 4};

std::string bytes_of(size_t n) {
  std::string bytes(n, 0);
  for (size_t q = 0; q < n; ++q) bytes[q] = static_cast<char>(q * 7 + q / 251);
  return bytes;
}

Digest text_digest(const std::string& bytes, const Digest& seed = kSeed) {
  return digest_of(bytes.data(), bytes.size(), seed);
}

// Files written by earlier versions hold digests.
TEST(the_digest_stays_what_it_was) {
  CHECK(text_digest("", {}) ==
        Digest{0x8cd06e33d0edd439U, 0x98f01d5c6286de9U, 0x898c5e56c4116b53U, 0xda5480d44554fd92U});
  CHECK(text_digest(bytes_of(5000)) ==
        Digest{0xf68e84bf3ef56938U, 0x89eb5c69288f10eeU, 0xe9c9bb594c732546U, 0xe8150c578d5df49bU});
}

TEST(every_bit_counts) {
  for (const size_t n : {1, 7, 8, 127, 128, 129, 300, 2048, 2100}) {
    std::string bytes = bytes_of(n);
    std::set<Digest> seen = {text_digest(bytes)};
    for (size_t bit = 0; bit < 8 * n; ++bit) {
      bytes[bit / 8] ^= static_cast<char>(1 << bit % 8);
      seen.insert(text_digest(bytes));
      bytes[bit / 8] ^= static_cast<char>(1 << bit % 8);
    }
    CHECK(seen.size() == 8 * n + 1);
  }
}

TEST(length_seed_and_order_count) {
  std::set<Digest> seen;
  for (size_t n = 0; n < 600; ++n) seen.insert(text_digest(std::string(n, 0)));
  CHECK(seen.size() == 600);
  for (size_t word = 0; word < 4; ++word) {
    Digest seed = kSeed;
    seed[word] ^= 1;
    seen.insert(text_digest("", seed));
  }
  CHECK(seen.size() == 604);
  // Two stripes of 128 bytes change places.
  const std::string bytes = bytes_of(4096);
  for (size_t from = 0; from < 4096; from += 128)
    for (size_t to = 0; to < from; to += 128) {
      std::string other = bytes;
      std::swap_ranges(other.begin() + static_cast<ptrdiff_t>(from), other.begin() + static_cast<ptrdiff_t>(from + 128),
                       other.begin() + static_cast<ptrdiff_t>(to));
      CHECK(text_digest(other) != text_digest(bytes));
    }
}

TEST(where_the_bytes_lie_does_not_count) {
  const std::string bytes = bytes_of(1000);
  for (size_t shift = 0; shift < 16; ++shift) {
    const std::string moved = std::string(shift, 'x') + bytes;
    CHECK(digest_of(moved.data() + shift, bytes.size(), kSeed) == text_digest(bytes));
  }
}

}  // namespace
}  // namespace tagwright
