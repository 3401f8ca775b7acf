// The inner loops, as a table of functions per instruction set.
//
// Every loop adds and compares in the same order-free way (a maximum does not depend on the order in which it is
// taken, and nothing is fused), so all levels give bit-equal results.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tagwright {

// One sentence's share of a dense step. previous: [i], the scores reached in the column before; best: [j], filled.
template <class A>
struct StepOf {
  const A* previous;
  A* best;
};

// What one pass over scores finds: the largest, the largest finite magnitude, and whether every score is a number
// below +inf.
struct Scan {
  double max;
  double magnitude;
  bool valid;
};

// 64 labels are a group, every eighth of them a block: so the maxima of eight blocks are one running maximum of
// vectors.
inline constexpr size_t kGroup = 64, kTreeLanes = 8;

// Keys of a row of weights that are added at a time.
inline constexpr size_t kBlockKeys = 8;
// Keys whose products with a vector are summed at a time.
inline constexpr size_t kProductKeys = 32;

// Sentences that are summed in SIMD lanes: one cache line of doubles.
inline constexpr size_t kLanes = 8;

// Labels whose messages are computed at once: the edges into them stand beside each other, [label / kPanel][previous
// label][label % kPanel], with 0 beyond the last one. Columns have room for a whole panel.
inline constexpr size_t kPanel = 6;
// Labels whose edges are counted at once; columns hold 0 beyond the last label, up to a whole tile.
inline constexpr size_t kCountDown = 4, kCountAcross = 3;

// Columns of sentences in lanes, and those one step further: left and right of each step, `stride` numbers apart.
template <class E>
struct BatchColumns {
  const E *left, *right;
  size_t steps, stride, vectors;
};

// The loops of sums/batch.h in precision E. A column is [label][lane], its lines one or two vectors (vectors.h).
template <class E>
struct BatchKernels {
  // out[y][lane] = exp(rows[lane][y] - shift[lane]), to within a few units of the last place of a number near 1; 0
  // where that is below e^-80 (e^-700 of doubles) or where there is no row. No score is above the shift.
  void (*exp)(const E* const* rows, const E* shift, size_t L, size_t lanes, E* out);
  // to[j] = sum_i from[i] * factor(i, j), by panels.
  void (*spread_dense)(const E* panels, size_t L, size_t vectors, const E* from, E* to);
  // to[j] = rest + sum of from[index[q]] * factor[q] over the entries of j: from begin[j] on. rest: [lane].
  void (*spread_sparse)(const size_t* begin, const int32_t* index, const E* factor, size_t L, size_t vectors,
                        const E* rest, const E* from, E* to);
  // to[y] *= by[y]; total[lane] becomes the sum over labels.
  void (*multiply)(const E* by, size_t L, size_t vectors, E* to, double* total);
  // values[y] *= scale[lane].
  void (*scale)(const E* scale, size_t L, size_t vectors, E* values);
  // Writes the labels that have a value below the limit of its lane and returns how many; out: room for L.
  size_t (*below)(const E* limit, size_t L, size_t vectors, const E* values, int32_t* out);
  // rows[lane][y] = alpha[y] * beta[y] * weight, where there is a row.
  void (*store_f)(const E* alpha, const E* beta, const E* weight, size_t L, size_t lanes, float* const* rows);
  void (*store_d)(const E* alpha, const E* beta, const E* weight, size_t L, size_t lanes, double* const* rows);
  // Adds the sum over steps and lanes of left[i] * right[j] to the counts of labels first <= i < last: for the entries
  // of i, or [i * L + j].
  void (*count_sparse)(const BatchColumns<E>& columns, const size_t* begin, const int32_t* index, size_t first,
                       size_t last, E* count);
  void (*count_dense)(const BatchColumns<E>& columns, size_t first, size_t last, size_t L, E* count);
};

struct Kernels {
  const char* name;

  // best[j] = max_i previous[i] + edges[i * stride + j] for i < L and j < stride, for each of `count` sentences in
  // one walk over the edges.
  void (*dense_step_ff)(const float* edges, size_t L, size_t stride, StepOf<float>* steps, size_t count);
  void (*dense_step_df)(const float* edges, size_t L, size_t stride, StepOf<double>* steps, size_t count);
  void (*dense_step_dd)(const double* edges, size_t L, size_t stride, StepOf<double>* steps, size_t count);

  // The same for kLanes sentences in lanes, [label * kLanes + lane]: to[j] = max_i from[i] + edges[i * L + j].
  void (*max_lanes_f)(const float* edges, size_t L, const float* from, float* to);
  void (*max_lanes_d)(const double* edges, size_t L, const double* from, double* to);
  // column[y] = column[y] + rows[lane][y] - less[lane]; most[lane]: the largest of a lane. Returns the largest finite
  // magnitude of all.
  float (*add_to_lanes)(const float* const* rows, const float* less, size_t L, float* column, float* most);
  // The largest column[y] + rows[lane][y] of each lane, the second largest, and the label of the largest.
  void (*best_of_lanes)(const float* const* rows, size_t L, const float* column, float* best, float* second,
                        int32_t* where);

  // best[q] = max(best[q], score + row[index[q] * stride]); returns the least best[q] (+inf where n is 0).
  double (*raise_f)(double score, const float* row, size_t stride, const int32_t* index, size_t n, double* best);
  double (*raise_d)(double score, const double* row, size_t stride, const int32_t* index, size_t n, double* best);

