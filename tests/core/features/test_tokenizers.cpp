#include <string>

#include "check.h"
#include "features/tokenizers.h"

using namespace tagwright;

namespace {

// The tokens of a line with blanks between them, and | between sentences.
std::u32string split(std::u32string_view line, std::string_view tokenizer) {
  const Tokenizer* const one = tokenizer_named(tokenizer);
  const std::vector<TokenSpan> spans = one->spans(line);
  const std::vector<size_t> starts = one->starts ? one->starts(line, spans) : std::vector<size_t>{0};
  std::u32string made;
  for (size_t t = 0, next = 1; t < spans.size(); ++t) {
    const bool begins = next < starts.size() && starts[next] == t;
    if (t) made += begins ? U" | " : U" ";
    next += begins;
    made += line.substr(spans[t].begin, spans[t].end - spans[t].begin);
  }
  return made;
}

}  // namespace

TEST(text_is_split_into_tokens_and_sentences) {
  CHECK(split(U"He can't. See www.x.com, 5pm!", "english") == U"He ca n't . | See www.x.com , 5 pm !");
  CHECK(split(U"Dr. W. Jones\u2019s co-workers (U.S.) paid US$5.50...", "english") ==
        U"Dr. W. Jones \u2019s co-workers ( U.S. ) paid US$ 5.50 ...");
  CHECK(split(U"a.\u00a0b\tc ", "none") == U"a.\u00a0b c");
  CHECK(split(U"a.\u00a0b\tc ", "whitespace") == U"a. b c");
  CHECK(split(U"", "english").empty() && split(U" \n", "whitespace").empty());
  CHECK(!tokenizer_named("greek") && tokenizers().size() == 3);
}

// Also under a sanitizer: no rule looks outside of the line.
TEST(any_characters_are_split) {
  constexpr std::u32string_view kParts[] = {U"a",    U"n",          U"'",      U"t",       U".",  U"1",      U"-",
                                            U"w/",   U":",          U"(",      U"http://", U"@",  U"\u2026", U" ",
                                            U"etc.", U"\U0001f44d", U"\u200d", U"<3",      U"^_", U"`"};
  for (size_t seed = 0; seed < 2000; ++seed) {
    test::Draw draw(seed);
    std::u32string line;
    for (size_t n = draw.below(8); n > 0; --n) line += kParts[draw.below(std::size(kParts))];
    const std::u32string exact(line.data(), line.size());
    size_t end = 0;
    for (const TokenSpan& span : english_spans(exact)) {
      CHECK(span.begin >= end && span.begin < span.end && span.end <= exact.size());
      CHECK(exact.find_first_not_of(U" ", end) == span.begin);
      end = span.end;
    }
  }
}
