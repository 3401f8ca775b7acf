#include "train/sentence_sums.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "base/need.h"
#include "decode/table.h"

namespace tagwright {
namespace {

// Fills `lists` with those labels of each column, columns(t) or all where that is empty, that y allows and that do not
// score -inf. Returns whether each has one.
template <class Columns>
bool fill_allowed(const Corpus& corpus, size_t s, const Lattice& lattice, Columns&& columns, AllowedLists& lists) {
  lists.clear();
  std::vector<int32_t> own, all(lattice.L);
  std::iota(all.begin(), all.end(), 0);
  for (size_t t = 0; t < lattice.T; ++t) {
    const std::span<const int32_t> y = corpus.allowed_of(corpus.first_token(s) + t), column = columns(t);
    const std::span<const int32_t> from = column.empty() ? std::span<const int32_t>(all) : column;
    own.clear();
    std::set_intersection(from.begin(), from.end(), y.empty() ? from.begin() : y.begin(),
                          y.empty() ? from.end() : y.end(), std::back_inserter(own));
    std::erase_if(own, [&](int32_t label) { return lattice.node(t, static_cast<size_t>(label)) == kForbidden; });
    if (own.empty()) return false;
    lists.add(own);
  }
  return true;
}

Lattice restricted(const Lattice& lattice, const std::vector<std::vector<int32_t>>* active, const AllowedLists& lists) {
  return Lattice(lattice.edges, lattice.T, lattice.nodes, active, 0, lists.view());
}

}  // namespace

const std::vector<std::vector<int32_t>>* SentenceSums::active_sets(const Corpus& corpus, size_t s) {
  if (!corpus.sets()) return nullptr;
  corpus.sets_on(s, active_);
  return &active_;
}

bool SentenceSums::sum(const Corpus& corpus, size_t s, const Lattice& lattice, const PruningRule& rule, size_t most) {
  const bool partial = corpus.is_partial(s);
  const auto* const active = corpus.sets() ? &active_ : nullptr;
  try {
    const int32_t* also = corpus.labels.empty() || partial ? nullptr : corpus.labels.data() + corpus.first_token(s);
    std::vector<int32_t> best;
    if (partial && !rule.all()) {
      need(fill_allowed(corpus, s, lattice, [&](size_t t) { return lattice.allowed[t]; }, lists_), kNoAllowedPath);
      const Answer answer = fallback_decoder({}).run(restricted(lattice, active, lists_), {}, arena);
      need(!answer.paths.empty(), kNoAllowedPath);
      best = answer.paths[0].labels;
      also = best.data();
    }
    all.sums = forward_backward(lattice, {rule, also, most}, arena, all.ngrams);
    if (all.sums.wide) return false;
    need(all.sums.log_z != kForbidden, kNoPath);
    if (!partial) return true;
    need(fill_allowed(corpus, s, lattice, [&](size_t t) { return all.labels(t); }, lists_), kNoAllowedPath);
    allowed_lattice_.emplace(restricted(lattice, active, lists_));
    allowed.sums = forward_backward(*allowed_lattice_, {}, arena, allowed.ngrams);
    need(allowed.sums.log_z != kForbidden, kNoAllowedPath);
    return true;
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument("sentence " + std::to_string(corpus.number_of(s)) + ": " + error.what());
  }
}

}  // namespace tagwright
