// Edges, Lattice, Path and Work: what every decoder is a function of, and what it gives back.
//
// A lattice is T columns of L nodes. A path takes one node a column; its score is
//   start[y_0] + n[0][y_0] + sum_t (e(t, y_t, y_t+1) + n[t+1][y_t+1]) + stop[y_T-1],
// summed from left to right in double precision. Higher is better; -inf forbids.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/sparse_rows.h"

namespace tagwright {

inline constexpr double kForbidden = -std::numeric_limits<double>::infinity();

// Scores beyond this could overflow when they are summed; they are refused at the door.
inline constexpr double kLargestScore = 1e290;

// What a sum in float32 may lose of itself; and what up to eight of them may lose below the smallest float32.
inline constexpr double kFloatRounding = 0x1p-24, kFloatTiny = 1e-44;

// A view on float32 or float64 numbers; exactly one pointer is set.
struct Scores {
  const float* f = nullptr;
  const double* d = nullptr;

  double operator[](size_t i) const { return f ? static_cast<double>(f[i]) : d[i]; }
  Scores from(size_t offset) const { return f ? Scores{f + offset, nullptr} : Scores{nullptr, d + offset}; }
};

// An edge whose score differs from the shared one at some step. i, j: previous and current label, or blocks.
struct Override {
  int32_t i, j;
  double score;
};

// The overrides of one step, found by row and by column.
struct Patch {
  std::vector<Override> by_row;     // sorted by (i, j)
  std::vector<Override> by_column;  // sorted by (j, i)

  // Fills by_column from by_row, which is sorted already.
  void index_columns();
  bool empty() const { return by_row.empty(); }
  std::span<const Override> row(int32_t i) const;
  std::span<const Override> column(int32_t j) const;
};

// default + exceptions: for each row (or column) the labels whose edge differs from the default.
class Exceptions : public SparseRows<int32_t, double> {
 public:
  void reset(size_t rows, std::span<const size_t> room) {
    SparseRows::reset(rows, room);
    largest_.assign(rows, kForbidden);
  }
  void set(size_t i, int32_t label, double score);
  void drop(size_t i, int32_t label);
  // [i]: the best of row i.
  const std::vector<double>& largest() const { return largest_; }

 private:
  void find_largest(size_t i);
  std::vector<double> largest_;
};

// Sparse corrections in named sets: switching a set on adds its scores to its edges. Row: a set; key: a pair of labels.
class Corrections : public SparseRows<uint64_t, double> {
 public:
  static uint64_t pair(int32_t i, int32_t j) { return static_cast<uint64_t>(i) << 32 | static_cast<uint32_t>(j); }
  static int32_t previous(uint64_t pair) { return static_cast<int32_t>(pair >> 32); }
  static int32_t current(uint64_t pair) { return static_cast<int32_t>(pair & 0xffffffffU); }
};

struct Chain;
struct Bounds;
struct Factors;

// Edge scores [previous][current] of L labels, prepared once and shared by every sentence.
class Edges {
 public:
  // One matrix for every step, [i * L + j]; copied.
  static std::unique_ptr<Edges> dense(size_t L, Scores matrix);
  // One matrix a step, [t][i][j], for sentences of steps + 1 tokens. The numbers are borrowed: `owner` holds them.
  static std::unique_ptr<Edges> stepwise(size_t L, size_t steps, Scores matrices, std::shared_ptr<void> owner);
  // One value everywhere but at the given edges.
  static std::unique_ptr<Edges> sparse(size_t L, double fallback, std::span<const int32_t> previous,
                                       std::span<const int32_t> current, std::span<const double> score);
  ~Edges();

  // Finds the most common value; keeps default + exceptions where at most `share` of the matrix differs from it.
  void find_exceptions(double share);
  void set_start(std::span<const double> score) { set_ends(start_, score, "start"); }
  void set_stop(std::span<const double> score) { set_ends(stop_, score, "stop"); }
  void set_order(std::span<const int32_t> labels);
  void set_corrections(size_t sets, std::span<const int32_t> set, std::span<const int32_t> previous,
                       std::span<const int32_t> current, std::span<const double> score);

  // What training does between sentences, while nobody else looks: an edge's score changes, in the matrix, the
  // exceptions and the bounds. A bound that an edge was lowered below stays too high, which is still true, until many
  // were. Not for one matrix a step.
  void change(size_t i, size_t j, double score);
  // The same for a correction. Sets without any can be made beforehand.
  void change_correction(size_t set, size_t i, size_t j, double score);
  void add_correction_sets(size_t sets) { corrections_.reset(sets); }

  size_t L() const { return L_; }
  bool is_stepwise() const { return stepwise_; }
  size_t matrices() const { return stepwise_ ? steps_ : has_matrix(); }
  bool has_matrix() const { return matrix_.f || matrix_.d; }
  bool is_sparse() const { return sparse_; }
  double fallback() const { return fallback_; }
  const Exceptions& rows() const { return rows_; }        // by previous label
  const Exceptions& columns() const { return columns_; }  // by current label
  const Exceptions& better() const { return better_; }    // by previous label, those above the default
  const Exceptions& worse() const { return worse_; }      // by previous label, those below it
  const Corrections& corrections() const { return corrections_; }
  double start(size_t y) const { return start_.empty() ? 0.0 : start_[y]; }
  double stop(size_t y) const { return stop_.empty() ? 0.0 : stop_[y]; }
  std::span<const double> start() const { return start_; }
  std::span<const double> stop() const { return stop_; }

