// Work in numbered pieces, over several threads.
#pragma once

#include <cstddef>
#include <functional>

namespace tagwright {

// Calls work(0) .. work(count - 1), each once, on up to `threads` threads, this one among them. When all have ended,
// rethrows the exception of the lowest number, if any. Where this thread's work is stopped (stop.h), that of the others
// is stopped, too.
void in_parallel(size_t count, size_t threads, const std::function<void(size_t)>& work);

}  // namespace tagwright
