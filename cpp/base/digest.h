// A digest of bytes, as fast as memory: it detects damage, it is not cryptographic.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

namespace tagwright {

using Digest = std::array<uint64_t, 4>;

// Returns the digest of n bytes; seed: the digest of what came before, so that many pieces make one digest.
Digest digest_of(const void* bytes, size_t n, const Digest& seed);

// In hexadecimal.
std::string hex(const Digest& digest);

}  // namespace tagwright
