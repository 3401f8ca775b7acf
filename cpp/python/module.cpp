// The Python module: each file of this room binds a room of the core, and no file elsewhere knows Python. Bindings
// check shapes and types and convert; nothing behind them sees an array.
#include "kernels/kernels.h"
#include "python/bindings.h"

NB_MODULE(_core, m) {
  using namespace tagwright;
  m.doc() = "The native core of tagwright.";
  // What a traceback still holds when Python ends is no leak of ours, and no user's concern.
  nb::set_leak_warnings(false);
  kernels();  // A bad TAGWRIGHT_SIMD is told at import, not at the first decoding.
  m.def("simd", [] { return std::string(kernels().name); }, "The kernel level in use: 'avx2' or 'base'.");
  bind_edges(m);
  bind_decode(m);
  bind_sums(m);
  bind_features(m);
  bind_training(m);
  bind_models(m);
  bind_memm(m);
}
