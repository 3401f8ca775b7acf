// The C API under hostile arguments. Answers are compared with Python's in tests/capi/.
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <thread>

#include "capi/tagwright.h"
#include "check.h"

using namespace tagwright;

namespace {

const std::string kData = TAGWRIGHT_SOURCE "/tests/data/0.5.0/";

std::string bytes_of(const std::string& name) {
  std::ifstream file(kData + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

tw_model* load(const std::string& name) {
  tw_model* model = nullptr;
  CHECK(tw_model_load((kData + name + ".safetensors").c_str(), &model) == TW_OK);
  return model;
}

bool mentions(const char* what) { return std::strstr(tw_error(), what) != nullptr; }

}  // namespace

TEST(null_arguments_of_the_c_api_are_errors) {
  tw_model* model = nullptr;
  tw_result* result = nullptr;
  CHECK(tw_model_load(nullptr, &model) == TW_INVALID_ARGUMENT && mentions("path is NULL"));
  CHECK(tw_model_load("x", nullptr) == TW_INVALID_ARGUMENT && mentions("out is NULL"));
  CHECK(tw_model_from_memory(nullptr, 5, &model) == TW_INVALID_ARGUMENT);
  CHECK(tw_model_from_memory(nullptr, 0, &model) == TW_BAD_MODEL);
  CHECK(tw_model_load("/nowhere/model", &model) == TW_IO_ERROR && mentions("/nowhere/model"));
  CHECK(tw_tag_text(nullptr, "a", 1, nullptr, &result) == TW_INVALID_ARGUMENT && mentions("model is NULL"));
  CHECK(tw_tokenize(nullptr, 1, nullptr, &result) == TW_INVALID_ARGUMENT && !result);
  CHECK(tw_decode(nullptr, nullptr, 1, 1, nullptr, &result) == TW_INVALID_ARGUMENT);
  CHECK(tw_marginals(nullptr, nullptr, 1, 1, nullptr, nullptr, nullptr) == TW_INVALID_ARGUMENT);
  tw_model_free(nullptr);
  tw_result_free(nullptr);
  CHECK(tw_model_labels(nullptr) == 0 && !tw_model_label(nullptr, 0) && !tw_model_learner(nullptr));
  CHECK(tw_result_sentences(nullptr) == 0 && tw_result_tokens(nullptr, 0) == 0 && !tw_result_labels(nullptr, 0, 0));
  CHECK(!tw_result_label(nullptr, 0, 0, 0) && !tw_result_marginals(nullptr, 0) && tw_result_score(nullptr, 0, 0) == 0);
  CHECK(tw_result_offsets(nullptr, 0, 0, nullptr, nullptr) == 0);
  tw_explanation* why = nullptr;
  CHECK(tw_explain(nullptr, nullptr, 1, 1, 0, 0, &why) == TW_INVALID_ARGUMENT && !why);
  CHECK(tw_scores(nullptr, nullptr, 1, 1, nullptr, nullptr) == TW_INVALID_ARGUMENT);
  tw_explanation_free(nullptr);
  CHECK(!tw_explanation_feature(nullptr, 0) && !tw_explanation_unknown(nullptr, 0));

  model = load("perceptron");
  const size_t one = 1;
  const char* const cells[] = {nullptr, nullptr};
  CHECK(tw_tag_tokens(model, nullptr, 2, &one, 1, nullptr, &result) == TW_INVALID_ARGUMENT && mentions("cells"));
  CHECK(tw_tag_tokens(model, cells, 2, &one, 1, nullptr, &result) == TW_INVALID_ARGUMENT && mentions("a cell"));
  CHECK(tw_tag_tokens(model, cells, 0, &one, 1, nullptr, &result) == TW_INVALID_ARGUMENT && mentions("columns"));
  CHECK(tw_tag_tokens(model, cells, 2, nullptr, 1, nullptr, &result) == TW_INVALID_ARGUMENT);
  CHECK(tw_tag_features(model, cells, nullptr, &one, &one, 1, nullptr, &result) == TW_INVALID_ARGUMENT);
  CHECK(tw_tag_tokens(model, nullptr, 2, nullptr, 0, nullptr, &result) == TW_OK && tw_result_sentences(result) == 0);
  tw_result_free(result);
  const size_t none = 0;
  CHECK(tw_tag_tokens(model, nullptr, 2, &none, 1, nullptr, &result) == TW_OK && tw_result_sentences(result) == 1);
  CHECK(tw_result_tokens(result, 0) == 0 && tw_result_tokens(result, 7) == 0);
  tw_result_free(result);
  const char* const words[] = {"a", "DT"};
  CHECK(tw_explain(model, words, 2, 1, 1, 0, &why) == TW_INVALID_ARGUMENT && mentions("no such token"));
  CHECK(tw_explain(model, words, 2, 1, 0, 9999, &why) == TW_INVALID_ARGUMENT && mentions("no such label"));
  CHECK(tw_explain(model, words, 2, 1, 0, 0, &why) == TW_OK && !tw_explanation_feature(why, 9999));
  tw_explanation_free(why);
  tw_model_free(model);
}

TEST(damaged_models_are_errors_of_the_c_api) {
  const std::string bytes = bytes_of("crf.safetensors");
  tw_model* model = nullptr;
  for (size_t size = 0; size < bytes.size(); size += 1 + size / 40) {
    const std::string cut(bytes, 0, size);
    CHECK(tw_model_from_memory(cut.data(), cut.size(), &model) == TW_BAD_MODEL && !model && *tw_error());
  }
  for (size_t seed = 0; seed < 60; ++seed) {
    test::Draw draw(seed);
    std::string altered = bytes;
    altered[draw.below(altered.size())] ^= static_cast<char>(1 + draw.below(255));
    CHECK(tw_model_from_memory(altered.data(), altered.size(), &model) == TW_BAD_MODEL);
  }
  CHECK(tw_model_from_memory("lCRF and more", 13, &model) == TW_BAD_MODEL);
}

TEST(bad_options_are_errors_of_the_c_api) {
  tw_model* const model = load("perceptron");
  tw_result* result = nullptr;
  const char* const cells[] = {"a", "DT", "b", "NN"};
  const size_t length = 2;
  const auto status = [&](const tw_options& options) {
    return tw_tag_tokens(model, cells, 2, &length, 1, &options, &result);
  };
  CHECK(status({}) == TW_INVALID_ARGUMENT && mentions("sizeof(tw_options)"));
  tw_options options{sizeof(tw_options), 0, 0, 0, nullptr, nullptr};
  options.decoder = "nonsense";
  CHECK(status(options) == TW_INVALID_ARGUMENT && mentions("nonsense"));
  options.decoder = "carpediem";
  options.k = 2;
  CHECK(status(options) == TW_INVALID_ARGUMENT);
  options.decoder = nullptr;
  options.flags = 64;
  CHECK(status(options) == TW_INVALID_ARGUMENT && mentions("flag"));
  for (const uint32_t flag : {TW_PROBABILITIES, TW_MARGINALS}) {
    options.flags = flag;
    CHECK(status(options) == TW_INVALID_ARGUMENT && mentions("not probabilities") && !result);
  }
  options.flags = 0;
  CHECK(status(options) == TW_OK && tw_result_labellings(result, 0) == 2);
  CHECK(tw_result_score(result, 0, 0) >= tw_result_score(result, 0, 1) && !tw_result_label(result, 0, 2, 0));
  CHECK(!tw_result_label_probabilities(result, 0, 0) && tw_result_probability(result, 0, 0) == 0);
  CHECK(!tw_result_label(result, 0, 0, 2) && tw_result_label(result, 0, 0, 1));
  CHECK(tw_result_offsets(result, 0, 0, nullptr, nullptr) == 0);
  tw_model_free(model);
  CHECK(*tw_result_label(result, 0, 0, 0));  // results stay valid
  tw_result_free(result);
  CHECK(tw_tokenize("a b", 3, "greek", &result) == TW_INVALID_ARGUMENT && mentions("none whitespace english"));
  CHECK(tw_tokenize("\xff", 1, nullptr, &result) == TW_INVALID_ARGUMENT && mentions("UTF-8"));
}

TEST(scores_are_checked_by_the_c_api) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();
  tw_result* result = nullptr;
  const double edges[] = {0, 1, 1, 0}, nodes[] = {3, 0, 0, 1};
  for (const double bad : {kNaN, kInf, 1e300}) {
    const double wrong[] = {0, bad, 1, 2};
    CHECK(tw_decode(wrong, edges, 2, 2, nullptr, &result) == TW_INVALID_ARGUMENT && !result);
    CHECK(tw_decode(nodes, wrong, 2, 2, nullptr, &result) == TW_INVALID_ARGUMENT);
    CHECK(tw_marginals(wrong, edges, 2, 2, nullptr, nullptr, nullptr) == TW_INVALID_ARGUMENT);
  }
  const double forbidden[] = {-kInf, -kInf, 0, 0};
  CHECK(tw_decode(forbidden, edges, 2, 2, nullptr, &result) == TW_INVALID_ARGUMENT && mentions("no path"));
  CHECK(tw_decode(nodes, edges, 2, 0, nullptr, &result) == TW_INVALID_ARGUMENT);
  CHECK(tw_decode(nodes, edges, SIZE_MAX, 2, nullptr, &result) == TW_OUT_OF_MEMORY);
  CHECK(tw_decode(nodes, edges, 2, SIZE_MAX / 2, nullptr, &result) != TW_OK);
  CHECK(tw_decode(nodes, edges, 2, 2, nullptr, &result) == TW_OK);
  CHECK(tw_result_score(result, 0, 0) == 5 && tw_result_labels(result, 0, 0)[1] == 1 &&
        !tw_result_label(result, 0, 0, 0));
  tw_result_free(result);
  double probability[4], pairs[4], log_z = 0;
  CHECK(tw_marginals(nodes, edges, 2, 2, probability, pairs, &log_z) == TW_OK);
  const double z = std::exp(3.) + std::exp(5.) + std::exp(1.) + std::exp(1.);
  CHECK(std::fabs(log_z - std::log(z)) < 1e-12 && std::fabs(pairs[1] - std::exp(5.) / z) < 1e-12);
  CHECK(std::fabs(probability[0] - (std::exp(3.) + std::exp(5.)) / z) < 1e-12);
}

TEST(threads_share_a_model_of_the_c_api) {
  tw_model* const model = load("crf");
  const std::string cell = "the";
  const std::vector<const char*> cells(tw_model_columns(model) * 3, cell.c_str());
  const size_t lengths[] = {1, 2};
  const tw_options options{sizeof(tw_options), 2, 2, TW_PROBABILITIES, nullptr, nullptr};
  std::vector<double> scores(8);
  std::vector<std::thread> threads;
  for (size_t n = 0; n < scores.size(); ++n)
    threads.emplace_back([&, n] {
      for (size_t round = 0; round < 20; ++round) {
        tw_result* result = nullptr;
        if (tw_tag_tokens(model, cells.data(), tw_model_columns(model), lengths, 2, &options, &result) == TW_OK)
          scores[n] = tw_result_score(result, 1, 0) + tw_result_probability(result, 1, 1);
        tw_result_free(result);
        tw_tokenize("\xff", 1, nullptr, &result);
        if (!mentions("UTF-8")) scores[n] = -1;
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (const double score : scores) CHECK(score == scores[0] && score != 0 && score != -1);
  tw_model_free(model);
}
