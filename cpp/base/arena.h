// Memory that is handed out fast and given back all at once, so that no decoder allocates per token.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

namespace tagwright {

// Returns a * b; throws std::bad_alloc where that is more than any memory holds.
inline size_t times(size_t a, size_t b) {
  if (b != 0 && a > std::numeric_limits<size_t>::max() / 64 / b) throw std::bad_alloc();
  return a * b;
}

// Returns a * b, but at most `most`.
inline size_t times_up_to(size_t a, size_t b, size_t most) { return b && a > most / b ? most : a * b; }

class Arena {
 public:
  // Returns room for n values, uninitialised; valid until reset().
  template <class V>
  V* array(size_t n) {
    static_assert(std::is_trivially_destructible_v<V>);
    const size_t bytes = (times(n, sizeof(V)) + kAlign - 1) / kAlign * kAlign;
    while (chunk_ < chunks_.size() && used_ + bytes > chunks_[chunk_].size) {
      ++chunk_;
      used_ = 0;
    }
    if (chunk_ == chunks_.size()) {
      const size_t size = bytes > next_ ? bytes : next_;
      next_ = next_ < kLargest ? 2 * next_ : next_;
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

  // Frees memory until at most `bytes` are held.
  void trim(size_t bytes) {
    reset();
    size_t held = 0;
    for (const Chunk& chunk : chunks_) held += chunk.size;
    while (held > bytes) {
      held -= chunks_.back().size;
      chunks_.pop_back();
    }
  }

 private:
  static constexpr size_t kAlign = 64, kLargest = size_t{4} << 20;
  struct Chunk {
    std::unique_ptr<std::byte[]> bytes;
    size_t size;
  };
  std::vector<Chunk> chunks_;
  size_t chunk_ = 0, used_ = 0, next_ = size_t{64} << 10;
};

// Trims an arena when it goes, whatever happened until then.
class Trimmed {
 public:
  Trimmed(Arena& arena, size_t bytes) : arena_(arena), bytes_(bytes) {}
  ~Trimmed() { arena_.trim(bytes_); }
  Trimmed(const Trimmed&) = delete;
  Trimmed& operator=(const Trimmed&) = delete;

 private:
  Arena& arena_;
  size_t bytes_;
};

// Returns this thread's arena, which ends with the thread. (A thread_local of the calling function would not be made in
// other threads.)
inline Arena& thread_arena() {
  thread_local Arena arena;
  return arena;
}

}  // namespace tagwright
