// Maximum entropy Markov models: p(y_i | x, y_1 .. y_i-1) (Wang, Zong and Xue 2013, section 2), and the beam that
// decodes them.
//
// A history is the last labels, packed 16 bits each into one number, the latest lowest; kNoLabel before the start of
// the sentence. Scores of labels are computed once for each history that the search visits, and cached for the
// sentence: they do not depend on prices.
//
// A leftward model reads sentences from their end. Its texts are reversed, and everything inside is in that order;
// labels and prices that come in and go out are in the order of reading.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/arena.h"
#include "base/stop.h"
#include "features/tag_dictionary.h"
#include "lattice/lattice.h"
#include "model/dual.h"
#include "model/scorer.h"

namespace tagwright {

using LabelHistory = uint64_t;

// The model's own constraints, IsCompatible of Algorithm 1. They are soft: a token at which they leave no labelling is
// tagged without the tag dictionary, and if that is not enough, without any of them. Limits of a call are hard.
struct MemmRules {
  std::shared_ptr<const PairRules> pairs;           // in the order of reading; nullptr: none
  std::shared_ptr<const TagDictionary> dictionary;  // nullptr: none
};

class Memm : public PricedModel {
 public:
  // Throws std::invalid_argument unless all fits together.
  Memm(std::shared_ptr<const Scorer> scorer, std::vector<std::string> names, bool leftward, size_t width,
       MemmRules rules);

  const Scorer& scorer() const override { return *scorer_; }
  std::unique_ptr<SentenceSearch> search() const override;
  double bytes(size_t tokens) const override;
  size_t L() const { return names.size(); }
  // Labels that it looks back.
  size_t history() const { return scorer_->templates().history(); }

  const std::vector<std::string> names;  // of labels
  const bool leftward;                   // goes from the last token to the first
  const size_t width;                    // of the beam
  const MemmRules rules;

 private:
  std::shared_ptr<const Scorer> scorer_;
};

// What a column of the beam holds: a partial sequence.
struct Partial {
  double score;
  LabelHistory history;  // with its own label
  int32_t parent;        // in the column before
  int32_t label;
};

// Algorithm 1, over one sentence after the other.
//
// Deviations from the paper: of partial sequences with the same history only the best k are held, since their
// continuations are the same, so that a beam holds `width` different histories. No probability is above 1, so a partial
// sequence that is worse than all that a full beam holds is not extended. The best score that was dropped is recorded,
// so that the answer is proven exact where nothing dropped could have become better. Therefore the beam starts narrow
// and is widened up to `width` only while the answer is not proven exact, which for most sentences happens early.
class MemmSearch : public SentenceSearch {
 public:
  MemmSearch(const Memm& model, size_t width, size_t k = 1);

  void start(const Text& text, size_t sentence, const SearchLimits& limits = {}) override;
  size_t length() const override { return T_; }
  void change(size_t t, int32_t label, double by) override;
  const std::vector<int32_t>& find() override;
  const std::vector<int32_t>& confirm() override;
  bool exact() const override { return exact_; }
  double score(std::span<const int32_t> labels) override;

  // The k best labellings, best first, scored without prices, each summed in the order of reading.
  std::vector<Path> best();

  // log p(y | x, history) of token t, in the model's order: [y].
  const double* log_probabilities(size_t t, LabelHistory history);
  // Which of the model's own constraints apply at a token; the limits of the call always do.
  enum class Own : uint8_t { all, pairs, none };
  // Whether label y may stand at token t behind a history.
  bool compatible(size_t t, LabelHistory history, size_t y, Own own) const;
  // Finds the labels of each token from which the limits of the call let the end of the sentence be reached; from then
  // on only these are compatible. Throws std::invalid_argument where a token has none.
  void find_viable();
  bool limited() const { return limits_.rules || limits_.allowed; }
  LabelHistory none() const { return ~LabelHistory{0}; }
  LabelHistory after(LabelHistory history, int32_t label) const {
    return (history << 16) | static_cast<uint16_t>(label);
  }

