// The Python face of features, models and training.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <tuple>

#include "bindings.h"
#include "digest.h"
#include "features/encode.h"
#include "scorer.h"
#include "train/perceptron.h"

namespace tagwright {
namespace {

template <class V>
using Vector = nb::ndarray<const V, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class V>
auto array_of(std::vector<V> values) {
  const size_t n = values.size();
  return to_numpy(std::move(values), {n});
}

// --- text ---

std::string where(size_t sentence, size_t token) {
  return "sentence " + std::to_string(sentence) + ", token " + std::to_string(token);
}

std::string_view utf8(nb::handle text, size_t sentence, size_t token, const char* what) {
  if (!PyUnicode_Check(text.ptr()))
    throw std::invalid_argument(where(sentence, token) + ": " + what + " must be a string, not " +
                                nb::cast<std::string>(nb::str(text.type().attr("__name__"))));
  Py_ssize_t n = 0;
  const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &n);
  if (!bytes) {
    PyErr_Clear();
    throw std::invalid_argument(where(sentence, token) +
                                ": not valid Unicode (a lone surrogate); decode the text anew");
  }
  return {bytes, static_cast<size_t>(n)};
}

// Lists and tuples, item by item; what(): their name, should they be none.
template <class What, class Each>
void each_item(nb::handle items, What&& what, Each&& each) {
  PyObject* fast = nullptr;
  if (!PyUnicode_Check(items.ptr())) fast = PySequence_Fast(items.ptr(), "");
  if (!fast) {
    // What a generator raises is its own affair; only "not iterable" is ours to tell.
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_TypeError)) throw nb::python_error();
    PyErr_Clear();
    throw std::invalid_argument(what() + " must be a list, not " +
                                nb::cast<std::string>(nb::str(items.type().attr("__name__"))));
  }
  const nb::object held = nb::steal(fast);
  for (Py_ssize_t n = 0; n < PySequence_Fast_GET_SIZE(fast); ++n)
    each(nb::handle(PySequence_Fast_GET_ITEM(fast, n)), static_cast<size_t>(n));
}

// The token or value as a dict, or nothing where it is no mapping.
nb::object as_dict(nb::handle value) {
  if (PyDict_Check(value.ptr())) return nb::borrow(value);
  if (!PyMapping_Check(value.ptr()) || !nb::hasattr(value, "keys")) return {};
  return nb::module_::import_("builtins").attr("dict")(value);
}

// X is a list of sentences, a sentence a list of tokens; one(token, s, t) takes in one token.
template <class One>
Text read_sentences(nb::handle X, One&& one) {
  Text text;
  const auto all = [] { return std::string("X"); };
  each_item(X, all, [&](nb::handle sentence, size_t s) {
    const auto which = [&] { return "sentence " + std::to_string(s); };
    each_item(sentence, which, [&](nb::handle token, size_t t) {
      one(text, token, s, t);
      text.end_token();
    });
    text.end_sentence();
  });
  return text;
}

// Tokens are strings or rows of columns, of which the first `columns` count.
Text text_from_rows(nb::handle X, size_t columns) {
  Text made = read_sentences(X, [&](Text& text, nb::handle token, size_t s, size_t t) {
    size_t n = 1;
    if (PyUnicode_Check(token.ptr())) {
      const std::string_view word = utf8(token, s, t, "a token");
      if (columns) text.add_cell(word);
    } else {
      if (!PyList_Check(token.ptr()) && as_dict(token).is_valid())
        throw std::invalid_argument(where(s, t) + " is a dict of ready-made features, but text is needed here");
      n = 0;
      const auto which = [&] { return where(s, t); };
      each_item(token, which, [&](nb::handle cell, size_t c) {
        if (c < columns) text.add_cell(utf8(cell, s, t, "a column"));
        ++n;
      });
    }
    if (n < columns)
      throw std::invalid_argument(where(s, t) + " has " + std::to_string(n) + (n == 1 ? " column" : " columns") +
                                  ", but the templates read " + std::to_string(columns));
  });
  made.columns = columns;
  return made;
}

