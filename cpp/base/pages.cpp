#include "base/pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <stdexcept>

namespace tagwright {

Pages::~Pages() {
  if (descriptor_ >= 0) close(descriptor_);
}

void Pages::forget() const {
  if (mapped_.empty()) return;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<uintptr_t>(mapped_.data()) + page - 1) / page * page;
  const auto end = reinterpret_cast<uintptr_t>(mapped_.data() + mapped_.size());
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

void Pages::read(std::span<const std::byte> from, void* to) const {
  auto* out = static_cast<char*>(to);
  auto at = from.data() - mapped_.data();
  for (size_t left = from.size(); left > 0;) {
    const ssize_t done = pread(descriptor_, out, left, at);
    if (done <= 0) throw std::runtime_error("the encoded corpus cannot be read any more; was its file cut?");
    out += done;
    at += done;
    left -= static_cast<size_t>(done);
  }
}

}  // namespace tagwright
