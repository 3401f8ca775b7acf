#include <cmath>
#include <map>
#include <stdexcept>
#include <tuple>

#include "check.h"
#include "features/template_parser.h"
#include "model/scorer.h"

using namespace tagwright;

namespace {

// Weights of features that a map names, in the layout of a model.
struct OwnWeights {
  std::map<std::string, std::map<uint16_t, float>> rows;
  std::vector<uint16_t> parts;
  WeightArrays<Owned> arrays;
  Index index;

  Weights make(size_t L, bool first_only = false) {
    std::vector<std::string_view> names;
    for (const auto& [name, row] : rows) {
      names.push_back(name);
      for (const auto& [key, weight] : row) {
        arrays.row_label.push_back(key);
        arrays.row_weight.push_back(weight);
      }
      arrays.row_end.push_back(arrays.row_label.size());
    }
    index = Index(names);
    WeightArrays<Borrowed> view;
    view.row_end = arrays.row_end;
    view.row_label = arrays.row_label;
    view.row_weight = arrays.row_weight;
    view.parts = parts;
    arrays.names = index.arrays();
    view.names = {arrays.names.slots, arrays.names.ends, arrays.names.bytes};
    Weights made(L, view, first_only, nullptr);
    made.check();
    return made;
  }
};

Text drawn_text(test::Draw& draw) {
  Text text;
  text.columns = 1;
  for (size_t s = 1 + draw.below(4); s > 0; --s) {
    for (size_t t = 1 + draw.below(9); t > 0; --t) {
      text.add_cell(std::string(1 + draw.below(3), static_cast<char>("abcAB1"[draw.below(6)])));
      text.end_token();
    }
    text.end_sentence();
  }
  return text;
}

// Vectors of some words, of components between -1 and 1.
std::shared_ptr<const VectorTable> drawn_vectors(test::Draw& draw, size_t dimensions) {
  struct Held {
    NameArrays<Owned> words;
    std::vector<float> values;
  };
  const auto held = std::make_shared<Held>();
  held->words = Index({"a", "b", "aa", "bb", "0", "ab"}).arrays();
  for (size_t n = 0; n < held->words.ends.size() * dimensions; ++n)
    held->values.push_back(static_cast<float>(draw.below(201)) / 100 - 1);
  const NameArrays<Owned>& own = held->words;
  return std::make_shared<const VectorTable>(NameArrays<Borrowed>{own.slots, own.ends, own.bytes}, held->values, held);
}

// Compares node scores with the sum over all features of a token, in double precision; 300 labels make some rows whole
// and some sparse. least: the smaller share of labels for which a feature has weights.
void check_sums(const Templates& templates, double least, double most) {
  for (const size_t L : {3, 70, 300, 700}) {
    test::Draw draw(L);
    test::doing(std::to_string(L) + " labels");
    const Text text = drawn_text(draw);
    OwnWeights own;
    FeatureScratch scratch;
    for (size_t s = 0; s < text.sentences(); ++s) {
      templates.start(text, s, scratch);
      for (size_t t = 0; t < text.length(s); ++t) {
        templates.expand(text, s, t, scratch);
        for (const Feature& f : scratch.node) {
          if (draw.chance(0.2)) continue;
          auto& row = own.rows[std::string(scratch.text(f))];
          const double share = draw.chance(0.5) ? least : most;
          for (size_t y = 0; y < L; ++y)
            if (draw.chance(share)) row[static_cast<uint16_t>(y)] = static_cast<float>(draw.normal());
        }
      }
    }
    const Scorer scorer(templates, own.make(L));
    // Twice: the second time tokens are found in the cache.
    for (int round = 0; round < 2; ++round) {
      for (size_t s = 0; s < text.sentences(); ++s) {
        std::vector<float> nodes(text.length(s) * L);
        std::vector<std::vector<int32_t>> active;
        scorer.score(text, s, nodes.data(), active);
        templates.start(text, s, scratch);
        for (size_t t = 0; t < text.length(s); ++t) {
          templates.expand(text, s, t, scratch);
          std::vector<double> right(L, 0.0);
          for (const Feature& f : scratch.node)
            if (const auto found = own.rows.find(std::string(scratch.text(f))); found != own.rows.end())
              for (const auto& [key, weight] : found->second) right[key] += double{weight} * f.value;
          for (size_t y = 0; y < L; ++y) CHECK(std::fabs(nodes[t * L + y] - right[y]) < 1e-5);
          const size_t y = draw.below(L);
          double sum = 0;
          for (const Contribution& one : scorer.contributions(text, s, t, y)) sum += one.score;
          CHECK(std::fabs(sum - right[y]) < 1e-5);
        }
      }
    }
  }
}

}  // namespace

