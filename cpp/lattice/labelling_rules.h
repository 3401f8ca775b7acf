// LabellingRules: rules about whole labellings, which no pair of neighbouring labels can show to be violated.
//
// A rule limits how many units of a kind a labelling has. Units are spans, or runs of a label: a unit begins at every
// label of the rule that does not continue the unit of the label before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/csr.h"

namespace tagwright {

// What a label is to a rule. A label without kMember has no other flag.
enum UnitFlag : uint8_t {
  kMember = 1,     // belongs to units of the rule
  kOpen = 2,       // its unit may go on behind it
  kContinues = 4,  // continues an open unit before it, if there is one
};

// The number of units of a labelling is between least and most.
struct CountRule {
  std::string name;  // for messages: "at most 1 span of PER"
  size_t least = 0, most = SIZE_MAX;
  std::vector<int32_t> label;  // the members, in rising order
  std::vector<uint8_t> flags;  // beside them

  bool operator==(const CountRule& other) const = default;
};

class LabellingRules {
 public:
  // Returns whether a labelling is accepted. May be called by several threads.
  using Accept = std::function<bool(std::span<const int32_t> labels)>;

  // accept: all must accept a labelling. limit: searches, and rejected labellings, per sentence. Throws
  // std::invalid_argument for labels out of range and arrays of another length.
  LabellingRules(size_t L, std::vector<CountRule> counts, std::vector<Accept> accept, size_t limit);

  size_t L() const { return L_; }
  const std::vector<CountRule>& counts() const { return counts_; }
  const std::vector<Accept>& accept() const { return accept_; }
  size_t limit() const { return limit_; }
  // What a label is to a rule; 0 where it is not a member.
  uint8_t flags(size_t rule, int32_t label) const;
  // [rule]: how many units a labelling has.
  std::vector<size_t> units(std::span<const int32_t> labels) const;
  // Where the units of a rule begin in columns begin .. end - 1; none is continued across begin.
  std::vector<size_t> begins(size_t rule, std::span<const int32_t> labels, size_t begin, size_t end) const;
  // Returns the rules that allow what both allow. A rule that both contain appears once.
  LabellingRules both(const LabellingRules& other) const;
  // Their names, or those that a labelling violates; for messages.
  std::string names() const;
  std::string violated(std::span<const int32_t> labels) const;

 private:
  size_t L_;
  std::vector<CountRule> counts_;
  std::vector<Accept> accept_;
  size_t limit_;
  Csr rules_of_;                   // [label]: the rules that it is a member of
  std::vector<uint8_t> flags_of_;  // beside them
};

}  // namespace tagwright
