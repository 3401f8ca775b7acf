// The weights of a model in training: nodes, edges, token-dependent edges (correction sets) and label n-grams. They
// grow, change one at a time, and are averaged over all sentences that training has visited since averaging began.
//
// Averaging is lazy: beside each weight stands the sum of its changes, each times the number of sentences visited
// before it; the average over n sentences is weight - sum / n. So a change costs what it touches.
//
// Threads may change nodes of different shards (train/weight_rows.h) at the same time; the result does not depend on
// which thread does it.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lattice/lattice.h"
#include "model/rows.h"
#include "train/ngram_index.h"
#include "train/weight_rows.h"

namespace tagwright {

// The entries of one kind of weights as a checkpoint holds them.
template <template <class> class Array>
struct StateArrays {
  Array<uint32_t> row;
  Array<uint64_t> key;
  Array<float> weight;
  Array<double> sum;     // empty: all are 0
  Array<float> squares;  // only with squared gradients; empty: all are 0
};
// Of nodes, edges, correction sets and n-grams.
template <template <class> class Array>
using WeightState = std::array<StateArrays<Array>, 4>;
inline constexpr std::array<const char*, 4> kStateKinds = {"nodes", "edges", "sets", "ngrams"};

// Forms of the weights that gradients read, kept up to date by the store: it calls these whenever a weight of an edge,
// a correction or an n-gram changes. Weights of nodes are read from the store itself.
class WeightView {
 public:
  virtual ~WeightView() = default;
  virtual void edge_changed(size_t i, size_t j, float weight) = 0;
  virtual void correction_changed(size_t set, size_t i, size_t j, float weight) = 0;
  virtual void ngram_changed(size_t ngram, float weight) = 0;
  // There are other n-grams than before, whose weights follow by ngram_changed(). Places `ngrams` in a trie.
  virtual void ngrams_replaced(NgramIndex& ngrams) = 0;
  // Many weights were set: bounds may be found anew.
  virtual void weights_replaced() {}
};

struct StoreOptions {
  bool edges = true;         // weights for pairs of labels
  bool squares = false;      // whether weights remember squared gradients
  bool observe = true;       // whether what the corpus has gets weights (of 0) from the start
  size_t denominator = 0;    // weights are multiples of 1 / denominator (a power of 2) until one is not; 0: unknown
  NgramOptions ngrams = {};  // which n-grams have weights
};

class WeightStore {
 public:
  using Rows = WeightRows<uint16_t>;
  using PairRows = WeightRows<uint64_t>;
  static constexpr size_t kShards = Rows::kShards;

  // parts: of labels, [k * L + y], or none.
  WeightStore(Corpus corpus, std::vector<uint16_t> parts, const StoreOptions& options);
  WeightStore(const WeightStore&) = delete;
  WeightStore& operator=(const WeightStore&) = delete;
  // To be called once, before weights change; the view must outlive the store's last change.
  void attach(WeightView& view);

  const Corpus& corpus() const { return corpus_; }
  const Parts& parts() const { return parts_; }
  const StoreOptions& options() const { return options_; }
  const Rows& nodes() const { return nodes_; }    // [feature]: label or part
  const Rows& edges() const { return edges_; }    // [previous]: current
  const PairRows& sets() const { return sets_; }  // [set]: pair of labels
  const NgramIndex& ngrams() const { return index_; }
  size_t size() const { return nodes_.entries() + edges_.entries() + sets_.entries() + ngrams_.entries(); }
  double visited() const { return visited_; }  // sentences
  void add_seen(size_t sentences) { visited_ += static_cast<double>(sentences); }
  // From here on, averages are over the sentences that are visited after this call; visited() is 0.
  void restart_average();

  // --- reading ---

  // Adds to out, [key], the weights of a token's features times their values; then those of parts to their labels'.
  template <class Score>
  void add_scores(const Corpus& corpus, size_t token, Score* out) const {
    const size_t begin = corpus.node.begin(token), keys = parts_.keys();
    const auto value = [&](size_t n) { return corpus.node.value_of(begin + n); };
    const auto whole = [&](size_t f) { return is_large(nodes_.size(f), keys) ? whole_row(f) : nullptr; };
    add_rows(nodes_, corpus.features_of(token), value, whole, keys, out);
    if (parts_.each) parts_.add_to_labels(out);
  }
  // Whether the scores of any token are exact in single precision, too: sums of multiples of 1 / denominator are as
  // long as they stay below 2^24 of these.
  bool sums_fit_float() const;

  // --- changing: update(weight, moments) changes an entry; where there is none, nothing happens unless `make` ---

  template <class Update>
  void update_node(size_t f, uint16_t key, bool make, Update&& update) {
    if (float* const weight = updated(nodes_, f, key, make, update)) node_changed(f, key, *weight);
  }
  template <class Update>
  void update_edge(size_t i, size_t j, bool make, Update&& update) {
    if (!options_.edges) return;
    if (float* const weight = updated(edges_, i, static_cast<uint16_t>(j), make, update))
      view_->edge_changed(i, j, *weight);
  }
  template <class Update>
  void update_correction(size_t set, size_t i, size_t j, bool make, Update&& update) {
    if (float* const weight = updated(sets_, set, pair_of(i, j), make, update))
      view_->correction_changed(set, i, j, *weight);
  }
  template <class Update>
  void update_ngram(size_t q, Update&& update) {
    update(ngrams_.weight(0, q), ngrams_.moments(0, q));
    view_->ngram_changed(q, ngrams_.weight(0, q));
  }
  // Updates every weight.
  template <class Update>
  void update_all(Update&& update) {
    for_each_kind([&](size_t, auto& rows, auto&&, auto&& notify) {
      for (size_t r = 0; r < rows.rows(); ++r) {
        for (size_t q = 0; q < rows.size(r); ++q) {
          update(rows.weight(r, q), rows.moments(r, q));
          notify(r, rows.keys(r)[q], rows.weight(r, q));
        }
      }
    });
  }

