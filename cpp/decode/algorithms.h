// Every function of a lattice, declared; each is defined in the file of decode/ that its paper's name leads to.
#pragma once

#include <functional>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "base/arena.h"
#include "lattice/chain.h"
#include "lattice/lattice.h"
#include "sums/keep.h"

namespace tagwright {

// What a caller may set; each decoder reads its own.
struct Options {
  size_t k = 1;
  size_t width = 8;         // beam: partial paths a column keeps
  Keep keep;                // beam: the labels a column keeps, in place of a width
  bool expand_all = false;  // staggered: split every column, not only those the path needs
  bool prune = true;        // staggered: drop nodes whose bound is below a score already reached
  int bound = 6;            // astar: level of the coarse lattice that looks ahead; -1: Huang's equation 9
  size_t extra = 2;         // iterative_viterbi_astar: k' = extra * k
  // tree, auto: seconds after which the best that was found by then will do.
  double deadline = std::numeric_limits<double>::infinity();
};

// Paths, best first; none where every path is forbidden.
struct Answer {
  std::vector<Path> paths;
  Work work;
  bool exact = true;  // whether these are all that was asked for, as far as the decoder can tell
  double gap = 0;     // how far below the best path the first may be
};

using Decode = Answer (*)(const Lattice&, const Options&, Arena&);

// --- decode/viterbi.cpp, decode/kbest_viterbi.cpp ---
Answer viterbi(const Lattice& lattice, const Options& options, Arena& arena);
Answer kbest_viterbi(const Lattice& lattice, size_t k, Arena& arena);
// viterbi for several sentences over one edge matrix, which is walked once for all of them; k = 1.
std::vector<Answer> viterbi_together(std::span<const Lattice* const> lattices, Arena& arena);
// Whether walking the matrix once for several sentences pays: it is dense, shared and larger than the cache.
bool together_pays(const Edges& edges);
// [t][y]: score of the best path that ends in label y of column t, summed from left to right.
struct ForwardScores {
  const double* alphas;
  size_t stride;

  const double* operator[](size_t t) const { return alphas + t * stride; }
};
ForwardScores forward_scores(const Lattice& lattice, Arena& arena, Work& work);

// --- decode/sparse_step.cpp ---
// best[j] = max_i previous[i] + e(i, j) where e is default + exceptions.
void sparse_step(const Edges& edges, const double* previous, double* best, Arena& arena, Work& work);

// --- decode/beam.cpp ---
Answer beam(const Lattice& lattice, const Options& options, Arena& arena);

// --- decode/carpediem.cpp ---
Answer carpediem(const Lattice& lattice, const Options& options, Arena& arena);

// A lattice, coarse or not, as A* sees it: columns 0 .. T-1 in the order in which they are searched. What is ahead is
// kept apart from the scores: it may be far larger, and a sum of both would lose the scores' last digits.
struct Graph {
  size_t T;
  std::function<size_t(size_t t)> size;
  // out[q]: score of starting in q of the first column.
  std::function<void(double* out)> first;
  // out[q]: score of going on from node p of column t to q of column t + 1.
  std::function<void(size_t t, size_t p, double* out)> next;
  // [q]: what is believed to come behind node q of column t; never less than the truth.
  std::function<const double*(size_t t)> ahead;
};
// A path as positions in its columns, with its score.
struct GraphPath {
  std::vector<int32_t> at;  // [t]
  double score;
};

// --- decode/astar.cpp ---
Answer astar(const Lattice& lattice, const Options& options, Arena& arena);
// Up to k best paths, best first, where `ahead` is a bound.
std::vector<GraphPath> search_astar(const Graph& graph, size_t k, Work& work);

// --- decode/viterbi_astar.cpp ---
Answer viterbi_astar(const Lattice& lattice, const Options& options, Arena& arena);
// Up to k best paths, best first, where `ahead` is the truth.
std::vector<GraphPath> enumerate_paths(const Graph& graph, size_t k, Work& work);

// --- decode/refine.cpp ---
Answer staggered(const Lattice& lattice, const Options& options, Arena& arena);
Answer iterative_astar(const Lattice& lattice, const Options& options, Arena& arena);
Answer iterative_viterbi_astar(const Lattice& lattice, const Options& options, Arena& arena);
// A bound on what is still to come behind each label: backward scores of the chain's lattice with 2^level labels
// and one block a column. ahead: [t * L + y].
double* coarse_ahead(const Lattice& lattice, size_t level, Arena& arena, Work& work);

// --- decode/tree.cpp ---
Answer tree(const Lattice& lattice, const Options& options, Arena& arena);
// The same, but false where it is Viterbi's turn; the work is counted in any case.
bool try_tree(const Lattice& lattice, const Options& options, Arena& arena, Answer& answer);

// --- decoders.cpp ---
Answer automatic(const Lattice& lattice, const Options& options, Arena& arena);
// Whether automatic takes tree: where there are not few labels, nor one matrix a step, which must be read whatever is
// done with it.
bool worth_a_tree(const Edges& edges, const Options& options);
struct Decoder {
  std::string_view name;
  std::string_view paper;
  bool exact;
  bool kbest;
  Decode decode;
};
std::span<const Decoder> decoders();

}  // namespace tagwright
