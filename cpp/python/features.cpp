// Text, templates and feature names.
#include <cmath>
#include <string>

#include "python/bindings.h"

namespace tagwright {
namespace {

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

// --- templates ---

using PartRow = std::tuple<std::string, int32_t, int32_t>;

std::shared_ptr<Templates> make_templates(const std::vector<std::tuple<size_t, size_t, size_t>>& views,
                                          const std::vector<std::tuple<bool, std::vector<PartRow>, bool>>& templates,
                                          const std::vector<std::vector<std::string>>& lists) {
  auto made = std::make_shared<Templates>();
  for (const auto& [macro, column, n] : views) {
    need(macro < macros().size(), "no such macro");
    made->views.push_back({&macros()[macro], column, n});
  }
  for (const auto& [edge, parts, finds] : templates) {
    Template one{edge, false, true, finds, {}};
    for (const auto& [literal, view, row] : parts) {
      one.parts.push_back({literal, view, row});
      if (view < 0 || static_cast<size_t>(view) >= made->views.size()) continue;
      const bool label = made->views[static_cast<size_t>(view)].from() == Macro::From::label;
      one.history = one.history || label;
      one.pure = one.pure && label;
    }
    made->templates.push_back(std::move(one));
  }
  for (const std::vector<std::string>& entries : lists) {
    made->lists.emplace_back();
    for (const std::string& entry : entries) made->lists.back().add(entry);
  }
  made->check();
  return made;
}

}  // namespace

void bind_features(nb::module_& m) {
  nb::class_<Text>(m, "Text")
      .def_static("from_rows", &text_from_rows, "X"_a, "columns"_a)
      .def_static("from_ready", &text_from_ready, "X"_a)
      .def_prop_ro("sentences", &Text::sentences)
      .def_prop_ro("tokens", &Text::tokens)
      .def("reversed", &Text::reversed, "The same sentences, each with its last token first.")
      .def("lengths", [](const Text& text) {
        std::vector<int64_t> lengths(text.sentences());
        for (size_t s = 0; s < lengths.size(); ++s) lengths[s] = static_cast<int64_t>(text.length(s));
        return array_of(std::move(lengths));
      });

  nb::class_<Templates>(m, "Templates")
      .def_static("make", &make_templates, "views"_a, "templates"_a, "lists"_a)
      .def_prop_ro("columns", &Templates::columns)
      .def_prop_ro("history", &Templates::history)
      .def(
          "expand",
          [](const Templates& templates, const Text& text, size_t sentence) {
            need(sentence < text.sentences(), "no such sentence");
            templates.check_text(text);
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

  m.attr("longest_history") = kLongestHistory;
  m.def(
      "macros",
      [] {
        std::vector<std::tuple<std::string_view, std::string_view, std::string_view>> rows;
        for (const Macro& macro : macros()) rows.emplace_back(macro.name, macro.arguments, macro.meaning);
        return rows;
      },
      "Returns the macros of templates: name, arguments, meaning.");
  m.def(
      "index_arrays",
      [](const std::vector<std::string_view>& names) {
        const Index index{std::vector<std::string_view>(names)};
        return nb::make_tuple(array_of(index.slots()), array_of(index.ends()),
                              array_of(std::vector<uint8_t>(index.bytes().begin(), index.bytes().end())));
      },
      "names"_a, "Returns the arrays of an index of these names, which must differ.");
  m.def(
      "index_find",
      [](const std::tuple<std::span<const uint64_t>, std::span<const uint32_t>, std::span<const uint8_t>>& arrays,
         std::string_view name) {
        const auto& [slots, ends, bytes] = arrays;
        return IndexView{slots, ends, reinterpret_cast<const char*>(bytes.data())}.find(hash_of(name), name);
      },
      "arrays"_a, "name"_a, "Returns the number of a name in an index that was checked, or -1.");
}

}  // namespace tagwright
