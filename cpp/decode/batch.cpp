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

// Returns the error that explains why there is no answer, found by a second search.
std::exception_ptr no_answer(const Lattice& lattice, const Decoder& decoder, const Options& options) {
  const auto invalid = [](const std::string& why) { return std::make_exception_ptr(std::invalid_argument(why)); };
  if (const std::optional<std::string> why = why_no_path(lattice)) return invalid(*why);
  if (decoder.lost) return invalid(decoder.lost(options));
  // An exact decoder finds a path where there is one: there was none when it searched.
  return std::make_exception_ptr(std::runtime_error(kScoresChanged));
}

// Throws std::invalid_argument where a sentence of text takes too much memory to be decoded at once.
void need_room(size_t T, const Edges& edges, const Plan& plan) {
  const double bytes = bytes_to_decode(T, edges, plan, sizeof(float));
  if (bytes <= kMostBytes) return;
  std::string with =
      " with " + std::to_string(edges.L()) + " labels, decoder '" + std::string(plan.decoder->name) + "'";
  if (plan.options.k > 1) with += " and k = " + std::to_string(plan.options.k);
  fail_for_room(bytes, T, with);
}

// Whether several sentences over the same edges are decoded faster in one batch.
bool worth_a_batch(const Decoder& decoder, const Edges& edges) {
  constexpr size_t kCache = size_t{256} << 10;
  const EdgeCosts costs = edges.costs();
  return decoder.variant(edges).batch && (costs.lanes || costs.shared_bytes > kCache);
}

// Returns the batches of sentences, those of similar length in one.
std::vector<std::vector<size_t>> units(const std::vector<Sentence>& sentences, const Decoder& decoder,
                                       const Options& options, size_t threads) {
  std::vector<size_t> order(sentences.size());
  std::iota(order.begin(), order.end(), 0);
  const bool batched = options.k == 1 && options.window == 0;
  std::vector<std::vector<size_t>> units;
  constexpr size_t kBatch = 32, kBytes = size_t{256} << 20;
  const size_t most = std::min(kBatch, (sentences.size() + threads - 1) / threads);
  if (batched)
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return sentences[a].T > sentences[b].T; });
  size_t bytes = 0;
  for (const size_t s : order) {
    const Edges* edges = sentences[s].edges;
    const size_t needs = sentences[s].T * edges->L() * sizeof(double);
    if (batched && !units.empty() && units.back().size() < most && bytes + needs < kBytes &&
        sentences[units.back()[0]].edges == edges && worth_a_batch(decoder, *edges)) {
      units.back().push_back(s);
      bytes += needs;
    } else {
      units.push_back({s});
      bytes = needs;
    }
  }
  return units;
}

// One call of decode_all.
class BatchDecoder {
 public:
  BatchDecoder(const std::vector<Sentence>& sentences, const Plan& plan, const Supply& supply, const Finish& finish)
      : sentences_(sentences),
        plan_(plan),
        supply_(supply),
        finish_(finish),
        answers_(sentences.size()),
        errors_(sentences.size()) {}

  // Never throws: errors are kept per sentence.
  void decode(const std::vector<size_t>& unit) noexcept {
    try {
      check_stop();
      Arena& arena = thread_arena();
      arena.reset();
      const Sentence& first = sentences_[unit[0]];
      if (const size_t window = window_to_decode(first.T, *first.edges, plan_, !supply_)) {
        decode_in_windows(unit[0], window, arena);
      } else {
        decode_whole(unit, arena);
      }
    } catch (...) {
      // Out of memory, or stopped: errors in scores are caught sentence by sentence.
      for (const size_t s : unit)
        if (answers_[s].paths.empty() && !errors_[s]) errors_[s] = std::current_exception();
    }
  }

  // Throws the first error, if there is one.
  std::vector<Answer> answers() {
    for (size_t s = 0; s < sentences_.size(); ++s) {
      if (!errors_[s]) continue;
      if (sentences_.size() == 1) std::rethrow_exception(errors_[s]);
      try {
        std::rethrow_exception(errors_[s]);
      } catch (const std::invalid_argument& error) {
        fail_in(s, error);
      }
    }
    return std::move(answers_);
  }