void need_columns(const Text& text, const Templates& templates) {
  need(text.ready || text.columns >= templates.columns(), "the text has fewer columns than the templates read");
}

void add_ready(Text& text, const std::string& name, nb::handle value, size_t s, size_t t, size_t depth = 0) {
  constexpr size_t kDeepest = 16;
  if (depth > kDeepest) throw std::invalid_argument(where(s, t) + ": features inside features, too deep to be meant");
  double number = 1.0;
  if (PyUnicode_Check(value.ptr())) {
    text.bytes.append(name).append(":");
    text.add_cell(utf8(value, s, t, "a feature's value"));
  } else if (const nb::object dict = as_dict(value); dict.is_valid()) {
    for (auto [key, inner] : nb::borrow<nb::dict>(dict))
      add_ready(text, name + ":" + std::string(utf8(key, s, t, "a feature's name")), inner, s, t, depth + 1);
    return;
  } else if (PyList_Check(value.ptr()) || PyTuple_Check(value.ptr()) || PyAnySet_Check(value.ptr())) {
    const nb::object items = PyAnySet_Check(value.ptr()) ? nb::steal(PySequence_List(value.ptr())) : nb::borrow(value);
    // Items that cannot be sorted are no text, which is told below.
    if (PyAnySet_Check(value.ptr()) && PyList_Sort(items.ptr()) != 0) PyErr_Clear();
    const auto which = [&] { return where(s, t); };
    each_item(items, which, [&](nb::handle item, size_t) {
      text.bytes.append(name).append(":");
      text.add_cell(utf8(item, s, t, "a feature's item"));
      text.value.push_back(1.0F);
    });
    return;
  } else {
    number = PyFloat_AsDouble(value.ptr());
    if (PyErr_Occurred()) {
      PyErr_Clear();
      throw std::invalid_argument(where(s, t) + ": the value of feature " + name + " is neither text nor a number");
    }
    if (!(std::fabs(number) < 1e30))
      throw std::invalid_argument(where(s, t) + ": the value of feature " + name + " is beyond 1e30");
    text.add_cell(name);
  }
  text.value.push_back(static_cast<float>(number));
}

// Tokens are dicts or lists of features, in python-crfsuite's reading: {"word": "be"} is the feature word:be,
// {"length": 2.0} the feature length with value 2, True is 1, inner dicts and lists join names with a colon.
Text text_from_ready(nb::handle X) {
  Text made = read_sentences(X, [&](Text& text, nb::handle token, size_t s, size_t t) {
    text.value.resize(text.cell_end.size(), 1.0F);
    if (const nb::object dict = PyList_Check(token.ptr()) ? nb::object() : as_dict(token); dict.is_valid()) {
      for (auto [key, value] : nb::borrow<nb::dict>(dict))
        add_ready(text, std::string(utf8(key, s, t, "a feature's name")), value, s, t);
      return;
    }
    const auto which = [&] { return where(s, t) + ", with ready-made features,"; };
    each_item(token, which, [&](nb::handle name, size_t) { text.add_cell(utf8(name, s, t, "a feature")); });
    text.value.resize(text.cell_end.size(), 1.0F);
  });
  made.ready = true;
  return made;
}

// --- templates and models ---

using PartRow = std::tuple<std::string, int32_t, int32_t>;

std::shared_ptr<Templates> make_templates(const std::vector<std::tuple<int, size_t, size_t>>& views,
                                          const std::vector<std::tuple<bool, std::vector<PartRow>>>& templates,
                                          const std::vector<std::vector<std::string>>& lists) {
  auto made = std::make_shared<Templates>();
  for (const auto& [macro, column, n] : views) {
    need(macro >= 0 && macro <= static_cast<int>(Macro::list), "no such macro");
    made->views.push_back({static_cast<Macro>(macro), column, n});
  }
  for (const auto& [edge, parts] : templates) {
    Template one{edge, {}};
    for (const auto& [literal, view, row] : parts) one.parts.push_back({literal, view, row});
    made->templates.push_back(std::move(one));
  }
  for (const std::vector<std::string>& entries : lists) {
    made->lists.emplace_back();
    for (const std::string& entry : entries) made->lists.back().add(entry);
  }
  made->check();
  return made;
}

