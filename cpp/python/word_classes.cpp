// Classes of words from text without labels.
#include "train/word_classes.h"

#include "features/unicode.h"
#include "python/bindings.h"

namespace tagwright {
namespace {

// Returns false for text that is not UTF-8, of which nothing is added.
bool add_lines(BigramCounter& to, const nb::bytes& block, const std::string& tokenizer) {
  const Tokenizer* const found = tokenizer_named(tokenizer);
  need(found, "no tokenizer named " + tokenizer);
  const std::string_view lines = view_of(block);
  return without_gil([&] {
    if (!is_utf8(lines)) return false;
    to.add_lines(lines, *found, tokenizer == "whitespace");
    return true;
  });
}

void add_sentence(BigramCounter& to, const std::vector<std::string_view>& words) {
  for (const std::string_view word : words) to.add_word(word);
  to.end_sentence();
}

// The counts of their bigrams, and their losses, take 16 bytes for each pair.
constexpr size_t kMostClasses = 4096;

}  // namespace

void bind_word_classes(nb::module_& m) {
  m.attr("most_word_classes") = kMostClasses;
  nb::class_<WordBigrams>(m, "WordBigrams")
      .def_ro("words", &WordBigrams::words)
      .def_prop_ro("counts",
                   [](const WordBigrams& text) {
                     return std::vector<uint64_t>(text.count.begin(), text.count.begin() + text.words.size());
                   })
      .def_ro("tokens", &WordBigrams::tokens);
  nb::class_<BigramCounter>(m, "BigramCounter")
      .def_static(
          "make", [](bool keep_case) { return std::make_unique<BigramCounter>(keep_case); }, "keep_case"_a)
      .def("add_lines", &add_lines, "lines"_a, "tokenizer"_a,
           "Adds lines of text; returns False for text that is not UTF-8, of which nothing is added.")
      .def("add_sentence", &add_sentence, "words"_a)
      .def_prop_ro("tokens", &BigramCounter::tokens)
      .def("bigrams", native(+[](const BigramCounter& from, size_t min_count) {
             return std::make_shared<WordBigrams>(from.bigrams(min_count));
           }),
           "min_count"_a);
  nb::class_<WordClasses>(m, "WordClasses")
      .def_static(
          "make",
          [](const std::shared_ptr<WordBigrams>& text, size_t classes, uint64_t seed) {
            need(classes >= 1 && classes <= kMostClasses, "too few or too many classes");
            return std::make_unique<WordClasses>(text, classes, seed);
          },
          "text"_a, "classes"_a, "seed"_a)
      .def("sweep", native(&WordClasses::sweep), "threads"_a, "Returns how many words were moved.")
      .def_prop_ro("objective", &WordClasses::objective)
      .def_prop_ro("class_of", &WordClasses::class_of)
      .def("paths", native(&WordClasses::paths), "sizes"_a, "threads"_a);
}

}  // namespace tagwright
