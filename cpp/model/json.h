// A strict reader of JSON (RFC 8259), for metadata of files that anyone may have written.
//
// Stricter than Python's: no NaN or Infinity, no name twice in an object, no lone surrogates, at most kDeepest levels.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tagwright {

class Json {
 public:
  static constexpr size_t kDeepest = 200;
  using Array = std::vector<Json>;
  using Object = std::vector<std::pair<std::string, Json>>;  // in the order of the text

  // Throws std::invalid_argument with the place of the first error. The text must outlive `source` of the result.
  static Json parse(std::string_view text);

  bool is_null() const { return std::holds_alternative<std::nullptr_t>(value_); }
  const bool* boolean() const { return std::get_if<bool>(&value_); }
  const double* number() const { return std::get_if<double>(&value_); }
  const std::string* string() const { return std::get_if<std::string>(&value_); }
  const Array* array() const { return std::get_if<Array>(&value_); }
  const Object* object() const { return std::get_if<Object>(&value_); }
  // A whole number from 0 to 2^53; none for anything else.
  std::optional<size_t> size() const;
  // The value of a name of an object; nullptr if this is not an object or has no such name.
  const Json* find(std::string_view name) const;
  // The text of this value as it was read.
  std::string_view source() const { return source_; }

 private:
  friend class JsonReader;
  std::variant<std::nullptr_t, bool, double, std::string, Array, Object> value_ = nullptr;
  std::string_view source_;
};

// Appends a string in quotes as Python's json.dumps(ensure_ascii=False) writes it.
void append_json(std::string& out, std::string_view text);

}  // namespace tagwright
