#include "lattice/no_path.h"

#include <algorithm>

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

// The first column that no labelling reaches since ngrams forbid runs; T where none may stop, none where there is a
// path.
std::optional<size_t> lost_to_ngrams(const Lattice& lattice) {
  const LabelNgrams& ngrams = *lattice.edges.ngrams();
  Labels everyone(lattice.L);
  for (size_t y = 0; y < lattice.L; ++y) everyone[y] = static_cast<int32_t>(y);
  std::vector<LabelNgrams::Node> before, reached;
  Meter meter;
  for (size_t t = 0; t < lattice.T; ++t) {
    const std::span<const int32_t> list =
        lattice.allowed[t].empty() ? std::span<const int32_t>(everyone) : lattice.allowed[t];
    reached.clear();
    for (const int32_t k : list) {
      const auto y = static_cast<size_t>(k);
      if (lattice.node(t, y) == kForbidden) continue;
      if (t == 0 && lattice.edges.start(y) != kForbidden) reached.push_back(k);
      meter.count(16 * before.size());
      for (const LabelNgrams::Node from : before) {
        const LabelNgrams::Node to = ngrams.next(from, k);
        if (ngrams.more(to) == kForbidden) continue;
        if (lattice.edge(t - 1, static_cast<size_t>(ngrams.label(from)), y) == kForbidden) continue;
        reached.push_back(ngrams.context(to));
      }
    }
    std::sort(reached.begin(), reached.end());
    reached.erase(std::unique(reached.begin(), reached.end()), reached.end());
    if (reached.empty()) return t;
    std::swap(before, reached);
  }
  const bool stops = std::any_of(before.begin(), before.end(), [&](LabelNgrams::Node at) {
    return lattice.edges.stop(static_cast<size_t>(ngrams.label(at))) != kForbidden;
  });
  return stops || lattice.T == 0 ? std::nullopt : std::optional(lattice.T);
}

}  // namespace

std::optional<std::string> why_no_path(const Lattice& lattice) {
  const size_t L = lattice.L;
  Labels before, reached, everyone(L);
  for (size_t y = 0; y < L; ++y) everyone[y] = static_cast<int32_t>(y);
  std::vector<double> row(L);
  Meter meter;
  for (size_t t = 0; t < lattice.T; ++t) {
    const std::span<const int32_t> list =
        lattice.allowed[t].empty() ? std::span<const int32_t>(everyone) : lattice.allowed[t];
    Labels here(list.begin(), list.end());
    std::erase_if(here, [&](int32_t y) { return lattice.node(t, static_cast<size_t>(y)) == kForbidden; });
    Labels open = here;
    reached.clear();
    const auto take = [&](auto&& may) {
      const auto left =
          std::stable_partition(open.begin(), open.end(), [&](int32_t y) { return !may(static_cast<size_t>(y)); });
      reached.insert(reached.end(), left, open.end());
      open.erase(left, open.end());
    };
    if (t == 0) take([&](size_t y) { return lattice.edges.start(y) != kForbidden; });
    for (size_t q = 0; q < before.size() && !open.empty(); ++q) {
      meter.count(2 * L);
      lattice.row(t - 1, static_cast<size_t>(before[q]), row.data());
      take([&](size_t y) { return row[y] != kForbidden; });
    }
    if (reached.empty()) return reason(lattice, t, before, here);
    std::swap(before, reached);
  }
  const bool stops = std::any_of(before.begin(), before.end(),
                                 [&](int32_t y) { return lattice.edges.stop(static_cast<size_t>(y)) != kForbidden; });
  if (lattice.T == 0 || stops) {
    const std::optional<size_t> lost = lattice.edges.ngrams() ? lost_to_ngrams(lattice) : std::nullopt;
    if (!lost) return std::nullopt;
    return "no path: with what else is forbidden, ngrams of -inf forbid every labelling; token " +
           std::to_string(std::min(*lost, lattice.T - 1)) +
           (*lost < lattice.T ? " is the first that none reaches" : " is reached by none that may stop there");
  }
  const PairRules* const rules = lattice.edges.rules();
  const bool may = !rules || std::any_of(before.begin(), before.end(),
                                         [&](int32_t y) { return rules->may_stop(static_cast<size_t>(y)); });
  return may ? why_no_path(std::optional<size_t>())
             : "no path: by the constraints, no label that token " + std::to_string(lattice.T - 1) +
                   " can have may be the last";
}

}  // namespace tagwright
