#include "model/span_scheme.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace tagwright {
namespace {

constexpr std::string_view kPrefixes = "OBIESLUM";

// Each rule is a string of prefixes. The first label of a sentence is one of `start`, the last one of `stop`. A label
// of `start` may follow any label of `stop`; one of `following` may follow one of `followed` that has the same type.
struct Scheme {
  std::string_view start, stop, followed, following;
};
constexpr Scheme kSchemes[] = {{"OI", "OI", "", ""},
                               {"OB", "OBI", "BI", "I"},
                               {"OBS", "OES", "BI", "IE"},
                               {"OBU", "OLU", "BI", "IL"},
                               {"OBS", "OES", "BM", "ME"}};

bool has(std::string_view prefixes, char prefix) { return prefixes.find(prefix) != std::string_view::npos; }

bool covers(const Scheme& scheme, std::string_view prefixes) {
  return std::all_of(prefixes.begin(), prefixes.end(), [&](char p) {
    return has(scheme.start, p) || has(scheme.stop, p) || has(scheme.followed, p) || has(scheme.following, p);
  });
}

}  // namespace

std::shared_ptr<const PairRules> span_rules(const std::vector<std::string>& labels) {
  std::string prefixes;  // but O
  for (const std::string& label : labels) {
    if (label.empty() || !has(kPrefixes, label[0]) || (label.size() > 1 && label[1] != '-')) return nullptr;
    if (label[0] != 'O' && !has(prefixes, label[0])) prefixes.push_back(label[0]);
  }
  const auto found = std::find_if(std::begin(kSchemes), std::end(kSchemes),
                                  [&](const Scheme& scheme) { return covers(scheme, prefixes); });
  if (found == std::end(kSchemes) || !has(prefixes, 'B') || prefixes.size() < 2) return nullptr;
  Scheme scheme = *found;
  // Where no label marks the end of spans, they may end anywhere.
  const bool ends = std::any_of(prefixes.begin(), prefixes.end(),
                                [&](char p) { return has(scheme.following, p) && !has(scheme.followed, p); });
  if (!ends) scheme.stop = kPrefixes;
  std::map<std::string_view, int32_t> types;
  for (const std::string& label : labels)
    types.emplace(std::string_view(label).substr(std::min<size_t>(2, label.size())), types.size() + 1);
  std::vector<bool> start, stop;
  for (const std::string& label : labels) {
    start.push_back(has(scheme.start, label[0]));
    stop.push_back(has(scheme.stop, label[0]));
  }
  const bool all_stop = std::find(stop.begin(), stop.end(), false) == stop.end();
  PairRule rule{"spans", {}, {}};
  for (const std::string& label : labels) {
    const int32_t type = types.at(std::string_view(label).substr(std::min<size_t>(2, label.size())));
    rule.entry.push_back(has(scheme.following, label[0]) ? type : all_stop ? PairRule::kAnyState : 0);
    rule.exit.push_back(has(scheme.followed, label[0]) ? type : 0);
  }
  const size_t L = labels.size();
  return std::make_shared<PairRules>(L, std::vector<PairRule>{std::move(rule)}, PairRules::Pairs{}, std::move(start),
                                     std::move(stop));
}

}  // namespace tagwright
