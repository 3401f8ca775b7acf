// Tokenisers.
#include <string>

#include "features/tokenizers.h"
#include "python/bindings.h"

namespace tagwright {
namespace {

using Pairs = std::vector<std::pair<size_t, size_t>>;

const Tokenizer& named(std::string_view name) {
  const Tokenizer* const found = tokenizer_named(name);
  need(found, "no tokeniser of this name");
  return *found;
}

// The characters of a string, whatever they are.
std::u32string characters_of(const nb::str& line) {
  const Py_ssize_t length = PyUnicode_GetLength(line.ptr());
  if (length < 0) throw nb::python_error();
  std::u32string made(static_cast<size_t>(length) + 1, U'\0');
  if (!PyUnicode_AsUCS4(line.ptr(), reinterpret_cast<Py_UCS4*>(made.data()), length + 1, 1)) throw nb::python_error();
  made.pop_back();
  return made;
}

Pairs token_spans(std::string_view name, const nb::str& line) {
  const Tokenizer& tokenizer = named(name);
  const std::u32string characters = characters_of(line);
  Pairs made;
  for (const TokenSpan& span : without_gil([&] { return tokenizer.spans(characters); }))
    made.emplace_back(span.begin, span.end);
  return made;
}

std::vector<size_t> sentence_starts(std::string_view name, const nb::str& line, const Pairs& spans) {
  const Tokenizer& tokenizer = named(name);
  need(tokenizer.starts, "a line is one sentence");
  const std::u32string characters = characters_of(line);
  std::vector<TokenSpan> given;
  for (const auto& [begin, end] : spans) {
    need(begin < end && end <= characters.size(), "a token outside of the line");
    given.push_back({begin, end});
  }
  return tokenizer.starts(characters, given);
}

}  // namespace

void bind_tokens(nb::module_& m) {
  m.def(
      "tokenizers",
      [] {
        std::vector<std::pair<std::string_view, bool>> rows;
        for (const Tokenizer& one : tokenizers()) rows.emplace_back(one.name, one.starts != nullptr);
        return rows;
      },
      "Returns the tokenisers: name, and whether a line may have several sentences.");
  m.def("token_spans", &token_spans, "tokenizer"_a, "line"_a,
        "Returns where the tokens of a line begin and end, in characters.");
  m.def("sentence_starts", &sentence_starts, "tokenizer"_a, "line"_a, "spans"_a,
        "Returns the numbers of the tokens that begin a sentence.");
}

}  // namespace tagwright
