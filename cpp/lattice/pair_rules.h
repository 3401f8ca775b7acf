// PairRules: which label may follow which, and which may be first and last.
//
// A rule gives each label a state it leaves (exit) and a state it needs before it (entry): I-X needs X, which B-X and
// I-X leave. So a rule over L labels takes 2 L numbers, and however sparse edges are, they stay so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/csr.h"

namespace tagwright {

// j may follow i where entry[j] is kAnyState or exit[i].
struct PairRule {
  static constexpr int32_t kAnyState = -1;

  std::string name;                  // for messages: "scheme BIO"
  std::vector<int32_t> entry, exit;  // [label]

  bool allows(size_t i, size_t j) const { return entry[j] == kAnyState || entry[j] == exit[i]; }
  bool operator==(const PairRule& other) const = default;
};

// Labels that the rules do not distinguish, as previous labels (side 0) and as current ones (side 1).
struct PairClasses {
  struct Side {
    std::vector<int32_t> of;  // [label]: its class
    Csr members;              // [class]: its labels, in their order
    Csr others;               // [class]: the classes of the other side with which it may make a pair
  };
  Side side[2];
  size_t main = 0;  // the class of current labels that has the most members
};

class PairRules {
 public:
  using Pairs = std::vector<std::pair<int32_t, int32_t>>;  // previous, current

  // forbidden: single pairs. may_start, may_stop: [label], or empty where every label may. Throws std::invalid_argument
  // for labels out of range and arrays of another length.
  PairRules(size_t L, std::vector<PairRule> rules, Pairs forbidden, std::vector<bool> may_start,
            std::vector<bool> may_stop);

  size_t L() const { return L_; }
  const std::vector<PairRule>& rules() const { return rules_; }
  const Pairs& forbidden() const { return forbidden_; }  // sorted
  bool may_start(size_t y) const { return may_start_.empty() || may_start_[y]; }
  bool may_stop(size_t y) const { return may_stop_.empty() || may_stop_[y]; }
  // By the rules; single pairs are another matter.
  bool allows(size_t i, size_t j) const {
    for (const PairRule& rule : rules_)
      if (!rule.allows(i, j)) return false;
    return true;
  }
  bool forbids(size_t i, size_t j) const;
  bool may_follow(size_t i, size_t j) const { return allows(i, j) && !forbids(i, j); }
  // Of the rules.
  const PairClasses& classes() const { return classes_; }
  // Returns the rules that allow what both allow. A rule that both contain appears once.
  PairRules both(const PairRules& other) const;

 private:
  void find_classes();

  size_t L_;
  std::vector<PairRule> rules_;
  Pairs forbidden_;
  std::vector<bool> may_start_, may_stop_;
  PairClasses classes_;
};

}  // namespace tagwright
