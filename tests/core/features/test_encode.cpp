#include <algorithm>
#include <map>
#include <set>

#include "check.h"
#include "features/encode.h"
#include "features/piecewise.h"
#include "features/template_parser.h"

using namespace tagwright;

namespace {

Templates templates() { return parse_templates("U:%x[0,0]\nU:%x[-1,0]/%x[0,0]\nB:%x[0,0]\n", "t", {}, true).templates; }

Text drawn_text(size_t seed) {
  test::Draw draw(seed);
  Text text;
  text.columns = 1;
  for (size_t s = draw.below(20) + 1; s > 0; --s) {
    for (size_t t = draw.below(8); t > 0; --t) {
      text.add_cell(std::string(1, static_cast<char>('a' + draw.below(6))));
      text.end_token();
    }
    text.end_sentence();
  }
  return text;
}

std::vector<std::string> names_of(const Index& index) {
  std::vector<std::string> made;
  for (size_t id = 0; id < index.size(); ++id) made.emplace_back(index.text(id));
  return made;
}

}  // namespace

TEST(features_have_the_same_numbers_with_any_number_of_threads) {
  for (size_t seed = 0; seed < 40; ++seed) {
    const Text text = drawn_text(seed);
    Names one;
    const Encoded right = encode(text, templates(), {}, one, 1);
    for (size_t threads = 2; threads < 6; ++threads) {
      Names names;
      const Encoded found = encode(text, templates(), {}, names, threads);
      CHECK(names_of(names.node) == names_of(one.node) && names_of(names.edge) == names_of(one.edge));
      CHECK(found.node.id == right.node.id && found.node.end == right.node.end && found.edge.id == right.edge.id);
      CHECK(found.sentence_end == right.sentence_end);
    }
  }
}

TEST(encoded_features_are_those_of_the_templates) {
  const Text text = drawn_text(3);
  const Templates own = templates();
  Names names;
  const Encoded found = encode(text, own, {}, names, 2);
  FeatureScratch scratch;
  for (size_t s = 0; s < text.sentences(); ++s) {
    own.start(text, s, scratch);
    for (size_t t = 0; t < text.length(s); ++t) {
      own.expand(text, s, t, scratch);
      const size_t token = text.first_token(s) + t, begin = found.node.begin(token);
      CHECK(found.node.end[token] - begin == scratch.node.size());
      for (size_t n = 0; n < scratch.node.size(); ++n)
        CHECK(names.node.text(static_cast<size_t>(found.node.id[begin + n])) == scratch.text(scratch.node[n]));
    }
  }
}

// With and without a survey, in one piece and in several.
TEST(rare_features_are_dropped) {
  const auto own = std::make_shared<const Templates>(templates());
  for (size_t seed = 0; seed < 30; ++seed) {
    test::doing("seed " + std::to_string(seed));
    const Text text = drawn_text(seed), more = drawn_text(seed + 100);
    Text both = text;
    both.append(more);
    std::map<std::string, std::set<size_t>> tokens;
    Names all;
    const Encoded right = encode(both, *own, {}, all, 1);
    for (size_t token = 0; token < right.node.end.size(); ++token)
      for (size_t at = right.node.begin(token); at < right.node.end[token]; ++at)
        tokens[std::string(all.node.text(static_cast<size_t>(right.node.id[at])))].insert(token);
    PiecewiseEncoder encoder(own, {}, 3);
    CHECK(encoder.surveys());
    for (const Text* piece : {&text, &more}) encoder.survey(*piece);
    for (const Text* piece : {&text, &more}) encoder.encode(*piece, 2);
    encoder.finish();
    std::set<std::string> expected;
    for (const auto& [name, on] : tokens)
      if (on.size() >= 3) expected.insert(name);
    const std::vector<std::string> found = names_of(encoder.names().node);
    CHECK(std::set<std::string>(found.begin(), found.end()) == expected);
  }
}
