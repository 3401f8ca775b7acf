// What the standard library of emscripten 3.1.6 (Debian 12) lacks of C++20; included in front of every file.
#pragma once

#include <bit>
#include <charconv>
#include <cstdlib>
#include <string>

#ifndef __cpp_lib_bit_cast
namespace std {
template <class To, class From>
constexpr To bit_cast(const From& from) {
  return __builtin_bit_cast(To, from);
}
}  // namespace std
#endif

#ifndef __cpp_lib_to_chars
namespace std {
// The locale is always C here.
inline from_chars_result from_chars(const char* first, const char* last, double& value) {
  const string text(first, last);
  char* end = nullptr;
  value = strtod(text.c_str(), &end);
  const auto read = end - text.c_str();
  return {first + read, read ? errc() : errc::invalid_argument};
}
}  // namespace std
#endif
