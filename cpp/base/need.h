// The check of a condition that only bad input breaks.
#pragma once

#include <stdexcept>

namespace tagwright {

inline void need(bool condition, const auto& message) {
  if (!condition) throw std::invalid_argument(message);
}

}  // namespace tagwright
