// What the bindings share: arrays in and out, the GIL, and the checks of shapes.
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
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <future>
#include <memory>
#include <span>
#include <stdexcept>
#include <tuple>
#include <type_traits>

#include "base/need.h"
#include "base/stop.h"
#include "decode/batch.h"
#include "features/templates.h"
#include "model/weights.h"
#include "sums/spans.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace nanobind::detail {

// Arrays as spans, while a call lasts. Those that are filled are never copies.
template <class V>
struct type_caster<std::span<V>> {
  using Array = ndarray<V, ndim<1>, c_contig, device::cpu>;
  NB_TYPE_CASTER(std::span<V>, make_caster<Array>::Name)

  bool from_python(handle source, uint8_t flags, cleanup_list* cleanup) noexcept {
    constexpr auto convert = static_cast<uint8_t>(cast_flags::convert);
    if (!std::is_const_v<V>) flags = static_cast<uint8_t>(flags & ~convert);
    if (!array.from_python(source, flags, cleanup)) return false;
    value = {array.value.data(), array.value.shape(0)};
    return true;
  }

  make_caster<Array> array;
};

// A rule as Python sends it: its name ("" for all labels), its number, and the fewest labels it keeps.
template <>
struct type_caster<tagwright::PruningRule> {
  using Tuple = std::tuple<std::string, double, size_t>;
  static constexpr auto Name = make_caster<Tuple>::Name;
  template <class T>
  using Cast = tagwright::PruningRule;

  bool from_python(handle source, uint8_t flags, cleanup_list* cleanup) noexcept {
    return tuple.from_python(source, flags, cleanup);
  }
  template <class T>
  bool can_cast() const noexcept {
    return true;
  }
  explicit operator tagwright::PruningRule() {
    return std::apply(tagwright::PruningRule::named, static_cast<Tuple>(tuple));
  }

  make_caster<Tuple> tuple;
};

}  // namespace nanobind::detail

namespace tagwright {

using AnyArray = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;
template <class V>
using Vector = nb::ndarray<const V, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

inline Scores scores_of(const AnyArray& array) {
  if (array.dtype() == nb::dtype<float>()) return {static_cast<const float*>(array.data()), nullptr};
  if (array.dtype() == nb::dtype<double>()) return {nullptr, static_cast<const double*>(array.data())};
  throw std::invalid_argument("scores must be float32 or float64");
}

template <class V>
std::span<const V> span_of(const Vector<V>& array) {
  return {array.data(), array.shape(0)};
}

template <class V>
std::vector<V> copied(std::span<const V> values) {
  return {values.begin(), values.end()};
}

// Whether this is the thread in which Python's signal handlers run.
bool in_main_thread();
// Runs the handlers of the signals that have come; throws what a handler raises.
void hear_signals();

// Lets other Python threads run during work(), however long it takes: what a signal handler raises stops the work. A
// handler may call us in the middle of other work, whose thread's memory must be left alone: then the work has its own
// thread.
template <class Work>
auto without_gil(Work&& work) {
  const bool hears = in_main_thread();
  nb::gil_scoped_release release;
  if (Stopper::current()) return std::async(std::launch::async, work).get();
  std::optional<Stopper> stopper;
  if (hears) stopper.emplace(hear_signals);
  return work();
}

// A function of the core as Python calls it: without the GIL, its result converted.
template <class Convert, class Work>
auto converted(const Convert& convert, const Work& work) {
  if constexpr (std::is_void_v<decltype(work())>) {
    without_gil(work);
  } else {
    return convert(without_gil(work));
  }
}
template <class R, class... A, class Convert = std::identity>
auto native(R (*function)(A...), Convert convert = {}) {
  return [=](A... given) { return converted(convert, [&] { return function(std::forward<A>(given)...); }); };
}
template <class R, class C, class... A, class Convert = std::identity>
auto native(R (C::*method)(A...), Convert convert = {}) {
  return [=](C& self, A... given) {
    return converted(convert, [&] { return (self.*method)(std::forward<A>(given)...); });
  };
}
template <class R, class C, class... A, class Convert = std::identity>
auto native(R (C::*method)(A...) const, Convert convert = {}) {
  return [=](const C& self, A... given) {
    return converted(convert, [&] { return (self.*method)(std::forward<A>(given)...); });
  };
}

// Holds what keeps borrowed memory alive; it is let go of under the GIL, whoever does that.
template <class Held>
std::shared_ptr<void> owner_of(Held held) {
  return {new Held(std::move(held)), [](void* own) {
            nb::gil_scoped_acquire gil;
            delete static_cast<Held*>(own);
          }};
}

template <class V>
auto to_numpy(std::vector<V> values, std::vector<size_t> shape) {
  auto* held = new std::vector<V>(std::move(values));
  nb::capsule owner(held, [](void* p) noexcept { delete static_cast<std::vector<V>*>(p); });
  return nb::ndarray<nb::numpy, V>(held->data(), shape.size(), shape.data(), owner);
}

inline constexpr auto array_of = []<class V>(std::vector<V> values) {
  const size_t n = values.size();
  return to_numpy(std::move(values), {n});
};

// The lengths of the sentences of a text or corpus.
template <class Sentences>
auto lengths_of(const Sentences& all) {
  std::vector<int64_t> lengths(all.sentences());
  for (size_t s = 0; s < lengths.size(); ++s) lengths[s] = static_cast<int64_t>(all.length(s));
  return array_of(std::move(lengths));
}

inline std::string_view view_of(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

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
  return nb::make_tuple(array_of(std::move(labels)), scores, work);
}

// Type, first token, the token behind the last, and probability of each.
inline nb::list pack(const std::vector<Span>& spans) {
  nb::list made;
  for (const Span& span : spans) made.append(nb::make_tuple(span.type, span.begin, span.end, span.probability));
  return made;
}

// The correction sets active at each step of a sentence, where it has them; and those of many sentences.
using StepSets = std::optional<std::vector<std::vector<int32_t>>>;
using SwitchedOn = std::optional<std::vector<StepSets>>;

// Makes a dict of arrays, by the names that model files have for them.
struct ArrayDict {
  nb::dict dict;

