#include "lattice/edge_scores.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <stdexcept>
#include <string>

namespace tagwright {
namespace {

std::string name_of(int32_t i, int32_t j) { return std::to_string(i) + " -> " + std::to_string(j); }

// Complains about entry q of some triples where it is none.
void check_entry(size_t L, const EdgeTriples& triples, size_t q, const char* what) {
  const int32_t i = triples.previous[q], j = triples.current[q];
  if (i < 0 || j < 0 || static_cast<size_t>(i) >= L || static_cast<size_t>(j) >= L)
    throw std::invalid_argument(std::string(what) + " " + std::to_string(q) + " is for edge " + name_of(i, j) +
                                ", but labels go from 0 to " + std::to_string(L - 1));
  if (!is_score(triples.score[q]))
    throw std::invalid_argument(std::string(what) + " " + std::to_string(q) + " (edge " + name_of(i, j) + ")" +
                                why_no_score(triples.score[q]));
}

void raise_magnitude(double& magnitude, double score) {
  if (std::isfinite(score)) magnitude = std::max(magnitude, std::fabs(score));
}

}  // namespace

void Exceptions::set(size_t i, int32_t label, double score) {
  const size_t before = size(i);
  double& held = at(find_or_add(i, label));
  const bool was_largest = size(i) == before && held == largest_[i];
  held = score;
  if (score >= largest_[i]) {
    largest_[i] = score;
  } else if (was_largest) {
    find_largest(i);
  }
}

void Exceptions::drop(size_t i, int32_t label) {
  erase(i, label);
  find_largest(i);
}

void Exceptions::find_largest(size_t i) {
  largest_[i] = kForbidden;
  for (const double score : values(i)) largest_[i] = std::max(largest_[i], score);
}

// Makes a matrix of our own. fill(i, row): writes the scores of row i.
template <class E, class Fill>
const E* EdgeScores::make_matrix(Fill&& fill) {
  constexpr size_t kLine = 16, kPage = 128;
  constexpr std::align_val_t kAlign{64};
  stride_ = (L_ + kLine - 1) / kLine * kLine;
  if (stride_ % kPage == 0) stride_ += kLine;
  const std::shared_ptr<E> made(static_cast<E*>(::operator new(L_ * stride_ * sizeof(E), kAlign)),
                                [](E* p) { ::operator delete(p, kAlign); });
  for (size_t i = 0; i < L_; ++i) {
    E* const row = made.get() + i * stride_;
    fill(i, row);
    std::fill(row + L_, row + stride_, -std::numeric_limits<E>::infinity());
  }
  owner_ = made;
  return made.get();
}

EdgeScores EdgeScores::from_matrix(size_t L, Scores matrix, std::optional<EdgeForm> form, const EdgeExtras& extras) {
  EdgeScores made(L);
  const auto copy = [&](const auto* scores) {
    return [=](size_t i, auto* row) { std::copy(scores + i * L, scores + (i + 1) * L, row); };
  };
  if (matrix.f) {
    made.matrix_.f = made.make_matrix<float>(copy(matrix.f));
  } else {
    made.matrix_.d = made.make_matrix<double>(copy(matrix.d));
  }
  made.magnitude_ = made.check_matrices();
  if (form != EdgeForm::kDense) made.find_exceptions(!form);
  made.add(extras);
  return made;
}

EdgeScores EdgeScores::from_steps(size_t L, size_t steps, Scores matrices, std::shared_ptr<void> owner,
                                  const EdgeExtras& extras) {
  EdgeScores made(L);
  made.stepwise_ = true;
  made.steps_ = steps;
  made.matrix_ = matrices;
  made.owner_ = std::move(owner);
  made.add(extras);
  return made;
}

EdgeScores EdgeScores::from_triples(size_t L, double fallback, const EdgeTriples& triples, std::optional<EdgeForm> form,
                                    const EdgeExtras& extras) {
  EdgeScores made(L);
  if (!is_score(fallback)) throw std::invalid_argument("the default edge score" + why_no_score(fallback));
  raise_magnitude(made.magnitude_, fallback);
  std::vector<Override> entries;
  entries.reserve(triples.size());
  for (size_t q = 0; q < triples.size(); ++q) {
    check_entry(L, triples, q, "edge triple");
    entries.push_back({triples.previous[q], triples.current[q], triples.score[q]});
    raise_magnitude(made.magnitude_, entries.back().score);
  }
  if (!std::is_sorted(entries.begin(), entries.end(), before)) std::sort(entries.begin(), entries.end(), before);
  const auto twice = std::adjacent_find(entries.begin(), entries.end(),
                                        [](const Override& a, const Override& b) { return a.i == b.i && a.j == b.j; });
  if (twice != entries.end())
    throw std::invalid_argument("edge " + name_of(twice->i, twice->j) + " is given twice; give each edge once");
  if (!form) std::erase_if(entries, [&](const Override& e) { return e.score == fallback; });
  const EdgeForm held = form.value_or(choose_edge_form(L, entries.size(), EdgeUse::kModel));
  if (held != EdgeForm::kSparse) {
    auto fill = [&, next = entries.begin()]<class E>(size_t i, E* row) mutable {
      std::fill(row, row + L, static_cast<E>(fallback));
      for (; next != entries.end() && next->i == static_cast<int32_t>(i); ++next)
        row[next->j] = static_cast<E>(next->score);
    };
    if (triples.score.d) {
      made.matrix_.d = made.make_matrix<double>(fill);
    } else {
      made.matrix_.f = made.make_matrix<float>(fill);
    }
  }
  if (held != EdgeForm::kDense) {
    made.fallback_ = fallback;
    made.hold_exceptions(entries);
  } else if (!form) {
    made.find_exceptions(true);  // another score than the default may be the most common one
  }
  made.add(extras);
  return made;
}

double EdgeScores::check_matrices() const {
  double magnitude = 0;
  const size_t rows = matrices() * L_;
  for (size_t r = 0; r < rows; ++r) {
    const Scores row = matrix_.from(r * stride_);
    const ScoreCheck seen = check_scores(row, L_);
    if (seen.bad < L_)
      throw std::invalid_argument("edge score " + std::to_string(r % L_) + " -> " + std::to_string(seen.bad) +
                                  (stepwise_ ? " of step " + std::to_string(r / L_) : "") +
                                  why_no_score(row[seen.bad]));
    magnitude = std::max(magnitude, seen.magnitude);
  }
  return magnitude;
}

// Holds exceptions beside a matrix. choose: only where the rule wants them.
void EdgeScores::find_exceptions(bool choose) {
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
  for (size_t i = 0; i < L_; ++i) {
    for (size_t j = 0; j < L_; ++j) {
      const double v = matrix_[i * stride_ + j];
      if (v != candidate) entries.push_back({static_cast<int32_t>(i), static_cast<int32_t>(j), v});
    }
    if (choose && choose_edge_form(L_, entries.size(), EdgeUse::kGiven) == EdgeForm::kDense) return;
  }
  fallback_ = candidate;
  hold_exceptions(entries);
}

void EdgeScores::hold_exceptions(const std::vector<Override>& sorted) {
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

void EdgeScores::add(const EdgeExtras& extras) {
  if (extras.start) start_ = ends(*extras.start, "start");
  if (extras.stop) stop_ = ends(*extras.stop, "stop");
  if (extras.order) add_order(*extras.order);
  if (extras.correction_sets || extras.corrections.size()) add_corrections(extras);
  if (!extras.ngrams) return;
  if (auto made = std::make_shared<const LabelNgrams>(L_, *extras.ngrams); made->size()) ngrams_ = std::move(made);
}

std::vector<double> EdgeScores::ends(std::span<const double> score, const char* what) {
  if (score.size() != L_)
    throw std::invalid_argument(std::string(what) + " holds " + std::to_string(score.size()) +
                                " scores, but there are " + std::to_string(L_) + " labels");
  for (size_t y = 0; y < L_; ++y) {
    if (!is_score(score[y]))
      throw std::invalid_argument(std::string("the ") + what + " score of label " + std::to_string(y) +
                                  why_no_score(score[y]));
    raise_magnitude(magnitude_, score[y]);
  }
  return {score.begin(), score.end()};
}

void EdgeScores::add_order(std::span<const int32_t> labels) {
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
  if (!by_number) order_.assign(labels.begin(), labels.end());
}

void EdgeScores::add_corrections(const EdgeExtras& extras) {
  const EdgeTriples& entries = extras.corrections;
  const size_t sets = extras.correction_sets;
  std::vector<size_t> room(sets, 0);
  for (size_t q = 0; q < entries.size(); ++q) {
    const int32_t s = extras.correction_set[q];
    if (s < 0 || static_cast<size_t>(s) >= sets)
      throw std::invalid_argument("correction " + std::to_string(q) + " belongs to set " + std::to_string(s) +
                                  ", but sets go from 0 to " + std::to_string(sets ? sets - 1 : 0));
    check_entry(L_, entries, q, "correction");
    ++room[static_cast<size_t>(s)];
  }
  corrections_.reset(sets, room);
  for (size_t q = 0; q < entries.size(); ++q) {
    const size_t s = static_cast<size_t>(extras.correction_set[q]), before = corrections_.size(s);
    const int32_t i = entries.previous[q], j = entries.current[q];
    const size_t entry = corrections_.find_or_add(s, Corrections::pair(i, j));
    if (corrections_.size(s) == before)
      throw std::invalid_argument("correction set " + std::to_string(s) + " names edge " + name_of(i, j) +
                                  " twice; give each edge once per set");
    corrections_.at(entry) = entries.score[q];
  }
}

double EdgeScores::exception(size_t i, size_t j) const {
  const size_t entry = rows_.find(i, static_cast<int32_t>(j));
  if (entry != Exceptions::kNoPlace) return rows_.at(entry);
  return default_is_limited_ && !rules_->allows(i, j) ? kForbidden : fallback_;
}

// out: [label], the defaults of row y (side 0), or of column y (side 1).
void EdgeScores::fill_default(size_t side, size_t y, double* out) const {
  std::fill(out, out + L_, default_is_limited_ ? kForbidden : fallback_);
  if (!default_is_limited_) return;
  const PairClasses& classes = rules_->classes();
  const PairClasses::Side &own = classes.side[side], &other = classes.side[1 - side];
  for (const int32_t c : own.others[static_cast<size_t>(own.of[y])])
    for (const int32_t label : other.members[static_cast<size_t>(c)]) out[label] = fallback_;
}

// Puts a copy in the place of a matrix, or of one per step.
template <class E>
void EdgeScores::forbid_in_matrix(const E* from) {
  const size_t rows = matrices() * L_, old = stride_;
  const auto fill = [&](size_t r, E* row) {
    const size_t i = r % L_;
    std::copy_n(from + r * old, L_, row);
    for (size_t j = 0; j < L_; ++j)
      if (!rules_->allows(i, j)) row[j] = -std::numeric_limits<E>::infinity();
    auto at =
        std::lower_bound(rules_->forbidden().begin(), rules_->forbidden().end(), std::pair(static_cast<int32_t>(i), 0));
    for (; at != rules_->forbidden().end() && at->first == static_cast<int32_t>(i); ++at)
      row[at->second] = -std::numeric_limits<E>::infinity();
  };
  const std::shared_ptr<void> held = owner_;  // what is copied
  const E* made = nullptr;
  if (!stepwise_) {
    made = make_matrix<E>(fill);
  } else {
    const auto copy = std::make_shared<std::vector<E>>(rows * L_);
    for (size_t r = 0; r < rows; ++r) fill(r, copy->data() + r * L_);
    made = copy->data();
    owner_ = copy;
  }
  if constexpr (std::is_same_v<E, float>) {
    matrix_.f = made;
  } else {
    matrix_.d = made;
  }
}

EdgeScores EdgeScores::constrained(std::shared_ptr<const PairRules> rules, bool choose_form) const {
  if (rules->L() != L_)
    throw std::invalid_argument("the constraints are for " + std::to_string(rules->L()) +
                                " labels, but the edges are for " + std::to_string(L_));
  EdgeScores made(*this);
  // Earlier rules still limit the default, and still explain why there is no path.
  made.rules_ = rules_ ? std::make_shared<const PairRules>(rules_->both(*rules)) : std::move(rules);
  const PairRules& own = *made.rules_;
  for (const bool first : {true, false}) {
    std::vector<double>& ends = first ? made.start_ : made.stop_;
    for (size_t y = 0; y < L_; ++y) {
      if (first ? own.may_start(y) : own.may_stop(y)) continue;
      if (ends.empty()) ends.assign(L_, 0.0);
      ends[y] = kForbidden;
    }
  }
  if (own.rules().empty() && own.forbidden().empty()) return made;
  if (matrix_.f) made.forbid_in_matrix(matrix_.f);
  if (matrix_.d) made.forbid_in_matrix(matrix_.d);
  if (!sparse_) {
    if (!stepwise_ && choose_form) made.find_exceptions(true);  // -inf may be the most common score now
    return made;
  }
  made.default_is_limited_ = !own.rules().empty();
  std::vector<Override> legal;
  for (const auto& [i, j] : own.forbidden())
    if (own.allows(static_cast<size_t>(i), static_cast<size_t>(j))) legal.push_back({i, j, kForbidden});
  for (size_t i = 0; i < L_; ++i)
    for (size_t q = 0; q < rows_.size(i); ++q)
      if (own.may_follow(i, static_cast<size_t>(rows_.keys(i)[q])))
        legal.push_back({static_cast<int32_t>(i), rows_.keys(i)[q], rows_.values(i)[q]});
  std::sort(legal.begin(), legal.end(), before);
  made.hold_exceptions(legal);
  return made;
}

EdgeScores EdgeScores::without_ends() const {
  EdgeScores made(*this);
  made.start_.clear();
  made.stop_.clear();
  return made;
}

void EdgeScores::row(size_t t, size_t i, double* out) const {
  if (has_matrix()) {
    const Scores row = matrix(t).from(i * stride_);
    for (size_t j = 0; j < L_; ++j) out[j] = row[j];
    return;
  }
  fill_default(0, i, out);
  for (size_t q = 0; q < rows_.size(i); ++q) out[rows_.keys(i)[q]] = rows_.values(i)[q];
}

void EdgeScores::column(size_t t, size_t j, double* out) const {
  if (!sparse_) {
    const Scores column = matrix(t).from(j);
    for (size_t i = 0; i < L_; ++i) out[i] = column[i * stride_];
    return;
  }
  fill_default(1, j, out);
  for (size_t q = 0; q < columns_.size(j); ++q) out[columns_.keys(j)[q]] = columns_.values(j)[q];
}

}  // namespace tagwright