struct IndexArrays {
  Vector<uint64_t> slots;
  Vector<uint32_t> ends;
  Vector<uint8_t> bytes;

  IndexView view() const {
    return {{slots.data(), slots.shape(0)}, {ends.data(), ends.shape(0)}, reinterpret_cast<const char*>(bytes.data())};
  }
};

IndexArrays index_arrays(nb::handle arrays) {
  auto [slots, ends, bytes] = nb::cast<std::tuple<Vector<uint64_t>, Vector<uint32_t>, Vector<uint8_t>>>(arrays);
  return {slots, ends, bytes};
}

nb::tuple arrays_of(const Index& index) {
  std::vector<uint8_t> bytes(index.bytes().begin(), index.bytes().end());
  return nb::make_tuple(array_of(index.slots()), array_of(index.ends()), array_of(std::move(bytes)));
}

std::unique_ptr<Scorer> make_scorer(const Templates& templates, size_t L, nb::handle node_names, nb::handle edge_names,
                                    Vector<uint64_t> row_end, Vector<uint16_t> label, Vector<float> weight,
                                    Vector<uint16_t> parts, size_t part_count, bool first_only) {
  const IndexArrays node = index_arrays(node_names), edge = index_arrays(edge_names);
  need(L > 0 && parts.shape(0) % L == 0, "parts: there must be as many for each label");
  Weights weights{.L = L,
                  .parts = {L, part_count, parts.shape(0) / L, span_of(parts)},
                  .node_names = node.view(),
                  .edge_names = edge.view(),
                  .row_end = span_of(row_end),
                  .label = span_of(label),
                  .weight = span_of(weight),
                  .first_only = first_only,
                  .keep = {}};
  using Held =
      std::tuple<IndexArrays, IndexArrays, Vector<uint64_t>, Vector<uint16_t>, Vector<float>, Vector<uint16_t>>;
  weights.keep = {new Held(node, edge, row_end, label, weight, parts), [](void* held) {
                    nb::gil_scoped_acquire gil;
                    delete static_cast<Held*>(held);
                  }};
  nb::gil_scoped_release release;
  check_weights(weights, node.bytes.shape(0), edge.bytes.shape(0));
  return std::make_unique<Scorer>(templates, std::move(weights));
}

nb::tuple scorer_decode(const Scorer& scorer, const Text& text, const Edges& edges, size_t decoder, size_t width,
                        bool expand_all, int bound, size_t extra, size_t k, size_t threads) {
  const Plan plan = plan_of(decoder, width, expand_all, bound, extra, k);
  need(threads >= 1, "threads must be at least 1");
  need(edges.L() == scorer.L(), "the edges are for another number of labels");
  need_columns(text, scorer.templates());
  std::vector<Answer> answers;
  {
    nb::gil_scoped_release release;
    std::vector<Sentence> sentences(text.sentences());
    for (size_t s = 0; s < sentences.size(); ++s) sentences[s] = {text.length(s), {}, &edges, nullptr};
    const Supply supply = [&](size_t s, Arena& arena) {
      Supplied made;
      float* nodes = arena.array<float>(times(text.length(s), scorer.L()));
      scorer.score(text, s, nodes, made.on);
      made.nodes = {nodes, nullptr};
      return made;
    };
    answers = decode_all(sentences, plan.decoder, plan.options, threads, supply);
  }
  return pack(answers);
}

nb::tuple scorer_nodes(const Scorer& scorer, const Text& text, size_t sentence) {
  need(sentence < text.sentences(), "no such sentence");
  need_columns(text, scorer.templates());
  const size_t T = text.length(sentence);
  std::vector<float> nodes(times(T, scorer.L()));
  std::vector<std::vector<int32_t>> on;
  scorer.score(text, sentence, nodes.data(), on);
  return nb::make_tuple(to_numpy(std::move(nodes), {T, scorer.L()}), on);
}

