#include "model/tag.h"

#include <string>

#include "base/need.h"
#include "base/threads.h"
#include "sums/marginals.h"

namespace tagwright {
namespace {

void check(const Scorer& scorer, const Text& text, const Edges& edges, size_t threads) {
  need(threads >= 1, "threads must be at least 1");
  need(edges.L() == scorer.L(), "the edges are for another number of labels");
  scorer.templates().check_text(text);
}

// Node scores of a sentence, in the arena, and the correction sets that are switched on.
Supplied scored(const Scorer& scorer, const Text& text, size_t s, Arena& arena) {
  Supplied made;
  float* nodes = arena.array<float>(times(text.length(s), scorer.L()));
  scorer.score(text, s, nodes, made.on);
  made.nodes = {nodes, nullptr};
  return made;
}

Sure sure_of(const Lattice& lattice, const Answer& answer) {
  thread_local Arena arena;  // the thread's own holds the node scores
  arena.trim(kHeldBytes);
  const Sums sums = forward_backward(lattice, lattice.edges.factors(), {}, nullptr, arena);
  need(sums.log_z != kForbidden, "no path");
  Sure made{sums.log_z, {}};
  for (const Path& path : answer.paths)
    for (size_t t = 0; t < lattice.T; ++t) made.label.push_back(sums.columns[t].node[path.labels[t]]);
  arena.trim(kHeldBytes);
  return made;
}

}  // namespace

std::vector<Answer> tag_all(const Scorer& scorer, const Text& text, const Edges& edges, const Plan& plan,
                            size_t threads, std::vector<Sure>* sure) {
  check(scorer, text, edges, threads);
  std::vector<Sentence> sentences(text.sentences());
  for (size_t s = 0; s < sentences.size(); ++s) sentences[s] = {text.length(s), {}, &edges, nullptr};
  const Supply supply = [&](size_t s, Arena& arena) { return scored(scorer, text, s, arena); };
  Finish finish;
  if (sure) {
    sure->assign(sentences.size(), {});
    finish = [&](size_t s, const Lattice& lattice, const Answer& answer) { (*sure)[s] = sure_of(lattice, answer); };
  }
  return decode_all(sentences, *plan.decoder, plan.options, threads, supply, finish);
}

std::vector<std::vector<float>> label_marginals(const Scorer& scorer, const Text& text, const Edges& edges,
                                                const Keep& keep, size_t threads) {
  check(scorer, text, edges, threads);
  const size_t L = scorer.L();
  std::vector<std::vector<float>> made(text.sentences());
  in_parallel(text.sentences(), threads, [&](size_t s) {
    const size_t T = text.length(s);
    made[s].assign(times(T, L), 0.0F);
    if (T == 0) return;
    Arena& arena = thread_arena();
    arena.trim(kHeldBytes);
    const Supplied scores = scored(scorer, text, s, arena);
    const Lattice lattice(edges, T, scores.nodes, scores.on.empty() ? nullptr : &scores.on);
    const Sums sums = forward_backward(lattice, edges.factors(), keep, nullptr, arena);
    if (sums.log_z == kForbidden)
      throw std::invalid_argument("sentence " + std::to_string(s) + ": no path" +
                                  (keep.all() ? "" : " among the labels that keep chose; keep more"));
    for (size_t t = 0; t < T; ++t)
      for (size_t q = 0; q < sums.columns[t].labels.size(); ++q)
        made[s][t * L + static_cast<size_t>(sums.columns[t].labels[q])] = static_cast<float>(sums.columns[t].node[q]);
    arena.trim(kHeldBytes);
  });
  return made;
}

}  // namespace tagwright
