// Two models made to agree on labels, by dual decomposition (Wang, Zong and Xue 2013, Algorithm 2).
//
// A price mu(i, t) is added to one model's score for label t of token i and subtracted from the other's. For any
// prices, the sum of the two best scores is an upper bound on the sum of both models' scores of a labelling. So if the
// best labellings of both models are equal, it has the best sum of all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/need.h"
#include "features/text.h"
#include "lattice/allowed.h"
#include "lattice/pair_rules.h"

namespace tagwright {

// One model and one sentence: the interface of dual decomposition to a model.
class PricedSearch {
 public:
  virtual ~PricedSearch() = default;
  virtual size_t length() const = 0;
  // Adds to the price of a label of a token; all are 0 at first.
  virtual void change(size_t t, int32_t label, double by) = 0;
  // The best labels under the prices, or good ones where these can be had much sooner.
  virtual const std::vector<int32_t>& find() = 0;
  // The best labels that the search can find; called after find(), before labels are relied on.
  virtual const std::vector<int32_t>& confirm() = 0;
  // Whether what was confirmed is proven to be the best.
  virtual bool exact() const = 0;
};

// The limits of the labels of a sentence.
struct SearchLimits {
  const PairRules* rules = nullptr;  // for searches over histories; a lattice has constrained edges instead
  Allowed allowed = {};              // of its tokens, in the order of reading
};

// The limits of many sentences: none, or a list per token of the text.
struct TextLimits {
  const PairRules* rules = nullptr;
  const AllowedLists* lists = nullptr;

  SearchLimits of(const Text& text, size_t sentence) const {
    return {rules, lists ? lists->view(text.first_token(sentence)) : Allowed{}};
  }
  // Throws std::invalid_argument where they do not fit.
  void check(const Text& text, size_t L) const {
    need(!rules || rules->L() == L, "the constraints are for another number of labels");
    need(!lists || lists->columns() == text.tokens(), "allowed: one list per token");
  }
};

// The same for a trained model and one sentence after the other.
class SentenceSearch : public PricedSearch {
 public:
  // Starts another sentence, without prices.
  virtual void start(const Text& text, size_t sentence, const SearchLimits& limits = {}) = 0;
  // The score of labels without prices.
  virtual double score(std::span<const int32_t> labels) = 0;
};

class Scorer;

// A trained model that can be searched under prices.
class PricedModel {
 public:
  virtual ~PricedModel() = default;
  virtual const Scorer& scorer() const = 0;
  virtual std::unique_ptr<SentenceSearch> search() const = 0;
  // Memory that the search of a sentence under prices may take.
  virtual double bytes(size_t tokens) const = 0;
};

// How far prices move in each round.
enum class Schedule : uint8_t {
  constant,  // by the step, always: the paper's
  // By step / n in the n-th round in which a token is in dispute. The sum of all steps has no limit, so prices get as
  // far as they need to, and they settle between labels that are nearly as good; a token waits for no other.
  falling,
};

struct AgreeOptions {
  size_t rounds = 30;
  double step = 0.5;
  Schedule schedule = Schedule::falling;

  // Throws std::invalid_argument for values out of range.
  void check() const;
};

struct Agreement {
  std::vector<int32_t> left, right;  // the labels of the last round; the same where they agree
  std::vector<int32_t> disputed;     // tokens on which they differ
  size_t rounds = 0;
  bool agreed = false;
  bool certain = false;  // agreed, and both searches were exact: no labelling is better under both models together
};

Agreement agree(PricedSearch& left, PricedSearch& right, const AgreeOptions& options);

}  // namespace tagwright
