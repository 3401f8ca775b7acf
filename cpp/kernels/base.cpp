// The kernels for any CPU the compiler's own flags allow (base x86-64: SSE2).
#include "loops.h"

namespace tagwright {
extern const Kernels kBaseKernels;
constinit const Kernels kBaseKernels = table("base");
}  // namespace tagwright
