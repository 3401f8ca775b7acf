// Weights, and the scorer that finds and adds them.
#include "base/digest.h"
#include "model/tag.h"
#include "python/bindings.h"

namespace tagwright {

void NamedArrays::refuse(const std::string& name, nb::handle array, nb::dlpack::dtype wanted) {
  const auto code = static_cast<nb::dlpack::dtype_code>(wanted.code);
  const std::string kind = code == nb::dlpack::dtype_code::Float ? "float"
                           : code == nb::dlpack::dtype_code::Int ? "int"
                                                                 : "uint";
  const std::string found = nb::cast<std::string>(nb::str(nb::getattr(array, "dtype", array.type())));
  throw std::invalid_argument(name + " holds " + found + ", not " + kind + std::to_string(wanted.bits) +
                              " in one dimension");
}

namespace {

// Reads those arrays of a model that are weights, and checks that they fit together.
std::unique_ptr<Weights> weights_from(size_t L, nb::dict arrays, bool first_only) {
  NamedArrays named(std::move(arrays));
  WeightArrays<Borrowed> a;
  bool has[] = {true, false, false};
  each_array(a, [&](ArrayGroup group, const char* name, auto&) { has[group] |= named.has(name); });
  each_array(a, [&](ArrayGroup group, const char* name, auto& array) {
    if (has[group]) named.read(name, array);
  });
  need(!has[kSets] || !a.set.empty(), "the sets of corrections are not those that have names");
  auto made = std::make_unique<Weights>(L, a, first_only, named.owner());
  without_gil([&] { made->check(); });
  return made;
}

nb::dict model_arrays(const Weights& weights, double least, const std::string& word) {
  WeightArrays<Owned> a = without_gil([&] { return weights.dropped(least, word); });
  nb::dict out;
  const bool has[] = {true, !a.set.empty(), !a.parts.empty()};
  each_array(a, [&](ArrayGroup group, const char* name, auto& array) {
    if (has[group]) out[name] = array_of(std::move(array));
  });
  return out;
}

// As decoding packs them; where they are wanted, also log Z of each sentence and the probabilities of all labels.
nb::tuple decode(const Scorer& scorer, const Text& text, const Edges& edges, const Plan& chosen, size_t k,
                 size_t threads, bool sure) {
  const Plan plan = chosen.with(k);
  std::vector<Sure> found;
  const std::vector<Answer> answers =
      without_gil([&] { return tag_all(scorer, text, edges, plan, threads, sure ? &found : nullptr); });
  if (!sure) return pack(answers);
  std::vector<double> log_z, label;
  for (const Sure& one : found) {
    log_z.push_back(one.log_z);
    label.insert(label.end(), one.label.begin(), one.label.end());
  }
  return nb::tuple(pack(answers) + nb::make_tuple(array_of(std::move(log_z)), array_of(std::move(label))));
}

nb::list marginals(const Scorer& scorer, const Text& text, const Edges& edges, const Keep& keep, size_t threads) {
  std::vector<std::vector<float>> made =
      without_gil([&] { return label_marginals(scorer, text, edges, keep, threads); });
  nb::list out;
  for (size_t s = 0; s < made.size(); ++s) out.append(to_numpy(std::move(made[s]), {text.length(s), scorer.L()}));
  return out;
}

nb::tuple nodes(const Scorer& scorer, const Text& text, size_t sentence) {
  need(sentence < text.sentences(), "no such sentence");
  scorer.templates().check_text(text);
  const size_t T = text.length(sentence);
  std::vector<float> scores(times(T, scorer.L()));
  std::vector<std::vector<int32_t>> on;
  scorer.score(text, sentence, scores.data(), on);
  return nb::make_tuple(to_numpy(std::move(scores), {T, scorer.L()}), on);
}

}  // namespace

void bind_models(nb::module_& m) {
  nb::class_<Weights>(m, "Weights")
      .def_static("from_arrays", &weights_from, "L"_a, "arrays"_a, "first_only"_a = false)
      .def("arrays", &model_arrays, "least"_a = 0.0, "word"_a = "",
           "Returns the arrays of a model: weights that are not 0, of features at least `least`, and the features that "
           "have some or begin with `word`.");
  nb::class_<Scorer>(m, "Scorer")
      .def(nb::init<Templates, Weights>(), "templates"_a, "weights"_a, WithoutGil())
      .def("decode", &decode, "text"_a, "edges"_a, "plan"_a, "k"_a, "threads"_a, "sure"_a = false)
      .def("marginals", &marginals, "text"_a, "edges"_a, "keep"_a, "threads"_a)
      .def("nodes", &nodes, "text"_a, "sentence"_a,
           "Returns node scores (T, L) and the correction sets switched on at each step.");
  m.def(
      "digest",
      [](const std::vector<AnyArray>& pieces) {
        return without_gil([&] {
          Digest digest{};
          for (const AnyArray& piece : pieces) digest = digest_of(piece.data(), piece.nbytes(), digest);
          return hex(digest);
        });
      },
      "pieces"_a, "Returns a digest of arrays, one after the other, in hexadecimal.");
}

}  // namespace tagwright
