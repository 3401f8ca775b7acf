// A file that is mapped into memory, and of which little stays there.
//
// Pages that were read count as memory of this process until the system needs the room. A sequential reader releases
// what lies behind it: visit(). Random access would map far more than is read, so these bytes are copied:
// copy().
#pragma once

#include <atomic>
#include <cstddef>
#include <span>
#include <vector>

namespace tagwright {

class Pages {
 public:
  // mapped: a file, read-only; of any other memory, letting go would lose what it holds. descriptor: of the same file,
  // open for reading; it is duplicated. Throws std::invalid_argument where it is not open.
  Pages(std::span<const std::byte> mapped, int descriptor);
  ~Pages();
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  // To be called before a few kilobytes are read: releases all pages from time to time. Other readers are not affected.
  void visit() {
    constexpr size_t kVisits = 256;
    if (visits_.fetch_add(1, std::memory_order_relaxed) % kVisits == kVisits - 1) forget();
  }
  void forget() const;

  // Appends numbers that lie in the mapped file. Throws std::runtime_error where they cannot be read.
  template <class V>
  void copy(std::span<const V> from, std::vector<V>& to) const {
    const size_t before = to.size();
    to.resize(before + from.size());
    read(std::as_bytes(from), to.data() + before);
  }

 private:
  void read(std::span<const std::byte> from, void* to) const;

  std::span<const std::byte> mapped_;
  int descriptor_;
  std::atomic<size_t> visits_{0};
};

}  // namespace tagwright
