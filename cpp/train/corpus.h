// An encoded, labelled corpus, as all trainers read it: in memory, or mapped from a file.
#pragma once

#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/arrays.h"
#include "base/digest.h"
#include "base/pages.h"
#include "features/encode.h"
#include "model/weights.h"

namespace tagwright {

// Partial labels and sentence weights; each may be empty.
struct Marks {
  std::span<const uint64_t> allowed_end = {};  // [token], in `allowed`
  std::span<const int32_t> allowed = {};       // the labels that a token may have whose own is -1; none: any
  std::span<const double> weight = {};         // [sentence]
};

template <template <class> class Array>
struct CorpusArrays : EncodedArrays<Array> {
  Array<int32_t> labels{};         // [token], -1 where several are allowed; empty where they are not known
  Array<uint64_t> allowed_end{};   // as in Marks
  Array<int32_t> allowed{};        // of each token in their order
  Array<double> weight{};          // [sentence]; empty: 1 each
  Array<uint8_t> partial{};        // [sentence]: whether it has a token of several labels; empty: none has
  NameArrays<Array> names{};       // of features
  NameArrays<Array> edge_names{};  // of edge features, which are the correction sets
};
// Calls visit(name, array) for all arrays, by the names they have in files.
template <class Arrays, class Visit>
void for_each_corpus_array(Arrays& a, Visit&& visit) {
  for_each_encoded_array(a, visit);
  visit("labels", a.labels);
  visit("allowed_end", a.allowed_end);
  visit("allowed", a.allowed);
  visit("weight", a.weight);
  visit("partial", a.partial);
  for_each_name_array("names", a.names, visit);
  for_each_name_array("edge_names", a.edge_names, visit);
}

// The labels that each feature was observed with, rising, one feature after the other.
struct ObservedLabels {
  std::vector<uint64_t> end;  // [feature]
  std::vector<uint16_t> label;
};
// Pairs of labels that were observed: rising, each once.
struct ObservedPairs {
  std::vector<uint64_t> edges;
  std::vector<std::vector<uint64_t>> sets;  // [set]
};

// Which weights there are, and the parts of labels that they are for, [k * L + y].
struct PartKeys {
  WeightKeys<Owned> keys;
  std::vector<uint16_t> parts;
};

// Copies share the arrays.
struct Corpus : CorpusArrays<Borrowed> {
  size_t L = 0;
  size_t feature_count = 0, set_count = 0;  // known also where the names are not
  std::shared_ptr<const void> owner{};      // of the arrays
  std::shared_ptr<Pages> pages{};           // where the arrays are those of a mapped file
  // Of a cut of a corpus: [sentence]: its number there, and where its tokens begin.
  std::vector<std::pair<size_t, size_t>> origin{};
  Digest digest{};  // of the arrays

  size_t length(size_t s) const { return sentence_end[s] - first_token(s); }
  size_t tokens() const { return node.end.size(); }
  size_t features() const { return feature_count; }
  size_t sets() const { return set_count; }
  // To be called before a sentence is read, so that a mapped file does not fill the memory.
  void visit() const {
    if (pages) pages->visit();
  }

  // The number of a sentence in the whole corpus, and where its tokens begin there.
  size_t number_of(size_t s) const { return origin.empty() ? s : origin[s].first; }
  size_t place_of(size_t s) const { return origin.empty() ? first_token(s) : origin[s].second; }
  // Throws std::invalid_argument, naming the sentence, unless `right`.
  void need_of(size_t sentence, bool right, const char* what) const {
    if (!right) throw std::invalid_argument("sentence " + std::to_string(number_of(sentence)) + ": " + what);
  }
  // Throws std::invalid_argument where one of these sentences does not exist.
  void check_sentences(std::span<const int32_t> sentences) const;
  // Returns a copy of these sentences, without names: of a mapped file, no more than these are read.
  Corpus cut(std::span<const int32_t> sentences) const;