// --- training ---

// Averaged weights that are not 0, by the numbers of a trainer's features.
struct Averaged {
  std::shared_ptr<const Names> names;
  std::vector<size_t> node_end;
  std::vector<uint16_t> node_label;
  std::vector<float> node_weight;
  std::vector<int32_t> previous, current;  // of edges
  std::vector<double> edge;
  std::vector<int32_t> set, set_previous, set_current;
  std::vector<double> correction;
};

struct Trainer {
  std::shared_ptr<Names> names;
  std::unique_ptr<Perceptron> perceptron;
  Digest corpus;  // of what it is trained on
};

template <class V>
Digest joined(const std::vector<V>& values, const Digest& before) {
  return digest_of(values.data(), values.size() * sizeof(V), before);
}

std::unique_ptr<Trainer> make_trainer(const Text& text, const Templates& templates, IntArray labels, size_t L,
                                      const std::vector<std::string_view>& known_node,
                                      const std::vector<std::string_view>& known_edge, size_t min_count, bool edges,
                                      bool all_pairs, double margin, Vector<uint16_t> parts, size_t part_count,
                                      std::optional<bool> sparse_edges, size_t threads) {
  need(labels.shape(0) == text.tokens(), "there must be one label a token");
  need_columns(text, templates);
  need(L > 0 && L + part_count <= std::numeric_limits<uint16_t>::max(),
       "a model has between 1 and 65,535 labels, their parts included");
  need(parts.shape(0) % L == 0, "parts: there must be as many for each label");
  std::vector<int32_t> own(labels.data(), labels.data() + labels.shape(0));
  for (const int32_t y : own) need(y >= 0 && static_cast<size_t>(y) < L, "no such label");
  auto made = std::make_unique<Trainer>();
  made->names = std::make_shared<Names>();
  for (const std::string_view name : known_node) made->names->node.add(name);
  for (const std::string_view name : known_edge) made->names->edge.add(name);
  nb::gil_scoped_release release;
  Encoded corpus = encode(text, templates, *made->names, threads);
  drop_rare(corpus, *made->names, min_count, known_node.size(), known_edge.size());
  PerceptronOptions options{.L = L,
                            .parts = part_count,
                            .parts_each = parts.shape(0) / L,
                            .edges = edges,
                            .all_pairs = all_pairs,
                            .margin = margin};
  need(margin >= 0 && margin <= 1e6, "margin must be between 0 and 1,000,000");
  if (sparse_edges) {
    options.sparse_edges = *sparse_edges;
  } else {
    // A matrix that is mostly met is faster whole.
    constexpr double kMostlyMet = 0.2;
    std::vector<uint64_t> met;
    for (size_t s = 0; s < corpus.sentences(); ++s)
      for (size_t token = corpus.first_token(s) + 1; token < corpus.sentence_end[s]; ++token)
        met.push_back(Corrections::pair(own[token - 1], own[token]));
    std::sort(met.begin(), met.end());
    const auto pairs = static_cast<double>(std::unique(met.begin(), met.end()) - met.begin());
    options.sparse_edges = pairs < kMostlyMet * static_cast<double>(L * L);
  }
  Digest digest = joined(own, {});
  for (const Ids* ids : {&corpus.node, &corpus.edge})
    digest = joined(ids->end, joined(ids->value, joined(ids->id, digest)));
  for (const Index* index : {&made->names->node, &made->names->edge})
    digest = joined(index->ends(), joined(index->bytes(), digest));
  made->corpus = joined(corpus.sentence_end, digest);
  made->perceptron = std::make_unique<Perceptron>(
      std::move(corpus), std::move(own), made->names->node.size(), made->names->edge.size(),
      std::vector<uint16_t>(parts.data(), parts.data() + parts.shape(0)), options);
  return made;
}