  // --- as a whole ---

  // Appends the weights of edges, then those of corrections, or their averages, to `values`, and their keys to `keys`.
  void list_edges(bool averaged, WeightKeys<Owned>& keys, std::vector<float>& values) const;
  // The weights, or their average over the sentences visited.
  Weights weights(bool averaged) const;
  // Warm start from a model whose features come first in the corpus. label: [its label] the number here.
  void start_from(const Weights& model, std::span<const int32_t> label);
  // Continues with other sentences, which may have new features; their numbers follow those of the known ones.
  void extend(Corpus corpus);
  // With the corpus, the options and visited(), everything that training resumes from.
  WeightState<Owned> state() const;
  void restore(double visited, const WeightState<Borrowed>& state);
  // Iterative parameter mixing (McDonald, Hall and Mann 2010): the weights become the mean of those with which shards
  // of the corpus ended an epoch that all of them began with these weights. Averages are over all sentences that any
  // shard has visited; squared gradients add up. shards: how many sentences each has visited in the epoch, and its
  // state.
  void mix(std::span<const std::pair<double, WeightState<Borrowed>>> shards);

 private:
  static uint64_t pair_of(size_t i, size_t j) {
    return Corrections::pair(static_cast<int32_t>(i), static_cast<int32_t>(j));
  }
  template <class AnyRows, class Key, class Update>
  static float* updated(AnyRows& rows, size_t r, Key key, bool make, Update&& update) {
    const size_t entry = make ? rows.find_or_add(r, key) : rows.find(r, key);
    if (entry == kNoPlace) return nullptr;
    float& weight = rows.weight(r, entry);
    update(weight, rows.moments(r, entry));
    return &weight;
  }
  // Calls visit(kind, rows, is_valid(key), notify(row, key, weight)) for the four kinds of weights, in the order of a
  // state.
  template <class Visit>
  void for_each_kind(Visit&& visit);
  double sum_of(const Moments& moments) const { return options_.squares ? moments.sum : moments.precise_sum(); }
  Moments moments_of(double sum, float squares) const;
  template <class AnyRows, class AddKey>
  void list(const AnyRows& rows, bool averaged, std::vector<float>& values, AddKey&& add_key) const;
  void check_state(const WeightState<Borrowed>& state);
  void observe_node(size_t feature, uint16_t label);
  void observe_steps();
  void measure_corpus();
  void node_changed(size_t feature, uint16_t key, float weight);
  const float* whole_row(size_t feature) const;
  // Makes room for the n-grams of the index that have none, and places all of them in the view.
  void hold_ngrams();

  StoreOptions options_;
  Corpus corpus_;
  std::vector<uint16_t> part_of_;
  Parts parts_;
  Rows nodes_, edges_;
  PairRows sets_, ngrams_;
  NgramIndex index_;
  WeightView* view_ = nullptr;
  double visited_ = 0;
  struct alignas(64) Shard {
    std::unordered_map<size_t, std::vector<float>> whole;  // large rows of nodes, [feature]: [key], up to date
    double largest = 0;                                    // magnitude of a weight, as long as it is tracked
    bool tracked = true;                                   // all weights are multiples of 1 / denominator
  };
  std::array<Shard, kShards> shards_;
  double most_added_ = 0;  // weights that are added for a label of a token
};

inline void WeightStore::node_changed(size_t f, uint16_t key, float weight) {
  Shard& shard = shards_[Rows::shard_of(f)];
  if (shard.tracked) {
    const double multiple = static_cast<double>(weight) * static_cast<double>(options_.denominator);
    shard.tracked = multiple == std::trunc(multiple);
    shard.largest = std::max(shard.largest, std::fabs(static_cast<double>(weight)));
  }
  if (!is_large(nodes_.size(f), parts_.keys())) return;
  const auto [found, fresh] = shard.whole.try_emplace(f);
  if (fresh) {
    found->second.assign(parts_.keys(), 0.0F);
    set_row(nodes_, f, found->second.data());
  }
  found->second[key] = weight;
}

inline const float* WeightStore::whole_row(size_t f) const {
  const auto& rows = shards_[Rows::shard_of(f)].whole;
  const auto found = rows.find(f);
  return found == rows.end() ? nullptr : found->second.data();
}

template <class Visit>
void WeightStore::for_each_kind(Visit&& visit) {
  const size_t L = corpus_.L;
  visit(
      size_t{0}, nodes_, [&](uint64_t key) { return key < parts_.keys(); },
      [&](size_t f, uint16_t key, float w) { node_changed(f, key, w); });
  visit(
      size_t{1}, edges_, [&](uint64_t j) { return j < L; },
      [&](size_t i, uint16_t j, float w) { view_->edge_changed(i, j, w); });
  visit(
      size_t{2}, sets_, [&](uint64_t pair) { return pair >> 32 < L && (pair & 0xffffffffU) < L; },
      [&](size_t set, uint64_t pair, float w) {
        view_->correction_changed(set, static_cast<size_t>(pair >> 32), static_cast<size_t>(pair & 0xffffffffU), w);
      });
  visit(
      size_t{3}, ngrams_, [&](uint64_t key) { return index_.is_valid(key, L); },
      [&](size_t, uint64_t key, float w) { view_->ngram_changed(index_.find(key), w); });
}

}  // namespace tagwright
