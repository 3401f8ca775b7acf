// A MEMM that looks back at one label at most, as the steps of a lattice.
#include "base/need.h"
#include "model/memm.h"

namespace tagwright {

std::vector<double> memm_steps(const Memm& model, const Text& text, size_t sentence) {
  need(sentence < text.sentences(), "no such sentence");
  need(model.history() <= 1, "the model looks back at more than one label");
  model.scorer().templates().check_text(text);
  const size_t T = text.length(sentence), L = model.L();
  if (const double bytes = static_cast<double>(T) * static_cast<double>((L + 1) * L * sizeof(double));
      bytes > kMostBytes)
    fail_for_room(bytes, T, " as a lattice of a MEMM");
  std::vector<double> out(times(T, times(L + 1, L)), kForbidden);
  MemmSearch search(model, 1);
  search.start(text, sentence);
  for (size_t t = 0; t < T; ++t) {
    for (size_t i = 0; i <= L; ++i) {
      if ((t == 0) != (i == L)) continue;
      const LabelHistory history = i == L ? search.none() : search.after(search.none(), static_cast<int32_t>(i));
      const double* row = search.log_probabilities(t, history);
      for (size_t j = 0; j < L; ++j)
        if (search.compatible(t, history, j, true)) out[(t * (L + 1) + i) * L + j] = row[j];
    }
  }
  return out;
}

}  // namespace tagwright