nb::tuple trainer_run(Trainer& trainer, IntArray sentences, size_t decoder, size_t width, bool expand_all, int bound,
                      size_t extra) {
  const Plan plan = plan_of(decoder, width, expand_all, bound, extra, 1);
  for (const int32_t s : span_of(sentences))
    need(s >= 0 && static_cast<size_t>(s) < trainer.perceptron->sentences(), "no such sentence");
  Perceptron::Seen seen;
  {
    nb::gil_scoped_release release;
    seen = trainer.perceptron->run(span_of(sentences), plan.decoder, plan.options);
  }
  return nb::make_tuple(seen.tokens, seen.errors, seen.wrong_sentences, seen.work.rounds, seen.work.nodes,
                        seen.work.edges);
}

std::unique_ptr<Averaged> trainer_average(const Trainer& trainer) {
  const Perceptron& p = *trainer.perceptron;
  auto out = std::make_unique<Averaged>();
  out->names = trainer.names;
  const double n = std::max(p.seen(), 1.0);
  const auto average = [&](float weight, double sum) { return static_cast<float>(weight - sum / n); };
  const auto each = [&](const auto& rows, auto&& take, auto&& ended) {
    for (size_t r = 0; r < rows.rows(); ++r) {
      const auto weights = rows.template values<0>(r);
      const auto sums = rows.template values<1>(r);
      for (size_t q = 0; q < weights.size(); ++q)
        if (const float w = average(weights[q], sums[q]); w != 0) take(r, rows.keys(r)[q], w);
      ended();
    }
  };
  out->node_end.reserve(p.nodes().rows());
  out->node_label.reserve(p.nodes().entries());
  out->node_weight.reserve(p.nodes().entries());
  each(
      p.nodes(),
      [&](size_t, uint16_t label, float w) {
        out->node_label.push_back(label);
        out->node_weight.push_back(w);
      },
      [&] { out->node_end.push_back(out->node_label.size()); });
  const auto nothing = [] {};
  each(
      p.edges(),
      [&](size_t i, uint16_t j, float w) {
        out->previous.push_back(static_cast<int32_t>(i));
        out->current.push_back(j);
        out->edge.push_back(w);
      },
      nothing);
  each(
      p.sets(),
      [&](size_t set, uint64_t pair, float w) {
        out->set.push_back(static_cast<int32_t>(set));
        out->set_previous.push_back(Corrections::previous(pair));
        out->set_current.push_back(Corrections::current(pair));
        out->correction.push_back(w);
      },
      nothing);
  return out;
}

// The arrays of a model: features without weights are left out, but for words, so that a model knows what it has met.
// least: node weights smaller than this are left out, too. word: what the names of words begin with, or nothing.
nb::dict averaged_arrays(const Averaged& a, double least, const std::string& word) {
  std::vector<bool> used(a.names->node.size(), false), used_set(a.names->edge.size(), false);
  std::vector<uint64_t> row_end;
  std::vector<uint16_t> label;
  std::vector<float> weight;
  for (size_t f = 0, at = 0; f < a.node_end.size(); ++f) {
    const size_t before = label.size();
    for (; at < a.node_end[f]; ++at) {
      if (std::fabs(a.node_weight[at]) < least) continue;
      label.push_back(a.node_label[at]);
      weight.push_back(a.node_weight[at]);
    }
    used[f] = label.size() > before || (!word.empty() && a.names->node.text(f).starts_with(word));
    if (used[f]) row_end.push_back(label.size());
  }
  for (const int32_t set : a.set) used_set[static_cast<size_t>(set)] = true;
  std::vector<int32_t> renamed(used_set.size()), set(a.set.size());
  for (size_t s = 0, next = 0; s < used_set.size(); ++s) renamed[s] = static_cast<int32_t>(used_set[s] ? next++ : next);
  for (size_t q = 0; q < set.size(); ++q) set[q] = renamed[static_cast<size_t>(a.set[q])];
  nb::dict out;
  out["names"] = arrays_of(select(a.names->node, used));
  out["edge_names"] = arrays_of(select(a.names->edge, used_set));
  out["row_end"] = array_of(std::move(row_end));
  out["label"] = array_of(std::move(label));
  out["weight"] = array_of(std::move(weight));
  out["edges"] = nb::make_tuple(array_of(a.previous), array_of(a.current), array_of(a.edge));
  out["corrections"] = nb::make_tuple(array_of(std::move(set)), array_of(a.set_previous), array_of(a.set_current),
                                      array_of(a.correction));
  return out;
}

