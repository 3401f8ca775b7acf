// Conditional random fields: log Z and expected counts of a corpus, exact or sparse, and stochastic steps.
//
// The gradient of the log-likelihood is observed less expected counts (Pal et al. 2006, equation 4). The weights are
// one vector, in the order of model/weights.h.
//
// Expected counts are sums of numbers that were rounded to multiples of one power of 2 before, so that they are exact
// and depend neither on the number of threads nor on who does what.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "sums/forward_backward.h"
#include "sums/ngram_sums.h"
#include "train/corpus.h"
#include "train/crf/scale.h"
#include "train/ngram_index.h"

namespace tagwright {

// The weights that a corpus has, or (all) every label for every feature and every pair of labels. rules: or none; pairs
// that these forbid one by one have weights too, which stay 0.
// runs: which runs of labels have weights, too.
WeightKeys<Owned> keys_of(const Corpus& corpus, bool edges, bool all, const PairRules* rules = nullptr,
                          const NgramOptions& runs = {});

// Throws std::invalid_argument unless keys fit together and to a corpus: no look-up then leaves them.
void check_keys(const WeightKeys<Owned>& keys, const Corpus& corpus);

struct CrfOptions {
  bool dense_edges = false;  // sums over the whole matrix, not over default + exceptions
  // Exact sums take several sentences side by side. A sentence of which a rule keeps more than a quarter of the labels
  // is summed so, too, which is faster.
  bool lanes = true;
  bool closed = false;  // a token's first feature says which labels it may have; others add to these
  std::shared_ptr<const PairRules> rules = nullptr;  // which every labelling keeps to, the right ones too
  AllowedLists allowed = {};  // one list per token of the corpus that has its right label; or no column at all
};

class Crf {
 public:
  // Sentences whose numbers are the same when divided by this are summed together; a part of a corpus that is to be
  // summed elsewhere begins and ends with such a stretch.
  static constexpr size_t kBlock = 512;

  // scale: that of the whole corpus, where this is a part of it.
  Crf(Corpus corpus, WeightKeys<Owned> keys, const CrfOptions& options, std::optional<CrfScale> scale = {});
  // For hidden Markov models: nobody knows the labels; a token's first feature says which it may have.
  // names: of the features, one per row.
  static Crf closed(const Text& text, size_t L, const std::vector<std::string_view>& names, WeightKeys<Owned> keys);

  struct Seen {
    double log_z = 0;  // summed over sentences
    double right = 0;  // the scores of the right labels, where they are asked for
    size_t tokens = 0, kept = 0;
  };
  // Sums over these sentences; counts: [weight], filled. Of sentences whose labels are partly known, log Z and counts
  // are less those of what is allowed.
  // each: [sentence of these]: its log Z; or empty.
  Seen expect(std::span<const double> weights, const Keep& keep, std::span<const int32_t> sentences, size_t threads,
              std::span<double> counts, std::span<double> each = {}) const;
  // What the right labels of these sentences count, of those whose labels are all known; counts: [weight], filled.
  void observe(std::span<const int32_t> sentences, std::span<double> counts) const;

  // Goes over these sentences once, `batch` at a time, and takes a step of AdaGrad (Duchi, Hazan and Singer 2011) after
  // each: w -= rate * g / sqrt(sum of g^2). g holds a share of the penalty's gradient: of a feature's weights where
  // the feature occurs, in proportion to how often.
  // from: a cut of the corpus that these are the sentences of, or nullptr.
  Seen adagrad(std::span<double> weights, std::span<double> squares, const Keep& keep,
               std::span<const int32_t> sentences, size_t batch, double rate, double l2, const Corpus* from = nullptr);

  const Corpus& corpus() const { return corpus_; }
  const CrfScale& scale() const { return scale_; }
  const WeightKeys<Borrowed>& keys() const { return keys_; }
  // Weights as a model has them, in single precision.
  Weights trained(std::span<const double> weights) const;
  // Takes over the weights of a model, whose features come first in the corpus, where there is a place for them.
  // label: [its label] the number here.
  void start_from(const Weights& old, std::span<const int32_t> label, std::span<double> weights) const;

 private:
  // What one thread works with.
  struct Workspace {
    std::vector<double> counts;        // [weight]
    std::vector<double> whole_counts;  // as whole_ is
    std::vector<double> matrix;        // of edge counts
    std::vector<double> left, right;   // [y], 0 between uses
    std::vector<double> step;          // edge probabilities, where they are computed from logarithms
    std::vector<std::pair<double*, double>> patched;
    std::vector<std::vector<int32_t>> on;
    NgramSums ngrams;
    Arena arena;
  };
  // The weights in the forms that sums need.
  struct Ready {
    std::span<const double> weights;
    PackedRows<double> rows;
    std::vector<double> whole;  // large rows of weights, held whole
    Factors factors;
    std::unique_ptr<Edges> edges;  // made where single sentences are summed
  };

