// Work in numbered pieces, over several threads.
#pragma once

#include <cstddef>
#include <functional>

namespace tagwright {

// Calls work(0) .. work(count - 1), each once, on up to `threads` threads, this one among them. An exception is raised
// when all have ended: that of the lowest number.
void in_parallel(size_t count, size_t threads, const std::function<void(size_t)>& work);

}  // namespace tagwright
