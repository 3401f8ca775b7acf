// A labelled corpus in numbers, as all trainers read it: in memory, or mapped from a file.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/arrays.h"
#include "base/digest.h"
#include "base/pages.h"
#include "features/encode.h"
#include "model/weights.h"

namespace tagwright {

// What is known of labels beyond one per token, and how much sentences count; each may be empty.
struct Marks {
  std::span<const uint64_t> allowed_end = {};  // [token], in `allowed`
  std::span<const int32_t> allowed = {};       // the labels that a token may have whose label is -1; none: any
  std::span<const double> weight = {};         // [sentence]
};

template <template <class> class Array>
struct CorpusArrays : EncodedArrays<Array> {
  Array<int32_t> labels{};         // [token], -1 where several are allowed; empty where they are not known
  Array<uint64_t> allowed_end{};   // as in Marks
  Array<int32_t> allowed{};        // of each token in their order
  Array<double> weight{};          // [sentence]; empty: 1 each
  Array<uint8_t> partial{};        // [sentence]: whether a label of it is not known; empty: all are
  NameArrays<Array> names{};       // of features
  NameArrays<Array> edge_names{};  // of edge features, which are the sets of corrections
};
// Calls take(name, array) for all arrays, by the names they have in files.
template <class Arrays, class Take>
void for_each_corpus_array(Arrays& a, Take&& take) {
  take("sentence_end", a.sentence_end);
  take("node.id", a.node.id);
  take("node.value", a.node.value);
  take("node.end", a.node.end);
  take("edge.id", a.edge.id);
  take("edge.value", a.edge.value);
  take("edge.end", a.edge.end);
  take("labels", a.labels);
  take("allowed_end", a.allowed_end);
  take("allowed", a.allowed);
  take("weight", a.weight);
  take("partial", a.partial);
  take("names.slots", a.names.slots);
  take("names.ends", a.names.ends);
  take("names.bytes", a.names.bytes);
  take("edge_names.slots", a.edge_names.slots);
  take("edge_names.ends", a.edge_names.ends);
  take("edge_names.bytes", a.edge_names.bytes);
}

// The labels that each feature was met with, in their order, one feature behind the other.
struct LabelsMet {
  std::vector<uint64_t> end;  // [feature]
  std::vector<uint16_t> label;
};
// Pairs of labels that were met: in order, each once.
struct PairsMet {
  std::vector<uint64_t> edges;
  std::vector<std::vector<uint64_t>> sets;  // [set]
};

// Copies look at the same numbers.
struct Corpus : CorpusArrays<Borrowed> {
  size_t L = 0;
  size_t feature_count = 0, set_count = 0;  // known also where the names are not
  std::shared_ptr<const void> owner{};      // of the numbers
  std::shared_ptr<Pages> pages{};           // where the numbers are those of a mapped file
  // Of a cut of a corpus: [sentence]: its number there, and where its tokens begin.
  std::vector<std::pair<size_t, size_t>> origin{};
  Digest digest{};  // of all that

  size_t length(size_t s) const { return sentence_end[s] - first_token(s); }
  size_t tokens() const { return node.end.size(); }
  size_t features() const { return feature_count; }
  size_t sets() const { return set_count; }
  // To be called before a sentence is read, so that a mapped file does not fill the memory.
  void visit() const {
    if (pages) pages->visit();
  }

  // What a sentence is called in the whole corpus, and where its tokens begin there.
  size_t number_of(size_t s) const { return origin.empty() ? s : origin[s].first; }
  size_t place_of(size_t s) const { return origin.empty() ? first_token(s) : origin[s].second; }
  // These sentences, copied: of a mapped file, what is needed and no more. Without names.
  Corpus cut(std::span<const int32_t> sentences) const;

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
  // Calls take(feature, label) for the same, in order; for a corpus that has few of the features.
  template <class Take>
  void for_each_met(Take&& take) const {
    for (const uint64_t pair : met_pairs()) take(static_cast<size_t>(pair >> 16), static_cast<uint16_t>(pair));
  }
  // The pairs of labels of all steps: all of a few that are allowed, none where any is.
  PairsMet pairs_met() const;

  std::span<const int32_t> features_of(size_t token) const { return ids_of(node, token); }
  // The sets that are active at the step into a token.
  std::span<const int32_t> sets_of(size_t token) const { return ids_of(edge, token); }
  // Calls take(feature, value) for the features of a token.
  template <class Take>
  void for_each_feature(size_t token, Take&& take) const {
    for (size_t at = node.begin(token); at < node.end[token]; ++at)
      take(static_cast<size_t>(node.id[at]), node.value_of(at));
  }
  // Calls take(token, i, j) for every step into a token, from the label i of the token before to its own, j: for all
  // that are allowed, and for none where any is.
  template <class Take>
  void for_each_step(Take&& take) const {
    for (size_t s = 0; s < sentences(); ++s) {
      visit();
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
  // The sets active at each step of a sentence; `on` is filled.
  void sets_on(size_t sentence, std::vector<std::vector<int32_t>>& on) const;

  // Throws std::invalid_argument unless the arrays fit together: no look-up then leaves them.
  void check() const;
  // The digest of the arrays as they are.
  Digest computed_digest() const;
  // Throws std::invalid_argument unless a model's features come first in the corpus.
  void check_known(const Weights& model) const;
  // Weights with these keys and values, which belong to the corpus' features. owner: of the keys and parts. values: as
  // one vector, in the order of the layout.
  Weights weights(const WeightKeys<Borrowed>& keys, std::vector<float> values, std::span<const uint16_t> parts,
                  std::shared_ptr<const void> owner) const;

 private:
  std::vector<uint64_t> met_pairs() const;
  static std::span<const int32_t> ids_of(const IdArrays<Borrowed>& ids, size_t token) {
    return ids.id.subspan(ids.begin(token), ids.end[token] - ids.begin(token));
  }
};

// What to say of a sentence whose labels are partly known.
inline std::string no_known_labelling(size_t sentence) {
  return "sentence " + std::to_string(sentence) +
         ": no labelling has labels that y allows and keeps to the constraints";
}

// Lets a trainer read its sentences from a cut of its corpus for a while.
class ReadingFrom {
 public:
  // other: a cut, or nullptr.
  ReadingFrom(Corpus& corpus, const Corpus* other) : corpus_(corpus), whole_(corpus) {
    if (other) corpus_ = *other;
  }
  ~ReadingFrom() { corpus_ = std::move(whole_); }
  ReadingFrom(const ReadingFrom&) = delete;
  ReadingFrom& operator=(const ReadingFrom&) = delete;

 private:
  Corpus& corpus_;
  Corpus whole_;
};

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
// A corpus of these arrays and names, which it holds.
Corpus hold(CorpusArrays<Owned> arrays, Names names, size_t L);

}  // namespace tagwright
