// Memory that is handed out fast and given back all at once, so that no decoder allocates per token.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <vector>

namespace tagwright {

class Arena {
 public:
  // n values, uninitialised; valid until reset().
  template <class V>
  V* array(size_t n) {
    static_assert(std::is_trivially_destructible_v<V>);
    const size_t bytes = (n * sizeof(V) + kAlign - 1) / kAlign * kAlign;
    while (chunk_ < chunks_.size() && used_ + bytes > chunks_[chunk_].size) {
      ++chunk_;
      used_ = 0;
    }
    if (chunk_ == chunks_.size()) {
      const size_t size = bytes > kChunk ? bytes : kChunk;
      chunks_.push_back({std::unique_ptr<std::byte[]>(new std::byte[size + kAlign]), size});
      used_ = 0;
    }
    std::byte* start = chunks_[chunk_].bytes.get();
    start += (kAlign - reinterpret_cast<size_t>(start) % kAlign) % kAlign;
    V* made = reinterpret_cast<V*>(start + used_);
    used_ += bytes;
    return made;
  }

  void reset() { chunk_ = used_ = 0; }

 private:
  static constexpr size_t kAlign = 64, kChunk = size_t{1} << 20;
  struct Chunk {
    std::unique_ptr<std::byte[]> bytes;
    size_t size;
  };
  std::vector<Chunk> chunks_;
  size_t chunk_ = 0, used_ = 0;
};

}  // namespace tagwright