// All that a trainer needs to go on, beside its corpus: for nodes, edges and sets their rows, keys, weights and u.
nb::dict trainer_state(const Trainer& trainer) {
  nb::dict out;
  const auto put = [&](const char* name, const auto& rows) {
    std::vector<uint32_t> row;
    std::vector<uint64_t> key;
    std::vector<float> weight;
    std::vector<double> sum;
    for (size_t r = 0; r < rows.rows(); ++r) {
      for (size_t q = 0; q < rows.size(r); ++q) {
        const float w = rows.template values<0>(r)[q];
        const double u = rows.template values<1>(r)[q];
        row.push_back(static_cast<uint32_t>(r));
        key.push_back(rows.keys(r)[q]);
        weight.push_back(w);
        sum.push_back(u);
      }
    }
    out[name] = nb::make_tuple(array_of(std::move(row)), array_of(std::move(key)), array_of(std::move(weight)),
                               array_of(std::move(sum)));
  };
  put("nodes", trainer.perceptron->nodes());
  put("edges", trainer.perceptron->edges());
  put("sets", trainer.perceptron->sets());
  return out;
}

using StateArrays = std::tuple<Vector<uint32_t>, Vector<uint64_t>, Vector<float>, Vector<double>>;

void trainer_restore(Trainer& trainer, double seen, const StateArrays& nodes, const StateArrays& edges,
                     const StateArrays& sets) {
  Perceptron& p = *trainer.perceptron;
  const size_t L = p.options().L;
  need(std::isfinite(seen) && seen >= 0, "state: sentences seen must be a number");
  const auto each = [](const StateArrays& arrays, auto&& take) {
    const auto& [row, key, weight, sum] = arrays;
    need(row.shape(0) == key.shape(0) && row.shape(0) == weight.shape(0) && row.shape(0) == sum.shape(0),
         "state: arrays of unequal length");
    for (size_t q = 0; q < row.shape(0); ++q) {
      need(std::isfinite(weight(q)) && std::isfinite(sum(q)), "state: a weight that is not finite");
      take(row(q), key(q), weight(q), sum(q));
    }
  };
  each(nodes, [&](size_t f, uint64_t y, float w, double u) {
    need(f < p.nodes().rows() && y < p.parts().keys(), "state: a weight for a feature or label that is not there");
    p.set_node(f, y, w, u);
  });
  each(edges, [&](size_t i, uint64_t j, float w, double u) {
    need(i < L && j < L, "state: an edge between labels that are not there");
    p.set_edge(i, j, w, u);
  });
  each(sets, [&](size_t set, uint64_t pair, float w, double u) {
    const auto i = static_cast<size_t>(Corrections::previous(pair)),
               j = static_cast<size_t>(Corrections::current(pair));
    need(set < p.sets().rows() && i < L && j < L, "state: a correction that is not there");
    p.set_pair(set, i, j, w, u);
  });
  p.set_seen(seen);
}

std::string hex(const Digest& digest) {
  std::string out;
  char word[17];
  for (const uint64_t part : digest) {
    std::snprintf(word, sizeof word, "%016llx", static_cast<unsigned long long>(part));
    out += word;
  }
  return out;
}

}  // namespace

