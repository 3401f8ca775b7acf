// Conditional random fields: log Z and expected counts of a corpus, exact or sparse, and stochastic steps.
//
// The gradient of the log-likelihood is observed less expected counts (Pal et al. 2006, equation 4). The weights are
// one vector: those of (feature, label) pairs, then of (previous, current) pairs, then of (set, pair)s, which belong to
// token-dependent edges.
//
// Expected counts are sums of numbers that were rounded to multiples of one power of 2 before, so that they are exact
// and depend neither on the number of threads nor on who does what.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "features/encode.h"
#include "sums/forward_backward.h"

namespace tagwright {

inline constexpr size_t kNoPlace = static_cast<size_t>(-1);

// Which weights there are.
struct CrfPairs {
  std::vector<size_t> node_end;  // [feature]
  std::vector<uint16_t> node_label;
  std::vector<int32_t> previous, current;  // sorted
  std::vector<size_t> set_end;             // [set]
  std::vector<uint64_t> set_pair;

  size_t nodes() const { return node_label.size(); }
  size_t edges() const { return previous.size(); }
  size_t size() const { return nodes() + edges() + set_pair.size(); }
};

// The pairs that a corpus has, or (all) every label for every feature and every pair of labels.
CrfPairs pairs_of(const Encoded& corpus, std::span<const int32_t> labels, size_t L, size_t features, size_t sets,
                  bool edges, bool all);

struct CrfOptions {
  size_t L = 0;
  bool dense_edges = false;  // sums over the whole matrix, not over default + exceptions
  // Exact sums take several sentences side by side. A sentence of which a rule keeps more than a quarter of the labels
  // is summed so, too, which is faster.
  bool lanes = true;
  bool closed = false;  // a token's first feature says which labels it may have; others add to these
};

class Crf {
 public:
  // labels: of every token, in order; empty where they are not known.
  Crf(Encoded corpus, std::vector<int32_t> labels, CrfPairs pairs, const CrfOptions& options);

  struct Seen {
    double log_z = 0;  // summed over sentences
    double right = 0;  // the scores of the right labels, where they are asked for
    size_t tokens = 0, kept = 0;
  };
  // Sums over these sentences; counts: [weight], filled.
  Seen expect(std::span<const double> weights, const Keep& keep, std::span<const int32_t> sentences, size_t threads,
              double* counts) const;
  // What the right labels of these sentences count; counts: [weight], filled.
  void observe(std::span<const int32_t> sentences, double* counts) const;

  // Goes over these sentences once, `batch` at a time, and takes a step of AdaGrad (Duchi, Hazan and Singer 2011) after
  // each: w -= rate * g / sqrt(sum of g^2). g holds a share of the penalty's gradient: of a feature's weights where
  // the feature occurs, in proportion to how often.
  Seen adagrad(std::span<double> weights, std::span<double> squares, const Keep& keep,
               std::span<const int32_t> sentences, size_t batch, double rate, double l2) const;

  const CrfPairs& pairs() const { return pairs_; }
  bool labelled() const { return !labels_.empty() || corpus_.node.end.empty(); }
  bool closed() const { return options_.closed; }
  size_t sentences() const { return corpus_.sentences(); }

 private:
  // What one thread works with.
  struct Strand {
    std::vector<double> counts;        // [weight]
    std::vector<double> whole_counts;  // as whole_ is
    std::vector<double> matrix;        // of edge counts
    std::vector<double> left, right;   // [y], 0 between uses
    std::vector<double> step;          // edge probabilities, where they are reckoned with logarithms
    std::vector<std::pair<double*, double>> patched;
    std::vector<std::vector<int32_t>> on;
    Arena arena;
  };
  // The weights in the forms that sums need.
  struct Ready {
    std::span<const double> weights;
    std::vector<double> whole;  // large rows of weights, held whole
    Factors factors;
    std::unique_ptr<Edges> edges;  // made where single sentences are summed
  };

  void start(Strand& strand, const Ready& ready) const;
  void prepare(std::span<const double> weights, bool whole, Ready& ready) const;
  void make_edges(const std::vector<std::vector<int32_t>>& work, Ready& ready) const;
  bool together(const Ready& ready, const Keep& keep) const;
  std::vector<std::vector<int32_t>> groups(std::span<const int32_t> sentences, size_t lanes) const;
  // A group of sentences; how many labels were kept comes back, or kNoPlace where it is one that is better summed
  // exactly. log_z: [sentence of the group], filled.
  size_t sum(const Ready& ready, const Keep& keep, std::span<const int32_t> group, bool lanes, Strand& strand,
             double* log_z) const;
  size_t most_kept(const Ready& ready, const Keep& keep, size_t T) const;
  void sum_group(const Ready& ready, std::span<const int32_t> group, Strand& strand, double* log_z) const;
  size_t sum_one(const Ready& ready, const Keep& keep, size_t sentence, Strand& strand, double* log_z) const;
  void score(const Ready& ready, size_t token, double* out) const;
  void take(const Ready& ready, size_t token, const double* p, Strand& strand) const;
  void take_kept(const Ready& ready, size_t token, std::span<const int32_t> labels, const double* p,
                 Strand& strand) const;
  void take_edges(const Ready& ready, const Lattice& lattice, const Sums& sums, size_t t, Strand& strand) const;
  void count_shared(const Ready& ready, const Sums::Column& left, const Sums::Column& right, Strand& strand) const;
  void take_set_edges(const Lattice& lattice, const Sums& sums, size_t t, Strand& strand) const;
  void fold(Strand& strand) const;
  // Calls take(weight, times) for all that the right labels of a sentence count.
  void each_observed(size_t sentence, const std::function<void(size_t, double)>& take) const;
  size_t length(size_t s) const { return corpus_.sentence_end[s] - corpus_.first_token(s); }
  size_t node_begin(size_t f) const { return f ? pairs_.node_end[f - 1] : 0; }
  size_t edge_of(int32_t i, int32_t j) const;  // which weight, or kNoPlace

  CrfOptions options_;
  Encoded corpus_;
  std::vector<int32_t> labels_;  // [token]
  CrfPairs pairs_;
  std::vector<int32_t> whole_;  // [feature]: which of the rows held whole, or -1
  size_t whole_rows_ = 0;
  std::vector<double> feature_tokens_;  // [feature]: on how many tokens
  std::vector<double> set_tokens_;
  Factors shape_;                      // of the edges: begin and index
  std::vector<size_t> column_order_;   // [entry by column]: which entry by row
  double grain_ = 0;                   // of probabilities
  std::vector<double> feature_grain_;  // [feature]: of its counts; another one where it has values
};

}  // namespace tagwright
