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
// The locale is always C here. last may be the end of a file, so that only what can be a number is copied.
inline from_chars_result from_chars(const char* first, const char* last, double& value,
                                    chars_format format = chars_format::general) {
  const bool hex = format == chars_format::hex;
  const string text = (hex ? "0x" : "") + string(first, last - first < 128 ? last : first + 128);
  char* end = nullptr;
  const double read = strtod(text.c_str(), &end);
  const auto count = end - text.c_str() - (hex ? 2 : 0);
  if (count <= 0) return {first, errc::invalid_argument};
  value = read;
  return {first + count, errc()};
}
}  // namespace std
#endif
