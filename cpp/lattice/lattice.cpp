#include "lattice/lattice.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <new>
#include <stdexcept>
#include <string>

#include "kernels/kernels.h"
#include "lattice/chain.h"
#include "lattice/factors.h"

namespace tagwright {
namespace {

bool before(const Override& a, const Override& b) { return a.i != b.i ? a.i < b.i : a.j < b.j; }

Scan scan(Scores scores, size_t n) { return scores.f ? kernels().scan_f(scores.f, n) : kernels().scan_d(scores.d, n); }

bool good(double score) { return score <= kLargestScore && !(std::isfinite(score) && score < -kLargestScore); }

// What is wrong with a score and what to do about it.
std::string trouble(double score) {
  if (std::isnan(score)) return " is NaN; scores must be numbers or -inf";
  if (std::isinf(score)) return " is +inf; only -inf is allowed (it forbids)";
  char number[32];
  std::snprintf(number, sizeof number, "%g", score);
  return std::string(" is ") + number + "; scores beyond 1e290 cannot be summed, scale them down";
}

void check_entry(size_t L, size_t at, int32_t i, int32_t j, double score, const char* what) {
  if (i < 0 || j < 0 || static_cast<size_t>(i) >= L || static_cast<size_t>(j) >= L)
    throw std::invalid_argument(std::string(what) + " " + std::to_string(at) + " is for edge " + std::to_string(i) +
                                " -> " + std::to_string(j) + ", but labels go from 0 to " + std::to_string(L - 1));
  if (!good(score))
    throw std::invalid_argument(std::string(what) + " " + std::to_string(at) + " (edge " + std::to_string(i) + " -> " +
                                std::to_string(j) + ")" + trouble(score));
}

}  // namespace

Edges::Edges(size_t L) : L_(L), stride_(L) {}

Edges::~Edges() = default;

namespace {

template <class E>
std::shared_ptr<E> padded(const E* matrix, size_t L, size_t stride) {
  constexpr std::align_val_t kLine{64};
  std::shared_ptr<E> copy(static_cast<E*>(::operator new(L * stride * sizeof(E), kLine)),
                          [](E* p) { ::operator delete(p, kLine); });
  for (size_t i = 0; i < L; ++i) {
    std::copy(matrix + i * L, matrix + (i + 1) * L, copy.get() + i * stride);
    std::fill(copy.get() + i * stride + L, copy.get() + (i + 1) * stride, -std::numeric_limits<E>::infinity());
  }
  return copy;
}

}  // namespace

std::unique_ptr<Edges> Edges::dense(size_t L, Scores matrix) {
  std::unique_ptr<Edges> edges(new Edges(L));
  constexpr size_t kLine = 16, kPage = 128;
  edges->stride_ = (L + kLine - 1) / kLine * kLine;
  if (edges->stride_ % kPage == 0) edges->stride_ += kLine;
  if (matrix.f) {
    auto copy = padded(matrix.f, L, edges->stride_);
    edges->matrix_.f = copy.get();
    edges->owner_ = std::move(copy);
  } else {
    auto copy = padded(matrix.d, L, edges->stride_);
    edges->matrix_.d = copy.get();
    edges->owner_ = std::move(copy);
  }
  edges->magnitude_ = edges->check_scores();
  return edges;
}

std::unique_ptr<Edges> Edges::stepwise(size_t L, size_t steps, Scores matrices, std::shared_ptr<void> owner) {
  std::unique_ptr<Edges> edges(new Edges(L));
  edges->stepwise_ = true;
  edges->steps_ = steps;
  edges->matrix_ = matrices;
  edges->owner_ = std::move(owner);
  return edges;
}

double Edges::check_scores() const {
  double magnitude = 0;
  const size_t rows = matrices() * L_;
  for (size_t r = 0; r < rows; ++r) {
    const Scores row = matrix_.from(r * stride_);
    const Scan seen = scan(row, L_);
    if (seen.valid && seen.magnitude <= kLargestScore) {
      magnitude = std::max(magnitude, seen.magnitude);
      continue;
    }
    size_t j = 0;
    while (j + 1 < L_ && good(row[j])) ++j;
    throw std::invalid_argument("edge score " + std::to_string(r % L_) + " -> " + std::to_string(j) +
                                (stepwise_ ? " of step " + std::to_string(r / L_) : "") + trouble(row[j]));
  }
  return magnitude;
}

std::unique_ptr<Edges> Edges::sparse(size_t L, double fallback, std::span<const int32_t> previous,
                                     std::span<const int32_t> current, std::span<const double> score) {
  std::unique_ptr<Edges> edges(new Edges(L));
  if (!good(fallback)) throw std::invalid_argument("the default edge score" + trouble(fallback));
  std::vector<Override> entries;
  entries.reserve(score.size());
  if (std::isfinite(fallback)) edges->magnitude_ = std::fabs(fallback);
  for (size_t q = 0; q < score.size(); ++q) {
    check_entry(L, q, previous[q], current[q], score[q], "edge triple");
    entries.push_back({previous[q], current[q], score[q]});
    if (std::isfinite(score[q])) edges->magnitude_ = std::max(edges->magnitude_, std::fabs(score[q]));
  }
  std::sort(entries.begin(), entries.end(), before);
  for (size_t q = 1; q < entries.size(); ++q) {
    if (entries[q].i == entries[q - 1].i && entries[q].j == entries[q - 1].j)
      throw std::invalid_argument("edge " + std::to_string(entries[q].i) + " -> " + std::to_string(entries[q].j) +
                                  " is given twice; give each edge once");
  }
  edges->fallback_ = fallback;
  edges->fill_exceptions(entries);
  return edges;
}

void Edges::find_exceptions(double share) {
  if (stepwise_ || !has_matrix()) return;
  // Boyer and Moore's vote: a value that more than half of the matrix has is the one left over.
  double candidate = 0;
  size_t votes = 0;
  for (size_t i = 0; i < L_; ++i) {
    for (size_t j = 0; j < L_; ++j) {
      const double v = matrix_[i * stride_ + j];
      if (votes == 0) candidate = v;
      votes += v == candidate ? 1 : -1;
    }
  }
  std::vector<Override> entries;
  const size_t most = static_cast<size_t>(share * static_cast<double>(L_ * L_));
  for (size_t i = 0; i < L_; ++i) {
    for (size_t j = 0; j < L_; ++j) {
      const double v = matrix_[i * stride_ + j];
      if (v != candidate) entries.push_back({static_cast<int32_t>(i), static_cast<int32_t>(j), v});
    }
    if (entries.size() > most) return;
  }
  fallback_ = candidate;
  fill_exceptions(entries);
}

void Edges::fill_exceptions(const std::vector<Override>& sorted) {
  sparse_ = true;
  const auto fill = [&](Exceptions& to, int32_t Override::* major, int32_t Override::* minor, auto&& takes) {
    std::vector<size_t> room(L_, 0);
    for (const Override& e : sorted) room[static_cast<size_t>(e.*major)] += takes(e);
    to.reset(L_, room);
    for (const Override& e : sorted)
      if (takes(e)) to.set(static_cast<size_t>(e.*major), e.*minor, e.score);
  };
  const auto all = [](const Override&) { return true; };
  fill(rows_, &Override::i, &Override::j, all);
  fill(columns_, &Override::j, &Override::i, all);
  fill(better_, &Override::i, &Override::j, [&](const Override& e) { return e.score > fallback_; });
  fill(worse_, &Override::i, &Override::j, [&](const Override& e) { return e.score < fallback_; });
}

void Edges::set_ends(std::vector<double>& to, std::span<const double> score, const char* what) {
  if (score.size() != L_)
    throw std::invalid_argument(std::string(what) + " holds " + std::to_string(score.size()) +
                                " scores, but there are " + std::to_string(L_) + " labels");
  for (size_t y = 0; y < L_; ++y) {
    if (!good(score[y]))
      throw std::invalid_argument(std::string("the ") + what + " score of label " + std::to_string(y) +
                                  trouble(score[y]));
    if (std::isfinite(score[y])) magnitude_ = std::max(magnitude_, std::fabs(score[y]));
  }
  to.assign(score.begin(), score.end());
}

void Edges::set_order(std::span<const int32_t> labels) {
  std::vector<bool> seen(L_, false);
  if (labels.size() != L_)
    throw std::invalid_argument("order names " + std::to_string(labels.size()) + " labels, but there are " +
                                std::to_string(L_));
  bool by_number = true;
  for (size_t r = 0; r < L_; ++r) {
    const int32_t y = labels[r];
    if (y < 0 || static_cast<size_t>(y) >= L_ || seen[static_cast<size_t>(y)])
      throw std::invalid_argument("order must hold every label from 0 to " + std::to_string(L_ - 1) +
                                  " once; position " + std::to_string(r) + " holds " + std::to_string(y));
    seen[static_cast<size_t>(y)] = true;
    by_number = by_number && static_cast<size_t>(y) == r;
  }
  order_.clear();
  if (!by_number) order_.assign(labels.begin(), labels.end());
}

void Edges::set_corrections(size_t sets, std::span<const int32_t> set, std::span<const int32_t> previous,
                            std::span<const int32_t> current, std::span<const double> score) {
  std::vector<size_t> room(sets, 0);
  for (size_t q = 0; q < score.size(); ++q) {
    if (set[q] < 0 || static_cast<size_t>(set[q]) >= sets)
      throw std::invalid_argument("correction " + std::to_string(q) + " belongs to set " + std::to_string(set[q]) +
                                  ", but sets go from 0 to " + std::to_string(sets ? sets - 1 : 0));
    check_entry(L_, q, previous[q], current[q], score[q], "correction");
    ++room[static_cast<size_t>(set[q])];
  }
  corrections_.reset(sets, room);
  for (size_t q = 0; q < score.size(); ++q) {
    const size_t s = static_cast<size_t>(set[q]), before = corrections_.size(s);
    const size_t entry = corrections_.find_or_add(s, Corrections::pair(previous[q], current[q]));
    if (corrections_.size(s) == before)
      throw std::invalid_argument("correction set " + std::to_string(s) + " names edge " + std::to_string(previous[q]) +
                                  " -> " + std::to_string(current[q]) + " twice; give each edge once a set");
    corrections_.at(entry) = score[q];
  }
}

void Edges::change(size_t i, size_t j, double score) {
  const int32_t from = static_cast<int32_t>(i), to = static_cast<int32_t>(j);
  const double before = base(0, i, j);
  if (score == before) return;
  // The matrix is our own copy, and only a view on it is constant.
  if (matrix_.f) const_cast<float*>(matrix_.f)[i * stride_ + j] = static_cast<float>(score);
  if (matrix_.d) const_cast<double*>(matrix_.d)[i * stride_ + j] = score;
  if (sparse_) {
    rows_.set(i, to, score);
    columns_.set(j, from, score);
    if (before > fallback_ && !(score > fallback_)) better_.drop(i, to);
    if (before < fallback_ && !(score < fallback_)) worse_.drop(i, to);
    if (score > fallback_) better_.set(i, to, score);
    if (score < fallback_) worse_.set(i, to, score);
  }
  if (std::isfinite(score)) magnitude_ = std::max(magnitude_, std::fabs(score));
  if (!reach_.empty()) {
    reach_[i] = best_out(*this, 0, i);
    scale_ = std::max(scale_, static_cast<double>(reach_[i]));
  }
  if (!chain_) return;
  constexpr size_t kMany = 1024;
  if (score > before) {
    raise_bounds(chain_bounds_[0], *chain_, i, j, score);
  } else if (++lowered_ >= kMany) {
    chain_bounds_[0] = edge_bounds(*this, 0, *chain_);
    lowered_ = 0;
  }
}

void Edges::change_correction(size_t set, size_t i, size_t j, double score) {
  corrections_.at(corrections_.find_or_add(set, Corrections::pair(static_cast<int32_t>(i), static_cast<int32_t>(j)))) =
      score;
}

double Edges::exception(size_t i, size_t j) const {
  const size_t entry = rows_.find(i, static_cast<int32_t>(j));
  return entry == Exceptions::kNoPlace ? fallback_ : rows_.at(entry);
}

void Edges::row(size_t t, size_t i, double* out) const {
  if (has_matrix()) {
    const Scores row = matrix(t).from(i * stride_);
    for (size_t j = 0; j < L_; ++j) out[j] = row[j];
    return;
  }
  std::fill(out, out + L_, fallback_);
  for (size_t q = 0; q < rows_.size(i); ++q) out[rows_.keys(i)[q]] = rows_.values(i)[q];
}

void Edges::column(size_t t, size_t j, double* out) const {
  if (!sparse_) {
    const Scores column = matrix(t).from(j);
    for (size_t i = 0; i < L_; ++i) out[i] = column[i * stride_];
    return;
  }
  std::fill(out, out + L_, fallback_);
  for (size_t q = 0; q < columns_.size(j); ++q) out[columns_.keys(j)[q]] = columns_.values(j)[q];
}

const Chain& Edges::chain() const {
  std::call_once(chain_once_, [&] {
    auto made = std::make_unique<Chain>(make_chain(L_, order_));
    std::vector<Bounds> bounds;
    for (size_t t = 0; t < (stepwise_ ? steps_ : 1); ++t) bounds.push_back(edge_bounds(*this, t, *made));
    chain_bounds_ = std::move(bounds);
    chain_ = std::move(made);
  });
  return *chain_;
}

const Bounds& Edges::chain_bounds(size_t t) const {
  chain();
  return chain_bounds_[stepwise_ ? t : 0];
}

const Factors* Edges::factors() const {
  if (stepwise_) return nullptr;
  std::call_once(factors_once_, [&] { factors_ = std::make_unique<Factors>(factors_of(*this)); });
  return factors_.get();
}

Lattice::Lattice(const Edges& edges, size_t T, Scores nodes, const std::vector<std::vector<int32_t>>* on)
    : T(T), L(edges.L()), edges(edges), nodes(nodes), edge_magnitude_(edges.magnitude()) {
  if (edges.is_stepwise() && edges.matrices() + 1 != std::max<size_t>(T, 1))
    throw std::invalid_argument("the edges hold " + std::to_string(edges.matrices()) + " steps, but " +
                                std::to_string(T) + " tokens have " + std::to_string(T ? T - 1 : 0));
  if (edges.is_stepwise()) edge_magnitude_ = std::max(edge_magnitude_, edges.check_scores());
  node_magnitude_.resize(T);
  double sum = 0;
  for (size_t t = 0; t < T; ++t) {
    const Scores column = nodes.from(t * L);
    const Scan seen = scan(column, L);
    if (!seen.valid || seen.magnitude > kLargestScore) {
      size_t y = 0;
      while (y + 1 < L && good(column[y])) ++y;
      throw std::invalid_argument("the node score of token " + std::to_string(t) + ", label " + std::to_string(y) +
                                  trouble(column[y]));
    }
    node_magnitude_[t] = seen.magnitude;
    sum += seen.magnitude;
  }
  if (on) switch_on(*on);
  // A path has 2T + 1 terms; each addition errs by at most half a unit in the last place of a partial sum.
  const double steps = static_cast<double>(T + 2);
  // Never nothing: decoders drop what is not above the floor less the slack.
  slack_ = 8 * steps * std::numeric_limits<double>::epsilon() * (sum + steps * edge_magnitude_) + 1e-300;
}

void Lattice::switch_on(const std::vector<std::vector<int32_t>>& on) {
  const Corrections& sets = edges.corrections();
  if (on.size() + 1 != std::max<size_t>(T, 1))
    throw std::invalid_argument("switched_on has " + std::to_string(on.size()) + " steps, but " + std::to_string(T) +
                                " tokens have " + std::to_string(T ? T - 1 : 0));
  patches_.resize(on.size());
  for (size_t t = 0; t < on.size(); ++t) {
    std::vector<int32_t> sorted(on[t]);
    std::sort(sorted.begin(), sorted.end());
    if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
      throw std::invalid_argument("switched_on names set " + std::to_string(*twice) + " twice at step " +
                                  std::to_string(t));
    std::vector<Override>& entries = patches_[t].by_row;
    for (const int32_t s : on[t]) {
      if (s < 0 || static_cast<size_t>(s) >= sets.rows())
        throw std::invalid_argument("switched_on names set " + std::to_string(s) + " at step " + std::to_string(t) +
                                    ", but the edges have " + std::to_string(sets.rows()) + " correction sets");
      const std::span<const uint64_t> pairs = sets.keys(static_cast<size_t>(s));
      const std::span<const double> scores = sets.values(static_cast<size_t>(s));
      for (size_t q = 0; q < pairs.size(); ++q)
        entries.push_back({Corrections::previous(pairs[q]), Corrections::current(pairs[q]), scores[q]});
    }
    // Stable, so that an edge's corrections are added in the order in which their sets were switched on.
    std::stable_sort(entries.begin(), entries.end(), before);
    size_t kept = 0;
    for (size_t q = 0; q < entries.size(); ++q) {
      const Override e = entries[q];
      if (kept && entries[kept - 1].i == e.i && entries[kept - 1].j == e.j) {
        entries[kept - 1].score += e.score;
      } else {
        const double base = edges.base(t, static_cast<size_t>(e.i), static_cast<size_t>(e.j));
        entries[kept++] = {e.i, e.j, base + e.score};
      }
    }
    entries.resize(kept);
    for (const Override& e : entries)
      if (std::isfinite(e.score)) edge_magnitude_ = std::max(edge_magnitude_, std::fabs(e.score));
    patches_[t].index_columns();
  }
  if (std::all_of(patches_.begin(), patches_.end(), [](const Patch& patch) { return patch.empty(); })) patches_.clear();
}

double Lattice::corrected_edge(size_t t, size_t i, size_t j) const {
  const std::vector<Override>& entries = patches_[t].by_row;
  const Override key{static_cast<int32_t>(i), static_cast<int32_t>(j), 0};
  const auto at = std::lower_bound(entries.begin(), entries.end(), key, before);
  return at != entries.end() && at->i == key.i && at->j == key.j ? at->score : edges.base(t, i, j);
}

void Lattice::row(size_t t, size_t i, double* out) const {
  edges.row(t, i, out);
  if (patched())
    for (const Override& e : patches_[t].row(static_cast<int32_t>(i))) out[e.j] = e.score;
}

void Lattice::column(size_t t, size_t j, double* out) const {
  edges.column(t, j, out);
  if (patched())
    for (const Override& e : patches_[t].column(static_cast<int32_t>(j))) out[e.i] = e.score;
}

double path_score(const Lattice& lattice, std::span<const int32_t> labels) {
  double score = 0;
  for (size_t t = 0; t < labels.size(); ++t) {
    const size_t y = static_cast<size_t>(labels[t]);
    if (t == 0) score += lattice.edges.start(y);
    if (t > 0) score += lattice.edge(t - 1, static_cast<size_t>(labels[t - 1]), y);
    score += lattice.node(t, y);
  }
  if (!labels.empty()) score += lattice.edges.stop(static_cast<size_t>(labels.back()));
  return score;
}

}  // namespace tagwright
