#include "lattice/edge_scores.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "lattice/dense_edges.h"

namespace tagwright {
namespace {

std::string name_of(int32_t i, int32_t j) { return std::to_string(i) + " -> " + std::to_string(j); }

// Throws std::invalid_argument for an entry with a label out of range or without a score.
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

// The same edges at every step.
void EdgeScores::share(std::shared_ptr<StepEdges> step) {
  shared_ = step.get();
  stride_ = step->stride();
  table_ = step->table();
  steps_.assign(1, std::move(step));
}

EdgeScores EdgeScores::from_matrix(size_t L, Scores matrix, std::optional<EdgeForm> form, const EdgeExtras& extras) {
  EdgeScores made(L);
  auto dense = std::make_shared<DenseEdges>(L);
  const auto copy = [&](const auto* scores) {
    return [=](size_t i, auto* row) { std::copy(scores + i * L, scores + (i + 1) * L, row); };
  };
  matrix.f ? dense->make_table<float>(copy(matrix.f)) : dense->make_table<double>(copy(matrix.d));
  made.magnitude_ = dense->check("");
  made.share(form == EdgeForm::kDense ? dense : DenseEdges::in_best_form(dense, form.has_value()));
  made.add(extras);
  return made;
}

EdgeScores EdgeScores::from_steps(size_t L, size_t steps, Scores matrices, std::shared_ptr<void> owner,
                                  const EdgeExtras& extras) {
  EdgeScores made(L);
  made.per_step_ = true;
  for (size_t t = 0; t < steps; ++t) {
    auto step = std::make_shared<DenseEdges>(L);
    step->borrow_table(matrices.from(t * L * L), owner);
    made.steps_.push_back(std::move(step));
  }
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
  const auto make_table = [&](StepEdges& edges) {
    auto fill = [&, next = entries.begin()]<class E>(size_t i, E* row) mutable {
      std::fill(row, row + L, static_cast<E>(fallback));
      for (; next != entries.end() && next->i == static_cast<int32_t>(i); ++next)
        row[next->j] = static_cast<E>(next->score);
    };
    triples.score.d ? edges.make_table<double>(fill) : edges.make_table<float>(fill);
  };
  if (held == EdgeForm::kDense) {
    auto dense = std::make_shared<DenseEdges>(L);
    make_table(*dense);
    // Another score than the default may be the most common one.
    made.share(form ? dense : DenseEdges::in_best_form(dense));
  } else {
    auto sparse = std::make_shared<SparseEdges>(L, fallback, entries);
    if (held == EdgeForm::kBoth) make_table(*sparse);
    made.share(std::move(sparse));
  }
  made.add(extras);
  return made;
}

double EdgeScores::check_steps() const {
  double magnitude = 0;
  for (size_t t = 0; per_step_ && t < steps_.size(); ++t)
    magnitude = std::max(magnitude, steps_[t]->check(" of step " + std::to_string(t)));
  return magnitude;
}

EdgeCosts EdgeScores::costs() const {
  // Bounds of edges that differ from step to step would read all of them, and by then max steps are done.
  if (per_step_) return {.max_step = L_ * L_, .few_labels = SIZE_MAX, .hot_labels = L_ / 16};
  constexpr size_t kFewForLanes = 64, kFewWithNgrams = 12;
  EdgeCosts costs = shared_->costs();
  costs.lanes = !ngrams_ && L_ <= kFewForLanes;
  if (ngrams_) {
    costs.few_labels = kFewWithNgrams;
    costs.shared_bytes = 0;
  }
  return costs;
}

EdgeFacts EdgeScores::facts() const {
  const SparseEdges* const own = sparse();
  return {.sparse = bool(own),
          .stepwise = per_step_,
          .fallback = own ? own->fallback() : 0,
          .exceptions = own ? own->rows().entries() : 0,
          .ngrams = ngrams_ ? ngrams_->size() : 0,
          .sets = corrections_.rows()};
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
  std::vector<bool> present(L_, false);
  if (labels.size() != L_)
    throw std::invalid_argument("order names " + std::to_string(labels.size()) + " labels, but there are " +
                                std::to_string(L_));
  bool by_number = true;
  for (size_t r = 0; r < L_; ++r) {
    const int32_t y = labels[r];
    if (y < 0 || static_cast<size_t>(y) >= L_ || present[static_cast<size_t>(y)])
      throw std::invalid_argument("order must hold every label from 0 to " + std::to_string(L_ - 1) +
                                  " once; position " + std::to_string(r) + " holds " + std::to_string(y));
    present[static_cast<size_t>(y)] = true;
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
  if (!per_step_) {
    made.share(shared_->constrained(made.rules_, choose_form));
    return made;
  }
  for (std::shared_ptr<StepEdges>& step : made.steps_) step = step->constrained(made.rules_, false);
  if (!steps_.empty()) made.stride_ = made.steps_[0]->stride();
  return made;
}

EdgeScores EdgeScores::with_labelling_rules(std::shared_ptr<const LabellingRules> rules) const {
  if (rules->L() != L_)
    throw std::invalid_argument("the constraints are for " + std::to_string(rules->L()) +
                                " labels, but the edges are for " + std::to_string(L_));
  EdgeScores made(*this);
  made.labelling_rules_ =
      labelling_rules_ ? std::make_shared<const LabellingRules>(labelling_rules_->both(*rules)) : std::move(rules);
  return made;
}

EdgeScores EdgeScores::without_labelling_rules() const {
  EdgeScores made(*this);
  made.labelling_rules_.reset();
  return made;
}

EdgeScores EdgeScores::without_ends() const {
  EdgeScores made(*this);
  made.start_.clear();
  made.stop_.clear();
  return made;
}

}  // namespace tagwright
