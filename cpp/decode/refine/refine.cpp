// refine: search a coarse lattice, split the blocks its best path passes through, search again.
//
// staggered decoding, or iterative Viterbi (Kaji et al. 2010; Huang et al. 2012, Algorithms 1 and 2),
// iterative A* (Huang, section 4.2) and iterative Viterbi A* (Huang, Algorithm 4) are this one loop with three
// searches. Nodes whose bound is below the floor, a score already reached, are dropped for good.
//
// The coarse lattice itself, and most of what differs from the papers, is in coarse_chain.h. Here, where the best path
// back from an end node passes through a block, the floor is raised by continuing through the best label instead. Edges
// with n-grams have no coarse lattice: their states are contexts, and Viterbi searches those.
#include <algorithm>

#include "decode/refine/coarse_chain.h"

namespace tagwright {
namespace {

// The k-th best of scores of distinct paths already reached, or what was known before.
double raised(double floor, std::vector<double>& scores, size_t k) {
  if (scores.size() < k) return floor;
  const auto kth = scores.begin() + static_cast<ptrdiff_t>(k - 1);
  std::nth_element(scores.begin(), kth, scores.end(), std::greater<>());
  return std::max(floor, *kth);
}

size_t blocks_on(const CoarseChain& coarse, const GraphPath& path) {
  size_t blocks = 0;
  for (size_t t = 0; t < coarse.T(); ++t) blocks += coarse.is_block(t, path.at[t]);
  return blocks;
}

// A search returns up to k coarse paths, best first, and raises the floor by paths of labels that it comes across.
// It may stop short of k while the best still holds a block. Returns none where there is no path.
using Search = std::vector<GraphPath> (*)(CoarseChain& coarse, size_t round, const Options&, double& floor, Work&);

// One pass, alternately forward and backward, and its best path (Huang, Algorithm 1, lines 4 to 14).
std::vector<GraphPath> search_viterbi(CoarseChain& coarse, size_t round, const Options& options, double& floor,
                                      Work& work) {
  if (!coarse.pass(static_cast<int>(round % 2), floor, work)) return {};
  size_t best = 0;
  for (size_t q = 1; q < coarse.end_size(); ++q)
    if (coarse.end_score(q) > coarse.end_score(best)) best = q;
  std::vector<GraphPath> found = {coarse.trace(best, work)};
  const size_t blocks = blocks_on(coarse, found[0]);
  if (!options.prune || (blocks == 0 && options.k == 1)) return found;
  // A dive through a path that is mostly blocks reaches nothing worth having.
  if (2 * blocks > coarse.T()) return found;
  std::vector<double> reached;
  for (const size_t q : coarse.best_ends(options.k))
    if (coarse.end_score(q) > floor) reached.push_back(coarse.dive(q, work));
  floor = raised(floor, reached, options.k);
  return found;
}

// A* with equation 9 on the coarse lattice; no bounds, so nothing is dropped (Huang, section 4.2).
std::vector<GraphPath> search_coarse_astar(CoarseChain& coarse, size_t, const Options&, double&, Work& work) {
  return search_astar(coarse.forward(), 1, work);
}

// A pass, and once its best path holds labels only, Viterbi A* for k' paths (Huang, Algorithm 4).
std::vector<GraphPath> search_viterbi_astar(CoarseChain& coarse, size_t round, const Options& options, double& floor,
                                            Work& work) {
  std::vector<GraphPath> found = search_viterbi(coarse, round, options, floor, work);
  if (found.empty() || blocks_on(coarse, found[0]) > 0) return found;
  const size_t requested = options.k > SIZE_MAX / options.extra ? options.k : options.k * options.extra;
  found = enumerate_paths(coarse.against_pass(), requested, work);
  std::vector<double> reached;
  for (GraphPath& path : found) {
    if (round % 2 == 0) std::reverse(path.at.begin(), path.at.end());
    if (blocks_on(coarse, path) == 0) reached.push_back(path.score);
  }
  floor = raised(floor, reached, options.k);
  if (found.size() > options.k) found.resize(options.k);
  return found;
}

// The k-th best path of a beam of k over all labels: a score already reached (Huang, Algorithm 4, line 1).
double first_floor(const Lattice& lattice, const Options& options, Arena& arena, Work& work) {
  static const Decoder& beam = *decoder_named("beam");
  Options narrow = options;
  narrow.width = options.k;
  const Answer found = beam.run(lattice, narrow, arena);
  work.nodes += found.work.nodes;
  work.edges += found.work.edges;
  return found.paths.size() < options.k ? kForbidden : found.paths.back().score;
}

Answer refine(const Lattice& lattice, Search search, double floor, const Options& options, Arena& arena, Work work) {
  CoarseChain coarse(lattice, 0, arena);
  Answer answer;
  answer.work = work;
  const bool all = options.expand == "all";
  std::vector<std::vector<int32_t>> blocks(coarse.T());  // [t]: positions of blocks that paths pass through
  for (size_t round = 0;; ++round) {
    check_stop();
    ++answer.work.rounds;
    const std::vector<GraphPath> found = search(coarse, round, options, floor, answer.work);
    if (found.empty()) return answer;
    bool any = false;
    for (size_t t = 0; t < coarse.T(); ++t) {
      blocks[t].clear();
      for (const GraphPath& path : found)
        if (coarse.is_block(t, path.at[t])) blocks[t].push_back(path.at[t]);
      any = any || !blocks[t].empty();
    }
    if (!any) {
      for (const GraphPath& path : found) {
        std::vector<int32_t> labels(coarse.T());
        for (size_t t = 0; t < coarse.T(); ++t) labels[t] = coarse.label(t, path.at[t]);
        answer.paths.push_back({std::move(labels)});
      }
      return answer;
    }
    for (size_t t = 0; t < coarse.T(); ++t) {
      if (const int32_t block = coarse.any_block(t); all && block >= 0 && blocks[t].empty()) blocks[t].push_back(block);
      if (!blocks[t].empty()) coarse.split(t, blocks[t], floor);
    }
  }
}

}  // namespace

Answer staggered(const Lattice& lattice, const Options& options, Arena& arena) {
  Work work;
  const double floor = options.prune ? first_floor(lattice, options, arena, work) : kForbidden;
  return refine(lattice, &search_viterbi, floor, options, arena, work);
}

Answer iterative_astar(const Lattice& lattice, const Options& options, Arena& arena) {
  return refine(lattice, &search_coarse_astar, kForbidden, options, arena, {});
}

Answer iterative_viterbi_astar(const Lattice& lattice, const Options& options, Arena& arena) {
  Work work;
  const double floor = first_floor(lattice, options, arena, work);
  return refine(lattice, &search_viterbi_astar, floor, options, arena, work);
}

}  // namespace tagwright
