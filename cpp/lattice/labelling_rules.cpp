#include "lattice/labelling_rules.h"

#include <algorithm>

#include "base/need.h"

namespace tagwright {
namespace {

constexpr const char* kPredicate = "accept";

bool continues(uint8_t before, uint8_t flags) { return (before & kOpen) && (flags & kContinues); }

}  // namespace

LabellingRules::LabellingRules(size_t L, std::vector<CountRule> counts, std::vector<Accept> accept, size_t limit)
    : L_(L), counts_(std::move(counts)), accept_(std::move(accept)), limit_(limit) {
  need(limit_ >= 1, "constraints: limit must be at least 1");
  std::vector<size_t> size(L_);
  for (const CountRule& rule : counts_) {
    need(rule.label.size() == rule.flags.size(), "constraints: a rule needs flags for each of its labels");
    need(rule.least <= rule.most, "constraints: a rule needs more units than it allows");
    for (size_t q = 0; q < rule.label.size(); ++q) {
      const int32_t y = rule.label[q];
      need(y >= 0 && static_cast<size_t>(y) < L_ && (q == 0 || rule.label[q - 1] < y),
           "constraints: the labels of a rule are out of range or order");
      need((rule.flags[q] & kMember) && rule.flags[q] <= (kMember | kOpen | kContinues),
           "constraints: a rule has flags that do not exist");
      ++size[static_cast<size_t>(y)];
    }
  }
  rules_of_.begin.assign(L_ + 1, 0);
  for (size_t y = 0; y < L_; ++y) rules_of_.begin[y + 1] = rules_of_.begin[y] + size[y];
  rules_of_.index.resize(rules_of_.begin[L_]);
  flags_of_.resize(rules_of_.begin[L_]);
  std::vector<size_t> at(rules_of_.begin.begin(), rules_of_.begin.end() - 1);
  for (size_t r = 0; r < counts_.size(); ++r)
    for (size_t q = 0; q < counts_[r].label.size(); ++q) {
      const size_t entry = at[static_cast<size_t>(counts_[r].label[q])]++;
      rules_of_.index[entry] = static_cast<int32_t>(r);
      flags_of_[entry] = counts_[r].flags[q];
    }
}

uint8_t LabellingRules::flags(size_t rule, int32_t label) const {
  const size_t entry = rules_of_.find(static_cast<size_t>(label), rule);
  return entry == Csr::kNoPlace ? 0 : flags_of_[entry];
}

std::vector<size_t> LabellingRules::units(std::span<const int32_t> labels) const {
  std::vector<size_t> made(counts_.size());
  for (size_t t = 0; t < labels.size(); ++t) {
    const auto y = static_cast<size_t>(labels[t]);
    for (size_t entry = rules_of_.begin[y]; entry < rules_of_.begin[y + 1]; ++entry) {
      const auto rule = static_cast<size_t>(rules_of_.index[entry]);
      if (t == 0 || !continues(flags(rule, labels[t - 1]), flags_of_[entry])) ++made[rule];
    }
  }
  return made;
}

std::vector<size_t> LabellingRules::begins(size_t rule, std::span<const int32_t> labels, size_t begin,
                                           size_t end) const {
  std::vector<size_t> made;
  uint8_t before = 0;
  for (size_t t = begin; t < end; ++t) {
    const uint8_t own = flags(rule, labels[t]);
    if ((own & kMember) && !continues(before, own)) made.push_back(t);
    before = own;
  }
  return made;
}

LabellingRules LabellingRules::both(const LabellingRules& other) const {
  std::vector<CountRule> counts = counts_;
  for (const CountRule& rule : other.counts_)
    if (std::find(counts.begin(), counts.end(), rule) == counts.end()) counts.push_back(rule);
  std::vector<Accept> accept = accept_;
  accept.insert(accept.end(), other.accept_.begin(), other.accept_.end());
  return {L_, std::move(counts), std::move(accept), std::max(limit_, other.limit_)};
}

namespace {

// The first names of a list of them.
class Listing {
 public:
  void add(const std::string& name) {
    if (++count_ <= kShown) text_ += (text_.empty() ? "" : ", ") + name;
  }
  std::string text() const {
    return count_ <= kShown ? text_ : text_ + " and " + std::to_string(count_ - kShown) + " more";
  }

 private:
  static constexpr size_t kShown = 3;
  size_t count_ = 0;
  std::string text_;
};

}  // namespace

std::string LabellingRules::names() const {
  Listing listing;
  for (const CountRule& rule : counts_) listing.add(rule.name);
  if (!accept_.empty()) listing.add(kPredicate);
  return listing.text();
}

std::string LabellingRules::violated(std::span<const int32_t> labels) const {
  Listing listing;
  const std::vector<size_t> found = units(labels);
  for (size_t r = 0; r < counts_.size(); ++r)
    if (found[r] < counts_[r].least || found[r] > counts_[r].most) listing.add(counts_[r].name);
  const std::string text = listing.text();
  return text.empty() ? kPredicate : text;
}

}  // namespace tagwright
