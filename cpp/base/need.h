// Errors of bad input.
#pragma once

#include <cstddef>
#include <cstdio>
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

// What one sentence that is given as text may take.
inline constexpr double kMostBytes = 1 << 30;

// Throws an error for tokens that take more than that. with: the reason, " with ...".
[[noreturn]] inline void fail_for_room(double bytes, size_t tokens, const std::string& with) {
  char size[32];
  std::snprintf(size, sizeof size, "%.1f GB", bytes / kMostBytes);
  throw std::invalid_argument(std::to_string(tokens) + " tokens would take " + size + with +
                              ", and the limit is 1 GB; split the sentence");
}

}  // namespace tagwright
