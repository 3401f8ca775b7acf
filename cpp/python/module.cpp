// The Python module: each file of this room binds a room of the core, and no file elsewhere knows Python. Bindings
// check shapes and types and convert; nothing behind them sees an array.
#include "kernels/kernels.h"
#include "python/bindings.h"

namespace tagwright {
namespace {

unsigned long main_thread = 0;
thread_local bool hearing = false;

}  // namespace

bool in_main_thread() { return PyThread_get_thread_ident() == main_thread; }

void hear_signals() {
  nb::gil_scoped_acquire gil;
  hearing = true;
  const bool raised = PyErr_CheckSignals() != 0;
  hearing = false;
  if (raised) throw nb::python_error();
}

}  // namespace tagwright

NB_MODULE(_core, m) {
  using namespace tagwright;
  m.doc() = "The native core of tagwright.";
  // Objects that a traceback holds when Python exits are not leaks.
  nb::set_leak_warnings(false);
  kernels();  // A bad TAGWRIGHT_SIMD is reported at import, not at the first decoding.
  main_thread = nb::cast<unsigned long>(nb::module_::import_("threading").attr("main_thread")().attr("ident"));
  m.def(
      "hearing", [] { return hearing; },
      "Whether a signal handler runs in the middle of native work, which ends if the handler raises.");
  m.def("simd", [] { return std::string(kernels().name); }, "The kernel level in use: 'avx2' or 'base'.");
  bind_constraints(m);
  bind_edges(m);
  bind_decode(m);
  bind_sums(m);
  bind_batch(m);
  bind_features(m);
  bind_tokens(m);
  bind_corpus(m);
  bind_training(m);
  bind_batch_objective(m);
  bind_models(m);
  bind_memm(m);
  bind_foreign(m);
  bind_attributes(m);
  bind_word_classes(m);
}
