#include "sums/ngram_sums.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/stop.h"
#include "kernels/elementary.h"
#include "kernels/kernels.h"
#include "sums/arithmetic.h"

namespace tagwright {
namespace ngram_numbers {

double Scaled::factor(double score) { return portable_exp(score); }
double Logs::plain(double a) { return portable_exp(a); }
double Logs::add(double a, double b) {
  if (a < b) std::swap(a, b);
  return b == kForbidden ? a : a + portable_log1p(portable_exp(b - a));
}

}  // namespace ngram_numbers

namespace {

// Factors of nodes and of edges are no smaller than exp(-kFar) and alpha, beta no smaller than kLeast, -inf aside: so
// no product falls to 0. Otherwise sums are taken in the log domain.
constexpr double kFar = 115, kLeast = 1e-200, kLeastSum = 1e-100;
constexpr size_t kMostStored = size_t{1} << 20;  // steps between states: 32 MB

// What a column's numbers sum to; Numbers::kZero where there are none.
template <class Numbers>
double sum_of(const double* values, size_t n) {
  if (!Numbers::kLogs) return kernels().sum_d(values, n);
  const double best = n ? kernels().max_d(values, n) : kForbidden;
  if (best == kForbidden || Numbers::kMaxima) return best;
  double sum = 0;
  for (size_t q = 0; q < n; ++q) sum += portable_exp(values[q] - best);
  return best + portable_log(sum);
}

template <class Numbers>
void divide(double* values, size_t n, double by) {
  for (size_t q = 0; q < n; ++q) values[q] = Numbers::kLogs ? values[q] - by : values[q] / by;
}

// Whether all scores that are not -inf have factors of at least exp(-kFar), once the shift is subtracted.
bool within_range(const double* scores, size_t n, double shift) {
  return std::none_of(scores, scores + n, [&](double x) { return x < shift - kFar && x != kForbidden; });
}

bool all_large(const double* values, size_t n) {
  return std::none_of(values, values + n, [](double x) { return x > 0 && x < kLeast; });
}

}  // namespace

void NgramSums::find_places(size_t t, bool known) const {
  for (size_t s = state(t, 0); s < state(t, width(t)); ++s)
    place_[static_cast<size_t>(node_[s])] = known ? static_cast<int32_t>(s) : -1;
}

template <class Numbers>
bool NgramSums::fill_edges(size_t t, double& shift) const {
  const size_t n = times(width(t - 1), width(t));
  edges_.resize(n);
  input_->edges(t, edges_.data());
  shift = 0;
  if (Numbers::kLogs) {
    for (size_t q = 0; q < n && input_->factors; ++q) edges_[q] = portable_log(edges_[q]);
    return true;
  }
  if (input_->factors) {
    static const double least = portable_exp(-kFar), most = portable_exp(kFar);
    return std::none_of(edges_.begin(), edges_.end(), [](double x) { return (x > 0 && x < least) || x > most; });
  }
  const double best = kernels().max_d(edges_.data(), n);
  if (best == kForbidden) {
    std::fill(edges_.begin(), edges_.end(), 0.0);
    return true;
  }
  shift = best;
  if (!within_range(edges_.data(), n, shift)) return false;
  kernels().exp_d(edges_.data(), shift, n, edges_.data());
  return true;
}

template <class Numbers>
bool NgramSums::fill_nodes(size_t t, double& shift) {
  const size_t n = width(t);
  double* const psi = psi_.data() + column_[t];
  input_->nodes(t, psi);
  shift = kernels().max_d(psi, n);
  if (shift == kForbidden) return true;
  if (Numbers::kLogs) {
    for (size_t q = 0; q < n; ++q) psi[q] -= shift;
    return true;
  }
  if (!within_range(psi, n, shift)) return false;
  kernels().exp_d(psi, shift, n, psi);
  return true;
}

uint32_t NgramSums::make_state(size_t t, size_t q, Node context, double alpha) {
  while (state_begin_.size() <= column_[t] + q) state_begin_.push_back(node_.size());
  const size_t made = node_.size();
  place_[static_cast<size_t>(context)] = static_cast<int32_t>(made);
  node_.push_back(context);
  alpha_.push_back(alpha);
  return static_cast<uint32_t>(made);
}

template <class Numbers>
inline uint32_t NgramSums::add_to_state(size_t t, size_t q, Node context, double alpha) {
  const int32_t place = place_[static_cast<size_t>(context)];
  if (place < 0) return make_state(t, q, context, alpha);
  double& before = alpha_[static_cast<size_t>(place)];
  before = Numbers::add(before, alpha);
  return static_cast<uint32_t>(place);
}

inline void NgramSums::store(const Step& step) {
  if (!stored_) return;
  stored_ = steps_.size() < kMostStored;
  if (stored_) steps_.push_back(step);
}

// Makes the states of column t and sends alpha into them.
template <class Numbers>
void NgramSums::reach_states(size_t t) {
  const size_t first = column_[t], before = column_[t - 1];
  for_each_step<Numbers>(
      t,
      [&](size_t p, size_t q, double edge) {
        const uint32_t to = add_to_state<Numbers>(t, q, label_[first + q], Numbers::times(total_[before + p], edge));
        store({static_cast<uint32_t>(p), static_cast<uint32_t>(q), static_cast<uint32_t>(state(t - 1, p)), to,
               LabelNgrams::kNoNode, edge});
      },
      [&](size_t p, size_t q, size_t s, Node node, double factor) {
        if (factor == Numbers::kZero) return;
        const uint32_t to =
            add_to_state<Numbers>(t, q, input_->ngrams.context(node), Numbers::times(alpha_[s], factor));
        store({static_cast<uint32_t>(p), static_cast<uint32_t>(q), static_cast<uint32_t>(s), to, node, factor});
      });
}

// Multiplies by the node factors and scales alpha to a sum of 1. log_sum: kForbidden where nothing is left.
template <class Numbers>
bool NgramSums::scale_column(size_t t, size_t begin, double& log_sum) {
  const size_t n = width(t), first = column_[t], count = node_.size() - begin;
  double* const alpha = alpha_.data() + begin;
  for (size_t q = 0; q < n; ++q)
    for (size_t s = state(t, q); s < state(t, q + 1); ++s) alpha_[s] = Numbers::times(alpha_[s], psi_[first + q]);
  const double sum = sum_of<Numbers>(alpha, count);
  log_sum = kForbidden;
  if (sum == Numbers::kZero) return true;
  divide<Numbers>(alpha, count, sum);
  if (!Numbers::kLogs && !all_large(alpha, count)) return false;
  for (size_t q = 0; q < n; ++q)
    total_[first + q] = sum_of<Numbers>(alpha_.data() + state(t, q), state(t, q + 1) - state(t, q));
  sum_.push_back(sum);
  log_sum = Numbers::kLogs ? sum : portable_log(sum);
  return true;
}

template <class Numbers>
bool NgramSums::forward() {
  state_begin_.assign(1, 0);
  node_.clear();
  alpha_.clear();
  sum_.clear();
  steps_.clear();
  step_begin_.assign(1, 0);
  stored_ = true;
  place_.resize(input_->ngrams.nodes(), -1);
  double log_z = 0;
  Meter meter;
  for (size_t t = 0; t < T(); ++t) {
    const size_t n = width(t), begin = node_.size();
    double shift, edge_shift = 0, log_sum;
    if (!fill_nodes<Numbers>(t, shift)) return false;
    if (shift == kForbidden) return true;
    if (t == 0) {
      for (size_t q = 0; q < n; ++q) add_to_state<Numbers>(t, q, label_[q], Numbers::factor(0.0));
    } else {
      if (!fill_edges<Numbers>(t, edge_shift)) return false;
      meter.count(16 * edges_.size() + 4 * (begin - state(t - 1, 0)) * n);
      reach_states<Numbers>(t);
    }
    step_begin_.push_back(steps_.size());
    for (size_t s = begin; s < node_.size(); ++s) place_[static_cast<size_t>(node_[s])] = -1;
    while (state_begin_.size() <= column_[t + 1]) state_begin_.push_back(node_.size());
    if (!scale_column<Numbers>(t, begin, log_sum)) return false;
    if (log_sum == kForbidden) return true;
    log_z += log_sum + shift + edge_shift;
  }
  log_z_ = log_z;
  return true;
}

// Fills beta of column t - 1 from column t.
template <class Numbers>
void NgramSums::spread_beta(size_t t) {
  const size_t before = state(t - 1, 0);
  beta_.assign(state(t, 0) - before, Numbers::kZero);
  group_.assign(width(t - 1), Numbers::kZero);
  for_each_known<Numbers>(t, [&](const Step& step) {
    double& beta = step.node == LabelNgrams::kNoNode ? group_[step.p] : beta_[step.from - before];
    beta = Numbers::add(beta, Numbers::times(step.factor, to_[step.to]));
  });
  for (size_t own = 0; own < width(t - 1); ++own)
    for (size_t s = state(t - 1, own); s < state(t - 1, own + 1); ++s)
      beta_[s - before] = Numbers::add(beta_[s - before], group_[own]);
}

// The log of the sum of a step's products, in the log domain.
double NgramSums::log_sum_of_moves(size_t t) const {
  std::vector<double> products;
  for_each_known<ngram_numbers::Logs>(t, [&](const Step& step) {
    const bool one = step.node != LabelNgrams::kNoNode;
    products.push_back((one ? alpha_[step.from] : total_[column_[t - 1] + step.p]) + step.factor + to_[step.to]);
  });
  return sum_of<ngram_numbers::Logs>(products.data(), products.size());
}

template <class Numbers>
bool NgramSums::backward() {
  to_.assign(node_.size(), Numbers::kZero);
  state_p_.resize(node_.size());
  scale_.resize(T());
  beta_.assign(node_.size() - state(T() - 1, 0), Numbers::factor(0.0));
  Meter meter;
  for (size_t t = T(); t-- > 0;) {
    const size_t n = width(t), first = column_[t], begin = state(t, 0), count = state(t, n) - begin;
    double* const p = state_p_.data() + begin;
    for (size_t s = 0; s < count; ++s) p[s] = Numbers::times(alpha_[begin + s], beta_[s]);
    const double sum = sum_of<Numbers>(p, count);
    if (sum == Numbers::kZero || (!Numbers::kLogs && sum < kLeastSum)) return false;
    divide<Numbers>(p, count, sum);
    if (Numbers::kLogs && !Numbers::kMaxima) {
      for (size_t s = 0; s < count; ++s) p[s] = portable_exp(p[s]);
      divide<ngram_numbers::Scaled>(p, count, kernels().sum_d(p, count));  // large scores lose digits
    }
    // What cannot be reached is left out, lest it outweighs the rest.
    for (size_t q = 0; q < n; ++q) {
      double all = Numbers::kMaxima ? kForbidden : 0;
      for (size_t s = state(t, q); s < state(t, q + 1); ++s) {
        all = Numbers::kMaxima ? std::max(all, state_p_[s]) : all + state_p_[s];
        if (alpha_[s] != Numbers::kZero) to_[s] = Numbers::times(psi_[first + q], beta_[s - begin]);
      }
      label_p_[first + q] = all;
    }
    // Of large scores rounding leaves so much that only the products of a step themselves are a safe normaliser.
    scale_[t] = t > 0 && Numbers::kLogs && !Numbers::kMaxima ? log_sum_of_moves(t) : Numbers::times(sum_[t], sum);
    if (t == 0) break;
    meter.count(16 * n * width(t - 1) + 4 * (begin - state(t - 1, 0)) * n);
    spread_beta<Numbers>(t);
    const double best = kernels().max_d(beta_.data(), beta_.size());
    if (best == Numbers::kZero) return false;
    divide<Numbers>(beta_.data(), beta_.size(), best);
    if (!Numbers::kLogs && !all_large(beta_.data(), beta_.size())) return false;
  }
  return true;
}

template <class Numbers>
bool NgramSums::run() {
  mode_ = Numbers::kMaxima ? Mode::kMaxima : Numbers::kLogs ? Mode::kLogs : Mode::kScaled;
  log_z_ = kForbidden;
  return forward<Numbers>() && (log_z_ == kForbidden || backward<Numbers>());
}

void NgramSums::prepare(const Input& input) {
  input_.emplace(input);
  column_.assign(1, 0);
  label_.clear();
  for (const std::span<const int32_t> own : input.labels) {
    label_.insert(label_.end(), own.begin(), own.end());
    column_.push_back(label_.size());
  }
  for (std::vector<double>* per_label : {&psi_, &label_p_, &total_}) per_label->resize(label_.size());
}

void NgramSums::sum(const Input& input) {
  prepare(input);
  if (input.ngrams.magnitude() <= kFar && run<ngram_numbers::Scaled>()) return;
  if (!run<ngram_numbers::Logs>()) log_z_ = kForbidden;
}

void NgramSums::maximise(const Input& input) {
  prepare(input);
  if (!run<ngram_numbers::Maxima>()) log_z_ = kForbidden;
}

Sums NgramSums::sums(const Lattice* lattice) const {
  Sums made;
  made.log_z = log_z_;
  made.logs = true;
  made.lattice = lattice;
  made.ngrams = this;
  for (size_t t = 0; made.log_z != kForbidden && t < T(); ++t)
    made.columns.push_back({labels(t), nodes(t).data(), nullptr, nullptr, 0});
  return made;
}

void NgramSums::pairs(size_t t, std::vector<double>& out) const {
  const bool maxima = mode_ == Mode::kMaxima;
  out.assign(times(width(t - 1), width(t)), maxima ? kForbidden : 0.0);
  for_each_move(t, false, [&](const Move& move) {
    double& pair = out[move.p * width(t) + move.q];
    pair = maxima ? std::max(pair, move.probability) : pair + move.probability;
  });
  if (mode_ == Mode::kLogs)
    divide<ngram_numbers::Scaled>(out.data(), out.size(), kernels().sum_d(out.data(), out.size()));
}

namespace {

using LabelLists = std::span<const Labels>;  // [t], in the arena

// The labels that are allowed and do not score -inf, [t]; empty where a column has none.
LabelLists possible_labels(const Lattice& lattice, Arena& arena) {
  Labels* const labels = arena.array<Labels>(lattice.T);
  for (size_t t = 0; t < lattice.T; ++t) {
    const Labels list = lattice.allowed[t];
    const size_t most = list.empty() ? lattice.L : list.size();
    int32_t* const own = arena.array<int32_t>(most);
    size_t n = 0;
    for (size_t q = 0; q < most; ++q) {
      const int32_t y = list.empty() ? static_cast<int32_t>(q) : list[q];
      if (lattice.end_node(t, static_cast<size_t>(y)) != kForbidden) own[n++] = y;
    }
    if (n == 0) return {};
    labels[t] = {own, n};
  }
  return {labels, lattice.T};
}

// The scores of edges between some labels of two columns, [p * to + q]. row: room for L scores.
void fill_pairs(const Lattice& lattice, size_t t, Labels from, Labels to, double* row, double* out) {
  for (const int32_t label : from) {
    const auto i = static_cast<size_t>(label);
    if (to.size() == lattice.L) {
      lattice.row(t, i, out);
    } else if (4 * to.size() > lattice.L) {
      lattice.row(t, i, row);
      for (size_t q = 0; q < to.size(); ++q) out[q] = row[to[q]];
    } else {
      for (size_t q = 0; q < to.size(); ++q) out[q] = lattice.edge(t, i, static_cast<size_t>(to[q]));
    }
    out += to.size();
  }
}

NgramSums::Input input_of(const Lattice& lattice, LabelLists labels, Arena& arena) {
  double* const row = arena.array<double>(lattice.L);
  return {.ngrams = *lattice.edges.ngrams(),
          .labels = labels,
          .nodes =
              [&lattice, labels](size_t t, double* out) {
                for (const int32_t y : labels[t]) *out++ = lattice.end_node(t, static_cast<size_t>(y));
              },
          .edges = [&lattice, labels, row](
                       size_t t, double* out) { fill_pairs(lattice, t - 1, labels[t - 1], labels[t], row, out); }};
}

}  // namespace

void sum_ngrams(const Lattice& lattice, const SumPruning& pruning, Arena& arena, NgramSums& sums) {
  need_no_labelling_rules(lattice.edges);
  LabelLists labels;
  if (pruning.rule.all()) {
    labels = possible_labels(lattice, arena);
  } else if (const Sums believed = sums_without_ngrams(lattice, {pruning.rule, pruning.also}, arena);
             believed.log_z != kForbidden) {
    Labels* const kept = arena.array<Labels>(lattice.T);
    for (size_t t = 0; t < lattice.T; ++t) kept[t] = believed.columns[t].labels;
    labels = {kept, lattice.T};
  }
  labels.empty() ? sums.clear() : sums.sum(input_of(lattice, labels, arena));
}

void maximise_ngrams(const Lattice& lattice, Arena& arena, NgramSums& sums) {
  const LabelLists labels = possible_labels(lattice, arena);
  labels.empty() ? sums.clear() : sums.maximise(input_of(lattice, labels, arena));
}

}  // namespace tagwright