  template <class V>
  void operator()(const std::string& name, std::vector<V>& values) {
    dict[name.c_str()] = array_of(std::move(values));
  }
  template <class V>
  void operator()(const std::string& name, std::span<const V> values) {
    dict[name.c_str()] = array_of(copied(values));
  }
};
nb::dict to_dict(WeightArrays<Owned> weights);

// Arrays by name, as model files hold them; those that were read are held until the owner goes.
class NamedArrays {
 public:
  explicit NamedArrays(nb::dict arrays) : arrays_(std::move(arrays)) {}

  bool has(const std::string& name) const { return arrays_.contains(name.c_str()); }
  // Throws std::invalid_argument where an array is not there or holds other numbers.
  template <class V>
  void read(const std::string& name, std::span<const V>& to) {
    need(has(name), name + " is missing");
    Vector<V> found;
    const nb::object array = arrays_[name.c_str()];
    if (!nb::try_cast(array, found, false)) refuse(name, array, nb::dtype<V>());
    to = span_of(found);
    held_.emplace_back(found);
  }
  // The same, copied.
  template <class V>
  void read(const std::string& name, std::vector<V>& to) {
    std::span<const V> found;
    read(name, found);
    to.assign(found.begin(), found.end());
  }
  std::shared_ptr<void> owner() { return owner_of(std::move(held_)); }

 private:
  [[noreturn]] static void refuse(const std::string& name, nb::handle array, nb::dlpack::dtype expected);

  nb::dict arrays_;
  std::vector<AnyArray> held_;
};

// One sentence per array of node scores, over its own edges or those of all.
std::vector<Sentence> sentences_of(const std::vector<AnyArray>& nodes, const std::vector<const Edges*>& edges,
                                   const SwitchedOn& active, const AllowedLists* allowed);

void bind_attributes(nb::module_& m);
void bind_word_classes(nb::module_& m);
void bind_constraints(nb::module_& m);
void bind_corpus(nb::module_& m);
void bind_edges(nb::module_& m);
void bind_batch(nb::module_& m);
void bind_batch_objective(nb::module_& m);
void bind_decode(nb::module_& m);
void bind_features(nb::module_& m);
void bind_sums(nb::module_& m);
void bind_training(nb::module_& m);
void bind_memm(nb::module_& m);
void bind_foreign(nb::module_& m);
void bind_models(nb::module_& m);
void bind_tokens(nb::module_& m);

}  // namespace tagwright
