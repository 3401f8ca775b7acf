#include "lattice/sum_steps.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "kernels/elementary.h"
#include "kernels/kernels.h"

namespace tagwright {

FactorSteps::FactorSteps(const Lattice& lattice, Arena& arena)
    : lattice_(lattice),
      arena_(arena),
      factors_(lattice.edges.factors()),
      scores_(arena.array<double>(room())),
      edges_(arena.array<double>(lattice.L)),
      totals_(arena.array<double>(2 * lattice.L)) {}

const Factors& FactorSteps::at(size_t t) {
  if (factors_) return *factors_;
  if (made_for_ != t) {
    made_ = factors_of(lattice_.edges, t);
    made_for_ = t;
  }
  return made_;
}

bool FactorSteps::close(size_t t) {
  const Factors& factors = at(t);
  const std::vector<Override>& corrected = lattice_.patch(t).by_row;
  return factors.close && std::none_of(corrected.begin(), corrected.end(), [&](const Override& e) {
           return e.score != kForbidden && std::fabs(e.score - factors.shift) > kTame;
         });
}

bool FactorSteps::forbids(size_t t) {
  const std::vector<Override>& corrected = lattice_.patch(t).by_row;
  return at(t).forbids ||
         std::any_of(corrected.begin(), corrected.end(), [](const Override& e) { return e.score == kForbidden; });
}

// What default edges bring, exceptions not left out.
class FactorSteps::Defaults {
 public:
  // room: for two numbers per class of labels, where there are rules.
  Defaults(const Factors& factors, size_t side, const LabelValues& from_labels, double* room) {
    const auto& [labels, value] = from_labels;
    if (!factors.rules) {
      rest_ = factors.rest * kernels().sum_d(value, labels.size());
      return;
    }
    const PairClasses::Side &from = factors.rules->classes().side[side], &to = factors.rules->classes().side[1 - side];
    class_of_ = to.of.data();
    per_class_ = room;
    double* const sums = room + to.others.rows();
    std::fill(sums, sums + from.others.rows(), 0.0);
    for (size_t p = 0; p < labels.size(); ++p) sums[from.of[static_cast<size_t>(labels[p])]] += value[p];
    for (size_t c = 0; c < to.others.rows(); ++c) {
      double sum = 0;
      for (const int32_t r : to.others[c]) sum += sums[r];
      per_class_[c] = factors.rest * sum;
    }
  }
  double into(int32_t label) const { return class_of_ ? per_class_[class_of_[label]] : rest_; }

