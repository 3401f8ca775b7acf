#include "decode/batch.h"

#include <algorithm>
#include <exception>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>

#include "base/need.h"
#include "base/stages.h"
#include "base/stop.h"
#include "base/thread_pool.h"
#include "decode/lanes.h"
#include "lattice/no_path.h"

namespace tagwright {
namespace {

// Returns the error that says why there is no answer, found by looking again.
std::exception_ptr no_answer(const Lattice& lattice, const Decoder& decoder, const Options& options) {
  const auto invalid = [](const std::string& why) { return std::make_exception_ptr(std::invalid_argument(why)); };
  if (const std::optional<std::string> why = why_no_path(lattice)) return invalid(*why);
  if (decoder.lost) return invalid(decoder.lost(options));
  // An exact decoder finds a path where there is one: there was none when it looked.
  return std::make_exception_ptr(std::runtime_error(kScoresChanged));
}

// Throws std::invalid_argument where a sentence of text takes too much to be decoded at once.
void need_room(size_t T, const Edges& edges, const Plan& plan) {
  const double bytes = bytes_to_decode(T, edges, plan, sizeof(float));
  if (bytes <= kMostBytes) return;
  std::string with =
      " with " + std::to_string(edges.L()) + " labels, decoder '" + std::string(plan.decoder->name) + "'";
  if (plan.options.k > 1) with += " and k = " + std::to_string(plan.options.k);
  fail_for_room(bytes, T, with);
}

// Whether several sentences are worth decoding together: their labels are few, or their matrix is dense and larger
// than the cache.
bool together_pays(const Edges& edges) {
  if (few_enough_for_lanes(edges)) return true;
  constexpr size_t kCache = size_t{256} << 10;
  const size_t bytes = edges.L() * edges.L() * (edges.matrix(0).f ? sizeof(float) : sizeof(double));
  return edges.has_matrix() && !edges.is_sparse() && !edges.is_stepwise() && bytes > kCache;
}

// Returns the sentences that are decoded together, those of similar length beside each other.
std::vector<std::vector<size_t>> units(const std::vector<Sentence>& sentences, const Decoder& decoder,
                                       const Options& options, size_t threads) {
  std::vector<size_t> order(sentences.size());
  std::iota(order.begin(), order.end(), 0);
  const bool together = decoder.together && options.k == 1 && options.window == 0;
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
  for (const Sentence& sentence : sentences) decoder.need_ngrams(*sentence.edges);
  std::vector<Answer> answers(sentences.size());
  std::vector<std::exception_ptr> errors(sentences.size());
  const std::vector<std::vector<size_t>> work = units(sentences, decoder, options, threads);

  const auto decode_in_windows = [&](size_t s, size_t window, Arena& arena) {
    const Sentence& own = sentences[s];
    const auto columns = [&](size_t begin, size_t end, Arena& room) -> Supplied {
      if (supply) return supply(s, begin, end, room);
      Supplied given{own.nodes.from(begin * own.edges->L()), {}, own.allowed.from(begin)};
      if (own.on)
        given.on.assign(own.on->begin() + static_cast<ptrdiff_t>(begin),
                        own.on->begin() + static_cast<ptrdiff_t>(end - 1));
      return given;
    };
    answers[s] = viterbi_in_windows(own.T, *own.edges, window, columns, arena);
    if (finish) finish(s, nullptr, answers[s]);
  };

  const auto decode_unit = [&](const std::vector<size_t>& unit, Arena& arena) {
    arena.reset();
    const Sentence& first = sentences[unit[0]];
    if (const size_t window = window_to_decode(first.T, *first.edges, {&decoder, options}, !supply))
      return decode_in_windows(unit[0], window, arena);
    std::vector<Lattice> lattices;
    lattices.reserve(unit.size());
    std::vector<size_t> whose;
    for (const size_t s : unit) {
      try {
        Sentence sentence = sentences[s];
        Supplied supplied;
        if (supply) {
          need_room(sentence.T, *sentence.edges, {&decoder, options});
          supplied = supply(s, 0, sentence.T, arena);
          sentence.nodes = supplied.nodes;
          sentence.on = supplied.on.empty() ? nullptr : &supplied.on;
          sentence.allowed = supplied.allowed;
        }
        const InStage bounds(Stage::bounds);  // scores are looked at for the first time
        lattices.emplace_back(*sentence.edges, sentence.T, sentence.nodes, sentence.on, 0, sentence.allowed);
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
    std::vector<const Lattice*> all;
    for (const Lattice& lattice : lattices) all.push_back(&lattice);
    std::optional<Unlisted> unlisted;
    if (!decoder.lists) all = unlisted.emplace(all, arena).all();
    const InStage sums(Stage::sums);
    if (lattices.size() > 1) {
      std::vector<Answer> made = decoder.together(all, options, arena);
      for (size_t q = 0; q < made.size(); ++q) answers[whose[q]] = std::move(made[q]);
    } else {
      answers[whose[0]] = decoder.decode(*all[0], options, arena);
    }
    for (size_t q = 0; q < whose.size(); ++q) {
      std::vector<Path>& paths = answers[whose[q]].paths;
      if (paths.empty()) {
        errors[whose[q]] = no_answer(lattices[q], decoder, options);
        continue;
      }
      // Decoders sum in their own order; the reported scores may differ from theirs in the last bits.
      std::stable_sort(paths.begin(), paths.end(), [](const Path& a, const Path& b) { return a.score > b.score; });
      try {
        if (finish) finish(whose[q], &lattices[q], answers[whose[q]]);
      } catch (...) {
        errors[whose[q]] = std::current_exception();
      }
    }
  };

  // The calling thread keeps some memory for its next call: one sentence at a time is a common way to call.
  const Trimmed trimmed(thread_arena(), size_t{16} << 20);
  // Threads take several units at a time where there are many: taking one costs as much as a short sentence.
  const size_t run = std::clamp<size_t>(work.size() / (16 * threads), 1, 64);
  in_parallel((work.size() + run - 1) / run, threads, [&](size_t n) {
    for (size_t u = n * run; u < std::min(work.size(), (n + 1) * run); ++u) {
      try {
        check_stop();
        decode_unit(work[u], thread_arena());
      } catch (...) {
        // Out of memory, or stopped: errors in scores are caught sentence by sentence.
        for (const size_t s : work[u])
          if (answers[s].paths.empty() && !errors[s]) errors[s] = std::current_exception();
      }
    }
  });

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
