// Text, templates and feature names.
#include <cmath>
#include <optional>
#include <string>

#include "features/descriptions.h"
#include "features/lines.h"
#include "features/tag_dictionary.h"
#include "features/template_parser.h"
#include "python/objects.h"

namespace tagwright {
namespace {

// --- text ---

constexpr size_t kMostItems = size_t{1} << 26;     // sentences, or tokens of one, where they come from an iterator
constexpr size_t kMostFeatures = size_t{1} << 20;  // of one token

constexpr Expected kSentences{"a list of sentences", "; write [text.split()] for a sentence of words", kMostItems};
constexpr Expected kTokens{"a list of tokens", "; write text.split() for the words of a text", kMostItems};
constexpr Expected kColumns{"a string or a list of columns", "", kMostFeatures};
constexpr Expected kFeatures{"a dict or a list of features", "; the features of this model are ready-made",
                             kMostFeatures};

// What a token is called in messages.
struct Place {
  size_t sentence, token;
  std::string operator()() const { return "sentence " + std::to_string(sentence) + ", token " + std::to_string(token); }
};

// The text of a string, for as long as the string is held.
std::string_view utf8(nb::handle text, const Place& place, const char* what) {
  if (!PyUnicode_Check(text.ptr()))
    throw std::invalid_argument(place() + ": " + what + " must be a string, not " + class_name(text));
  Py_ssize_t n = 0;
  const char* bytes = PyUnicode_AsUTF8AndSize(text.ptr(), &n);
  if (!bytes) {
    PyErr_Clear();
    throw std::invalid_argument(place() + ": not valid Unicode (a lone surrogate); decode the text anew");
  }
  return {bytes, static_cast<size_t>(n)};
}

bool is_mapping(nb::handle value) {
  if (PyDict_Check(value.ptr())) return true;
  if (PyList_Check(value.ptr()) || PyTuple_Check(value.ptr())) return false;
  return PyMapping_Check(value.ptr()) && has_attribute(value, "keys");
}

// X is a list of sentences, a sentence a list of tokens; one(text, token, place) takes in one token. first: the number
// of the first sentence, for messages.
template <class One>
Text read_sentences(nb::handle X, size_t first, One&& one) {
  Text text;
  const auto all = [] { return std::string("X"); };
  for_each_item(X, kSentences, all, [&](nb::handle sentence, size_t s) {
    const auto which = [&] { return "sentence " + std::to_string(first + s); };
    for_each_item(sentence, kTokens, which, [&](nb::handle token, size_t t) {
      one(text, token, Place{first + s, t});
      text.end_token();
    });
    text.end_sentence();
  });
  return text;
}

// Adds the first `columns` cells of a token that is a list or tuple of strings, whose columns are counted; none where
// it is anything else. No Python code runs here, so that nothing needs to be held.
std::optional<size_t> add_plain_row(Text& text, PyObject* token, size_t columns) {
  if (!PyList_CheckExact(token) && !PyTuple_CheckExact(token)) return std::nullopt;
  const auto n = static_cast<size_t>(Py_SIZE(token));
  const size_t cells = text.cell_end.size(), bytes = text.bytes.size();
  for (size_t c = 0; c < std::min(n, columns); ++c) {
    Py_ssize_t size = 0;
    PyObject* const cell = item_of(token, static_cast<Py_ssize_t>(c));
    const char* const word = PyUnicode_CheckExact(cell) ? PyUnicode_AsUTF8AndSize(cell, &size) : nullptr;
    if (!word) {
      PyErr_Clear();
      text.cell_end.resize(cells);
      text.bytes.resize(bytes);
      return std::nullopt;
    }
    text.add_cell({word, static_cast<size_t>(size)});
  }
  return n;
}

// Tokens are strings or rows of columns, of which the first `columns` count. reader: says what reads a column that a
// token with this many columns lacks.
Text text_from_rows(nb::handle X, size_t columns, const std::optional<nb::callable>& reader, size_t first) {
  Text made = read_sentences(X, first, [&](Text& text, nb::handle token, const Place& place) {
    size_t n = 1;
    if (PyUnicode_Check(token.ptr())) {
      const std::string_view word = utf8(token, place, "a token");
      if (columns) text.add_cell(word);
    } else if (const std::optional<size_t> plain = add_plain_row(text, token.ptr(), columns)) {
      n = *plain;
    } else {
      if (is_mapping(token))
        throw std::invalid_argument(place() + " is a dict of ready-made features, but text is needed here");
      n = 0;
      for_each_item(token, kColumns, place, [&](nb::handle cell, size_t c) {
        if (c < columns) text.add_cell(utf8(cell, place, "a column"));
        ++n;
      });
    }
    if (n < columns)
      throw std::invalid_argument(place() + " has " + std::to_string(n) + (n == 1 ? " column" : " columns") + ", but " +
                                  (reader ? nb::cast<std::string>((*reader)(n))
                                          : "column " + std::to_string(columns - 1) + " is read, counted from 0"));
  });
  made.columns = columns;
  return made;
}

// Adds the ready-made features of one token, in python-crfsuite's reading: {"word": "be"} is the feature word:be,
// {"length": 2.0} the feature length with value 2, True is 1, inner dicts and lists join names with a colon.
class ReadyToken {
 public:
  ReadyToken(Text& text, const Place& place) : text_(text), place_(place) {}

