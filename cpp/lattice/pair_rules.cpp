#include "lattice/pair_rules.h"

#include <algorithm>
#include <map>

#include "base/need.h"

namespace tagwright {
namespace {

using States = std::vector<int32_t>;  // one per rule

Csr csr_of(const std::vector<std::vector<int32_t>>& rows) {
  Csr made;
  for (const std::vector<int32_t>& row : rows) made.add_row(row);
  return made;
}

// Numbers the states that labels have; returns the states of each class.
std::vector<States> number(const std::vector<PairRule>& rules, std::vector<int32_t> PairRule::* of, size_t L,
                           PairClasses::Side& side) {
  std::map<States, int32_t> numbers;
  std::vector<States> classes;
  std::vector<std::vector<int32_t>> members;
  States states(rules.size());
  for (size_t y = 0; y < L; ++y) {
    for (size_t r = 0; r < rules.size(); ++r) states[r] = (rules[r].*of)[y];
    const auto [at, is_new] = numbers.emplace(states, static_cast<int32_t>(classes.size()));
    if (is_new) {
      classes.push_back(states);
      members.emplace_back();
    }
    side.of.push_back(at->second);
    members[static_cast<size_t>(at->second)].push_back(static_cast<int32_t>(y));
  }
  side.members = csr_of(members);
  return classes;
}

}  // namespace

PairRules::PairRules(size_t L, std::vector<PairRule> rules, Pairs forbidden, std::vector<bool> may_start,
                     std::vector<bool> may_stop)
    : L_(L),
      rules_(std::move(rules)),
      forbidden_(std::move(forbidden)),
      may_start_(std::move(may_start)),
      may_stop_(std::move(may_stop)) {
  for (const PairRule& rule : rules_) {
    need(rule.entry.size() == L && rule.exit.size() == L, "constraints: " + rule.name + " is for other labels");
    for (const int32_t state : rule.entry) need(state >= PairRule::kAnyState, "constraints: no such state");
    for (const int32_t state : rule.exit) need(state >= PairRule::kAnyState, "constraints: no such state");
  }
  for (const auto& [i, j] : forbidden_)
    need(i >= 0 && j >= 0 && static_cast<size_t>(i) < L && static_cast<size_t>(j) < L,
         "constraints: a forbidden pair is of no label");
  need(may_start_.empty() || may_start_.size() == L, "constraints: start is for other labels");
  need(may_stop_.empty() || may_stop_.size() == L, "constraints: stop is for other labels");
  std::sort(forbidden_.begin(), forbidden_.end());
  forbidden_.erase(std::unique(forbidden_.begin(), forbidden_.end()), forbidden_.end());
  find_classes();
}

bool PairRules::forbids(size_t i, size_t j) const {
  return !forbidden_.empty() && std::binary_search(forbidden_.begin(), forbidden_.end(),
                                                   std::pair(static_cast<int32_t>(i), static_cast<int32_t>(j)));
}

PairRules PairRules::both(const PairRules& other) const {
  need(other.L_ == L_, "constraints: both must be for the same labels");
  std::vector<PairRule> rules = rules_;
  for (const PairRule& rule : other.rules_)
    if (std::find(rules_.begin(), rules_.end(), rule) == rules_.end()) rules.push_back(rule);
  Pairs forbidden = forbidden_;
  forbidden.insert(forbidden.end(), other.forbidden_.begin(), other.forbidden_.end());
  std::vector<bool> may_start(L_), may_stop(L_);
  for (size_t y = 0; y < L_; ++y) {
    may_start[y] = this->may_start(y) && other.may_start(y);
    may_stop[y] = this->may_stop(y) && other.may_stop(y);
  }
  return {L_, std::move(rules), std::move(forbidden), std::move(may_start), std::move(may_stop)};
}

void PairRules::find_classes() {
  PairClasses::Side &before = classes_.side[0], &after = classes_.side[1];
  const std::vector<States> exits = number(rules_, &PairRule::exit, L_, before);
  const std::vector<States> entries = number(rules_, &PairRule::entry, L_, after);
  // What is needed before a class, with kAnyState where anything will do. The classes before it are found by their
  // states at the other places: once for each choice of places, of which there are few.
  const auto places = [](const States& entry, const States& states) {
    States kept(states);
    for (size_t r = 0; r < kept.size(); ++r)
      if (entry[r] == PairRule::kAnyState) kept[r] = PairRule::kAnyState;
    return kept;
  };
  std::map<std::vector<bool>, std::map<States, std::vector<int32_t>>> found;
  std::vector<std::vector<int32_t>> sources(entries.size()), targets(exits.size());
  for (size_t c = 0; c < entries.size(); ++c) {
    std::vector<bool> any;
    for (const int32_t state : entries[c]) any.push_back(state == PairRule::kAnyState);
    auto [at, is_new] = found.try_emplace(any);
    if (is_new)
      for (size_t r = 0; r < exits.size(); ++r)
        at->second[places(entries[c], exits[r])].push_back(static_cast<int32_t>(r));
    const auto match = at->second.find(entries[c]);
    if (match != at->second.end()) sources[c] = match->second;
    for (const int32_t r : sources[c]) targets[static_cast<size_t>(r)].push_back(static_cast<int32_t>(c));
    if (after.members[c].size() > after.members[classes_.main].size()) classes_.main = c;
  }
  before.others = csr_of(targets);
  after.others = csr_of(sources);
}

}  // namespace tagwright
