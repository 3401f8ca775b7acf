// CRFs trained by steps that cost what they touch.
//
// Sentences are summed in batches, over few labels per column (sums/pruned_sums.h). Each then asks for steps: of the
// weights of labels and pairs of labels whose expected and observed counts differ by enough. They get weights where
// they have none yet, so that a CRF has weights for what it took for likely and was wrong, as a perceptron has for what
// its updates touch. Weights and edge factors are changed in place.
//
// Results do not depend on the number of threads: within a batch, sentences are summed with the same weights, each by
// itself; then every row of weights is stepped by one thread, in the order of the sentences.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/arena.h"
#include "base/lazy.h"
#include "base/thread_pool.h"
#include "lattice/allowed.h"
#include "lattice/edges.h"
#include "sums/keep.h"
#include "sums/ngram_sums.h"
#include "sums/pruned_sums.h"
#include "train/corpus.h"
#include "train/ngram_index.h"
#include "train/online/stepped_weights.h"

namespace tagwright {

struct OnlineOptions {
  bool edges = true;    // weights for pairs of labels
  bool touched = true;  // steps may give weights to pairs that the corpus does not have
  size_t batch = 8;
  double rate = 0.5, l2 = 0;
  double margin = 0;  // what the score of a right label is lowered by in training
  // kDivergence: log Z of a sentence is at most epsilon per token below the exact one. kSize, kRatio: what they keep,
  // by their beliefs on the way forward. kAll: exact.
  Keep keep;
  // The most labels that a column may keep; where a rule wants more, they are left out, and nothing is promised. 0:
  // any.
  size_t at_most = 0;
  std::shared_ptr<const PairRules> rules = {};  // which the right labels keep to
  AllowedLists allowed = {};  // one list per token of the corpus that has its right label; or no column at all
  // Weights for runs of labels. Which labels of a column matter is then told by the weights of labels and pairs alone.
  NgramOptions runs = {};
};

// The entries of one kind of weights as a checkpoint holds them.
template <template <class> class Array>
struct SteppedArrays {
  Array<uint32_t> row;
  Array<uint64_t> key;
  Array<float> weight, squares, late;
};
// Calls take(name, array) for the arrays of one kind.
template <template <class> class Array, class Take>
void for_each_state_array(SteppedArrays<Array>& a, Take&& take) {
  take("row", a.row);
  take("key", a.key);
  take("weight", a.weight);
  take("squares", a.squares);
  take("late", a.late);
}
// Of nodes, edges, sets and ngrams.
template <template <class> class Array>
using SteppedState = std::array<SteppedArrays<Array>, 4>;

// The least difference of expected and observed counts that is a reason for a step.
inline constexpr double kStepFrom = 0.01;
// Edge weights stay within this, so that sums of their factors neither overflow nor lose what matters.
inline constexpr float kMostEdge = 40;

class OnlineCrf {
 public:
  // parts: of labels, [k * L + y], or none.
  OnlineCrf(Corpus corpus, std::vector<uint16_t> parts, const OnlineOptions& options);

  struct Seen {
    double loss = 0;                         // log Z less the score of the right labels
    double missing = 0;                      // what log Z may lack at most; 0 where the rule promises nothing
    size_t tokens = 0, kept = 0, exact = 0;  // exact: sentences that were summed so

    Seen& operator+=(const Seen& other) {
      loss += other.loss;
      missing += other.missing;
      tokens += other.tokens;
      kept += other.kept;
      exact += other.exact;
      return *this;
    }
  };
  // Goes over these sentences once. from: a cut of the corpus that these are the sentences of, or nullptr.
  Seen run(std::span<const int32_t> sentences, size_t threads, const Corpus* from = nullptr);
  // The same in two halves, which may be done in different places: the steps that sentences ask for, as bytes; and a
  // batch of steps, of which the n-th is that of sentence number[n] of given[which[n]].
  std::vector<uint8_t> ask(std::span<const int32_t> sentences, size_t threads);
  Seen apply(const std::vector<std::span<const uint8_t>>& given, std::span<const int32_t> which,
             std::span<const int32_t> number, size_t threads);
  // After each pass over the corpus: takes the penalty's step, and looks for the best edges anew.
  void end_epoch();
  // log Z of sentences as it is summed in training, and what it may lack at most.
  std::vector<std::pair<double, double>> log_z(std::span<const int32_t> sentences) const;

  const Corpus& corpus() const { return corpus_; }
  double seen() const { return seen_; }
  size_t size() const { return nodes_.entries() + edges_.entries() + sets_.entries() + runs_.size(); }
  // The weights, and their average over all sentences seen.
  Weights average() const { return weights(true); }
  Weights last() const { return weights(false); }

  void start_from(const Weights& old, std::span<const int32_t> label);
  // Goes on with other sentences, which may have new features; their numbers follow those of the known ones.
  void extend(Corpus corpus);
  SteppedState<Owned> state() const;
  // What the state of a pass that is not finished has beside: the bounds of edges only rise within a pass.
  std::vector<float> bounds() const;
  void set_bounds(std::span<const float> bounds);
  void restore(double seen, const SteppedState<Borrowed>& state);