  bool is_partial(size_t s) const { return !partial.empty() && partial[s]; }
  double weight_of(size_t s) const { return weight.empty() ? 1.0 : weight[s]; }
  double largest_weight() const;
  // The labels that a token may have: its own, or the allowed ones, rising; empty where it may have any.
  std::span<const int32_t> allowed_of(size_t token) const;
  bool may_have(size_t token, int32_t y) const;
  // Sets the node scores of a sentence, [t * L + y], to kForbidden for all labels that its tokens may not have.
  void forbid_others(size_t sentence, double* nodes) const;
  // The labels that each feature was observed with: all allowed ones of a token, and none where it may have any.
  ObservedLabels observed_labels() const;
  // The pairs of labels of all steps: all allowed ones, and none beside a token that may have any label.
  ObservedPairs pairs_met() const;

  std::span<const int32_t> features_of(size_t token) const { return ids_of(node, token); }
  // The sets that are active at the step into a token.
  std::span<const int32_t> sets_of(size_t token) const { return ids_of(edge, token); }
  // Calls visit(feature, value) for the features of a token.
  template <class Visit>
  void for_each_feature(size_t token, Visit&& visit) const {
    for (size_t at = node.begin(token); at < node.end[token]; ++at)
      visit(static_cast<size_t>(node.id[at]), node.value_of(at));
  }
  // Calls visit(token, i, j) for every step into a token, from label i of the token before to its own, j: for all
  // allowed pairs, and for none beside a token that may have any label.
  template <class Visit>
  void for_each_step(Visit&& visit_pair) const {
    for (size_t s = 0; s < sentences(); ++s) {
      visit();
      for (size_t token = first_token(s) + 1; token < sentence_end[s]; ++token) {
        if (!is_partial(s)) {
          visit_pair(token, labels[token - 1], labels[token]);
          continue;
        }
        for (const int32_t i : allowed_of(token - 1))
          for (const int32_t j : allowed_of(token)) visit_pair(token, i, j);
      }
    }
  }
  // The pairs of labels beside tokens that may have any label, each once. None where there are more than 256 labels:
  // all pairs of these are too many.
  std::vector<std::pair<int32_t, int32_t>> open_pairs() const;
  // The sets active at each step of a sentence; `on` is filled.
  void sets_on(size_t sentence, std::vector<std::vector<int32_t>>& on) const;

  // Throws std::invalid_argument unless the arrays are consistent: no look-up then leaves them.
  void check() const;
  // The digest of the arrays as they are.
  Digest computed_digest() const;
  // Throws std::invalid_argument unless a model's features come first in the corpus.
  void check_known(const Weights& model) const;
  // Returns weights of the corpus' features with these keys and values, in the order of the layout.
  Weights weights(std::shared_ptr<const PartKeys> keys, std::vector<float> values) const;

 private:
  static std::span<const int32_t> ids_of(const IdArrays<Borrowed>& ids, size_t token) {
    return ids.id.subspan(ids.begin(token), ids.end[token] - ids.begin(token));
  }
};

// Why a sentence has no path: none at all, or, with partial labels, none that they allow.
inline constexpr const char* kNoPath = "the constraints leave no labelling";
inline constexpr const char* kNoAllowedPath = "no labelling has labels that y allows and keeps to the constraints";

struct CorpusOptions {
  std::vector<std::string> names;  // of the labels
  size_t min_count = 1;            // features on fewer tokens are left out
  const Weights* known = nullptr;  // a model whose features come first, in their order, and are never rare
  size_t threads = 1;
  Marks marks = {};
};

// The names of a model's features; none without a model.
Names known_names(const Weights* model);
// labels: of every token.
Corpus read_corpus(const Text& text, const Templates& templates, std::span<const int32_t> labels,
                   const CorpusOptions& options);
// Returns a corpus of these arrays and names, which it owns.
Corpus hold(CorpusArrays<Owned> arrays, Names names, size_t L);

}  // namespace tagwright
