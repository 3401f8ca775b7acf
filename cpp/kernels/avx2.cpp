// The kernels for x86-64-v3 (AVX2). Nothing in this file may run before the CPU has been checked.
#include "level.h"

namespace tagwright {
extern const Kernels kAvx2Kernels;
constinit const Kernels kAvx2Kernels = table("avx2");
}  // namespace tagwright
