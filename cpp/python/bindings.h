// What the files that face Python share.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <stdexcept>
#include <tuple>

#include "decode/batch.h"
#include "features/templates.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace tagwright {

using AnyArray = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
using IntArray = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using RealArray = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

inline Scores scores_of(const AnyArray& array) {
  if (array.dtype() == nb::dtype<float>()) return {static_cast<const float*>(array.data()), nullptr};
  if (array.dtype() == nb::dtype<double>()) return {nullptr, static_cast<const double*>(array.data())};
  throw std::invalid_argument("scores must be float32 or float64");
}

template <class Array>
auto span_of(const Array& array) {
  return std::span(array.data(), array.shape(0));
}

// What a thread's arena may hold between sentences.
inline constexpr size_t kHeld = size_t{64} << 20;

inline void need(bool condition, const char* message) {
  if (!condition) throw std::invalid_argument(message);
}

// Holds an array's memory while the core borrows it; given back under the GIL whoever lets go of it.
inline std::shared_ptr<void> owner_of(AnyArray array) {
  return {new AnyArray(std::move(array)), [](void* held) {
            nb::gil_scoped_acquire gil;
            delete static_cast<AnyArray*>(held);
          }};
}

template <class V>
auto to_numpy(std::vector<V> values, std::vector<size_t> shape) {
  auto* held = new std::vector<V>(std::move(values));
  nb::capsule owner(held, [](void* p) noexcept { delete static_cast<std::vector<V>*>(p); });
  return nb::ndarray<nb::numpy, V>(held->data(), shape.size(), shape.data(), owner);
}

// Labels of all paths one behind the other; their scores; and for each sentence its paths, rounds, nodes, edges,
// whether it is exact, and gap.
inline nb::tuple pack(const std::vector<Answer>& answers) {
  std::vector<int32_t> labels;
  nb::list scores, work;
  for (const Answer& answer : answers) {
    for (const Path& path : answer.paths) {
      labels.insert(labels.end(), path.labels.begin(), path.labels.end());
      scores.append(path.score);
    }
    work.append(nb::make_tuple(answer.paths.size(), answer.work.rounds, answer.work.nodes, answer.work.edges,
                               answer.exact, answer.gap));
  }
  const size_t n = labels.size();
  return nb::make_tuple(to_numpy(std::move(labels), {n}), scores, work);
}

// A decoder and its options.
struct Plan {
  const Decoder* decoder;
  Options options;

  // The same for k paths; throws std::invalid_argument where the decoder returns one only.
  Plan with(size_t k) const;
};

// A rule as Python sends it: its name ("" for all labels), its number, and the fewest labels it keeps.
using KeepTuple = std::tuple<std::string, double, size_t>;
Keep keep_of(const std::string& rule, double value, size_t at_least);

template <class V>
using Vector = nb::ndarray<const V, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class V>
auto array_of(std::vector<V> values) {
  const size_t n = values.size();
  return to_numpy(std::move(values), {n});
}

struct IndexArrays {
  Vector<uint64_t> slots;
  Vector<uint32_t> ends;
  Vector<uint8_t> bytes;

  IndexView view() const {
    return {{slots.data(), slots.shape(0)}, {ends.data(), ends.shape(0)}, reinterpret_cast<const char*>(bytes.data())};
  }
};

inline IndexArrays index_arrays(nb::handle arrays) {
  auto [slots, ends, bytes] = nb::cast<std::tuple<Vector<uint64_t>, Vector<uint32_t>, Vector<uint8_t>>>(arrays);
  return {slots, ends, bytes};
}

inline nb::tuple arrays_of(const Index& index) {
  std::vector<uint8_t> bytes(index.bytes().begin(), index.bytes().end());
  return nb::make_tuple(array_of(index.slots()), array_of(index.ends()), array_of(std::move(bytes)));
}

inline void need_columns(const Text& text, const Templates& templates) {
  need(text.ready || text.columns >= templates.columns(), "the text has fewer columns than the templates read");
}

void bind_edges(nb::module_& m);
void bind_decode(nb::module_& m);
void bind_features(nb::module_& m);
void bind_sums(nb::module_& m);
void bind_training(nb::module_& m);
void bind_crf(nb::module_& m);
void bind_memm(nb::module_& m);
void bind_models(nb::module_& m);

}  // namespace tagwright
