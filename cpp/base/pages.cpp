#include "base/pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace tagwright {

void Pages::forget() const {
  if (mapped_.empty()) return;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<uintptr_t>(mapped_.data()) + page - 1) / page * page;
  const auto end = reinterpret_cast<uintptr_t>(mapped_.data() + mapped_.size());
  if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace tagwright
