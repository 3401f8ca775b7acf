// A labelled corpus in numbers, as all trainers read it.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/digest.h"
#include "features/encode.h"
#include "model/weights.h"

namespace tagwright {

// What is known of labels beyond one per token, and how much sentences count; each may be empty.
struct Marks {
  std::span<const uint64_t> allowed_end = {};  // [token], in `allowed`
  std::span<const int32_t> allowed = {};       // the labels that a token may have whose label is -1; none: any
  std::span<const double> weight = {};         // [sentence]
};

struct Corpus : Encoded {
  size_t L = 0;
  std::vector<int32_t> labels{};         // [token], -1 where several are allowed; empty where they are not known
  std::vector<uint64_t> allowed_end{};   // as in Marks
  std::vector<int32_t> allowed{};        // of each token in their order
  std::vector<double> weight{};          // [sentence]; empty: 1 each
  std::vector<char> partial{};           // [sentence]: whether a label of it is not known; empty: all are
  std::shared_ptr<const Names> names{};  // of features, and of edge features, which are the sets of corrections
  Digest digest{};                       // of all that

  size_t length(size_t s) const { return sentence_end[s] - first_token(s); }
  size_t features() const { return names->node.size(); }
  size_t sets() const { return names->edge.size(); }

  bool is_partial(size_t s) const { return !partial.empty() && partial[s]; }
  double weight_of(size_t s) const { return weight.empty() ? 1.0 : weight[s]; }
  double largest_weight() const;
  // The labels that a token may have: its own, or those that are allowed, or none where any may be.
  std::span<const int32_t> allowed_of(size_t token) const;
  bool may_have(size_t token, int32_t y) const;
  // Forbids, in the node scores of a sentence, [t * L + y], all labels that its tokens may not have.
  void forbid_others(size_t sentence, double* nodes) const;
  // The labels that each feature was met with: all of a few that are allowed, none where any is.
  LabelsMet met() const;

  std::span<const int32_t> features_of(size_t token) const { return ids_of(node, token); }
  // The sets that are switched on at the step into a token.
  std::span<const int32_t> sets_of(size_t token) const { return ids_of(edge, token); }
  // Calls take(feature, value) for the features of a token.
  template <class Take>
  void each_feature(size_t token, Take&& take) const {
    for (size_t at = node.begin(token); at < node.end[token]; ++at)
      take(static_cast<size_t>(node.id[at]), node.value_of(at));
  }
  // Calls take(token, i, j) for every step into a token, from the label i of the token before to its own, j: for all
  // that are allowed, and for none where any is.
  template <class Take>
  void each_step(Take&& take) const {
    for (size_t s = 0; s < sentences(); ++s) {
      for (size_t token = first_token(s) + 1; token < sentence_end[s]; ++token) {
        if (!is_partial(s)) {
          take(token, labels[token - 1], labels[token]);
          continue;
        }
        for (const int32_t i : allowed_of(token - 1))
          for (const int32_t j : allowed_of(token)) take(token, i, j);
      }
    }
  }
  // The pairs of labels beside tokens that may have any label, each once. None where there are more than 256 labels:
  // all pairs of these are too many.
  std::vector<std::pair<int32_t, int32_t>> open_pairs() const;
  // The sets switched on at each step of a sentence; `on` is filled.
  void sets_on(size_t sentence, std::vector<std::vector<int32_t>>& on) const;

  // Throws std::invalid_argument unless a model's features come first in the corpus.
  void check_known(const Weights& model) const;
  // Weights with these keys and values, which belong to the corpus' features. owner: of the keys and parts. values: as
  // one vector, in the order of the layout.
  Weights weights(const WeightKeys<Borrowed>& keys, std::vector<float> values, std::span<const uint16_t> parts,
                  std::shared_ptr<const void> owner) const;

 private:
  static std::span<const int32_t> ids_of(const Ids& ids, size_t token) {
    return std::span(ids.id).subspan(ids.begin(token), ids.end[token] - ids.begin(token));
  }
};

// What to say of a sentence whose labels are partly known.
inline std::string no_known_labelling(size_t sentence) {
  return "sentence " + std::to_string(sentence) +
         ": no labelling has labels that y allows and keeps to the constraints";
}

struct CorpusOptions {
  size_t L = 0;
  size_t min_count = 1;                  // features on fewer tokens are left out
  const Weights* known = nullptr;        // a model whose features come first, in their order, and are never rare
  std::vector<std::string> label_names;  // for templates that look at earlier labels
  size_t threads = 1;
  Marks marks = {};
};

// labels: of every token.
Corpus read_corpus(const Text& text, const Templates& templates, std::span<const int32_t> labels,
                   const CorpusOptions& options);

}  // namespace tagwright
