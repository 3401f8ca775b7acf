#include "lattice/no_path.h"

#include <algorithm>
#include <numeric>

#include "base/stop.h"

namespace tagwright {
namespace {

using Labels = std::vector<int32_t>;

// The rule that leaves no pair of labels before and at a token; none where single pairs or scores do.
const PairRule* rule_that_leaves_none(const PairRules& rules, const Labels& before, const Labels& here) {
  // Rule by rule: the pairs that the first n allow.
  for (size_t n = 1; n <= rules.rules().size(); ++n) {
    const auto allowed = [&](int32_t i, int32_t j) {
      return std::all_of(
          rules.rules().begin(), rules.rules().begin() + static_cast<ptrdiff_t>(n),
          [&](const PairRule& rule) { return rule.allows(static_cast<size_t>(i), static_cast<size_t>(j)); });
    };
    const bool any = std::any_of(before.begin(), before.end(), [&](int32_t i) {
      return std::any_of(here.begin(), here.end(), [&](int32_t j) { return allowed(i, j); });
    });
    if (!any) return &rules.rules()[n - 1];
  }
  return nullptr;
}

// before: labels that the token before can have, empty at the first; here: labels that are not forbidden on their own.
std::string reason(const Lattice& lattice, size_t t, const Labels& before, const Labels& here) {
  const std::string token = "token " + std::to_string(t);
  if (here.empty() && !lattice.allowed[t].empty())
    return "no path: all labels allowed for " + token + " have scores of -inf";
  const PairRules* const rules = lattice.edges.rules();
  if (here.empty() || !rules) return why_no_path(t);
  if (t == 0) {
    const bool may =
        std::any_of(here.begin(), here.end(), [&](int32_t y) { return rules->may_start(static_cast<size_t>(y)); });
    return may ? why_no_path(t) : "no path: by the constraints, no label that " + token + " can have may be the first";
  }
  const PairRule* const rule = rule_that_leaves_none(*rules, before, here);
  if (!rule && rules->forbidden().empty()) return why_no_path(t);
  return "no path: " + (rule ? rule->name + " forbids" : std::string("forbidden pairs leave out")) +
         " every labelling; " + token +
         " is the first that none reaches: no label that it can have may follow those of token " +
         std::to_string(t - 1);
}

}  // namespace

std::string why_no_path(std::optional<size_t> token) {
  if (!token) return "no path: every labelling that reaches the last token has a stop score of -inf";
  return "no path: -inf scores forbid every labelling; token " + std::to_string(*token) +
         " is the first that none reaches";
}

namespace {

// The first column that no labelling reaches; T where none may stop.
struct Lost {
  size_t t;
  Labels before;  // the states that reach the column before: labels, or contexts of label n-grams
  Labels here;    // labels of the column that are not forbidden on their own
};

// None where there is a path. ngrams: nullptr where they are not to be looked at.
std::optional<Lost> find_lost(const Lattice& lattice, const LabelNgrams* ngrams) {
  Labels before, reached, everyone(lattice.L);
  std::iota(everyone.begin(), everyone.end(), 0);
  const auto label = [&](int32_t state) { return static_cast<size_t>(ngrams ? ngrams->label(state) : state); };
  Meter meter;
  for (size_t t = 0; t < lattice.T; ++t) {
    const std::span<const int32_t> list = lattice.allowed[t];
    Labels here = list.empty() ? everyone : Labels(list.begin(), list.end());
    std::erase_if(here, [&](int32_t y) { return lattice.node(t, static_cast<size_t>(y)) == kForbidden; });
    reached.clear();
    for (const int32_t k : here) {
      const auto y = static_cast<size_t>(k);
      if (t == 0 && lattice.edges.start(y) != kForbidden) reached.push_back(k);
      for (const int32_t from : before) {
        meter.count(16);
        if (lattice.edge(t - 1, label(from), y) == kForbidden) continue;
        const int32_t to = ngrams ? ngrams->next(from, k) : k;
        if (ngrams && ngrams->more(to) == kForbidden) continue;
        reached.push_back(ngrams ? ngrams->context(to) : to);
        if (!ngrams) break;
      }
    }
    std::sort(reached.begin(), reached.end());
    reached.erase(std::unique(reached.begin(), reached.end()), reached.end());
    if (reached.empty()) return Lost{t, std::move(before), std::move(here)};
    std::swap(before, reached);
  }
  const bool stops = std::any_of(before.begin(), before.end(),
                                 [&](int32_t state) { return lattice.edges.stop(label(state)) != kForbidden; });
  if (stops || lattice.T == 0) return std::nullopt;
  return Lost{lattice.T, std::move(before), {}};
}

}  // namespace

std::optional<std::string> why_no_path(const Lattice& lattice) {
  const std::string last = std::to_string(lattice.T ? lattice.T - 1 : 0);
  if (const std::optional<Lost> lost = find_lost(lattice, nullptr)) {
    if (lost->t < lattice.T) return reason(lattice, lost->t, lost->before, lost->here);
    const PairRules* const rules = lattice.edges.rules();
    const bool may = !rules || std::any_of(lost->before.begin(), lost->before.end(),
                                           [&](int32_t y) { return rules->may_stop(static_cast<size_t>(y)); });
    return may ? why_no_path(std::optional<size_t>())
               : "no path: by the constraints, no label that token " + last + " can have may be the last";
  }
  if (!lattice.edges.ngrams()) return std::nullopt;
  const std::optional<Lost> lost = find_lost(lattice, lattice.edges.ngrams());
  if (!lost) return std::nullopt;
  return "no path: with what else is forbidden, ngrams of -inf forbid every labelling; token " +
         (lost->t < lattice.T ? std::to_string(lost->t) + " is the first that none reaches"
                              : last + " is reached by none that may stop there");
}

}  // namespace tagwright
