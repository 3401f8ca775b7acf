#include "sums/ngram_sums.h"

#include <algorithm>
#include <cmath>

#include "base/stop.h"
#include "kernels/kernels.h"

namespace tagwright {
namespace ngram_numbers {

double Scaled::factor(double score) { return std::exp(score); }
double Logs::plain(double a) { return std::exp(a); }
double Logs::add(double a, double b) {
  if (a < b) std::swap(a, b);
  return b == kForbidden ? a : a + std::log1p(std::exp(b - a));
}

}  // namespace ngram_numbers

namespace {

// Factors of nodes and of edges are no smaller than exp(-kFar) and alpha, beta no smaller than kLeast, -inf aside: so
// no product falls to 0. Otherwise sums are taken in logarithms.
constexpr double kFar = 115, kLeast = 1e-200, kLeastSum = 1e-100;
constexpr size_t kMostStored = size_t{1} << 20;  // steps between states: 32 MB

// What a column's numbers sum to; Numbers::kZero where there are none.
template <class Numbers>
double sum_of(const double* values, size_t n) {
  if (!Numbers::kLogs) return kernels().sum_d(values, n);
  const double best = n ? kernels().max_d(values, n) : kForbidden;
  if (best == kForbidden) return kForbidden;
  double sum = 0;
  for (size_t q = 0; q < n; ++q) sum += std::exp(values[q] - best);
  return best + std::log(sum);
}

template <class Numbers>
void divide(double* values, size_t n, double by) {
  for (size_t q = 0; q < n; ++q) values[q] = Numbers::kLogs ? values[q] - by : values[q] / by;
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
bool NgramSums::fill_edges(size_t t) const {
  const size_t n = times(width(t - 1), width(t));
  edges_.resize(n);
  input_->edges(t, edges_.data());
  if (Numbers::kLogs) {
    for (size_t q = 0; q < n && input_->factors; ++q) edges_[q] = std::log(edges_[q]);
    return true;
  }
  if (!input_->factors) kernels().exp_d(edges_.data(), 0, n, edges_.data());
  static const double least = std::exp(-kFar), most = std::exp(kFar);
  return std::none_of(edges_.begin(), edges_.end(), [](double x) { return (x > 0 && x < least) || x > most; });
}

template <class Numbers>
bool NgramSums::forward() {
  const LabelNgrams& ngrams = input_->ngrams;
  state_begin_.assign(1, 0);
  node_.clear();
  alpha_.clear();
  sum_.clear();
  steps_.clear();
  step_begin_.assign(1, 0);
  stored_ = true;
  place_.resize(ngrams.nodes(), -1);
  double log_z = 0;
  Meter meter;
  for (size_t t = 0; t < T(); ++t) {
    const size_t n = width(t), first = column_[t], begin = node_.size();
    double* const psi = psi_.data() + first;
    input_->nodes(t, psi);
    const double shift = kernels().max_d(psi, n);
    if (shift == kForbidden) return true;
    if (!Numbers::kLogs) {
      if (std::any_of(psi, psi + n, [&](double x) { return x < shift - kFar && x != kForbidden; })) return false;
      kernels().exp_d(psi, shift, n, psi);
    } else {
      for (size_t q = 0; q < n; ++q) psi[q] -= shift;
    }
    // Of each label the states that are reached, side by side.
    size_t filled = 1;
    const auto to_state = [&](size_t q, Node context, double value) {
      while (filled <= q) {
        state_begin_.push_back(node_.size());
        ++filled;
      }
      int32_t& place = place_[static_cast<size_t>(context)];
      if (place < 0) {
        place = static_cast<int32_t>(node_.size());
        node_.push_back(context);
        alpha_.push_back(value);
      } else {
        alpha_[static_cast<size_t>(place)] = Numbers::add(alpha_[static_cast<size_t>(place)], value);
      }
      return static_cast<uint32_t>(place);
    };
    const auto store = [&](size_t p, size_t q, size_t from, uint32_t to, Node node, double factor) {
      stored_ = stored_ && steps_.size() < kMostStored;
      if (stored_)
        steps_.push_back(
            {static_cast<uint32_t>(p), static_cast<uint32_t>(q), static_cast<uint32_t>(from), to, node, factor});
    };
    if (t == 0) {
      for (size_t q = 0; q < n; ++q) to_state(q, label_[q], Numbers::factor(0.0));
    } else {
      if (!fill_edges<Numbers>(t)) return false;
      meter.count(16 * edges_.size() + 4 * (begin - state(t - 1, 0)) * n);
      for_each_step<Numbers>(
          t,
          [&](size_t p, size_t q, double edge) {
            const uint32_t to = to_state(q, label_[first + q], Numbers::times(total_[column_[t - 1] + p], edge));
            store(p, q, state(t - 1, p), to, LabelNgrams::kNoNode, edge);
          },
          [&](size_t p, size_t q, size_t s, Node node, double factor) {
            if (factor == Numbers::kZero) return;
            const uint32_t to = to_state(q, ngrams.context(node), Numbers::times(alpha_[s], factor));
            store(p, q, s, to, node, factor);
          });
    }
    step_begin_.push_back(steps_.size());
    for (size_t s = begin; s < node_.size(); ++s) place_[static_cast<size_t>(node_[s])] = -1;
    for (; filled <= n; ++filled) state_begin_.push_back(node_.size());
    const size_t count = node_.size() - begin;
    double* const alpha = alpha_.data() + begin;
    for (size_t q = 0; q < n; ++q)
      for (size_t s = state(t, q); s < state(t, q + 1); ++s) alpha_[s] = Numbers::times(alpha_[s], psi[q]);
    const double sum = sum_of<Numbers>(alpha, count);
    if (sum == Numbers::kZero) return true;
    divide<Numbers>(alpha, count, sum);
    if (!Numbers::kLogs && !all_large(alpha, count)) return false;
    for (size_t q = 0; q < n; ++q)
      total_[first + q] = sum_of<Numbers>(alpha_.data() + state(t, q), state(t, q + 1) - state(t, q));
    sum_.push_back(sum);
    log_z += (Numbers::kLogs ? sum : std::log(sum)) + shift;
  }
  log_z_ = log_z;
  return true;
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
    if (Numbers::kLogs) {
      for (size_t s = 0; s < count; ++s) p[s] = std::exp(p[s]);
      divide<ngram_numbers::Scaled>(p, count, kernels().sum_d(p, count));  // large scores lose digits
    }
    // What cannot be reached is left out, lest it outweighs the rest.
    for (size_t q = 0; q < n; ++q) {
      double all = 0;
      for (size_t s = state(t, q); s < state(t, q + 1); ++s) {
        all += state_p_[s];
        if (alpha_[s] != Numbers::kZero) to_[s] = Numbers::times(psi_[first + q], beta_[s - begin]);
      }
      label_p_[first + q] = all;
    }
    scale_[t] = Numbers::times(sum_[t], sum);
    if (t == 0) break;
    const size_t before = state(t - 1, 0);
    meter.count(16 * n * width(t - 1) + 4 * (begin - before) * n);
    beta_.assign(begin - before, Numbers::kZero);
    group_.assign(width(t - 1), Numbers::kZero);
    for_each_known<Numbers>(t, [&](const Step& step) {
      double& beta = step.node == LabelNgrams::kNoNode ? group_[step.p] : beta_[step.from - before];
      beta = Numbers::add(beta, Numbers::times(step.factor, to_[step.to]));
    });
    for (size_t own = 0; own < width(t - 1); ++own)
      for (size_t s = state(t - 1, own); s < state(t - 1, own + 1); ++s)
        beta_[s - before] = Numbers::add(beta_[s - before], group_[own]);
    const double best = kernels().max_d(beta_.data(), beta_.size());
    if (best == Numbers::kZero) return false;
    divide<Numbers>(beta_.data(), beta_.size(), best);
    if (!Numbers::kLogs && !all_large(beta_.data(), beta_.size())) return false;
  }
  return true;
}

// Returns whether the numbers were large enough.
template <class Numbers>
bool NgramSums::run() {
  logs_ = Numbers::kLogs;
  log_z_ = kForbidden;
  return forward<Numbers>() && (log_z_ == kForbidden || backward<Numbers>());
}

void NgramSums::sum(const Input& input) {
  input_.emplace(input);
  column_.assign(1, 0);
  label_.clear();
  for (const std::span<const int32_t> own : input.labels) {
    label_.insert(label_.end(), own.begin(), own.end());
    column_.push_back(label_.size());
  }
  psi_.resize(label_.size());
  label_p_.resize(label_.size());
  total_.resize(label_.size());
  if (input.ngrams.magnitude() <= kFar && run<ngram_numbers::Scaled>()) return;
  if (!run<ngram_numbers::Logs>()) log_z_ = kForbidden;
}

void NgramSums::pairs(size_t t, std::vector<double>& out) const {
  out.assign(times(width(t - 1), width(t)), 0.0);
  for_each_move(t, false, [&](const Move& move) { out[move.p * width(t) + move.q] += move.probability; });
  if (logs_) divide<ngram_numbers::Scaled>(out.data(), out.size(), kernels().sum_d(out.data(), out.size()));
}

void sum_ngrams(const Lattice& lattice, const Keep& keep, const int32_t* also, Arena& arena, NgramSums& sums) {
  const size_t T = lattice.T, L = lattice.L;
  std::vector<std::span<const int32_t>> labels(T);
  for (size_t t = 0; t < T && keep.all(); ++t) {
    const std::span<const int32_t> list = lattice.allowed[t];
    int32_t* const own = arena.array<int32_t>(list.empty() ? L : list.size());
    size_t n = 0;
    for (size_t q = 0; q < (list.empty() ? L : list.size()); ++q) {
      const int32_t y = list.empty() ? static_cast<int32_t>(q) : list[q];
      if (lattice.end_node(t, static_cast<size_t>(y)) != kForbidden) own[n++] = y;
    }
    if (n == 0) return sums.clear();
    labels[t] = {own, n};
  }
  if (!keep.all()) {
    const Sums believed = sums_without_ngrams(lattice, lattice.edges.factors(), keep, also, arena);
    if (believed.log_z == kForbidden) return sums.clear();
    for (size_t t = 0; t < T; ++t) labels[t] = believed.columns[t].labels;
  }
  double* const row = arena.array<double>(L);
  sums.sum({.ngrams = *lattice.edges.ngrams(),
            .labels = labels,
            .nodes =
                [&](size_t t, double* out) {
                  for (const int32_t y : sums.labels(t)) *out++ = lattice.end_node(t, static_cast<size_t>(y));
                },
            .edges =
                [&, row](size_t t, double* out) {
                  const std::span<const int32_t> to = sums.labels(t);
                  for (const int32_t i : sums.labels(t - 1)) {
                    if (to.size() == lattice.L) {
                      lattice.row(t - 1, static_cast<size_t>(i), out);
                    } else if (4 * to.size() > lattice.L) {
                      lattice.row(t - 1, static_cast<size_t>(i), row);
                      for (size_t q = 0; q < to.size(); ++q) out[q] = row[to[q]];
                    } else {
                      for (size_t q = 0; q < to.size(); ++q)
                        out[q] = lattice.edge(t - 1, static_cast<size_t>(i), static_cast<size_t>(to[q]));
                    }
                    out += to.size();
                  }
                }});
}

Sums label_sums(const Lattice& lattice, const Factors* factors, const Keep& keep, const int32_t* also, Arena& arena,
                NgramSums& ngrams, size_t most) {
  if (!lattice.edges.ngrams()) return forward_backward(lattice, factors, keep, also, arena, most);
  sum_ngrams(lattice, keep, also, arena, ngrams);
  Sums made;
  made.log_z = ngrams.log_z();
  made.logs = true;
  for (size_t t = 0; t < lattice.T && made.log_z != kForbidden; ++t)
    made.columns.push_back({ngrams.labels(t), ngrams.nodes(t).data(), nullptr, nullptr, 0});
  return made;
}

// H(s_0) + sum_t H(s_t+1 | s_t): labellings and their states are the same thing.
double entropy(const NgramSums& sums) {
  const auto times_log = [](double p, double x) { return p > 0 && x > 0 ? p * std::log(x) : 0; };
  double found = 0;
  for (size_t q = 0; q < sums.labels(0).size(); ++q) found -= times_log(sums.nodes(0)[q], sums.nodes(0)[q]);
  for (size_t t = 1; t < sums.T(); ++t)
    sums.for_each_move(t, true, [&](const NgramSums::Move& move) {
      found -= times_log(move.probability, move.probability / sums.state_p(move.from));
    });
  return std::max(found, 0.0);
}

}  // namespace tagwright
