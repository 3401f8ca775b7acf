#include "base/pages.h"

#include <cstdint>
#include <stdexcept>

#ifdef _WIN32
#include <io.h>
#include <windows.h>
#else
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace tagwright {
namespace {

#ifdef _WIN32
int duplicate(int descriptor) { return _dup(descriptor); }

void release(int descriptor) { _close(descriptor); }

// Pages that are not locked leave the working set.
void forget_pages(uintptr_t begin, uintptr_t end) { VirtualUnlock(reinterpret_cast<void*>(begin), end - begin); }

size_t page_size() {
  SYSTEM_INFO system;
  GetSystemInfo(&system);
  return system.dwPageSize;
}

// Reads at a position of the file; returns the number of bytes, at most 0 if there are none.
int64_t read_at(int descriptor, void* to, size_t bytes, int64_t at) {
  OVERLAPPED place{};
  place.Offset = static_cast<DWORD>(at);
  place.OffsetHigh = static_cast<DWORD>(at >> 32);
  DWORD done = 0;
  const auto most = static_cast<DWORD>(bytes < (size_t{1} << 30) ? bytes : size_t{1} << 30);
  const auto file = reinterpret_cast<HANDLE>(_get_osfhandle(descriptor));
  return ReadFile(file, to, most, &done, &place) ? static_cast<int64_t>(done) : -1;
}
#else
int duplicate(int descriptor) { return dup(descriptor); }

void release(int descriptor) { close(descriptor); }

void forget_pages(uintptr_t begin, uintptr_t end) {
  madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

size_t page_size() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

int64_t read_at(int descriptor, void* to, size_t bytes, int64_t at) {
  return pread(descriptor, to, bytes, static_cast<off_t>(at));
}
#endif

}  // namespace

Pages::Pages(std::span<const std::byte> mapped, int descriptor) : mapped_(mapped), descriptor_(duplicate(descriptor)) {
  if (descriptor_ < 0) throw std::invalid_argument("the file of a mapped corpus must be open");
}

Pages::~Pages() { release(descriptor_); }

void Pages::forget() const {
  if (mapped_.empty()) return;
  const size_t page = page_size();
  const auto begin = (reinterpret_cast<uintptr_t>(mapped_.data()) + page - 1) / page * page;
  const auto end = reinterpret_cast<uintptr_t>(mapped_.data() + mapped_.size());
  if (begin < end) forget_pages(begin, end);
}

void Pages::read(std::span<const std::byte> from, void* to) const {
  auto* out = static_cast<char*>(to);
  auto at = static_cast<int64_t>(from.data() - mapped_.data());
  for (size_t left = from.size(); left > 0;) {
    const int64_t done = read_at(descriptor_, out, left, at);
    if (done <= 0) throw std::runtime_error("the encoded corpus cannot be read any more; was its file cut?");
    out += done;
    at += done;
    left -= static_cast<size_t>(done);
  }
}

}  // namespace tagwright
