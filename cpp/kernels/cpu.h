// What the CPU and the operating system support.
#pragma once

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

namespace tagwright {

// Whether instructions of AVX2 can be executed, and the system saves their registers. Reads CPUID and XGETBV, which
// needs no run-time library of a certain compiler.
inline bool has_avx2() {
#if defined(__x86_64__) || defined(__i386__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned kAvx = 1U << 28, kXsaveEnabled = 1U << 27, kAvx2 = 1U << 5, kVectorRegisters = 0b110;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & kAvx) || !(c & kXsaveEnabled)) return false;
  unsigned low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  if ((low & kVectorRegisters) != kVectorRegisters) return false;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & kAvx2);
#else
  return false;
#endif
}

}  // namespace tagwright
