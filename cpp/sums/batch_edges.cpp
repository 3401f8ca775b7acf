#include "sums/batch_edges.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>

#include "base/arena.h"
#include "base/need.h"
#include "kernels/elementary.h"
#include "kernels/kernels.h"
#include "sums/forward_backward.h"

namespace tagwright {
namespace {

std::string edge_name(size_t i, size_t j) { return std::to_string(i) + " -> " + std::to_string(j); }

std::vector<double> doubles(Scores scores, size_t n) {
  std::vector<double> made(n);
  for (size_t q = 0; q < n; ++q) made[q] = scores[q];
  return made;
}

}  // namespace

PairShape::PairShape(size_t L, std::span<const int32_t> previous, std::span<const int32_t> current) : L_(L) {
  need(previous.size() == current.size(), "pairs must be two arrays of one length: previous and current labels");
  for (size_t q = 0; q < previous.size(); ++q)
    for (const int32_t y : {previous[q], current[q]})
      if (y < 0 || static_cast<size_t>(y) >= L)
        throw std::invalid_argument("pair " + std::to_string(q) + " names label " + std::to_string(y) +
                                    ", but labels go from 0 to " + std::to_string(L - 1));
  for (size_t which = 0; which < 2; ++which) {
    const auto major = which ? current : previous, minor = which ? previous : current;
    Side& side = sides_[which];
    side.given.resize(previous.size());
    std::iota(side.given.begin(), side.given.end(), 0);
    std::sort(side.given.begin(), side.given.end(),
              [&](size_t a, size_t b) { return major[a] != major[b] ? major[a] < major[b] : minor[a] < minor[b]; });
    side.begin.assign(L + 1, 0);
    for (const size_t q : side.given) {
      const auto row = static_cast<size_t>(major[q]);
      if (!side.index.empty() && side.begin[row + 1] && side.index.back() == minor[q])
        throw std::invalid_argument("pair " +
                                    edge_name(static_cast<size_t>(previous[q]), static_cast<size_t>(current[q])) +
                                    " is given twice; give each pair once");
      side.index.push_back(minor[q]);
      ++side.begin[row + 1];
    }
    std::partial_sum(side.begin.begin(), side.begin.end(), side.begin.begin());
  }
}

double BatchEdges::edge(size_t i, size_t j) const {
  if (matrix) return matrix[i * L + j];
  const size_t entry = pairs->find(i, j);
  return entry == PairShape::kNoPlace ? fallback : values[pairs->side(0).given[entry]];
}

void BatchEdges::check() const {
  const auto look = [](Scores scores, size_t n, auto&& name) {
    const ScoreCheck checked = check_scores(scores, n);
    if (checked.bad < n) throw std::invalid_argument(name(checked.bad) + why_no_score(scores[checked.bad]));
  };
  if (matrix) look(matrix, L * L, [&](size_t q) { return "edge score " + edge_name(q / L, q % L); });
  if (pairs) look(values, pairs->size(), [](size_t q) { return "the edge score of pair " + std::to_string(q); });
  if (start) look(start, L, [](size_t y) { return "the start score of label " + std::to_string(y); });
  if (stop) look(stop, L, [](size_t y) { return "the stop score of label " + std::to_string(y); });
}

Edges BatchEdges::whole() const {
  const std::vector<double> first = start ? doubles(start, L) : std::vector<double>();
  const std::vector<double> last = stop ? doubles(stop, L) : std::vector<double>();
  EdgeExtras extras;
  if (start) extras.start = first;
  if (stop) extras.stop = last;
  if (matrix) return Edges(EdgeScores::from_matrix(L, matrix, EdgeForm::kDense, extras));
  std::vector<int32_t> previous(pairs->size()), current(pairs->size());
  const PairShape::Side& side = pairs->side(0);
  for (size_t i = 0; i < L; ++i) {
    for (size_t q = side.begin[i]; q < side.begin[i + 1]; ++q) {
      previous[side.given[q]] = static_cast<int32_t>(i);
      current[side.given[q]] = side.index[q];
    }
  }
  return Edges(EdgeScores::from_triples(L, fallback, {previous, current, values}, EdgeForm::kSparse, extras));
}

CopiedEdges::CopiedEdges(const EdgeScores& edges) {
  need_no_labelling_rules(edges);
  const size_t L = view_.L = edges.L();
  // Edge kind: copied as entries where these are all; rules that limit the default need a matrix.
  if (const SparseEdges* const sparse = edges.sparse(); sparse && !sparse->rules()) {
    std::vector<int32_t> previous, current;
    for (size_t i = 0; i < L; ++i) {
      const auto keys = sparse->rows().keys(i);
      const auto values = sparse->rows().values(i);
      previous.insert(previous.end(), keys.size(), static_cast<int32_t>(i));
      current.insert(current.end(), keys.begin(), keys.end());
      scores_.insert(scores_.end(), values.begin(), values.end());
    }
    pairs_.emplace_back(L, previous, current);
    view_.pairs = pairs_.data();
    view_.values.d = scores_.data();
    view_.fallback = sparse->fallback();
  } else {
    scores_.resize(times(L, L));
    for (size_t i = 0; i < L; ++i) edges.row(0, i, scores_.data() + i * L);
    view_.matrix.d = scores_.data();
  }
  if (!edges.start().empty()) view_.start.d = edges.start().data();
  if (!edges.stop().empty()) view_.stop.d = edges.stop().data();
}

template <class E>
BatchFactors<E>::BatchFactors(const BatchEdges& edges) : L(edges.L), dense(bool(edges.matrix)) {
  double least = -kForbidden, most = kForbidden;
  const auto add = [&](double score) {
    forbids = forbids || score == kForbidden;
    least = score == kForbidden ? least : std::min(least, score);
    most = std::max(most, score);
  };
  const auto exp_of = [&](Scores scores, size_t n, double* out) {
    scores.f ? kernels().exp_f(scores.f, shift, n, out) : kernels().exp_d(scores.d, shift, n, out);
  };
  const size_t count = dense ? times(L, L) : edges.pairs->size();
  const Scores scores = dense ? edges.matrix : edges.values;
  for (size_t q = 0; q < count; ++q) add(scores[q]);
  if (!dense) add(edges.fallback);
  shift = most == kForbidden ? 0 : most;
  fits = !(most - least > kBatchRange<E>);
  if (dense) {
    std::vector<double> row(L);
    fill_panels([&](size_t i) {
      exp_of(scores.from(i * L), L, row.data());
      return row.data();
    });
    return;
  }
  rest = portable_exp(edges.fallback - shift);
  std::vector<double> given(count);
  exp_of(scores, count, given.data());
  for (size_t direction = 0; direction < 2; ++direction) {
    const PairShape::Side& side = edges.pairs->side(1 - direction);
    entries[direction] = {side.begin, side.index};
    factor[direction].resize(count);
    more[direction].resize(count);
    for (size_t q = 0; q < count; ++q) {
      const double value = given[side.given[q]];
      factor[direction][q] = static_cast<E>(value);
      more[direction][q] = static_cast<E>(value - rest);
      mild = mild && value > kBatchDigits<E> * rest;
    }
  }
}

template <class E>
BatchFactors<E>::BatchFactors(const Factors& factors)
    : L(factors.L),
      shift(factors.shift),
      rest(factors.rest),
      fits(factors.close),
      forbids(factors.forbids),
      mild(factors.mild) {
  for (size_t direction = 0; direction < 2; ++direction) {
    const Factors::Side& side = factors.side[1 - direction];
    entries[direction] = {side.begin, side.index};
    factor[direction].assign(side.factor.begin(), side.factor.end());
    more[direction].assign(side.more.begin(), side.more.end());
  }
}

// row(i): the factors out of label i, [j].
template <class E>
template <class Row>
void BatchFactors<E>::fill_panels(Row&& row) {
  const size_t panels_of = (L + kPanel - 1) / kPanel;
  for (std::vector<E>& side : panels) side.assign(times(panels_of * kPanel, L), 0);
  for (size_t i = 0; i < L; ++i) {
    const double* const own = row(i);
    E* const back = panels[1].data() + i / kPanel * kPanel * L + i % kPanel;
    for (size_t j = 0; j < L; ++j) {
      const E value = static_cast<E>(own[j]);
      panels[0][(j / kPanel * L + i) * kPanel + j % kPanel] = value;
      back[j * kPanel] = value;
    }
  }
}

template struct BatchFactors<float>;
template struct BatchFactors<double>;

}  // namespace tagwright