  // best[j] = max(best[j], by[j]).
  void (*raise_all_d)(const double* by, size_t n, double* best);

  // best[label[q]] = max(best[label[q]], score + edge[q]); labels differ.
  void (*scatter_d)(double score, const int32_t* label, const double* edge, size_t n, double* best);

  // --- decode/tree/; arrays of labels are padded to whole groups of kGroup ---

  // sum[j] = nodes[j] + before[j], -inf from L on; returns the largest. blocks[b]: the largest of
  // sum[j] + out[j] over the labels of block b: every eighth of a group, from its (b modulo 8)-th on.
  float (*bound_column_f)(const float* nodes, const float* before, const float* out, size_t L, float* sum,
                          float* blocks);
  float (*bound_column_d)(const double* nodes, const float* before, const float* out, size_t L, float* sum,
                          float* blocks);
  // best[j] = max(best[j], score[r] + rows[r][j]) for r < count and j < n.
  void (*follow_rows_f)(const float* const* rows, const float* score, size_t count, size_t n, float* best);
  void (*follow_rows_d)(const double* const* rows, const float* score, size_t count, size_t n, float* best);
  // best[label[q]] = max(best[label[q]], score + edge[q]); labels differ.
  void (*scatter_f)(float score, const int32_t* label, const double* edge, size_t n, float* best);
  // Writes every label of the blocks that reach `least` whose own sum + out does, and that sum, to `labels` and `keys`;
  // returns how many there are. L: padded. There must be room for eight more than are found.
  size_t (*open_blocks)(const float* blocks, const float* sum, const float* out, size_t L, float least, int32_t* labels,
                        float* keys);
  // Returns a value that at least 16 of n values reach, or -inf; n is a multiple of kTreeLanes.
  float (*reached_by_16)(const float* values, size_t n);

  // out[j] = score + row[j] + nodes[j], in that order.
  void (*extend_ff)(double score, const float* row, const float* nodes, size_t n, double* out);
  void (*extend_dd)(double score, const double* row, const double* nodes, size_t n, double* out);

  // out[first[b] + q] += rows[b * kBlockKeys + q] * value for b < n and q < kBlockKeys, one b after the other.
  void (*add_blocks_f)(const uint16_t* first, const float* rows, size_t n, float value, float* out);
  // out[j] += row[j] * value: a product and a sum, each rounded.
  void (*add_scaled_f)(const float* row, float value, size_t n, float* out);
  void (*add_scaled_d)(const float* row, double value, size_t n, double* out);
  void (*add_scaled_dd)(const double* row, double value, size_t n, double* out);
  // out[p * kProductKeys + q] = sum_k panels[(p * d + k) * kProductKeys + q] * vector[k], in the order of k, for p < n.
  void (*multiply_panels_f)(const float* panels, const float* vector, size_t d, size_t n, float* out);

  // --- sums/ ---
  // Every sum is taken in four (or kLanes) running parts, whatever the level.

  // out[j] = exp(scores[j] - shift), to within a few units of the last place; 0 where that is below e^-700. No score is
  // above the shift by more than 700.
  void (*exp_f)(const float* scores, double shift, size_t n, double* out);
  void (*exp_d)(const double* scores, double shift, size_t n, double* out);
  // Returns the sum of exp(a[j] + b[j] - shift) over all j with a[j] + b[j] < least, or up to 7 % more; n is a multiple
  // of kTreeLanes, and least at most the shift.
  double (*exp_below)(const float* a, const float* b, size_t n, float least, float shift);
  // out[j] = a[j] * b[j]; returns their sum.
  double (*multiply_d)(const double* a, const double* b, size_t n, double* out);
  double (*sum_d)(const double* values, size_t n);
  // out[j] += sum_r value[r] * matrix[row[r] * stride + j] for r < n and j < stride.
  void (*spread_rows)(const double* matrix, size_t stride, const int32_t* row, const double* value, size_t n,
                      double* out);
  // count[j] += value * factor[j] * b[j], rounded to a multiple of grain before it is added.
  void (*count_row)(double value, const double* factor, const double* b, size_t n, double grain, double* count);

  Scan (*scan_f)(const float* scores, size_t n);
  Scan (*scan_d)(const double* scores, size_t n);

  double (*max_f)(const float* scores, size_t n);
  double (*max_d)(const double* scores, size_t n);

  // Returns the first position of the largest value; n > 0.
  size_t (*argmax_d)(const double* values, size_t n);
  // The same for row[j] + nodes[j], added in their own precision.
  size_t (*argmax_sum_ff)(const float* row, const float* nodes, size_t n);
  size_t (*argmax_sum_dd)(const double* row, const double* nodes, size_t n);

  // Writes every j with scores[j] >= least to `out` and returns how many there are.
  size_t (*at_least_f)(const float* scores, size_t n, double least, int32_t* out);
  size_t (*at_least_d)(const double* scores, size_t n, double least, int32_t* out);

  BatchKernels<float> batch_f;
  BatchKernels<double> batch_d;
};

// The level chosen at start-up: the best the CPU has, or what TAGWRIGHT_SIMD asks for. Throws std::invalid_argument
// where that names no level of this build or one the CPU lacks.
const Kernels& kernels();

}  // namespace tagwright