  // [i * stride + j]. Rows of our own copy start on cache lines and do not all fall into the same set of the cache;
  // what they have beyond L is -inf.
  Scores matrix(size_t t) const { return matrix_.from(stepwise_ ? t * L_ * L_ : 0); }
  size_t stride() const { return stride_; }
  // The score of an edge before corrections.
  double base(size_t t, size_t i, size_t j) const {
    return has_matrix() ? matrix(t)[i * stride_ + j] : exception(i, j);
  }
  void row(size_t t, size_t i, double* out) const;     // out: [j]
  void column(size_t t, size_t j, double* out) const;  // out: [i]

  // Largest finite magnitude of any edge, start or stop score; where there is one matrix a step, of the last two.
  double magnitude() const { return magnitude_; }
  // Throws std::invalid_argument for the first score of a matrix that is none; the largest magnitude comes back.
  // Borrowed scores may have changed since they were last looked at, so every lattice over them looks again.
  double check_scores() const;

  // The chain of Kaji and Huang over these labels, and its edge bounds at step t; made on first use.
  const Chain& chain() const;
  const Bounds& chain_bounds(size_t t) const;
  // The same for sums; nullptr where there is one matrix a step.
  const Factors* factors() const;
  // [i]: the best edge out of label i, or a little more; -inf beyond the last label, up to a whole group of the tree.
  // Made on first use; not for one matrix a step.
  const std::vector<float>& reach() const;
  // What many edges score: the default if it does not forbid, or the middle one of some. Not for one matrix a step.
  double usual() const;
  // How much edges matter: the best one, or the middle one of the labels' best where that is of larger size. Edges that
  // all but forbid, such as -1e9, do not count. Not for one matrix a step.
  double scale() const;

 private:
  explicit Edges(size_t L);
  double exception(size_t i, size_t j) const;
  void set_ends(std::vector<double>& to, std::span<const double> score, const char* what);
  void fill_exceptions(const std::vector<Override>& sorted);

  size_t L_ = 0, stride_ = 0, steps_ = 0;
  bool stepwise_ = false;
  Scores matrix_;
  std::shared_ptr<void> owner_;  // of the matrix
  bool sparse_ = false;
  double fallback_ = 0;
  Exceptions rows_, columns_, better_, worse_;
  Corrections corrections_;
  std::vector<double> start_, stop_;
  std::vector<int32_t> order_;
  double magnitude_ = 0;

  mutable std::once_flag chain_once_;
  mutable std::unique_ptr<Chain> chain_;
  mutable std::vector<Bounds> chain_bounds_;
  size_t lowered_ = 0;  // edges since the bounds were last made
  mutable std::once_flag reach_once_;
  mutable std::vector<float> reach_;
  mutable double middle_ = kForbidden, scale_ = 0;
  mutable std::once_flag factors_once_;
  mutable std::unique_ptr<Factors> factors_;
};

// One sentence's scores. on: for each of the T - 1 steps, the correction sets switched on.
class Lattice {
 public:
  Lattice(const Edges& edges, size_t T, Scores nodes, const std::vector<std::vector<int32_t>>* on);

  const size_t T, L;
  const Edges& edges;
  const Scores nodes;  // [t * L + y]

  double node(size_t t, size_t y) const { return nodes[t * L + y]; }
  // A node's score with the start or stop score it stands beside: for decoders that need no third kind of score.
  double end_node(size_t t, size_t y) const {
    double score = node(t, y);
    if (t == 0) score = edges.start(y) + score;
    if (t + 1 == T) score += edges.stop(y);
    return score;
  }
  // The one place that scores an edge: from label i of column t to label j of column t + 1.
  double edge(size_t t, size_t i, size_t j) const { return patched() ? corrected_edge(t, i, j) : edges.base(t, i, j); }
  // The scores of all edges out of label i of column t; out: [j].
  void row(size_t t, size_t i, double* out) const;
  // The scores of all edges into label j of column t + 1; out: [i].
  void column(size_t t, size_t j, double* out) const;

  bool patched() const { return !patches_.empty(); }
  const Patch& patch(size_t t) const { return patched() ? patches_[t] : none_; }

  // Largest finite magnitude of column t's node scores, and of any edge, start or stop score.
  double node_magnitude(size_t t) const { return node_magnitude_[t]; }
  double edge_magnitude() const { return edge_magnitude_; }
  // More than the rounding error of any two sums over a path: bounds closer than this may be equal in truth.
  double slack() const { return slack_; }

 private:
  double corrected_edge(size_t t, size_t i, size_t j) const;
  void switch_on(const std::vector<std::vector<int32_t>>& on);

  std::vector<Patch> patches_;  // [t], empty where nothing is switched on anywhere
  Patch none_;
  std::vector<double> node_magnitude_;  // [t]
  double edge_magnitude_ = 0, slack_ = 0;
};

struct Path {
  std::vector<int32_t> labels;
  double score = 0;
};

// The score of a path, summed from left to right: the one place from which reported scores come.
double path_score(const Lattice& lattice, std::span<const int32_t> labels);

// What a decoder looked at. rounds: searches of a (coarse) lattice; nodes: labels or blocks, or partial paths that end
// in them, that the search went on from; edges: edge scores or bounds that were read.
struct Work {
  uint64_t rounds = 0, nodes = 0, edges = 0;

  Work& operator+=(const Work& more) {
    rounds += more.rounds;
    nodes += more.nodes;
    edges += more.edges;
    return *this;
  }
};

}  // namespace tagwright
