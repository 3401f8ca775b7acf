// Picks the kernel level once, at start-up.
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "cpu.h"
#include "kernels.h"

namespace tagwright {

extern const Kernels kBaseKernels;
#ifdef TAGWRIGHT_AVX2
extern const Kernels kAvx2Kernels;
#endif

namespace {

const Kernels& choose() {
  const char* requested = std::getenv("TAGWRIGHT_SIMD");
  const std::string level = requested ? requested : "";
  if (level == "base") return kBaseKernels;
#ifdef TAGWRIGHT_AVX2
  const bool have = has_avx2();
  if (level.empty()) return have ? kAvx2Kernels : kBaseKernels;
  if (level == "avx2" && have) return kAvx2Kernels;
  if (level == "avx2") throw std::invalid_argument("TAGWRIGHT_SIMD=avx2, but this CPU has no AVX2; use base");
#else
  if (level.empty()) return kBaseKernels;
  if (level == "avx2") throw std::invalid_argument("TAGWRIGHT_SIMD=avx2, but this build has no AVX2 kernels; use base");
#endif
  throw std::invalid_argument("TAGWRIGHT_SIMD=" + level + " is not a level; use base or avx2, or unset it");
}

}  // namespace

const Kernels& kernels() {
  static const Kernels& chosen = choose();
  return chosen;
}

}  // namespace tagwright
