// Probabilities of nodes and edges as arrays, of one sentence or many.
#pragma once

#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "sums/posterior.h"

namespace tagwright {

// Memory that a thread's arena may hold between sentences.
inline constexpr size_t kHeldBytes = size_t{64} << 20;

// Message where there are paths, but their probabilities underflow.
inline constexpr const char* kUnderflow = "no path: the scores of all labellings are too far apart";

// Zero-initialised numbers; pages that are never written take no memory.
class Zeros {
 public:
  explicit Zeros(size_t n) : held_(static_cast<double*>(std::calloc(n ? n : 1, sizeof(double)))) {
    if (!held_) throw std::bad_alloc();
  }
  Zeros() : Zeros(0) {}
  double& operator[](size_t i) { return held_.get()[i]; }
  // Releases the numbers; the caller frees them with std::free.
  double* release() { return held_.release(); }

 private:
  struct Free {
    void operator()(double* p) const { std::free(p); }
  };
  std::unique_ptr<double, Free> held_;
};

struct Marginals {
  double log_z = 0;
  double entropy = 0;
  Zeros nodes;                // [t * L + y]
  std::vector<double> edges;  // [(t * L + i) * L + j], where requested
  std::vector<int32_t> kept;  // [t]: number of labels that were not pruned
};

Marginals marginals(const Lattice& lattice, const PruningRule& keep, bool with_edges, Arena& arena);

// The same for lattices that are made one by one, over several threads. Throws std::invalid_argument for the first
// sentence with a bad score or without a path.
std::vector<Marginals> marginals_all(size_t sentences, const std::function<Lattice(size_t)>& lattice,
                                     const PruningRule& keep, bool with_edges, size_t threads);

// The best paths through some nodes, and through the edges between those of consecutive columns.
struct PathsThrough {
  double best = 0;  // the score of the best path
  // How far the best path through each is behind that; +inf where there is none.
  std::vector<std::vector<double>> nodes;          // [t][q]
  std::vector<std::vector<double>> edges;          // [t][p * labels of t + 1 + q]
  std::vector<std::vector<double>> probabilities;  // beside edges: over all labellings, where they are requested
};

// labels: [t], distinct, in any order. Throws std::invalid_argument where there is no path.
PathsThrough paths_through(const Lattice& lattice, std::span<const std::vector<int32_t>> labels, bool probabilities,
                           Arena& arena);

// Returns how far the best path through each node is behind the best path: [t * L + y], +inf where there is none.
// Throws std::invalid_argument where there is no path.
std::vector<double> behind_best(const Lattice& lattice, Arena& arena);

}  // namespace tagwright