 private:
  struct Known {
    LabelHistory history;
    const double* row;
  };
  size_t place(size_t t) const { return model_.leftward ? T_ - 1 - t : t; }
  // The part of a history that features depend on.
  LabelHistory relevant(LabelHistory history) const {
    const size_t bits = 16 * history_;
    return bits >= 64 ? history : history & ((LabelHistory{1} << bits) - 1);
  }
  // What distinguishes two partial sequences: everything that later columns depend on.
  LabelHistory state(LabelHistory history) const;
  // Scores of token t by the features that depend on no label: [y].
  const float* node(size_t t);
  void add_history(size_t t, LabelHistory history);
  bool follows(const PairRules& rules, size_t t, LabelHistory history, size_t y) const;
  bool allows(size_t t, size_t y) const;
  // False where the limits leave nothing of a column.
  bool pass(size_t from);
  // Makes room for columns of `width` partial sequences.
  void widen(size_t width);
  std::span<const Partial> column(size_t t) const { return {partials_.data() + t * now_, held_[t]}; }
  bool all_fit() const { return all_ <= now_; }
  bool extend(size_t t);
  bool extend_from(size_t t, std::span<const Partial> before, Own own);
  void cut(std::vector<Partial>& found);
  std::vector<int32_t> path(size_t at) const;

  const Memm& model_;
  size_t history_, width_, k_;
  size_t all_;      // number of histories, times k
  size_t now_ = 1;  // current width of the beam
  const Text* text_ = nullptr;
  size_t sentence_ = 0, T_ = 0;
  SearchLimits limits_;
  std::vector<bool> viable_;  // [t * L + y], in the model's order; empty as long as every label counts as viable
  FeatureScratch scratch_;
  std::vector<int32_t> ids_;
  std::vector<float> nodes_;  // [(t - first_node_) * L + y], of some tokens at a time
  size_t first_node_ = 0;
  std::vector<float> scores_;  // [y]
  Arena rows_;                 // what known_ leads to
  size_t rows_held_ = 0;
  std::vector<std::vector<Known>> known_;                       // [t]
  std::unordered_map<LabelHistory, std::vector<float>> alone_;  // [history]: [y], scores of features of labels alone
  std::vector<double> prices_;    // one row of labels for each token that has any; the first, [y], is of those without
  std::vector<size_t> price_of_;  // [t]: where its row begins
  std::vector<double> most_;      // [t]: the highest price
  std::vector<std::optional<std::span<const int32_t>>> words_;  // [t]: labels of the word, by the dictionary
  std::vector<Partial> partials_;                               // [t * now_ + place]
  std::vector<uint32_t> held_;                                  // [t]: how many of them the column holds
  std::vector<Partial> found_;                                  // candidates for the column under construction
  std::vector<double> dropped_;  // [t]: no dropped partial sequence of the column scores more
  std::vector<double> reached_;  // [y]
  Meter meter_;
  std::vector<int32_t> chosen_;                          // [y]
  std::vector<std::pair<LabelHistory, size_t>> counts_;  // a hash table: how many sequences of a history are held
  std::vector<int32_t> labels_;
  size_t changed_ = 0;  // the first column whose beam is not up to date
  bool exact_ = false;
  // State of the column under construction:
  bool full_ = false;  // it holds `now_` sequences
  double least_ = 0;   // the worst it holds, where it is full
  double lost_ = 0;    // the best that was dropped
};

// log p(y | x, the label before) of every token in the model's order: [(t * (L + 1) + i) * L + y], the last i for no
// label before; -inf where the limits or the model's own rules forbid, the latter relaxed as a beam that holds all
// histories relaxes them. For models that look back at one label at most.
std::vector<double> memm_steps(const Memm& model, const Text& text, size_t sentence, const SearchLimits& limits = {});

}  // namespace tagwright
