#include "lattice/pair_table.h"

#include "base/arena.h"

namespace tagwright {

PairTable::PairTable(const Patterns& patterns) : L(patterns.L()) {
  constexpr size_t kLine = 16;
  stride = (L + kLine - 1) / kLine * kLine;
  const Patterns::Range runs = patterns.at_depth(3);
  single = true;
  for (Patterns::Node run = runs.first; run < runs.end; ++run)
    single = single && static_cast<double>(static_cast<float>(patterns.score(run))) == patterns.score(run);
  const size_t size = times(times(L, L), stride);
  single ? f.assign(size, 0.0F) : d.assign(size, 0.0);
  for (Patterns::Node run = runs.first; run < runs.end; ++run) change(patterns, run);
}

void PairTable::change(const Patterns& patterns, Patterns::Node run) {
  const Patterns::Node pair = patterns.parent(run);
  const auto i = static_cast<size_t>(patterns.parent(pair)), j = static_cast<size_t>(patterns.label(pair));
  const size_t place = (j * L + i) * stride + static_cast<size_t>(patterns.label(run));
  single ? f[place] = static_cast<float>(patterns.score(run)) : d[place] = patterns.score(run);
}

}  // namespace tagwright
