// The model file: safetensors, with metadata as JSON and a digest of everything (docs/model_file.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "model/json.h"

namespace tagwright {

// A file that is damaged or not a model.
struct ModelFileError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

enum class Dtype : uint8_t { u64, f64, f32, u32, i32, u16, u8 };

// A one-dimensional array of a file.
struct Tensor {
  Dtype dtype;
  const void* data;  // aligned
  size_t count;
};

template <class V>
constexpr Dtype dtype_of() {
  if constexpr (std::is_floating_point_v<V>) return sizeof(V) == 8 ? Dtype::f64 : Dtype::f32;
  if constexpr (std::is_signed_v<V>) return Dtype::i32;
  return sizeof(V) == 8 ? Dtype::u64 : sizeof(V) == 4 ? Dtype::u32 : sizeof(V) == 2 ? Dtype::u16 : Dtype::u8;
}

struct ModelFile {
  static constexpr size_t kFormat = 1;                      // the one that this version reads and writes
  static constexpr size_t kCopiedBytes = size_t{16} << 20;  // a larger file is mapped

  std::string stored;  // the metadata's text, which `meta` refers to
  Json meta;
  std::vector<std::pair<std::string, Tensor>> arrays;  // in the order of the header
  std::shared_ptr<const void> held;                    // what the arrays refer to

  // Checks sizes, format and digest. Throws ModelFileError.
  static ModelFile parse(std::string_view bytes, std::shared_ptr<const void> owner);
  // The same for an open file, read from its beginning, copied or mapped. A mapped file must not be truncated while it
  // is in use. Throws std::system_error if it cannot be read.
  static ModelFile read(int file, size_t copied = kCopiedBytes);
  // The same for a path, which the messages of errors name.
  static ModelFile load(const std::string& path);

  const Tensor* find(std::string_view name) const;
  // The elements of an array; throws ModelFileError if there is none of this name or it has another type.
  template <class V>
  std::span<const V> array(std::string_view name) const {
    const Tensor* const found = find(name);
    if (!found || found->dtype != dtype_of<V>())
      throw ModelFileError(std::string(name) + (found ? " has another type" : " is missing"));
    return {static_cast<const V*>(found->data), found->count};
  }
  // A source of weights (weights.h).
  bool has(std::string_view name) const { return find(name); }
  template <class V>
  void read(std::string_view name, std::span<const V>& to) const {
    to = array<V>(name);
  }
  const std::shared_ptr<const void>& owner() const { return held; }
};

}  // namespace tagwright
