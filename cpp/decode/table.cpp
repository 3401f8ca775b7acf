// The table of decoders: the Python classes, the text form, the command line, the documentation, the benchmarks and the
// tests read it.
#include "decode/table.h"

#include <algorithm>

#include "base/need.h"

namespace tagwright {

// Each is defined in the file of its name, the three that refine in refine/refine.cpp; the header declares the others.
Decode automatic, staggered, carpediem, astar, iterative_astar, iterative_viterbi_astar, posterior;
Together automatic_together;
std::string beam_lost(const Options& options);

std::span<const Decoder> decoders() {
  static const std::vector<Decoder> table = {
      {.name = "auto",
       .paper = "picks one of the exact ones below",
       .kbest = true,
       .deadline = true,
       .ngrams = true,
       .lists = true,
       .bytes = 28,
       .windows = true,
       .decode = automatic,
       .together = automatic_together},
      {.name = "viterbi",
       .paper = "Viterbi 1967; Huang 2012, 3.1 and 3.4",
       .kbest = true,
       .ngrams = true,
       .bytes = 20,
       .windows = true,
       .options = {{.name = "window", .field = &Options::window, .low = 1, .only_to_compare = true}},
       .decode = viterbi,
       .together = viterbi_together},
      {.name = "beam",
       .paper = "Huang 2012, Table 1",
       .exact = false,
       .kbest = true,
       .ngrams = true,
       .bytes = 4,
       .options = {{.name = "width", .field = &Options::width, .low = 1}, {.name = "keep", .field = &Options::keep}},
       .decode = beam,
       .lost = beam_lost},
      {.name = "staggered",
       .paper = "Kaji 2010; Huang 2012, Algorithm 1",
       .ngrams = true,
       .bytes = 72,
       .options = {{.name = "expand", .field = &Options::expand, .choices = {"column", "all"}},
                   {.name = "prune", .field = &Options::prune, .only_to_compare = true}},
       .decode = staggered},
      {.name = "carpediem", .paper = "Esposito & Radicioni 2009", .bytes = 24, .decode = carpediem},
      {.name = "astar",
       .paper = "Huang 2012, 4.1 and 4.3",
       .kbest = true,
       .bytes = 144,
       .options = {{.name = "bound", .field = &Options::bound, .high = 63}},
       .decode = astar},
      {.name = "iterative_astar", .paper = "Huang 2012, 4.2", .bytes = 144, .decode = iterative_astar},
      {.name = "viterbi_astar",
       .paper = "Huang 2012, Algorithm 3",
       .kbest = true,
       .ngrams = true,
       .bytes = 24,
       .decode = viterbi_astar},
      {.name = "iterative_viterbi_astar",
       .paper = "Huang 2012, Algorithm 4",
       .kbest = true,
       .ngrams = true,
       .bytes = 80,
       .options = {{.name = "extra", .field = &Options::extra, .low = 1}},
       .decode = iterative_viterbi_astar},
      {.name = "tree",
       .paper = "ours",
       .kbest = true,
       .deadline = true,
       .ngrams = true,
       .lists = true,
       .bytes = 28,
       .decode = tree,
       .together = tree_together},
      {.name = "posterior",
       .paper = "of the sums: Goodman 1996",
       .maximises = "expected right tokens",
       .lists = true,
       .bytes = 60,
       .decode = posterior},
  };
  return table;
}

const Decoder* decoder_named(std::string_view name) {
  const std::span<const Decoder> table = decoders();
  const auto found = std::find_if(table.begin(), table.end(), [&](const Decoder& row) { return row.name == name; });
  return found == table.end() ? nullptr : &*found;
}

const Option* Decoder::option(std::string_view named) const {
  const auto found = std::find_if(options.begin(), options.end(), [&](const Option& own) { return own.name == named; });
  return found == options.end() ? nullptr : &*found;
}

void Decoder::need_ngrams(const Edges& edges) const {
  if (!edges.ngrams() || ngrams) return;
  std::string others;
  for (const Decoder& row : decoders())
    if (row.ngrams) others += (others.empty() ? "'" : ", '") + std::string(row.name) + "'";
  need(false,
       "decoder '" + std::string(name) + "' knows no ngrams of labels, but the edges have some; use one of " + others);
}

Plan Plan::with(size_t k) const {
  need(k >= 1, "k must be at least 1");
  need(k == 1 || decoder->kbest, "this decoder gives one path only");
  Plan plan = *this;
  plan.options.k = k;
  return plan;
}

}  // namespace tagwright