 private:
  using Rows = SteppedRows<uint16_t>;
  // What one thread works with.
  struct Workspace {
    std::vector<float> scores;                     // [t * padded_ + y]: of the nodes
    std::vector<float> sum, blocks, keys, bounds;  // [y], of a column
    std::vector<int32_t> opened;
    std::vector<double> messages, beliefs, node;  // beside opened
    std::vector<double> order;
    std::vector<float> by_key;  // [key]: scores of labels and parts, of a token
    PrunedSums sums;
    Arena arena;
    std::vector<std::vector<int32_t>> on;
    std::vector<double> step;
    NgramSums ngrams;
    std::vector<std::span<const int32_t>> labels;  // [t]
    std::vector<int32_t> sorted;
    std::vector<double> runs;   // [run], 0 between uses
    std::vector<uint32_t> met;  // runs that are not 0
  };
  // The steps that a sentence asks for.
  struct SparseGradient {
    struct Edge {
      uint32_t t;
      uint16_t i, j;
      float gradient;
    };
    std::vector<size_t> end;                        // [t]
    std::vector<std::pair<uint16_t, float>> nodes;  // label or part, gradient
    std::vector<Edge> edges;
    std::vector<std::pair<uint32_t, float>> runs;  // run, gradient
    Seen seen;
  };
  // How far below the best the labels may be that are opened, by bounds, and kept, by beliefs.
  struct Width {
    double open, keep;
  };

  void observe();
  void observe_node(size_t feature, uint16_t label);
  void observe_steps();
  void score(size_t sentence, Workspace& workspace) const;
  void forbid(size_t sentence, Workspace& workspace) const;
  // Sums forward over few labels. Returns whether it was enough.
  bool choose_few(size_t sentence, Workspace& workspace) const;
  // Returns whether there is something to go on with: labels are not too many, and a path is left.
  bool forward(size_t sentence, const Width& width, Workspace& workspace) const;
  size_t open_column(const float* scores, double width, Workspace& workspace, float& top, double& unopened) const;
  size_t best_opened(size_t n, size_t wanted, double& unopened, float top, Workspace& workspace) const;
  size_t keep_best(size_t n, double width, double& lost, Workspace& workspace) const;
  void fill_factors(size_t token, std::span<const int32_t> from, std::span<const int32_t> to, double* out) const;
  double set_bound(size_t token) const;
  void ask(size_t sentence, const Workspace& workspace, SparseGradient& asked) const;
  void end_token(SparseGradient& asked) const;
  void sum_exactly(size_t sentence, Workspace& workspace, SparseGradient& asked) const;
  // Sums over runs of labels: of few, or all.
  void sum_runs(size_t sentence, bool few, Workspace& workspace, SparseGradient& asked) const;
  void ask_runs(size_t sentence, size_t t, Workspace& workspace, SparseGradient& asked) const;
  double right_score(size_t sentence, const Workspace& workspace) const;
  void sum(size_t sentence, Workspace& workspace, SparseGradient& asked) const;
  const Edges& exact_edges() const;

  void take_steps(std::span<const int32_t> batch, ThreadPool& pool, Seen& seen);
  void step_nodes(std::span<const int32_t> sentences, size_t shard);
  void step_edges(std::span<const int32_t> sentences);
  void step_runs(const Stepper& stepper, size_t sentences);
  void hold_runs();
  void set_run(size_t q, float weight);
  void step_node(const Stepper& stepper, size_t feature, uint16_t label, double gradient);
  void set_factor(size_t i, size_t j, float weight);
  void note_node(size_t feature, uint16_t label, float weight);
  void find_bounds();
  Weights weights(bool averaged) const;

  OnlineOptions options_;
  Corpus corpus_;
  std::vector<uint16_t> part_of_;
  Parts parts_;
  size_t padded_;               // L, up to a whole group of the kernels
  Rows nodes_, edges_;          // [feature]: label; [previous]: current
  SteppedRows<uint64_t> sets_;  // [set]: pair of labels
  NgramIndex runs_;
  std::vector<float> run_weight_;  // [run]
  std::vector<OptimizerState> run_past_;
  std::unique_ptr<MutableNgrams> ngrams_;  // the scores of the runs, where there are some
  // Large rows, held whole and kept up to date; by shards.
  std::array<std::unordered_map<size_t, std::vector<float>>, Rows::kShards> whole_;
  std::vector<float> factor_;          // [i * L + j]: exp of the edge's weight; empty where there are too many labels
  std::vector<float> into_, out_;      // [y], padded: the best edge into and out of a label, at least 0
  std::vector<float> set_best_;        // [set]: the best correction, at least 0
  Lazy<Edges> exact_;                  // of this batch
  double seen_ = 0;                    // sentences
  std::vector<SparseGradient> asked_;  // [sentence of the batch]
};

}  // namespace tagwright
