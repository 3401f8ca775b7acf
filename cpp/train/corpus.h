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

struct Corpus : Encoded {
  size_t L = 0;
  std::vector<int32_t> labels{};         // [token]; empty where they are not known
  std::shared_ptr<const Names> names{};  // of features, and of edge features, which are the sets of corrections
  Digest digest{};                       // of all that

  size_t length(size_t s) const { return sentence_end[s] - first_token(s); }
  size_t features() const { return names->node.size(); }
  size_t sets() const { return names->edge.size(); }

  std::span<const int32_t> features_of(size_t token) const { return ids_of(node, token); }
  // The sets that are switched on at the step into a token.
  std::span<const int32_t> sets_of(size_t token) const { return ids_of(edge, token); }
  // Calls take(feature, value) for the features of a token.
  template <class Take>
  void each_feature(size_t token, Take&& take) const {
    for (size_t at = node.begin(token); at < node.end[token]; ++at)
      take(static_cast<size_t>(node.id[at]), node.value_of(at));
  }
  // Calls take(token, i, j) for every step into a token, from the label i of the token before to its own, j.
  template <class Take>
  void each_step(Take&& take) const {
    for (size_t s = 0; s < sentences(); ++s)
      for (size_t token = first_token(s) + 1; token < sentence_end[s]; ++token)
        take(token, labels[token - 1], labels[token]);
  }
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

struct CorpusOptions {
  size_t L = 0;
  size_t min_count = 1;                  // features on fewer tokens are left out
  const Weights* known = nullptr;        // a model whose features come first, in their order, and are never rare
  std::vector<std::string> label_names;  // for templates that look at earlier labels
  size_t threads = 1;
};

// labels: of every token.
Corpus read_corpus(const Text& text, const Templates& templates, std::span<const int32_t> labels,
                   const CorpusOptions& options);

}  // namespace tagwright
