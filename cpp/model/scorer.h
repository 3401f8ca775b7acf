// From text to node scores: features looked up, their rows of weights summed.
//
// A token's score is summed over its features in this order, each time in the order of the templates: those that show
// what form the token has (its capitals, digits, shape); the others that depend on the token alone, as its affixes; and
// all others. Tokens and forms that occurred before are cached (token_cache.h): rows, and sums over
// the first features, with the same bits as if they were computed again. Ready-made features are summed in the order in
// which they are given. Last comes what the vectors of words add, each as one number: the sum over its components.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/pool.h"
#include "features/templates.h"
#include "lattice/allowed.h"
#include "model/row_forms.h"
#include "model/token_cache.h"
#include "model/vector_weights.h"
#include "model/weights.h"

namespace tagwright {

// What one feature adds to the score of a label.
struct Contribution {
  std::string feature;
  float value, weight;
  float score;   // weight * value, as it is added
  int32_t part;  // the part of the label that the weight is for; -1: the label itself
};

class Scorer {
 public:
  // The weights were checked.
  Scorer(Templates templates, Weights weights);

  const Templates& templates() const { return templates_; }
  size_t L() const { return weights_.L(); }
  const Weights& weights() const { return weights_; }

  // Adds the rows of a token's features to out, [key]; ids: filled with their numbers.
  void add_features(const std::vector<Feature>& features, const FeatureScratch& scratch, std::vector<int32_t>& ids,
                    float* out) const;

  // Node scores of a sentence, [t * L + y], and the correction sets that are active at each of its steps.
  void score(const Text& text, size_t sentence, float* nodes, std::vector<std::vector<int32_t>>& on) const;
  // The same for its tokens begin .. end - 1 and the steps between them. scratch: in which the sentence was started.
  // allowed: of these tokens; scores of labels that are not allowed may be left as they were.
  void score(const Text& text, size_t sentence, size_t begin, size_t end, FeatureScratch& scratch, float* nodes,
             std::vector<std::vector<int32_t>>& on, Allowed allowed = {}) const;

  // What the score of label y at a token is made of, in the order in which it is summed, in float32: the label's own
  // contributions, then for each of its parts the sum of that part's. An HMM has one, of the row that it takes.
  std::vector<Contribution> contributions(const Text& text, size_t sentence, size_t t, size_t y) const;
  // The features of a token that the model does not have.
  std::vector<std::string> unknown(const Text& text, size_t sentence, size_t t) const;

 private:
  // A template whose feature is added behind those of the token alone.
  struct Later {
    size_t one;          // the template
    bool alone = false;  // depends on one token alone, `row` from here
    int32_t row = 0;
    size_t place = 0;             // alone: among the rows that are known of that token
    std::vector<RowAt> beyond{};  // alone: what it has before or behind the sentence, [distance - 1]
  };
  // A template of the vectors of words.
  struct OfVectors {
    size_t one;  // the template
    const VectorTable* table;
    size_t column;
    int32_t row;
    VectorWeights weights;
  };
  struct Buffers;
  // The keys of a token that are summed, in rising order; none: all.
  using Only = std::span<const uint16_t>;

  void plan();
  void plan_vectors(size_t one);
  void expand_in_order(const Text& text, size_t sentence, size_t t, FeatureScratch& scratch) const;
  void find(const std::vector<Feature>& features, const FeatureScratch& scratch, const IndexView& index,
            std::vector<int32_t>& ids) const;
  void resolve(const std::vector<int32_t>& ids, std::vector<RowAt>& rows) const;
  void add_all(std::span<const RowAt> rows, float* out) const;
  void choose_keys(std::span<const int32_t> allowed, Buffers& own) const;
  // Node scores of one token with ready-made features or of an HMM; of some tokens of text.
  void score_one(const Text& text, size_t sentence, size_t t, FeatureScratch& scratch, float* out) const;
  void score_some(const Text& text, size_t sentence, size_t begin, size_t end, FeatureScratch& scratch,
                  TokenCache& cache, Buffers& own, float* out) const;
  void make_keys(const Text& text, size_t begin, size_t end, Buffers& own) const;
  void fill(const Text& text, size_t token, FeatureScratch& scratch, const TokenCache::Entry& entry,
            Buffers& own) const;
  void find_mixed(const Text& text, size_t sentence, size_t begin, size_t end, FeatureScratch& scratch,
                  Buffers& own) const;
  void list_rows(size_t begin, size_t end, size_t from, size_t T, Buffers& own) const;
  void start_sum(std::span<const RowAt> forms, Only only, TokenCache& cache, float* out) const;
  // The row of the vector that such a template reads for a token; kNoId where there is none.
  static int32_t vector_of(const OfVectors& own, const Text& text, size_t sentence, size_t t);
  void add_vectors(const Text& text, size_t sentence, size_t begin, size_t end, const Buffers& own, float* out) const;
  void activate(const Text& text, size_t sentence, size_t t, FeatureScratch& scratch, std::vector<int32_t>& step) const;

  Templates templates_;
  Weights weights_;
  RowForms rows_;
  // Those that depend on one token alone: of its form, its others, its neighbours'.
  TemplateSet alone_;
  size_t forms_ = 0, own_ = 0;  // how many there are of the first, and of the first two
  TemplateSet mixed_;           // all others for nodes; its views include those of for_edges_
  TemplateSet for_edges_;
  std::vector<Later> later_;
  std::vector<OfVectors> vectors_;
  size_t back_ = 0, on_ = 0;  // how far the templates that depend on one token alone look
  size_t sums_ = 0;           // numbers of a token's sum, where it is remembered
  size_t most_products_ = 0;  // words of the vectors, of each template
  std::unique_ptr<Pool<TokenCache>> caches_ = std::make_unique<Pool<TokenCache>>();
  std::unique_ptr<Pool<ProductCache>> products_ = std::make_unique<Pool<ProductCache>>();
};

}  // namespace tagwright