constexpr const char* kWords = "U0:%x[0,0]\nU1:%x[-1,0]\nU2:%x[-1,0]/%x[0,0]\nU3:%shape[0,0]\nU4:%x[2,0]\n";

TEST(node_scores_are_sums_of_weights) { check_sums(parse_templates(kWords, "t", {}, true).templates, 0.02, 0.6); }

TEST(vectors_add_the_products_of_their_weights) {
  test::Draw draw(5);
  for (const size_t dimensions : {1, 2, 17}) {
    const std::vector<NamedList> lists = {{"v", {}, drawn_vectors(draw, dimensions)}};
    const std::string text = std::string(kWords) + "U5:%vector[0,0,v]\nU6:%vector[-2,0,v]x\nU7:%vector[1,0,v]\n";
    const Templates templates = parse_templates(text, "t", lists, true).templates;
    check_sums(templates, 0.02, 0.6);
    check_sums(templates, 0.01, 0.05);
    check_sums(templates, 1, 1);
  }
}

TEST(parts_of_labels_share_weights) {
  OwnWeights own;
  own.parts = {0, 0, 1};  // labels 0 and 1 have part 0, label 2 has part 1
  own.rows["U:a"] = {{0, 1.0F}, {3, 10.0F}, {4, 100.0F}};
  const Scorer scorer(parse_templates("U:%x[0,0]\n", "t", {}, true).templates, own.make(3));
  Text text;
  text.columns = 1;
  text.add_cell("a");
  text.end_token();
  text.end_sentence();
  std::vector<float> nodes(3);
  std::vector<std::vector<int32_t>> active;
  scorer.score(text, 0, nodes.data(), active);
  CHECK((nodes == std::vector<float>{11, 10, 100}));
}

TEST(an_hmm_takes_the_first_row_that_is_there) {
  OwnWeights own;
  own.rows["U0:a"] = {{0, -1.0F}};
  own.rows["U1:x"] = {{0, -2.0F}, {1, -3.0F}};
  const Scorer scorer(parse_templates("U0:%x[0,0]\nU1:%shape[0,0]\n", "t", {}, true).templates, own.make(2, true));
  Text text;
  text.columns = 1;
  for (const char* word : {"a", "b"}) {
    text.add_cell(word);
    text.end_token();
  }
  text.end_sentence();
  std::vector<float> nodes(4);
  std::vector<std::vector<int32_t>> active;
  scorer.score(text, 0, nodes.data(), active);
  CHECK(nodes[0] == -1 && std::isinf(nodes[1]) && nodes[2] == -2 && nodes[3] == -3);
}

TEST(weights_that_do_not_fit_are_refused) {
  OwnWeights outside;
  outside.rows["U:a"] = {{7, 1.0F}};
  CHECK_THROWS(std::invalid_argument, outside.make(3));
  OwnWeights infinite;
  infinite.rows["U:a"] = {{0, INFINITY}};
  CHECK_THROWS(std::invalid_argument, infinite.make(3));
  OwnWeights uneven;
  uneven.parts = {0, 0};
  uneven.rows["U:a"] = {{0, 1.0F}};
  CHECK_THROWS(std::invalid_argument, uneven.make(3));
}
