#include <cmath>
#include <fstream>
#include <iterator>

#include "check.h"
#include "model/model.h"

using namespace tagwright;

namespace {

const std::string kData = TAGWRIGHT_SOURCE "/tests/data/0.5.0/";
const char* const kModels[] = {"perceptron", "perceptron_parts", "perceptron_edges", "crf", "crf_edges", "hmm"};

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The 40 sentences of words.json, cut to the columns that a model reads.
Text words(size_t columns) {
  const std::string stored = bytes_of(kData + "words.json");
  const Json all = Json::parse(stored);
  Text text;
  text.columns = columns;
  for (const Json& sentence : *all.array()) {
    for (const Json& token : *sentence.array()) {
      for (size_t c = 0; c < columns; ++c) text.add_cell(*(*token.array())[c].string());
      text.end_token();
    }
    text.end_sentence();
  }
  return text;
}

bool near(double found, double expected) { return std::fabs(found - expected) <= 1e-6 * (1 + std::fabs(expected)); }

}  // namespace

TEST(models_of_0_5_0_answer_as_they_did) {
  for (const char* name : kModels) {
    test::doing(name);
    const Model model = Model::load(kData + name + ".safetensors");
    const std::string stored = bytes_of(kData + name + ".json");
    const Json expected = Json::parse(stored);
    const auto found =
        model.tag(words(model.columns()), {.k = 3, .threads = 2, .probabilities = model.probabilistic()});
    CHECK(found.size() == expected.array()->size());
    for (size_t s = 0; s < found.size(); ++s) {
      const Json::Array& right = *(*expected.array())[s].array();
      CHECK(found[s].size() == right.size());
      for (size_t p = 0; p < right.size(); ++p) {
        const Json::Array& labels = *right[p].find("labels")->array();
        CHECK(found[s][p].labels.size() == labels.size());
        for (size_t t = 0; t < labels.size(); ++t)
          CHECK(model.labels()[static_cast<size_t>(found[s][p].labels[t])] == *labels[t].string());
        CHECK(near(found[s][p].score, *right[p].find("score")->number()));
        if (!model.probabilistic()) continue;
        CHECK(near(std::exp(found[s][p].log_probability), *right[p].find("probability")->number()));
        const Json* const marginals = right[p].find("marginals");
        for (size_t t = 0; marginals && t < labels.size(); ++t)
          CHECK(near(found[s][p].label_probability[t], *(*marginals->array())[t].number()));
      }
    }
  }
}

// Every labelling of short sentences is scored by its parts.
TEST(the_best_labelling_is_that_of_enumeration) {
  for (const char* name : {"perceptron", "crf_edges", "perceptron_parts"}) {
    test::doing(name);
    const Model model = Model::load(kData + name + ".safetensors");
    const size_t L = model.labels().size();
    const Text all = words(model.columns());
    size_t compared = 0;
    for (size_t s = 0; s < all.sentences() && compared < 3; ++s) {
      if (all.length(s) < 2) continue;
      ++compared;
      Text text;
      text.columns = all.columns;
      for (size_t token = all.first_token(s); token < all.first_token(s) + 2; ++token) {
        for (size_t at = all.first_cell(token); at < all.token_end[token]; ++at) text.add_cell(all.cell(at));
        text.end_token();
      }
      text.end_sentence();
      std::vector<float> nodes(2 * L);
      std::vector<std::vector<int32_t>> active;
      model.scorer().score(text, 0, nodes.data(), active);
      const Lattice lattice(model.edges(), 2, {nodes.data(), nullptr}, active.empty() ? nullptr : &active);
      double best = -INFINITY;
      for (size_t i = 0; i < L; ++i)
        for (size_t j = 0; j < L; ++j) {
          const std::vector<int32_t> path{static_cast<int32_t>(i), static_cast<int32_t>(j)};
          best = std::max(best, path_score(lattice, path));
        }
      CHECK(near(model.tag(text)[0][0].score, best));
    }
  }
}

TEST(text_and_lines_are_tagged_alike) {
  const Model model = Model::load(kData + "perceptron.safetensors");
  if (model.columns() == 1) {
    const auto found = model.tag("The gardener walked .");
    CHECK(found.size() == 4 && model.tag("  ").empty());
    LineFormat format;
    const auto lines = model.tag_lines("The\ngardener\nwalked\n.\n\n", format);
    std::string expected;
    const std::string_view tokens[] = {"The", "gardener", "walked", "."};
    for (size_t t = 0; t < 4; ++t) expected.append(tokens[t]).append("\t").append(found[t]).append("\n");
    CHECK(lines == expected + "\n");
  }
}

TEST(a_model_is_read_from_memory) {
  const std::string bytes = bytes_of(kData + "crf.safetensors");
  const Model model = Model::from_memory(bytes);
  CHECK(model.learner() == "crf" && model.probabilistic() && !model.ready_made());
  CHECK_THROWS(ModelFileError, Model::from_memory(bytes.substr(0, bytes.size() - 1)));
  CHECK_THROWS(ModelFileError, Model::load(kData + "memm.safetensors"));
  CHECK(Model::load(kData + "perceptron_ready_made.safetensors").ready_made());
  CHECK_THROWS(std::invalid_argument, model.tag(words(model.columns()), {.decoder = "none"}));
  CHECK_THROWS(std::invalid_argument,
               Model::load(kData + "perceptron.safetensors").tag(words(1), {.probabilities = true}));
}
