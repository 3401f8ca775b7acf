// The table of decoders: the Python classes, the text form, the command line, the documentation, the benchmarks and the
// tests read it.
#include "decode/table.h"

#include <algorithm>
#include <list>

#include "base/need.h"
#include "decode/rules.h"

namespace tagwright {

// Each is defined in the file of its name; the three that refine in refine.cpp, most variants for n-grams in ngrams/.
Decode automatic, viterbi, beam, staggered, carpediem, astar, iterative_astar, viterbi_astar, iterative_viterbi_astar,
    tree, posterior;
Decode ngram_viterbi, ngram_beam, ngram_tree;
DecodeBatch automatic_batch, viterbi_batch, tree_batch;
std::string beam_lost(const Options& options);

std::span<const Decoder> decoders() {
  static const std::vector<Decoder> table = {
      {.name = "auto",
       .paper = "picks one of the exact ones below",
       .kbest = true,
       .deadline = true,
       .lists = true,
       .bytes = 28,
       .labels = {.decode = automatic, .batch = automatic_batch, .viterbi = true},
       .contexts = {automatic}},
      {.name = "viterbi",
       .paper = "Viterbi 1967; Huang 2012, 3.1 and 3.4",
       .kbest = true,
       .bytes = 20,
       .options = {{.name = "window", .field = &Options::window, .low = 1, .only_to_compare = true}},
       .labels = {.decode = viterbi, .batch = viterbi_batch, .viterbi = true},
       .contexts = {ngram_viterbi}},
      {.name = "beam",
       .paper = "Huang 2012, Table 1",
       .exact = false,
       .kbest = true,
       .bytes = 4,
       .options = {{.name = "width", .field = &Options::width, .low = 1}, {.name = "pruning", .field = &Options::keep}},
       .labels = {beam},
       .contexts = {ngram_beam},
       .lost = beam_lost},
      {.name = "staggered",
       .paper = "Kaji 2010; Huang 2012, Algorithm 1",
       .bytes = 72,
       .options = {{.name = "expand", .field = &Options::expand, .choices = {"column", "all"}},
                   {.name = "prune", .field = &Options::prune, .only_to_compare = true}},
       .labels = {staggered},
       .contexts = {ngram_viterbi}},  // n-grams have no coarse lattice: Viterbi under another name
      {.name = "carpediem", .paper = "Esposito & Radicioni 2009", .bytes = 24, .labels = {carpediem}},
      {.name = "astar",
       .paper = "Huang 2012, 4.1 and 4.3",
       .kbest = true,
       .bytes = 144,
       .options = {{.name = "bound", .field = &Options::bound, .high = 63}},
       .labels = {astar}},
      {.name = "iterative_astar", .paper = "Huang 2012, 4.2", .bytes = 144, .labels = {iterative_astar}},
      {.name = "viterbi_astar",
       .paper = "Huang 2012, Algorithm 3",
       .kbest = true,
       .bytes = 24,
       .labels = {viterbi_astar},
       .contexts = {ngram_viterbi}},
      {.name = "iterative_viterbi_astar",
       .paper = "Huang 2012, Algorithm 4",
       .kbest = true,
       .bytes = 80,
       .options = {{.name = "extra", .field = &Options::extra, .low = 1}},
       .labels = {iterative_viterbi_astar},
       .contexts = {ngram_viterbi}},
      {.name = "tree",
       .paper = "ours",
       .kbest = true,
       .deadline = true,
       .lists = true,
       .bytes = 28,
       .labels = {tree, tree_batch},
       .contexts = {ngram_tree}},
      {.name = "posterior",
       .paper = "of the sums: Goodman 1996",
       .maximises = "expected right tokens",
       .lists = true,
       .bytes = 60,
       .labels = {posterior}},
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

const Variant& Decoder::variant(const Edges& edges) const {
  // N-grams need states of several labels: other algorithms, not another kind of edges.
  // Edge kind: the one choice between decoding over labels and over contexts of n-grams.
  const Variant& own = edges.ngrams() ? contexts : labels;
  if (own.decode) return own;
  std::string others;
  for (const Decoder& row : decoders())
    if (row.contexts.decode) others += (others.empty() ? "'" : ", '") + std::string(row.name) + "'";
  throw std::invalid_argument("decoder '" + std::string(name) +
                              "' cannot handle label n-grams, but the edges have some; use one of " + others);
}

const Decoder& fallback_decoder(const Options& options) {
  static const Decoder &best = *decoder_named("viterbi"), &kbest = *decoder_named("viterbi_astar");
  return options.k == 1 ? best : kbest;
}

Answer Decoder::search(const Lattice& lattice, const Options& options, Arena& arena) const {
  if (lattice.allowed && !lists) return search(Lattice(lattice, arena), options, arena);  // scores of -inf for lists
  return variant(lattice.edges).decode(lattice, options, arena);
}

std::vector<Answer> Decoder::search(std::span<const Lattice* const> lattices, const Options& options,
                                    Arena& arena) const {
  std::vector<Answer> answers;
  DecodeBatch* const batch = lattices.size() > 1 ? variant(lattices[0]->edges).batch : nullptr;
  if (!batch) {
    for (const Lattice* lattice : lattices) answers.push_back(search(*lattice, options, arena));
    return answers;
  }
  std::vector<const Lattice*> all(lattices.begin(), lattices.end());
  std::list<Lattice> masked;
  for (const Lattice*& lattice : all)
    if (lattice->allowed && !lists) lattice = &masked.emplace_back(*lattice, arena);
  return batch(all, options, arena);
}

namespace {

// Decoders sum in their own order: their scores may differ from reported ones in the last bits.
void score_paths(const Lattice& lattice, std::vector<Path>& paths) {
  for (Path& path : paths) path.score = path_score(lattice, path.labels);
  std::stable_sort(paths.begin(), paths.end(), [](const Path& a, const Path& b) { return a.score > b.score; });
}

}  // namespace

std::vector<Answer> Decoder::run(std::span<const Lattice* const> lattices, const Options& options, Arena& arena) const {
  std::vector<Answer> answers = search(lattices, options, arena);
  for (size_t s = 0; s < answers.size(); ++s) {
    score_paths(*lattices[s], answers[s].paths);
    if (!lattices[s]->edges.labelling_rules()) continue;
    answers[s] = under_rules(*this, *lattices[s], options, answers[s]);
    score_paths(*lattices[s], answers[s].paths);
  }
  return answers;
}

Answer Decoder::run(const Lattice& lattice, const Options& options, Arena& arena) const {
  const Lattice* const one = &lattice;
  return std::move(run({&one, 1}, options, arena)[0]);
}

Answer Decoder::run_without_rules(const Lattice& lattice, const Options& options, Arena& arena) const {
  Answer answer = search(lattice, options, arena);
  score_paths(lattice, answer.paths);
  return answer;
}

bool Plan::is_viterbi(const Edges& edges) const {
  return decoder->variant(edges).viterbi && options.k == 1 && !edges.labelling_rules() &&
         options.deadline == std::numeric_limits<double>::infinity();
}

Plan Plan::with(size_t k) const {
  need(k >= 1, "k must be at least 1");
  need(k == 1 || decoder->kbest, "decoder '" + std::string(decoder->name) + "' gives one path only");
  Plan plan = *this;
  plan.options.k = k;
  return plan;
}

}  // namespace tagwright
