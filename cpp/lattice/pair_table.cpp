#include "lattice/pair_table.h"

#include "base/arena.h"

namespace tagwright {

PairTable::PairTable(const LabelNgrams& ngrams) : L(ngrams.L()) {
  constexpr size_t kLine = 16;
  stride = (L + kLine - 1) / kLine * kLine;
  const LabelNgrams::Range runs = ngrams.at_depth(3);
  single = true;
  for (LabelNgrams::Node run = runs.first; run < runs.end; ++run)
    single = single && static_cast<double>(static_cast<float>(ngrams.score(run))) == ngrams.score(run);
  const size_t size = times(times(L, L), stride);
  single ? f.assign(size, 0.0F) : d.assign(size, 0.0);
  for (LabelNgrams::Node run = runs.first; run < runs.end; ++run) change(ngrams, run);
}

void PairTable::change(const LabelNgrams& ngrams, LabelNgrams::Node run) {
  const LabelNgrams::Node pair = ngrams.parent(run);
  const auto i = static_cast<size_t>(ngrams.parent(pair)), j = static_cast<size_t>(ngrams.label(pair));
  const size_t place = (j * L + i) * stride + static_cast<size_t>(ngrams.label(run));
  single ? f[place] = static_cast<float>(ngrams.score(run)) : d[place] = ngrams.score(run);
}

}  // namespace tagwright
