#include "train/weight_store.h"

#include "base/need.h"
#include "base/sparse_rows.h"

namespace tagwright {

WeightStore::WeightStore(Corpus corpus, std::vector<uint16_t> parts, const StoreOptions& options)
    : options_(options),
      corpus_(std::move(corpus)),
      part_of_(std::move(parts)),
      parts_(Parts::of_array(part_of_, corpus_.L)),
      index_(corpus_, options_.ngrams) {
  need(parts_.keys() <= kMostLabels, "a model has between 1 and 65,535 labels, their parts included");
  parts_.check();
  need(corpus_.labels.size() == corpus_.tokens(), "the labels of the corpus are not known");
  nodes_.grow(corpus_.features());
  edges_.grow(corpus_.L);
  sets_.grow(corpus_.sets());
  ngrams_.grow(1);
  for (Shard& shard : shards_) shard.tracked = options_.denominator > 0;
  measure_corpus();
  if (!options_.observe) return;
  // The labels of a feature one after the other, so that its row is made once.
  const ObservedLabels observed = corpus_.observed_labels();
  for (size_t f = 0, at = 0; f < observed.end.size(); ++f)
    for (; at < observed.end[f]; ++at) observe_node(f, observed.label[at]);
  observe_steps();
}

void WeightStore::attach(WeightView& view) {
  view_ = &view;
  hold_ngrams();
}

void WeightStore::observe_node(size_t f, uint16_t y) {
  nodes_.find_or_add(f, y);
  for (size_t k = 0; k < parts_.each; ++k) nodes_.find_or_add(f, static_cast<uint16_t>(parts_.key(k, y)));
}

void WeightStore::observe_steps() {
  corpus_.for_each_step([&](size_t token, int32_t i, int32_t j) {
    if (options_.edges) edges_.find_or_add(static_cast<size_t>(i), static_cast<uint16_t>(j));
    for (const int32_t set : corpus_.sets_of(token))
      sets_.find_or_add(static_cast<size_t>(set), Corrections::pair(i, j));
  });
  for (const auto& [i, j] : corpus_.open_pairs())
    if (options_.edges) edges_.find_or_add(static_cast<size_t>(i), static_cast<uint16_t>(j));
}

void WeightStore::extend(Corpus corpus) {
  need(corpus.L == corpus_.L && corpus.features() >= corpus_.features() && corpus.sets() == corpus_.sets(),
       "a corpus with other labels, or fewer features");
  corpus_ = std::move(corpus);
  measure_corpus();
  nodes_.grow(corpus_.features());
  if (index_.add(corpus_)) hold_ngrams();
  if (!options_.observe) return;
  for (size_t token = 0; token < corpus_.tokens(); ++token)
    for (const int32_t y : corpus_.allowed_of(token))
      for (const int32_t f : corpus_.features_of(token)) observe_node(static_cast<size_t>(f), static_cast<uint16_t>(y));
  observe_steps();
}

void WeightStore::hold_ngrams() {
  for (size_t q = 0; q < index_.size(); ++q) ngrams_.find_or_add(0, index_[q]);
  view_->ngrams_replaced(index_);
  for (size_t q = 0; q < index_.size(); ++q)
    if (const float weight = ngrams_.values(0)[q]; weight != 0) view_->ngram_changed(q, weight);
}

// What decides whether sums fit single precision.
void WeightStore::measure_corpus() {
  size_t most = 0;
  for (size_t s = 0; s < corpus_.sentences(); ++s) {
    corpus_.visit();
    for (size_t token = corpus_.first_token(s); token < corpus_.sentence_end[s]; ++token)
      most = std::max(most, corpus_.features_of(token).size());
  }
  most_added_ = static_cast<double>(most * (1 + parts_.each));
  if (corpus_.node.value.empty()) return;
  for (Shard& shard : shards_) shard.tracked = false;
}

bool WeightStore::sums_fit_float() const {
  double largest = 0;
  for (const Shard& shard : shards_) {
    if (!shard.tracked) return false;
    largest = std::max(largest, shard.largest);
  }
  return largest * most_added_ * static_cast<double>(options_.denominator) < 0x1p24;
}

Moments WeightStore::moments_of(double sum, float squares) const {
  Moments made;
  if (options_.squares) {
    made = {squares, static_cast<float>(sum)};
  } else {
    made.set_precise_sum(sum);
  }
  return made;
}

// Calls add_key(row, key) for the entries of rows, and appends their weights to `values`.
template <class AnyRows, class AddKey>
void WeightStore::list(const AnyRows& rows, bool averaged, std::vector<float>& values, AddKey&& add_key) const {
  const double n = std::max(visited_, 1.0);
  for (size_t r = 0; r < rows.rows(); ++r) {
    const auto weight = rows.values(r);
    const auto moments = rows.moments(r);
    for (size_t q = 0; q < weight.size(); ++q) {
      add_key(r, rows.keys(r)[q]);
      values.push_back(averaged ? static_cast<float>(weight[q] - sum_of(moments[q]) / n) : weight[q]);
    }
  }
}

void WeightStore::list_edges(bool averaged, WeightKeys<Owned>& keys, std::vector<float>& values) const {
  list(edges_, averaged, values, [&](size_t i, uint16_t j) {
    keys.previous.push_back(static_cast<uint16_t>(i));
    keys.current.push_back(j);
  });
  list(sets_, averaged, values, [&](size_t set, uint64_t pair) {
    keys.set.push_back(static_cast<int32_t>(set));
    keys.set_previous.push_back(static_cast<uint16_t>(Corrections::previous(pair)));
    keys.set_current.push_back(static_cast<uint16_t>(Corrections::current(pair)));
  });
}

Weights WeightStore::weights(bool averaged) const {
  const auto held = std::make_shared<PartKeys>(PartKeys{{}, part_of_});
  WeightKeys<Owned>& keys = held->keys;
  std::vector<float> values;
  values.reserve(size());
  keys.row_label.reserve(nodes_.entries());
  list(nodes_, averaged, values, [&](size_t, uint16_t key) { keys.row_label.push_back(key); });
  for (size_t f = 0, end = 0; f < nodes_.rows(); ++f) keys.row_end.push_back(end += nodes_.size(f));
  list_edges(averaged, keys, values);
  keys.runs = index_.keys();
  list(ngrams_, averaged, values, [](size_t, uint64_t) {});
  return corpus_.weights(held, std::move(values));
}

void WeightStore::start_from(const Weights& model, std::span<const int32_t> label) {
  corpus_.check_known(model);
  const std::vector<uint16_t> renamed = model.renamed_keys(label, parts_);
  const auto set_to = [&](float w) {
    return [this, w](float& weight, Moments& moments) {
      weight = w;
      moments = moments_of(0, moments.squares);
    };
  };
  if (index_.add(model, renamed)) hold_ngrams();
  model.for_each_ngram(renamed, [&](std::span<const int32_t> ngram, float w) {
    update_ngram(index_.find(packed_ngram(ngram)), set_to(w));
  });
  model.each(
      renamed, [&](size_t f, uint16_t key, float w) { update_node(f, key, true, set_to(w)); },
      [&](uint16_t i, uint16_t j, float w) {
        if (float* const weight = updated(edges_, i, j, true, set_to(w))) view_->edge_changed(i, j, *weight);
      },
      [&](size_t set, uint16_t i, uint16_t j, float w) { update_correction(set, i, j, true, set_to(w)); });
  view_->weights_replaced();
}

WeightState<Owned> WeightStore::state() const {
  const auto entries = [&](const auto& rows) {
    StateArrays<Owned> out;
    for (size_t r = 0; r < rows.rows(); ++r) {
      const auto key = rows.keys(r);
      const auto weight = rows.values(r);
      out.row.insert(out.row.end(), key.size(), static_cast<uint32_t>(r));
      out.key.insert(out.key.end(), key.begin(), key.end());
      out.weight.insert(out.weight.end(), weight.begin(), weight.end());
      for (const Moments& moments : rows.moments(r)) {
        out.sum.push_back(sum_of(moments));
        if (options_.squares) out.squares.push_back(moments.squares);
      }
    }
    return out;
  };
  return {entries(nodes_), entries(edges_), entries(sets_), entries(ngrams_)};
}

// Throws unless the arrays fit together and to these weights; n-grams that are new are added.
void WeightStore::check_state(const WeightState<Borrowed>& state) {
  for_each_kind([&](size_t kind, auto& rows, auto&& is_valid, auto&&) {
    const StateArrays<Borrowed>& a = state[kind];
    const size_t n = a.row.size();
    need(a.key.size() == n && a.weight.size() == n && (a.sum.empty() || a.sum.size() == n) &&
             (a.squares.empty() || a.squares.size() == n),
         "state: arrays of unequal length");
    for (size_t q = 0; q < n; ++q) {
      need(a.row[q] < rows.rows() && is_valid(a.key[q]),
           "state: a weight for a feature, label, correction set or n-gram that does not exist");
      need(std::isfinite(a.weight[q]) && (a.sum.empty() || std::isfinite(a.sum[q])) &&
               (a.squares.empty() || (std::isfinite(a.squares[q]) && a.squares[q] >= 0)),
           "state: a weight that is not finite");
    }
  });
  if (index_.add(state[3].key)) hold_ngrams();
}

void WeightStore::restore(double visited, const WeightState<Borrowed>& state) {
  need(std::isfinite(visited) && visited >= 0, "state: the number of sentences must be finite and not negative");
  check_state(state);
  for_each_kind([&](size_t kind, auto& rows, auto&&, auto&& notify) {
    using Key = std::remove_cvref_t<decltype(rows.keys(0)[0])>;
    const StateArrays<Borrowed>& a = state[kind];
    for (size_t q = 0; q < a.row.size(); ++q) {
      const size_t r = a.row[q], entry = rows.find_or_add(r, static_cast<Key>(a.key[q]));
      rows.weight(r, entry) = a.weight[q];
      rows.moments(r, entry) = moments_of(a.sum.empty() ? 0 : a.sum[q], a.squares.empty() ? 0 : a.squares[q]);
      notify(r, static_cast<Key>(a.key[q]), a.weight[q]);
    }
  });
  visited_ = visited;
  view_->weights_replaced();
}

void WeightStore::restart_average() {
  for_each_kind([&](size_t, auto& rows, auto&&, auto&&) {
    for (size_t r = 0; r < rows.rows(); ++r)
      for (size_t q = 0; q < rows.size(r); ++q) rows.moments(r, q) = moments_of(0, rows.moments(r, q).squares);
  });
  visited_ = 0;
}

void WeightStore::mix(std::span<const std::pair<double, WeightState<Borrowed>>> shards) {
  need(!shards.empty(), "nothing to mix");
  double after = visited_;
  for (const auto& [visited, state] : shards) {
    need(std::isfinite(visited) && visited >= 0, "state: the number of sentences must be finite and not negative");
    check_state(state);
    after += visited;
  }
  for_each_kind([&](size_t kind, auto& rows, auto&&, auto&& notify) {
    using Key = std::remove_cvref_t<decltype(rows.keys(0)[0])>;
    // Of each entry: the sums over the shards of its weight, of the weights that it had for each sentence that a shard
    // has visited, and of its squared gradients in the epoch.
    SparseRows<Key, double, double, double> sums;
    sums.reset(rows.rows());
    const auto before = [&](size_t r, Key key) {
      const size_t entry = rows.find(r, key);
      return entry == kNoPlace ? std::pair(0.0F, Moments()) : std::pair(rows.weight(r, entry), rows.moments(r, entry));
    };
    for (const auto& [visited, state] : shards) {
      const StateArrays<Borrowed>& a = state[kind];
      for (size_t q = 0; q < a.row.size(); ++q) {
        const size_t entry = sums.find_or_add(a.row[q], static_cast<Key>(a.key[q]));
        sums.template at<0>(entry) += a.weight[q];
        sums.template at<1>(entry) += visited * a.weight[q] - (a.sum.empty() ? 0 : a.sum[q]);
        if (!a.squares.empty())
          sums.template at<2>(entry) += a.squares[q] - before(a.row[q], static_cast<Key>(a.key[q])).second.squares;
      }
    }
    for (size_t r = 0; r < sums.rows(); ++r) {
      for (size_t q = 0; q < sums.size(r); ++q) {
        const Key key = sums.keys(r)[q];
        const auto [weight, moments] = before(r, key);
        // The sum of this weight over all sentences visited before.
        const double past = visited_ * weight - sum_of(moments);
        const auto w = static_cast<float>(sums.template values<0>(r)[q] / static_cast<double>(shards.size()));
        const double squares = options_.squares ? moments.squares + sums.template values<2>(r)[q] : 0;
        const size_t entry = rows.find_or_add(r, key);
        rows.weight(r, entry) = w;
        rows.moments(r, entry) =
            moments_of(after * w - (past + sums.template values<1>(r)[q]), static_cast<float>(std::max(squares, 0.0)));
        notify(r, key, w);
      }
    }
  });
  visited_ = after;
  view_->weights_replaced();
}

}  // namespace tagwright
