// Weights, linear models and model files.
#include <cstring>
#include <limits>

#include "base/digest.h"
#include "base/stages.h"
#include "model/model.h"
#include "python/bindings.h"
#include "python/objects.h"

namespace tagwright {

void NamedArrays::refuse(const std::string& name, nb::handle array, nb::dlpack::dtype expected) {
  const auto code = static_cast<nb::dlpack::dtype_code>(expected.code);
  const std::string kind = code == nb::dlpack::dtype_code::Float ? "float"
                           : code == nb::dlpack::dtype_code::Int ? "int"
                                                                 : "uint";
  const std::string found = nb::cast<std::string>(nb::str(nb::getattr(array, "dtype", array.type())));
  throw std::invalid_argument(name + " holds " + found + ", not " + kind + std::to_string(expected.bits) +
                              " in one dimension");
}

nb::dict to_dict(WeightArrays<Owned> weights) {
  ArrayDict out;
  const bool has[kArrayGroups] = {true, !weights.set.empty(), !weights.parts.empty(), !weights.runs.empty()};
  for_each_array(weights, [&](ArrayGroup group, const char* name, auto& array) {
    if (has[group]) out(name, array);
  });
  return out.dict;
}

namespace {

Weights weights_from(size_t L, nb::dict arrays, bool first_only) {
  return read_weights(L, NamedArrays(std::move(arrays)), first_only);
}

// names: of the labels, in UTF-8. arrays: those of a model file; constraints among them are left to the caller.
std::unique_ptr<Model> make_model(const std::vector<nb::bytes>& names, const Templates& templates, nb::dict arrays,
                                  bool first_only) {
  std::vector<std::string> labels;
  for (const nb::bytes& name : names) labels.emplace_back(name.c_str(), name.size());
  NamedArrays named(arrays);
  std::vector<double> start, stop;
  if (named.has("start")) named.read("start", start);
  if (named.has("stop")) named.read("stop", stop);
  Weights weights = weights_from(labels.size(), std::move(arrays), first_only);
  return without_gil([&] { return std::make_unique<Model>(labels, templates, std::move(weights), start, stop); });
}

// As decoding packs them; where they are requested, also log Z of each sentence and the probabilities of all labels,
// and then its spans.
nb::tuple decode(const Model& model, const Text& text, const Edges& edges, const Plan& plan, size_t threads,
                 const AllowedLists* allowed, bool probabilities,
                 const std::optional<std::pair<const SpanRules*, size_t>>& spans) {
  std::vector<Posteriors> found;
  std::optional<SpanQuery> query;
  if (spans) query.emplace(*spans->first, spans->second);
  const std::vector<Answer> answers = without_gil([&] {
    return tag_all(model.scorer(), text, edges, plan, threads, allowed, probabilities ? &found : nullptr,
                   query ? &*query : nullptr);
  });
  if (!probabilities) return pack(answers);
  std::vector<double> log_z, label;
  for (const Posteriors& one : found) {
    log_z.push_back(one.log_z);
    label.insert(label.end(), one.label.begin(), one.label.end());
  }
  nb::tuple made(pack(answers) + nb::make_tuple(array_of(std::move(log_z)), array_of(std::move(label))));
  if (!query) return made;
  nb::list all;
  for (const Posteriors& one : found) all.append(pack(one.spans));
  return nb::tuple(made + nb::make_tuple(all));
}

// The names of the best labels of each sentence. names: those of the model, whose objects the lists share.
nb::list tag(const Model& model, const Text& text, const Edges& edges, const Plan& chosen, size_t threads,
             const nb::list& names, const AllowedLists* allowed) {
  Plan plan = chosen.with(1);
  plan.options.proven = true;
  const std::vector<Answer> answers =
      without_gil([&] { return tag_all(model.scorer(), text, edges, plan, threads, allowed); });
  need(names.size() == model.labels().size(), "there must be one name per label");
  const nb::object made = nb::steal(PyList_New(static_cast<Py_ssize_t>(answers.size())));
  if (!made.is_valid()) throw nb::python_error();
  for (size_t s = 0; s < answers.size(); ++s) {
    const std::vector<int32_t>& labels = answers[s].paths[0].labels;
    PyObject* const own = PyList_New(static_cast<Py_ssize_t>(labels.size()));
    if (!own) throw nb::python_error();
    PyList_SetItem(made.ptr(), static_cast<Py_ssize_t>(s), own);
    for (size_t t = 0; t < labels.size(); ++t)
      PyList_SetItem(own, static_cast<Py_ssize_t>(t), Py_NewRef(NB_LIST_GET_ITEM(names.ptr(), labels[t])));
  }
  return nb::borrow<nb::list>(made);
}

// A block of lines with the names of the best labels, or None if it is malformed.
std::optional<nb::bytes> tag_block(const Model& model, const nb::bytes& block, const Edges& edges, const Plan& chosen,
                                   size_t threads, const LineFormat& format, const TagDictionary* dictionary) {
  const std::vector<std::string_view> names(model.labels().begin(), model.labels().end());
  Plan plan = chosen.with(1);
  plan.options.proven = true;
  const std::string_view bytes = view_of(block);
  const auto made =
      without_gil([&] { return tag_lines(model.scorer(), bytes, format, edges, plan, threads, names, dictionary); });
  if (!made) return std::nullopt;
  return nb::bytes(made->data(), made->size());
}

nb::object array_of_tensor(const Tensor& tensor, const nb::capsule& owner) {
  nb::object made;
  const auto try_as = [&]<class V>(V) {
    static V none{};
    if (tensor.dtype != dtype_of<V>()) return;
    const auto* const data = tensor.count ? static_cast<const V*>(tensor.data) : &none;
    made = nb::cast(nb::ndarray<nb::numpy, const V, nb::ndim<1>>(data, {tensor.count}, owner));
  };
  const auto try_all = [&](auto... values) { (try_as(values), ...); };
  try_all(uint64_t{}, double{}, float{}, uint32_t{}, int32_t{}, uint16_t{}, uint8_t{});
  return made;
}

// The metadata of an open model file as JSON, and its arrays by their names, read-only.
nb::tuple read_model_file(int descriptor, size_t copied) {
  auto file = std::make_unique<ModelFile>(without_gil([&] { return ModelFile::read(descriptor, copied); }));
  const nb::capsule owner(new std::shared_ptr<const void>(file->owner()),
                          [](void* own) noexcept { delete static_cast<std::shared_ptr<const void>*>(own); });
  nb::dict arrays;
  for (const auto& [name, tensor] : file->arrays)
    arrays[nb::str(name.data(), name.size())] = array_of_tensor(tensor, owner);
  const std::string_view meta = file->meta.source();
  return nb::make_tuple(nb::str(meta.data(), meta.size()), arrays);
}

// Seconds of each stage of tagging, on this thread.
nb::dict stages(const Model& model, const Text& text, const Edges& edges, const Plan& plan) {
  StageClock clock;
  without_gil([&] { tag_all(model.scorer(), text, edges, plan, 1); });
  clock.begin(Stage::other);
  nb::dict made;
  for (size_t stage = 0; stage < kStageNames.size(); ++stage) made[kStageNames[stage]] = clock.seconds(stage);
  return made;
}

nb::list marginals(const Model& model, const Text& text, const Edges& edges, const PruningRule& keep, size_t threads,
                   size_t window, const AllowedLists* allowed) {
  std::vector<std::vector<float>> made =
      without_gil([&] { return label_marginals(model.scorer(), text, edges, keep, threads, allowed, window); });
  nb::list out;
  for (size_t s = 0; s < made.size(); ++s) out.append(to_numpy(std::move(made[s]), {text.length(s), edges.L()}));
  return out;
}

nb::tuple nodes(const Model& model, const Text& text, size_t sentence) {
  const Scorer& scorer = model.scorer();
  need(sentence < text.sentences(), "no such sentence");
  scorer.templates().check_text(text);
  const size_t T = text.length(sentence);
  std::vector<float> scores(times(T, scorer.L()));
  std::vector<std::vector<int32_t>> on;
  without_gil([&] { scorer.score(text, sentence, scores.data(), on); });
  return nb::make_tuple(to_numpy(std::move(scores), {T, scorer.L()}), on);
}

nb::tuple explain(const Model& model, const Text& text, size_t sentence, size_t token,
                  const std::vector<size_t>& labels) {
  const Scorer& scorer = model.scorer();
  need(sentence < text.sentences() && token < text.length(sentence), "no such token");
  scorer.templates().check_text(text);
  nb::list each, unknown;
  for (const size_t y : labels) {
    need(y < scorer.L(), "no such label");
    nb::list own;
    for (const Contribution& one : scorer.contributions(text, sentence, token, y))
      own.append(nb::make_tuple(shown(one.feature), one.value, one.weight, one.score, one.part));
    each.append(own);
  }
  for (const std::string& feature : scorer.unknown(text, sentence, token)) unknown.append(shown(feature));
  return nb::make_tuple(each, unknown);
}

}  // namespace

void bind_models(nb::module_& m) {
  nb::class_<Weights>(m, "Weights")
      .def_static("from_arrays", &weights_from, "L"_a, "arrays"_a, "first_only"_a = false)
      .def("arrays", native(&Weights::dropped, to_dict), "least"_a = 0.0, "word"_a = "",
           "Returns the arrays of a model: weights that are not 0, of features at least `least`, and the features that "
           "have some or begin with `word`.");
  nb::class_<Model>(m, "Model")
      .def_static("make", &make_model, "names"_a, "templates"_a, "arrays"_a, "first_only"_a = false)
      .def_prop_ro("edges", &Model::edges, nb::rv_policy::reference_internal)
      .def("decode", &decode, "text"_a, "edges"_a, "plan"_a, "threads"_a, "allowed"_a.none() = nb::none(),
           "probabilities"_a = false, "spans"_a.none() = nb::none())
      .def("tag", &tag, "text"_a, "edges"_a, "plan"_a, "threads"_a, "names"_a, "allowed"_a.none() = nb::none(),
           "Returns the names of the best labels of each sentence.")
      .def("tag_lines", &tag_block, "block"_a, "edges"_a, "plan"_a, "threads"_a, "format"_a,
           "dictionary"_a.none() = nb::none(),
           "Returns a block of lines with the names of the best labels, or None if it is malformed.")
      .def("stages", &stages, "text"_a, "edges"_a, "plan"_a,
           "Returns the seconds of each stage of tagging, one thread.")
      .def("marginals", &marginals, "text"_a, "edges"_a, "keep"_a, "threads"_a, "window"_a = 0,
           "allowed"_a.none() = nb::none())
      .def("nodes", &nodes, "text"_a, "sentence"_a,
           "Returns node scores (T, L) and the correction sets active at each step.")
      .def("explain", &explain, "text"_a, "sentence"_a, "token"_a, "labels"_a,
           "Returns for each label the contributions to its score as feature, value, weight, score and part; and the "
           "features that the model does not have.");
  m.def(
      "plan_for",
      [](const Plan& chosen, size_t k, double deadline, bool proven) {
        Plan plan = chosen.with(k);
        plan.options.deadline = deadline;
        plan.options.proven = proven;
        return plan;
      },
      "plan"_a, "k"_a, "deadline"_a, "proven"_a = false,
      "Returns a plan for k paths within a deadline in seconds. proven: whether it is an error that rules about whole "
      "labellings take more searches than they may.");
  m.def("read_model_file", &read_model_file, "descriptor"_a, "copied"_a,
        "Returns the metadata of an open model file as JSON, and its arrays by their names; files of more than "
        "`copied` bytes are mapped. ValueError for a file that is damaged or not a model.");
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
  m.def(
      "same_bytes",
      [](const AnyArray& a, const AnyArray& b) {
        return a.nbytes() == b.nbytes() && std::memcmp(a.data(), b.data(), a.nbytes()) == 0;
      },
      "a"_a, "b"_a, "Returns whether two arrays hold the same bytes.");
}

}  // namespace tagwright