 private:
  void decode_in_windows(size_t s, size_t window, Arena& arena) {
    const Sentence& own = sentences_[s];
    const auto columns = [&](size_t begin, size_t end, Arena& room) -> Supplied {
      if (supply_) return supply_(s, begin, end, room);
      Supplied given{own.nodes.from(begin * own.edges->L()), {}, own.allowed.from(begin)};
      if (own.on)
        given.on.assign(own.on->begin() + static_cast<ptrdiff_t>(begin),
                        own.on->begin() + static_cast<ptrdiff_t>(end - 1));
      return given;
    };
    answers_[s] = viterbi_in_windows(own.T, *own.edges, window, columns, arena);
    if (finish_) finish_(s, nullptr, answers_[s]);
  }

  void decode_whole(const std::vector<size_t>& unit, Arena& arena) {
    std::vector<Lattice> lattices;
    lattices.reserve(unit.size());
    std::vector<size_t> index;  // [lattice]: its sentence
    for (const size_t s : unit) {
      try {
        add_lattice(s, lattices, arena);
        if (sentences_[s].T) {
          index.push_back(s);
        } else {
          lattices.pop_back();
          answers_[s].paths.push_back({});
        }
      } catch (...) {
        errors_[s] = std::current_exception();
      }
    }
    if (lattices.empty()) return;
    std::vector<const Lattice*> all;
    for (const Lattice& lattice : lattices) all.push_back(&lattice);
    const InStage sums(Stage::sums);
    std::vector<Answer> found = plan_.decoder->run(all, plan_.options, arena);
    for (size_t q = 0; q < index.size(); ++q) {
      Answer& answer = answers_[index[q]] = std::move(found[q]);
      try {
        if (answer.paths.empty()) {
          errors_[index[q]] = answer.error ? answer.error : no_answer(lattices[q], *plan_.decoder, plan_.options);
        } else if (finish_) {
          finish_(index[q], &lattices[q], answer);
        }
      } catch (...) {
        errors_[index[q]] = std::current_exception();
      }
    }
  }

  // Supplied correction sets are not read after the lattice is made.
  void add_lattice(size_t s, std::vector<Lattice>& lattices, Arena& arena) {
    Sentence sentence = sentences_[s];
    Supplied supplied;
    if (supply_) {
      need_room(sentence.T, *sentence.edges, plan_);
      supplied = supply_(s, 0, sentence.T, arena);
      sentence.nodes = supplied.nodes;
      sentence.on = supplied.on.empty() ? nullptr : &supplied.on;
      sentence.allowed = supplied.allowed;
    }
    const InStage bounds(Stage::bounds);  // scores are read for the first time
    lattices.emplace_back(*sentence.edges, sentence.T, sentence.nodes, sentence.on, 0, sentence.allowed);
  }

  const std::vector<Sentence>& sentences_;
  const Plan& plan_;
  const Supply& supply_;
  const Finish& finish_;
  std::vector<Answer> answers_;
  std::vector<std::exception_ptr> errors_;
};

}  // namespace

std::vector<Answer> decode_all(const std::vector<Sentence>& sentences, const Decoder& decoder, const Options& options,
                               size_t threads, const Supply& supply, const Finish& finish) {
  for (const Sentence& sentence : sentences) decoder.variant(*sentence.edges);  // throws
  const Plan plan{&decoder, options};
  BatchDecoder batch(sentences, plan, supply, finish);
  const std::vector<std::vector<size_t>> work = units(sentences, decoder, options, threads);
  // The calling thread keeps some memory for its next call: often there is one call per sentence.
  const Trimmed trimmed(thread_arena(), size_t{16} << 20);
  // Threads take several units at a time where there are many: taking one costs as much as a short sentence.
  const size_t run = std::clamp<size_t>(work.size() / (16 * threads), 1, 64);
  in_parallel((work.size() + run - 1) / run, threads, [&](size_t n) {
    for (size_t u = n * run; u < std::min(work.size(), (n + 1) * run); ++u) batch.decode(work[u]);
  });
  return batch.answers();
}

}  // namespace tagwright