  void start(Workspace& workspace, const Ready& ready) const;
  void prepare(std::span<const double> weights, bool whole, Ready& ready) const;
  void make_edges(const std::vector<std::vector<int32_t>>& work, Ready& ready) const;
  bool together(const Ready& ready, const Keep& keep) const;
  std::vector<std::vector<int32_t>> groups(std::span<const int32_t> sentences, size_t lanes) const;
  std::vector<std::vector<int32_t>> groups_by_block(std::span<const int32_t> sentences, size_t lanes) const;
  // Sums a group of sentences. Returns how many labels were kept, or kNoPlace where it is one that is better summed
  // exactly. log_z: [sentence of the group], filled.
  size_t sum(const Ready& ready, const Keep& keep, std::span<const int32_t> group, bool lanes, Workspace& workspace,
             double* log_z) const;
  size_t most_kept(const Ready& ready, const Keep& keep, size_t T) const;
  void sum_group(const Ready& ready, std::span<const int32_t> group, Workspace& workspace, double* log_z) const;
  // Of a sentence whose labels are partly known, log_z is log Z less that of what is allowed, and so are the counts.
  size_t sum_one(const Ready& ready, const Keep& keep, size_t sentence, Workspace& workspace, double* log_z) const;
  void count(const Ready& ready, const Lattice& lattice, const Sums& sums, size_t first, double times,
             Workspace& workspace) const;
  void hold_runs();
  void step_runs(size_t t, double times, Workspace& workspace) const;
  // Calls take(which run) for those that end where a labelling comes to this node.
  template <class Take>
  void for_each_run(LabelNgrams::Node at, Take&& take) const {
    // A run is at least three labels long, so that of two nodes both are runs only where they differ.
    for (const LabelNgrams::Node node : {at, runs_->suffix(at)})
      if (const int32_t q = run_of_node_[static_cast<size_t>(node)]; q >= 0) take(static_cast<size_t>(q));
  }
  Allowed lists_of(size_t sentence) const;
  std::vector<int32_t> best_allowed(const Ready& ready, size_t sentence, const double* nodes,
                                    Workspace& workspace) const;
  // Whether a sentence is summed by itself: its labels are partly known, or it counts more or less than others.
  bool alone(size_t s) const { return corpus_.is_partial(s) || corpus_.weight_of(s) != 1; }
  void score(const Ready& ready, size_t token, double* out) const;
  void take(const Ready& ready, size_t token, const double* p, Workspace& workspace) const;
  void take_kept(const Ready& ready, size_t token, std::span<const int32_t> labels, const double* p,
                 Workspace& workspace) const;
  void take_edges(const Ready& ready, const Lattice& lattice, const Sums& sums, size_t t, Workspace& workspace) const;
  void count_shared(const Ready& ready, const Sums::Column& left, const Sums::Column& right,
                    Workspace& workspace) const;
  void take_set_edges(const Lattice& lattice, const Sums& sums, size_t t, Workspace& workspace) const;
  void fold(Workspace& workspace) const;
  // Calls take(weight, times) for all that the right labels of a sentence count.
  void for_each_observed(size_t sentence, const std::function<void(size_t, double)>& take) const;
  size_t length(size_t s) const { return corpus_.length(s); }
  size_t node_begin(size_t f) const { return f ? keys_.row_end[f - 1] : 0; }
  size_t set_begin(size_t set) const { return set ? set_end_[set - 1] : 0; }
  // Which weight of rows, of edges, of corrections; or kNoPlace.
  size_t node_of(size_t feature, int32_t label) const;
  size_t edge_of(int32_t i, int32_t j) const;
  size_t correction_of(size_t set, int32_t i, int32_t j) const;
  // Throws std::invalid_argument for sentences that are not there, another number of weights, or weights that are no
  // numbers: sums of these would be none either, and not say so.
  void check(std::span<const int32_t> sentences, std::initializer_list<size_t> sizes,
             std::span<const double> weights) const;
  void need_labels() const;

  CrfOptions options_;
  Corpus corpus_;
  std::shared_ptr<const WeightKeys<Owned>> held_;  // shared with the weights that were trained
  WeightKeys<Borrowed> keys_;
  std::vector<size_t> set_end_;  // [set], in corrections
  std::vector<int32_t> whole_;   // [feature]: which of the rows held whole, or -1
  size_t whole_rows_ = 0;
  CrfScale scale_;
  Factors shape_;                        // of the edges: begin and index
  std::vector<size_t> column_order_;     // [entry by column]: which entry by row
  std::unique_ptr<MutableNgrams> runs_;  // those that have weights, all of score 0; or none
  std::vector<int32_t> run_of_node_;     // [node of these], -1 where it is no run
};

}  // namespace tagwright