 private:
  double rest_ = 0;
  const int32_t* class_of_ = nullptr;
  double* per_class_ = nullptr;
};

namespace {

void send_rows(const Factors& factors, size_t side, const LabelValues& from, Labels targets, double* reached) {
  const auto& [labels, value] = from;
  const Factors::Side& rows = factors.side[side];
  if (targets.size() == factors.L) {
    std::fill(reached, reached + factors.stride, 0.0);
    return kernels().spread_rows(rows.matrix.data(), factors.stride, labels.data(), value, labels.size(), reached);
  }
  for (const int32_t j : targets) reached[j] = 0;
  for (size_t p = 0; p < labels.size(); ++p) {
    const double* row = rows.matrix.data() + static_cast<size_t>(labels[p]) * factors.stride;
    for (const int32_t j : targets) reached[j] += value[p] * row[j];
  }
}

}  // namespace

void FactorSteps::send(size_t t, size_t side, const LabelValues& from, Labels targets, double* out) {
  const auto& [labels, value] = from;
  const Factors& factors = at(t);
  const bool all = targets.size() == lattice_.L;
  if (lattice_.allowed && !all) return send_listed(t, side, from, targets, out);
  double* const reached = all ? out : scores_;  // [label]
  std::optional<Defaults> defaults;
  double taken = 0;
  if (factors.dense) {
    send_rows(factors, side, from, targets, reached);
  } else {
    const Factors::Side& rows = factors.side[side];
    defaults.emplace(factors, side, from, totals_);
    for (const int32_t j : targets) reached[j] = defaults->into(j);
    for (size_t p = 0; p < labels.size(); ++p) {
      const size_t i = static_cast<size_t>(labels[p]), end = rows.begin[i + 1];
      const double own = value[p];
      for (size_t q = rows.begin[i]; q < end; ++q) reached[rows.index[q]] += own * rows.more[q];
    }
    if (factors.mild) defaults.reset();
  }
  if (!lattice_.patch(t).empty()) taken = correct(t, side, from, reached);
  for (size_t q = 0; q < targets.size() && !all; ++q) out[q] = reached[targets[q]];
  // What is left of much that was taken away cannot be trusted.
  if (!defaults && taken == 0) return;
  for (size_t q = 0; q < targets.size(); ++q) {
    const double most = std::max(taken, defaults ? defaults->into(targets[q]) : 0);
    if (out[q] < kFewDigits * most) out[q] = sum_again(t, side, from, static_cast<size_t>(targets[q]));
  }
}

// Into the few labels that are allowed: edge by edge, or from all labels by what leads to each.
void FactorSteps::send_listed(size_t t, size_t side, const LabelValues& from, Labels targets, double* out) {
  const auto& [labels, value] = from;
  const Factors& factors = at(t);
  const Factors::Side& columns = factors.side[1 - side];
  std::optional<Defaults> defaults;
  if (labels.size() == factors.L && !factors.dense) defaults.emplace(factors, side, from, totals_);
  for (size_t q = 0; q < targets.size(); ++q) {
    const size_t j = static_cast<size_t>(targets[q]);
    double sum = 0;
    if (!lattice_.patch(t).empty()) {
      sum = sum_again(t, side, from, j);
    } else if (defaults) {
      sum = defaults->into(targets[q]);
      for (size_t e = columns.begin[j]; e < columns.begin[j + 1]; ++e) sum += value[columns.index[e]] * columns.more[e];
      if (!factors.mild && sum < kFewDigits * defaults->into(targets[q])) sum = sum_again(t, side, from, j);
    } else if (factors.dense) {
      const double* column = columns.matrix.data() + j * factors.stride;
      for (size_t p = 0; p < labels.size(); ++p) sum += value[p] * column[labels[p]];
    } else {
      for (size_t p = 0; p < labels.size(); ++p) {
        const size_t i = static_cast<size_t>(labels[p]);
        sum += value[p] * (side ? factors.at(j, i) : factors.at(i, j));
      }
    }
    out[q] = sum;
  }
}

// Puts corrected factors in the place of the shared ones; returns the largest amount that was taken away.
double FactorSteps::correct(size_t t, size_t side, const LabelValues& from, double* out) {
  const auto& [labels, value] = from;
  const Factors& factors = at(t);
  const Patch& patch = lattice_.patch(t);
  double taken = 0;
  for (size_t p = 0; p < labels.size(); ++p) {
    for (const Override& e : side ? patch.column(labels[p]) : patch.row(labels[p])) {
      const double before = factors.at(static_cast<size_t>(e.i), static_cast<size_t>(e.j));
      out[side ? e.i : e.j] += value[p] * (portable_exp(e.score - factors.shift) - before);
      taken = std::max(taken, value[p] * before);
    }
  }
  return taken;
}

double FactorSteps::sum_again(size_t t, size_t side, const LabelValues& from, size_t j) {
  const auto& [labels, value] = from;
  const double shift = at(t).shift;
  double sum = 0;
  constexpr size_t kFew = 16;
  if (labels.size() <= kFew) {
    for (size_t p = 0; p < labels.size(); ++p) {
      const size_t i = static_cast<size_t>(labels[p]);
      sum += value[p] * portable_exp((side ? lattice_.edge(t, j, i) : lattice_.edge(t, i, j)) - shift);
    }
    return sum;
  }
  side ? lattice_.row(t, j, edges_) : lattice_.column(t, j, edges_);
  kernels().exp_d(edges_, shift, lattice_.L, edges_);
  for (size_t p = 0; p < labels.size(); ++p) sum += value[p] * edges_[labels[p]];
  return sum;
}

double FactorSteps::expected(size_t t, double shift, const LabelValues& from, const LabelValues& to) {
  constexpr size_t kFewPairs = 256;     // to which exceptions are not worth a look
  constexpr double kWeightless = -1e3;  // whatever is lower has a factor of 0
  if (factors_ && lattice_.is_uniform()) {
    if (factors_->dense) return expected_of_matrix(*factors_, from, to);
    if (from.size() * to.size() > kFewPairs) return expected_of_exceptions(*factors_, from, to);
  }
  const size_t n = to.size();
  double sum = 0;
  for (size_t p = 0; p < from.size(); ++p) {
    if (!(from.value[p] > 0)) continue;
    const auto i = static_cast<size_t>(from.labels[p]);
    if (n == lattice_.L) lattice_.row(t, i, scores_);
    for (size_t q = 0; q < n; ++q) {
      const double score = n == lattice_.L ? scores_[q] : lattice_.edge(t, i, static_cast<size_t>(to.labels[q]));
      scores_[q] = std::max(score - shift, kWeightless);
    }
    kernels().exp_d(scores_, 0, n, edges_);
    kernels().multiply_d(edges_, to.value, n, edges_);
    sum += from.value[p] * kernels().multiply_d(edges_, scores_, n, edges_);
  }
  return sum;
}

// Where most edges have the default: it has what the exceptions leave.
double FactorSteps::expected_of_exceptions(const Factors& factors, const LabelValues& from, const LabelValues& to) {
  if (!place_) {
    place_ = arena_.array<int32_t>(lattice_.L);
    std::fill_n(place_, lattice_.L, -1);
  }
  // The exceptions of the column that has fewer labels are walked.
  const bool forward = from.size() <= to.size();
  const LabelValues &walked = forward ? from : to, &other = forward ? to : from;
  const Factors::Side& rows = factors.side[forward ? 0 : 1];
  const SparseEdges& edges = *lattice_.edges.sparse();  // their factors are sparse
  const Exceptions& exceptions = forward ? edges.rows() : edges.columns();
  for (size_t q = 0; q < other.size(); ++q) place_[other.labels[q]] = static_cast<int32_t>(q);
  double sum = 0, rest = 1;
  for (size_t p = 0; p < walked.size(); ++p) {
    const auto i = static_cast<size_t>(walked.labels[p]);
    const std::span<const double> scores = exceptions.values(i);
    for (size_t e = rows.begin[i]; e < rows.begin[i + 1]; ++e) {
      const int32_t q = place_[rows.index[e]];
      const double share = q < 0 ? 0 : walked.value[p] * rows.factor[e] * other.value[q];
      if (!(share > 0)) continue;
      rest -= share;
      sum += share * (scores[e - rows.begin[i]] - factors.shift);
    }
  }
  for (const int32_t y : other.labels) place_[y] = -1;
  if (factors.rest > 0) sum += std::max(rest, 0.0) * (edges.fallback() - factors.shift);
  return sum;
}

double FactorSteps::expected_of_matrix(const Factors& factors, const LabelValues& from, const LabelValues& to) {
  const std::vector<double>& scores = lattice_.edges.weighted_scores();
  const size_t n = to.size();
  if (n == lattice_.L) {
    std::fill(scores_, scores_ + factors.stride, 0.0);
    kernels().spread_rows(scores.data(), factors.stride, from.labels.data(), from.value, from.size(), scores_);
    return kernels().multiply_d(scores_, to.value, n, scores_);
  }
  double sum = 0;
  for (size_t p = 0; p < from.size(); ++p) {
    const double* row = scores.data() + static_cast<size_t>(from.labels[p]) * factors.stride;
    double one = 0;
    for (size_t q = 0; q < n; ++q) one += row[to.labels[q]] * to.value[q];
    sum += from.value[p] * one;
  }
  return sum;
}

namespace {

const SparseEdges* existing_entries(const Lattice& lattice) {
  const SparseEdges* const sparse = lattice.edges.sparse();
  return sparse && sparse->fallback() == kForbidden ? sparse : nullptr;
}

}  // namespace

LogSteps::LogSteps(const Lattice& lattice, Arena& arena)
    : lattice_(lattice), entries_(existing_entries(lattice)), edges_(arena.array<double>(lattice.L)) {
  if (!entries_) return;
  value_ = arena.array<double>(lattice.L);
  std::fill_n(value_, lattice.L, kForbidden);
}

void LogSteps::select(size_t t, size_t side, const LabelValues& from) {
  t_ = t;
  side_ = side;
  from_ = from;
  listed_ = is_listed(t);
  for (size_t p = 0; listed_ && p < from.size(); ++p) value_[from.labels[p]] = from.value[p];
}

void LogSteps::deselect() {
  for (size_t p = 0; listed_ && p < from_.size(); ++p) value_[from_.labels[p]] = kForbidden;
}

size_t LogSteps::terms(size_t y, double* out) {
  if (listed_) {
    const Exceptions& entries = side_ ? entries_->rows() : entries_->columns();
    const std::span<const int32_t> others = entries.keys(y);
    const std::span<const double> scores = entries.values(y);
    for (size_t e = 0; e < others.size(); ++e) out[e] = value_[others[e]] + scores[e];
    return others.size();
  }
  constexpr size_t kFew = 16;
  const Labels labels = from_.labels;
  if (labels.size() > kFew) {
    side_ ? lattice_.row(t_, y, edges_) : lattice_.column(t_, y, edges_);
    for (size_t p = 0; p < labels.size(); ++p) out[p] = edges_[labels[p]] + from_.value[p];
    return labels.size();
  }
  for (size_t p = 0; p < labels.size(); ++p) {
    const auto i = static_cast<size_t>(labels[p]);
    out[p] = (side_ ? lattice_.edge(t_, y, i) : lattice_.edge(t_, i, y)) + from_.value[p];
  }
  return labels.size();
}

}  // namespace tagwright