  void add(nb::handle token) {
    if (is_mapping(token)) {
      add_entries(token, "", 0);
      return;
    }
    for_each_item(token, kFeatures, place_, [&](nb::handle item, size_t) { add_text(nullptr, item, "a feature"); });
  }

 private:
  // An entry's name and value; prefix: the names of the dicts around it, with colons.
  void add_entries(nb::handle mapping, const std::string& prefix, size_t depth) {
    const auto entry = [&](nb::handle key, nb::handle value) {
      add_value(std::string(prefix).append(utf8(key, place_, "a feature's name")), value, depth);
    };
    if (PyDict_Check(mapping.ptr())) {
      for_each_entry(mapping, place_, entry);
      return;
    }
    nb::dict made;
    for_each_item(nb::object(mapping.attr("keys")()), kFeatures, place_, [&](nb::handle key, size_t) {
      utf8(key, place_, "a feature's name");
      made[key] = mapping[key];
    });
    for_each_entry(made, place_, entry);
  }

  void add_value(const std::string& name, nb::handle value, size_t depth) {
    constexpr size_t kDeepest = 16;
    if (depth > kDeepest) throw std::invalid_argument(place_() + ": features inside features, too deep to be meant");
    count();
    if (PyUnicode_Check(value.ptr())) {
      add_text(&name, value, "a feature's value");
    } else if (is_mapping(value)) {
      add_entries(value, name + ":", depth + 1);
    } else if (PyAnySet_Check(value.ptr())) {
      nb::list items;
      for_each_item(value, kFeatures, place_, [&](nb::handle item, size_t) { items.append(item); });
      // Items that cannot be sorted are not text, which is reported below.
      if (PyList_Sort(items.ptr()) != 0) forgive(PyExc_TypeError);
      add_items(name, items);
    } else if (PyList_Check(value.ptr()) || PyTuple_Check(value.ptr())) {
      add_items(name, value);
    } else {
      add_number(name, value);
    }
  }

  void add_items(const std::string& name, nb::handle items) {
    for_each_item(items, kFeatures, place_,
                  [&](nb::handle item, size_t) { add_text(&name, item, "a feature's item"); });
  }

  void add_text(const std::string* name, nb::handle value, const char* what) {
    count();
    const std::string_view text = utf8(value, place_, what);
    if (name) text_.bytes.append(*name).append(":");
    text_.add_cell(text);
    text_.value.push_back(1.0F);
  }

