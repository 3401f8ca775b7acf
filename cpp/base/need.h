// Errors of bad input.
#pragma once

#include <stdexcept>
#include <string>

namespace tagwright {

// Checks a condition that only bad input breaks.
inline void need(bool condition, const auto& message) {
  if (!condition) throw std::invalid_argument(message);
}

// Throws an error again with the number of its sentence in front.
[[noreturn]] inline void fail_in(size_t sentence, const std::invalid_argument& error) {
  throw std::invalid_argument("sentence " + std::to_string(sentence) + ": " + error.what());
}

}  // namespace tagwright