void bind_models(nb::module_& m) {
  nb::class_<Text>(m, "Text")
      .def_static("from_rows", &text_from_rows, "X"_a, "columns"_a)
      .def_static("from_ready", &text_from_ready, "X"_a)
      .def_prop_ro("sentences", &Text::sentences)
      .def_prop_ro("tokens", &Text::tokens)
      .def("lengths", [](const Text& text) {
        std::vector<int64_t> lengths(text.sentences());
        for (size_t s = 0; s < lengths.size(); ++s) lengths[s] = static_cast<int64_t>(text.length(s));
        return array_of(std::move(lengths));
      });

  nb::class_<Templates>(m, "Templates")
      .def_static("make", &make_templates, "views"_a, "templates"_a, "lists"_a)
      .def_prop_ro("columns", &Templates::columns)
      .def(
          "expand",
          [](const Templates& templates, const Text& text, size_t sentence) {
            need(sentence < text.sentences(), "no such sentence");
            need_columns(text, templates);
            FeatureScratch scratch;
            std::vector<std::pair<std::vector<std::string>, std::vector<std::string>>> out(text.length(sentence));
            templates.start(text, sentence, scratch);
            for (size_t t = 0; t < out.size(); ++t) {
              templates.expand(text, sentence, t, scratch);
              for (const Feature& f : scratch.node) out[t].first.emplace_back(scratch.text(f));
              for (const Feature& f : scratch.edge) out[t].second.emplace_back(scratch.text(f));
            }
            return out;
          },
          "text"_a, "sentence"_a, "The features of each token of a sentence: of its nodes, and of the edges into it.");

  m.def(
      "index_arrays",
      [](const std::vector<std::string_view>& names) {
        Index index{std::vector<std::string_view>(names)};
        return arrays_of(index);
      },
      "names"_a, "The arrays of an index of these names, which must differ.");
  m.def(
      "index_find",
      [](nb::handle arrays, std::string_view name) { return index_arrays(arrays).view().find(hash_of(name), name); },
      "arrays"_a, "name"_a, "The number of a name in an index that was checked, or -1.");

  nb::class_<Scorer>(m, "Scorer")
      .def_static("make", &make_scorer, "templates"_a, "L"_a, "names"_a, "edge_names"_a, "row_end"_a, "label"_a,
                  "weight"_a, "parts"_a, "part_count"_a, "first_only"_a)
      .def("decode", &scorer_decode, "text"_a, "edges"_a, "decoder"_a, "width"_a, "expand_all"_a, "bound"_a, "extra"_a,
           "k"_a, "threads"_a)
      .def("nodes", &scorer_nodes, "text"_a, "sentence"_a,
           "Node scores (T, L) and the correction sets switched on at each step.");

  nb::class_<Averaged>(m, "Averaged")
      .def("arrays", &averaged_arrays, "least"_a, "word"_a)
      .def_prop_ro("weights", [](const Averaged& a) { return a.node_weight.size() + a.edge.size() + a.set.size(); });

  nb::class_<Trainer>(m, "PerceptronTrainer")
      .def_static("make", &make_trainer, "text"_a, "templates"_a, "labels"_a, "L"_a, "known_node"_a, "known_edge"_a,
                  "min_count"_a, "edges"_a, "all_pairs"_a, "margin"_a, "parts"_a, "part_count"_a,
                  "sparse_edges"_a.none(), "threads"_a)
      .def("run", &trainer_run, "sentences"_a, "decoder"_a, "width"_a, "expand_all"_a, "bound"_a, "extra"_a,
           "Tokens, wrong tokens, wrong sentences; rounds, nodes, edges looked at.")
      .def("average", &trainer_average, nb::call_guard<nb::gil_scoped_release>())
      .def("state", &trainer_state)
      .def("restore", &trainer_restore, "seen"_a, "nodes"_a, "edges"_a, "sets"_a)
      .def_prop_ro("features", [](const Trainer& t) { return t.names->node.size() + t.names->edge.size(); })
      .def_prop_ro("seen", [](const Trainer& t) { return t.perceptron->seen(); })
      .def_prop_ro("corpus", [](const Trainer& t) { return hex(t.corpus); });

  m.def(
      "digest",
      [](const std::vector<nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>>& pieces) {
        nb::gil_scoped_release release;
        Digest digest{};
        for (const auto& piece : pieces) digest = digest_of(piece.data(), piece.nbytes(), digest);
        return hex(digest);
      },
      "pieces"_a, "A digest of arrays, one after the other, in hexadecimal.");
}

}  // namespace tagwright