  void add_number(const std::string& name, nb::handle value) {
    const auto bad = [&](const char* what) {
      return std::invalid_argument(place_() + ": the value of feature " + name + what);
    };
    double number = PyFloat_AsDouble(value.ptr());
    if (PyErr_Occurred()) {
      number = HUGE_VAL;
      if (!PyErr_ExceptionMatches(PyExc_OverflowError)) {
        forgive(PyExc_TypeError, PyExc_ValueError);
        throw bad(" is neither text nor a number");
      }
      PyErr_Clear();
    }
    if (!(std::fabs(number) < 1e30)) throw bad(" is beyond 1e30");
    text_.add_cell(name);
    text_.value.push_back(static_cast<float>(number));
  }

  // Clears an error of one of these classes; any other, such as that of Ctrl-C, is not ours.
  template <class... Classes>
  static void forgive(Classes... classes) {
    if (!(PyErr_ExceptionMatches(classes) || ...)) throw nb::python_error();
    PyErr_Clear();
  }

  // Dicts inside dicts can be few and yet mean more than would ever be read to the end.
  void count() {
    hear_signals(seen_);
    if (++seen_ > kMostFeatures)
      throw std::invalid_argument(place_() + " has more than " + std::to_string(kMostFeatures) + " features");
  }

  Text& text_;
  const Place place_;
  size_t seen_ = 0;
};

Text text_from_ready(nb::handle X, size_t first) {
  Text made = read_sentences(
      X, first, [&](Text& text, nb::handle token, const Place& place) { ReadyToken(text, place).add(token); });
  made.ready = true;
  return made;
}

// --- lines of files ---

// The index of the first line of each sentence, and its lines. A UnicodeDecodeError for bytes that are not UTF-8.
nb::list sentences_of_lines(const nb::bytes& block) {
  nb::list made;
  for (const SentenceLines& sentence : split_sentences(view_of(block))) {
    nb::list lines;
    for (const std::string_view line : sentence.lines) {
      const auto text = nb::steal(PyUnicode_DecodeUTF8(line.data(), static_cast<Py_ssize_t>(line.size()), nullptr));
      if (!text.is_valid()) throw nb::python_error();
      lines.append(text);
    }
    made.append(nb::make_tuple(sentence.first, lines));
  }
  return made;
}

// --- templates ---

using NamedEntries = std::pair<std::string, std::variant<std::vector<std::string>, std::shared_ptr<const VectorTable>>>;

std::shared_ptr<const VectorTable> make_vectors(nb::dict arrays) {
  NamedArrays named(std::move(arrays));
  NameArrays<Borrowed> words;
  Borrowed<float> values;
  named.read("slots", words.slots);
  named.read("ends", words.ends);
  named.read("bytes", words.bytes);
  named.read("values", values);
  return std::make_shared<const VectorTable>(words, values, named.owner());
}

ParsedTemplates parsed(std::string_view text, const std::string& name, const std::vector<NamedEntries>& lists,
                       bool only_found) {
  std::vector<NamedList> given;
  for (const auto& [list, content] : lists) {
    NamedList& one = given.emplace_back(list, std::vector<std::string>());
    if (const auto* const entries = std::get_if<0>(&content)) one.entries = *entries;
    if (const auto* const vectors = std::get_if<1>(&content)) one.vectors = *vectors;
  }
  return parse_templates(text, name, given, only_found);
}

// Of each template: whether it is for edges, its pieces as text, view and row, and whether it needs a word list's
// entry.
nb::list rows_of(const ParsedTemplates& from) {
  nb::list made;
  for (const Template& one : from.templates.templates) {
    nb::list parts;
    for (const Part& part : one.parts) parts.append(nb::make_tuple(part.literal, part.view, part.row));
    made.append(nb::make_tuple(one.edge, parts, one.finds));
  }
  return made;
}

// Of each feature of a token: how it is written, and what it means in words.
nb::list descriptions_of(const ParsedTemplates& from, const Text& text, size_t sentence, size_t t) {
  nb::list made;
  for (const DescribedFeature& one : described_features(from.templates, text, sentence, t))
    made.append(nb::make_tuple(shown(one.feature), shown(one.words)));
  return made;
}

// Of each macro that templates use: its name and its column.
nb::list views_of(const ParsedTemplates& from) {
  nb::list made;
  for (const View& view : from.templates.views) made.append(nb::make_tuple(view.macro->name, view.column));
  return made;
}

// --- tag dictionaries ---

TagDictionary make_dictionary(size_t L, const nb::bytes& words, std::span<const uint64_t> word_end,
                              std::span<const uint64_t> list_end, std::span<const int32_t> list,
                              std::span<const int32_t> unknown) {
  return {L, {view_of(words), word_end, list_end, list, unknown}};
}

void bind_text(nb::module_& m) {
  nb::class_<Text>(m, "Text")
      .def_static("from_rows", &text_from_rows, "X"_a.none(), "columns"_a, "reader"_a.none() = nb::none(),
                  "first"_a = 0)
      .def_static("from_ready", &text_from_ready, "X"_a.none(), "first"_a = 0)
      .def_prop_ro("sentences", &Text::sentences)
      .def_prop_ro("tokens", &Text::tokens)
      .def_ro("columns", &Text::columns)
      .def("rows", &Text::rows, "sentence"_a, "The cells of each token of a sentence.")
      .def("reversed", &Text::reversed, "The same sentences, each with its last token first.")
      .def("lengths", &lengths_of<Text>);
  nb::class_<TagDictionary>(m, "TagDictionary")
      .def_static("make", &make_dictionary, "L"_a, "words"_a, "word_end"_a, "list_end"_a, "list"_a, "unknown"_a)
      .def("allowed", native(&TagDictionary::allowed), "text"_a, "given"_a.none() = nb::none(),
           "Returns the lists of all tokens: those given, or else those of the dictionary.");
}

void bind_lines(nb::module_& m) {
  nb::class_<LineFormat>(m, "LineFormat")
      .def_static(
          "make",
          [](bool conllu, bool comments, bool tab, size_t width, size_t columns, const std::vector<size_t>& picks,
             bool labelled, char separator) {
            const LineFormat made{conllu, comments, tab, width, columns, picks, labelled, separator};
            made.check();
            return made;
          },
          nb::kw_only(), "conllu"_a, "comments"_a, "tab"_a, "width"_a, "columns"_a, "picks"_a, "labelled"_a,
          "separator"_a)
      .def_ro("columns", &LineFormat::columns)
      .def(
          "with_columns",
          [](LineFormat format, size_t columns) {
            need(columns <= format.columns, "a format of fewer columns than are read");
            format.columns = columns;
            return format;
          },
          "columns"_a, "Returns the same format with fewer columns in the text.");
  nb::class_<LabelledText>(m, "LabelledText")
      .def(nb::init<>())
      .def(
          "add",
          [](LabelledText& to, const nb::bytes& block, const LineFormat& format) {
            return without_gil([&] { return to.add(view_of(block), format); });
          },
          "block"_a, "format"_a, "Adds the sentences of a block of lines; returns False if it is malformed.")
      .def("add_sentences", &LabelledText::add_sentences, "text"_a, "labels"_a)
      .def("append", &LabelledText::append, "other"_a)
      .def_ro("text", &LabelledText::text, nb::rv_policy::reference_internal)
      .def_prop_ro(
          "names", [](const LabelledText& from) { return from.names.texts(); },
          "The labels, in the order in which they first occur.")
      .def_prop_ro(
          "ids", [](const LabelledText& from) { return array_of(from.label); }, nb::rv_policy::automatic,
          "The label of each token, by `names`.");
  m.def("split_sentences", &sentences_of_lines, "block"_a,
        "Returns for each sentence of a block the index of its first line, and its lines.");
  m.def(
      "complete_sentences", [](const nb::bytes& block) { return complete_sentences(view_of(block)); }, "block"_a,
      "Returns how many bytes of a block of lines are complete sentences.");
}

void bind_templates(nb::module_& m) {
  nb::class_<Templates>(m, "Templates")
      .def(nb::init<>(), "No templates, for ready-made features.")
      .def_prop_ro("columns", &Templates::columns)
      .def_prop_ro("history", &Templates::history)
      .def(
          "expand",
          [](const Templates& templates, const Text& text, size_t sentence) {
            // %m may cut a character.
            const auto shown = [](const std::vector<std::string>& names) {
              std::vector<nb::str> made;
              for (const std::string& name : names)
                made.push_back(nb::steal<nb::str>(
                    PyUnicode_DecodeUTF8(name.data(), static_cast<Py_ssize_t>(name.size()), "surrogateescape")));
              return made;
            };
            std::vector<std::pair<std::vector<nb::str>, std::vector<nb::str>>> out;
            for (const auto& [node, edge] : templates.features(text, sentence))
              out.emplace_back(shown(node), shown(edge));
            return out;
          },
          "text"_a, "sentence"_a,
          "The features of each token of a sentence: of its nodes, and of the edges into it. Bytes that are not UTF-8 "
          "are escaped as surrogates.");

  nb::class_<VectorTable>(m, "VectorTable")
      .def_static(
          "make", &make_vectors, "arrays"_a,
          "Vectors of words: the arrays of an index (slots, ends, bytes) and values, one vector after the other.")
      .def_prop_ro("size", &VectorTable::size)
      .def_prop_ro("dimensions", &VectorTable::dimensions)
      .def("find", &VectorTable::find, "word"_a,
           "Returns the row of a word, or of one of its other forms; -1 for none.");

  nb::class_<ParsedTemplates>(m, "ParsedTemplates")
      .def_static("parse", &parsed, "text"_a, "name"_a, "lists"_a, "only_found"_a)
      .def_ro("templates", &ParsedTemplates::templates, nb::rv_policy::reference_internal)
      .def_ro("edges", &ParsedTemplates::edges)
      .def_ro("lists", &ParsedTemplates::lists)
      .def(
          "table_entries",
          [](const ParsedTemplates& from, size_t list) -> std::optional<std::vector<std::string>> {
            if (!from.tables.at(list)) return std::nullopt;
            return from.tables[list]->entries();
          },
          "list"_a, "The canonical entries of a list that %class or %lexicon reads; None for a word list.")
      .def_prop_ro("rows", &rows_of)
      .def_prop_ro("views", &views_of)
      .def("described", &descriptions_of, "text"_a, "sentence"_a, "token"_a)
      .def_prop_ro("word_prefix", &ParsedTemplates::word_prefix)
      .def("missing_column", &ParsedTemplates::missing_column, "columns"_a);

  m.attr("longest_history") = kLongestHistory;
  m.attr("longest_affix") = kLongestAffix;
  m.def(
      "macros",
      [] {
        std::vector<std::tuple<std::string_view, std::string_view, std::string_view, bool>> rows;
        for (const Macro& macro : macros())
          rows.emplace_back(macro.name, macro.arguments, macro.meaning, macro.shorter);
        return rows;
      },
      "Returns the macros of templates: name, arguments, meaning, whether the last argument may be left out.");
  m.def(
      "index_arrays",
      [](const std::vector<std::string_view>& names) {
        NameArrays<Owned> made = Index{std::vector<std::string_view>(names)}.arrays();
        return nb::make_tuple(array_of(std::move(made.slots)), array_of(std::move(made.ends)),
                              array_of(std::move(made.bytes)));
      },
      "names"_a, "Returns the arrays of an index of these names, which must differ.");
  m.def(
      "index_find",
      [](const std::tuple<std::span<const uint64_t>, std::span<const uint32_t>, std::span<const uint8_t>>& arrays,
         std::string_view name) {
        const auto& [slots, ends, bytes] = arrays;
        return IndexView{{slots, ends, bytes}}.find(hash_of(name), name);
      },
      "arrays"_a, "name"_a, "Returns the number of a name in an index that was checked, or -1.");
}

}  // namespace

void bind_features(nb::module_& m) {
  bind_text(m);
  bind_lines(m);
  bind_templates(m);
}

}  // namespace tagwright
