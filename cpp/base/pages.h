// Pages of a file that is mapped into memory.
//
// What was looked at counts as memory of this process until the system needs the room. Letting go of it keeps the
// process small however large the file is: pages that are needed again are found in the system's cache, or read.
#pragma once

#include <atomic>
#include <cstddef>
#include <span>

namespace tagwright {

class Pages {
 public:
  // mapped: a file, read-only; of any other memory, letting go would lose what it holds.
  explicit Pages(std::span<const std::byte> mapped) : mapped_(mapped) {}

  // To be called before a few kilobytes are looked at: now and then lets go of all pages. Others may go on reading.
  void visit() {
    if (visits_.fetch_add(1, std::memory_order_relaxed) % kVisits == kVisits - 1) forget();
  }
  void forget() const;

 private:
  // A look at a page brings in 16 beside it that the system has at hand, in each of a few arrays.
  static constexpr size_t kVisits = 256;

  std::span<const std::byte> mapped_;
  std::atomic<size_t> visits_{0};
};

}  // namespace tagwright
