#include "decode/batch.h"

#include <algorithm>
#include <exception>
#include <numeric>
#include <stdexcept>
#include <string>

#include "base/need.h"
#include "base/threads.h"
#include "decode/viterbi.h"

namespace tagwright {
namespace {

// Says why there is no answer, by looking again.
std::string no_path(const Lattice& lattice, const Decoder& decoder, const Options& options, Arena& arena) {
  Work work;
  const ForwardScores alpha = forward_scores(lattice, arena, work);
  for (size_t t = 0; t < lattice.T; ++t) {
    const double* column = alpha[t];
    if (std::all_of(column, column + lattice.L, [](double score) { return score == kForbidden; }))
      return "no path: -inf scores forbid every labelling; token " + std::to_string(t) +
             " is the first that none reaches";
  }
  const double* last = alpha[lattice.T - 1];
  bool any = false;
  for (size_t y = 0; y < lattice.L; ++y) any = any || last[y] + lattice.edges.stop(y) > kForbidden;
  if (!any || decoder.exact) return "no path: every labelling that reaches the last token has a stop score of -inf";
  if (decoder.lost) return decoder.lost(options);
  return "decoder '" + std::string(decoder.name) + "' lost every path to -inf scores; use an exact decoder";
}

// Whether several sentences are worth decoding together: their matrix is dense, shared and larger than the cache.
bool together_pays(const Edges& edges) {
  constexpr size_t kCache = size_t{256} << 10;
  const size_t bytes = edges.L() * edges.L() * (edges.matrix(0).f ? sizeof(float) : sizeof(double));
  return edges.has_matrix() && !edges.is_sparse() && !edges.is_stepwise() && bytes > kCache;
}

// Returns the sentences that are decoded together, those of similar length beside each other.
std::vector<std::vector<size_t>> units(const std::vector<Sentence>& sentences, const Decoder& decoder,
                                       const Options& options, size_t threads) {
  std::vector<size_t> order(sentences.size());
  std::iota(order.begin(), order.end(), 0);
  const bool together = decoder.together && options.k == 1;
  std::vector<std::vector<size_t>> units;
  constexpr size_t kTogether = 32, kBytes = size_t{256} << 20;
  const size_t most = std::min(kTogether, (sentences.size() + threads - 1) / threads);
  if (together)
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return sentences[a].T > sentences[b].T; });
  size_t bytes = 0;
  for (const size_t s : order) {
    const Edges* edges = sentences[s].edges;
    const size_t needs = sentences[s].T * edges->L() * sizeof(double);
    if (together && !units.empty() && units.back().size() < most && bytes + needs < kBytes &&
        sentences[units.back()[0]].edges == edges && together_pays(*edges)) {
      units.back().push_back(s);
      bytes += needs;
    } else {
      units.push_back({s});
      bytes = needs;
    }
  }
  return units;
}

}  // namespace

std::vector<Answer> decode_all(const std::vector<Sentence>& sentences, const Decoder& decoder, const Options& options,
                               size_t threads, const Supply& supply, const Finish& finish) {
  std::vector<Answer> answers(sentences.size());
  std::vector<std::exception_ptr> errors(sentences.size());
  const std::vector<std::vector<size_t>> work = units(sentences, decoder, options, threads);

  const auto decode_unit = [&](const std::vector<size_t>& unit, Arena& arena) {
    arena.reset();
    std::vector<Lattice> lattices;
    lattices.reserve(unit.size());
    std::vector<size_t> whose;
    for (const size_t s : unit) {
      try {
        Sentence sentence = sentences[s];
        Supplied supplied;
        if (supply) {
          supplied = supply(s, arena);
          sentence.nodes = supplied.nodes;
          sentence.on = supplied.on.empty() ? nullptr : &supplied.on;
        }
        lattices.emplace_back(*sentence.edges, sentence.T, sentence.nodes, sentence.on);
        if (sentence.T == 0) {
          lattices.pop_back();
          answers[s].paths.push_back({});
        } else {
          whose.push_back(s);
        }
      } catch (...) {
        errors[s] = std::current_exception();
      }
    }
    if (lattices.empty()) return;
    if (lattices.size() > 1) {
      std::vector<const Lattice*> all;
      for (const Lattice& lattice : lattices) all.push_back(&lattice);
      std::vector<Answer> made = decoder.together(all, options, arena);
      for (size_t q = 0; q < made.size(); ++q) answers[whose[q]] = std::move(made[q]);
    } else {
      answers[whose[0]] = decoder.decode(lattices[0], options, arena);
    }
    for (size_t q = 0; q < whose.size(); ++q) {
      std::vector<Path>& paths = answers[whose[q]].paths;
      if (paths.empty()) {
        errors[whose[q]] =
            std::make_exception_ptr(std::invalid_argument(no_path(lattices[q], decoder, options, arena)));
        continue;
      }
      // Decoders sum in their own order; the reported scores may differ from theirs in the last bits.
      std::stable_sort(paths.begin(), paths.end(), [](const Path& a, const Path& b) { return a.score > b.score; });
      try {
        if (finish) finish(whose[q], lattices[q], answers[whose[q]]);
      } catch (...) {
        errors[whose[q]] = std::current_exception();
      }
    }
  };

  // The calling thread keeps some memory for its next call: one sentence at a time is a common way to call.
  in_parallel(work.size(), threads, [&](size_t u) {
    try {
      decode_unit(work[u], thread_arena());
    } catch (...) {
      // Out of memory: errors in scores are caught sentence by sentence.
      for (const size_t s : work[u])
        if (answers[s].paths.empty() && !errors[s]) errors[s] = std::current_exception();
    }
  });
  thread_arena().trim(size_t{16} << 20);

  for (size_t s = 0; s < sentences.size(); ++s) {
    if (!errors[s]) continue;
    if (sentences.size() == 1) std::rethrow_exception(errors[s]);
    try {
      std::rethrow_exception(errors[s]);
    } catch (const std::invalid_argument& error) {
      fail_in(s, error);
    }
  }
  return answers;
}

}  // namespace tagwright
