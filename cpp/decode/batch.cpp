#include "decode/batch.h"

#include <algorithm>
#include <exception>
#include <numeric>
#include <stdexcept>
#include <string>

#include "base/threads.h"

namespace tagwright {
namespace {

// Why there is no answer, found by looking again.
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
  return "a beam of width " + std::to_string(std::max(options.width, options.k)) +
         " lost every path to -inf scores; widen it or use an exact decoder";
}

// Whether sentences that tree gives up are left to Viterbi.
bool tries_tree(const Decoder& decoder, const Options& options, const Edges& edges) {
  return decoder.decode == tree || (decoder.decode == automatic && worth_a_tree(edges, options));
}

// Sentences over one large dense matrix are worth decoding together, those of like length beside each other.
std::vector<std::vector<size_t>> units(const std::vector<Sentence>& sentences, const Decoder& decoder,
                                       const Options& options, size_t threads) {
  std::vector<size_t> order(sentences.size());
  std::iota(order.begin(), order.end(), 0);
  const bool can = decoder.decode == viterbi || decoder.decode == tree || decoder.decode == automatic;
  const bool together = can && options.k == 1;
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

void fail_in(size_t sentence, const std::invalid_argument& error) {
  throw std::invalid_argument("sentence " + std::to_string(sentence) + ": " + error.what());
}

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
      std::vector<const Lattice*> open;
      std::vector<size_t> whose_open;
      thread_local Arena one;
      for (size_t q = 0; q < lattices.size(); ++q) {
        one.reset();
        if (tries_tree(decoder, options, lattices[q].edges) && try_tree(lattices[q], options, one, answers[whose[q]]))
          continue;
        open.push_back(&lattices[q]);
        whose_open.push_back(whose[q]);
      }
      std::vector<Answer> made = open.empty() ? std::vector<Answer>() : viterbi_together(open, arena);
      for (size_t q = 0; q < made.size(); ++q) {
        made[q].work += answers[whose_open[q]].work;
        answers[whose_open[q]] = std::move(made[q]);
      }
      one.trim(size_t{4} << 20);
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
      // Out of memory, that is: bad scores are told sentence by sentence.
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
