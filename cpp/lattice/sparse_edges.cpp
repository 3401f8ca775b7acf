#include "lattice/sparse_edges.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/kernels.h"
#include "lattice/dense_edges.h"

namespace tagwright {

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

SparseEdges::SparseEdges(size_t L, double fallback, const std::vector<Override>& sorted,
                         std::shared_ptr<const PairRules> rules)
    : StepEdges(L), fallback_(fallback), rules_(std::move(rules)) {
  const auto fill = [&](Exceptions& to, int32_t Override::* major, int32_t Override::* minor, auto&& belongs) {
    std::vector<size_t> room(L, 0);
    for (const Override& e : sorted) room[static_cast<size_t>(e.*major)] += belongs(e);
    to.reset(L, room);
    for (const Override& e : sorted)
      if (belongs(e)) to.set(static_cast<size_t>(e.*major), e.*minor, e.score);
  };
  const auto all = [](const Override&) { return true; };
  fill(rows_, &Override::i, &Override::j, all);
  fill(columns_, &Override::j, &Override::i, all);
  fill(better_, &Override::i, &Override::j, [&](const Override& e) { return e.score > fallback_; });
  fill(worse_, &Override::i, &Override::j, [&](const Override& e) { return e.score < fallback_; });
}

double SparseEdges::find(size_t i, size_t j) const {
  const size_t entry = rows_.find(i, static_cast<int32_t>(j));
  if (entry != Exceptions::kNoPlace) return rows_.at(entry);
  return rules_ && !rules_->allows(i, j) ? kForbidden : fallback_;
}

double SparseEdges::find_in_column(size_t i, size_t j) const {
  const size_t entry = columns_.find(j, static_cast<int32_t>(i));
  if (entry != Exceptions::kNoPlace) return columns_.at(entry);
  return rules_ && !rules_->allows(i, j) ? kForbidden : fallback_;
}

// out: [label], the defaults of row y (side 0), or of column y (side 1).
void SparseEdges::fill_default(size_t side, size_t y, double* out) const {
  std::fill(out, out + L_, rules_ ? kForbidden : fallback_);
  if (!rules_) return;
  const PairClasses& classes = rules_->classes();
  const PairClasses::Side &own = classes.side[side], &other = classes.side[1 - side];
  for (const int32_t c : own.others[static_cast<size_t>(own.of[y])])
    for (const int32_t label : other.members[static_cast<size_t>(c)]) out[label] = fallback_;
}

void SparseEdges::fill_row(size_t i, double* out) const {
  fill_default(0, i, out);
  for (size_t q = 0; q < rows_.size(i); ++q) out[rows_.keys(i)[q]] = rows_.values(i)[q];
}

void SparseEdges::column(size_t j, double* out) const {
  fill_default(1, j, out);
  for (size_t q = 0; q < columns_.size(j); ++q) out[columns_.keys(j)[q]] = columns_.values(j)[q];
}

// A max step in O(L log L + exceptions), and mostly far less.
//
// The best label reaches every column by a default edge, except those where its exception is worse; these are left to
// the next best label, and so on. An exception worse than the default matters to no other column. A row whose best
// exception cannot beat the least that default edges reach is not read.
//
// Where rules limit the default, all this is done for the largest class of columns, with the rows that lead there by
// default. Edges into the columns of the other classes are read column by column: exceptions, and the best rows
// that lead to the class.
class SparseEdges::MaxPass {
 public:
  MaxPass(const SparseEdges& edges, const MaxStep<double>& run, Arena& arena)
      : edges_(edges), L_(edges.L()), previous_(run.previous), best_(run.best), arena_(arena), work_(*run.work) {}

  void run() {
    const PairRules* const rules = edges_.rules();
    leads_ = rules ? leading(rules->classes()) : previous_;
    reach();
    if (rules) settle_classes(rules->classes());
  }

 private:
  // The scores of the rows that lead to the largest class of columns by default.
  const double* leading(const PairClasses& classes) {
    double* leads = arena_.array<double>(L_);
    std::fill(leads, leads + L_, kForbidden);
    for (const int32_t r : classes.side[1].others[classes.main])
      for (const int32_t i : classes.side[0].members[static_cast<size_t>(r)]) leads[i] = previous_[i];
    return leads;
  }

  void reach() {
    const size_t top = kernels().argmax_d(leads_, L_);
    const double reached = leads_[top] + edges_.fallback_;
    std::fill(best_, best_ + L_, reached);
    work_.edges += L_;
    const Exceptions& worse = edges_.worse_;
    const std::span<const int32_t> label = worse.keys(top);
    const std::span<const double> score = worse.values(top);
    for (size_t q = 0; q < label.size(); ++q) best_[label[q]] = leads_[top] + score[q];
    work_.edges += worse.size(top);

    most_ = arena_.array<double>(L_);
    worth_ = arena_.array<int32_t>(L_);
    for (size_t i = 0; i < L_; ++i) most_[i] = previous_[i] + edges_.better_.largest()[i];
    raise_by_better(reached, std::numeric_limits<double>::infinity());
    if (worse.size(top) == 0) return;
    const double least = reach_open(top);
    if (least < reached) raise_by_better(least, reached);
  }

  // Raises by the rows whose best exception reaches from `least` on, but stays below `most`.
  void raise_by_better(double least, double most) {
    const Exceptions& better = edges_.better_;
    const size_t n = kernels().at_least_d(most_, L_, least, worth_);
    for (size_t r = 0; r < n; ++r) {
      const size_t i = static_cast<size_t>(worth_[r]), count = better.size(i);
      if (!(most_[i] < most)) continue;
      kernels().scatter_d(previous_[i], better.keys(i).data(), better.values(i).data(), count, best_);
      work_.edges += count;
    }
  }

  // Settles, except for the better exceptions not used yet, the columns that label `top` does not reach by a default
  // edge. Returns the least of what they have then.
  double reach_open(size_t top) {
    const Exceptions& worse = edges_.worse_;
    const std::span<const int32_t> closed = worse.keys(top);
    int32_t* open = arena_.array<int32_t>(closed.size());
    double* rest = arena_.array<double>(L_);
    double* score = arena_.array<double>(L_);     // [j]: the worse exception of the label at hand
    int32_t* marked = arena_.array<int32_t>(L_);  // [j]: at which try it was set
    std::copy(closed.begin(), closed.end(), open);
    std::copy(leads_, leads_ + L_, rest);
    std::fill(marked, marked + L_, 0);
    size_t left = closed.size();
    constexpr int32_t kTries = 8;
    for (int32_t tries = 1; left > 0; ++tries) {
      rest[top] = kForbidden;
      top = kernels().argmax_d(rest, L_);
      if (rest[top] == kForbidden) break;
      if (tries > kTries) {
        settle_columns({open, left});
        break;
      }
      const std::span<const int32_t> labels = worse.keys(top);
      const std::span<const double> scores = worse.values(top);
      for (size_t q = 0; q < labels.size(); ++q) {
        marked[labels[q]] = tries;
        score[labels[q]] = scores[q];
      }
      work_.edges += labels.size();
      const double reached = rest[top] + edges_.fallback_;
      size_t still = 0;
      for (size_t c = 0; c < left; ++c) {
        const int32_t j = open[c];
        const bool again = marked[j] == tries;
        const double v = again ? rest[top] + score[j] : reached;
        best_[j] = v > best_[j] ? v : best_[j];
        // Later labels are no better: a column that has as much already is settled too.
        open[still] = j;
        still += again && best_[j] < reached;
      }
      left = still;
    }
    double least = std::numeric_limits<double>::infinity();
    for (const int32_t j : closed) least = best_[j] < least ? best_[j] : least;
    return least;
  }

  // The same for columns that many of the best labels do not reach, one column at a time.
  void settle_columns(std::span<const int32_t> open) {
    const Exceptions& columns = edges_.columns_;
    std::vector<int32_t> sorted(L_);
    std::iota(sorted.begin(), sorted.end(), 0);
    std::sort(sorted.begin(), sorted.end(), [&](int32_t a, int32_t b) { return leads_[a] > leads_[b]; });
    std::vector<int32_t> exception_of(L_, -1);
    for (const int32_t j : open) {
      const std::span<const int32_t> labels = columns.keys(static_cast<size_t>(j));
      double v = kForbidden;
      for (size_t q = 0; q < labels.size(); ++q) {
        exception_of[static_cast<size_t>(labels[q])] = j;
        v = std::max(v, previous_[labels[q]] + columns.values(static_cast<size_t>(j))[q]);
      }
      const auto first = std::find_if(sorted.begin(), sorted.end(),
                                      [&](int32_t i) { return exception_of[static_cast<size_t>(i)] != j; });
      if (first != sorted.end()) v = std::max(v, leads_[*first] + edges_.fallback_);
      best_[j] = v;
      work_.edges += labels.size();
    }
  }

  // Settles the columns of all classes but the largest.
  void settle_classes(const PairClasses& classes) {
    const PairClasses::Side &before = classes.side[0], &after = classes.side[1];
    int32_t* rows = arena_.array<int32_t>(L_);
    int32_t* exception_of = arena_.array<int32_t>(L_);
    std::fill(exception_of, exception_of + L_, -1);
    for (size_t c = 0; c < after.others.rows(); ++c) {
      if (c == classes.main) continue;
      size_t n = 0;
      for (const int32_t r : after.others[c])
        for (const int32_t i : before.members[static_cast<size_t>(r)])
          if (previous_[i] != kForbidden) rows[n++] = i;
      // Most columns need no more than the best few.
      const auto better = [&](int32_t a, int32_t b) { return previous_[a] > previous_[b]; };
      size_t sorted = 0;
      const auto row = [&](size_t q) {
        if (q >= sorted) {
          const size_t more = std::min(n, std::max<size_t>(4, 4 * sorted));
          std::partial_sort(rows + sorted, rows + more, rows + n, better);
          sorted = more;
        }
        return rows[q];
      };
      for (const int32_t j : after.members[c]) {
        const std::span<const int32_t> labels = edges_.columns_.keys(static_cast<size_t>(j));
        const std::span<const double> scores = edges_.columns_.values(static_cast<size_t>(j));
        double v = kForbidden;
        for (size_t q = 0; q < labels.size(); ++q) {
          exception_of[labels[q]] = j;
          v = std::max(v, previous_[labels[q]] + scores[q]);
        }
        size_t q = 0;
        while (q < n && exception_of[row(q)] == j) ++q;
        if (q < n) v = std::max(v, previous_[rows[q]] + edges_.fallback_);
        best_[j] = v;
        work_.edges += labels.size() + 1;
      }
    }
  }

  const SparseEdges& edges_;
  const size_t L_;
  const double* previous_;         // [i]
  const double* leads_ = nullptr;  // [i]: the same for the rows whose default edges lead on, -inf for others
  double* best_;                   // [j]
  double* most_ = nullptr;         // [i]: what the best exception of row i reaches
  int32_t* worth_ = nullptr;
  Arena& arena_;
  Work& work_;
};

void SparseEdges::max_step(std::span<const MaxStep<double>> runs, Arena& arena) const {
  for (const MaxStep<double>& run : runs) MaxPass(*this, run, arena).run();
}

void SparseEdges::best_in(double* out) const {
  for (size_t j = 0; j < L_; ++j) out[j] = std::max(fallback_, columns_.largest()[j]);
}

// A label has a default edge into a block unless all its edges there are exceptions.
void SparseEdges::fill_bounds(const Chain& chain, Bounds& b) const {
  std::vector<size_t> found(b.B);
  std::vector<double> best(b.B);
  // best: of one row or column into (or out of) each block; returns that of the whole row.
  const auto summarise = [&](const Exceptions& lines, size_t i) {
    std::fill(found.begin(), found.end(), 0);
    std::fill(best.begin(), best.end(), kForbidden);
    const std::span<const int32_t> labels = lines.keys(i);
    const std::span<const double> scores = lines.values(i);
    for (size_t q = 0; q < labels.size(); ++q) {
      for (size_t m = 0; m < chain.inside[static_cast<size_t>(labels[q])]; ++m) {
        ++found[m];
        best[m] = std::max(best[m], scores[q]);
      }
    }
    for (size_t m = 0; m < b.B; ++m)
      if (found[m] < L_ - chain.before(m)) best[m] = std::max(best[m], fallback_);
    return std::max(lines.largest()[i], labels.size() < L_ ? fallback_ : kForbidden);
  };
  for (size_t i = 0; i < L_; ++i) {
    b.out[i] = summarise(rows_, i);
    std::copy(best.begin(), best.end(), b.to.begin() + static_cast<ptrdiff_t>(i * b.B));
    b.in[i] = summarise(columns_, i);
    for (size_t m = 0; m < b.B; ++m) b.from[m * L_ + i] = best[m];
  }
}

// The best label's default edge reaches every label. Where that label's exception is worse, the second best of the hot
// ones counts; its own worse exceptions are not read, which leaves a bound.
void SparseEdges::bound_step(const BoundStep& step, float* before, float* scores, Work& work) const {
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  const float fallback = rounded_up(fallback_), rest = step.rest - step.top;
  float least = std::max(fallback, rest);
  if (rules_) {
    bound_classes(step, fallback, before, scores);
    least = kNone;
  } else {
    std::fill(before, before + L_, least);
    int32_t top = -1;
    float second = kNone;
    for (size_t q = 0; q < step.hot.size(); ++q) {
      if (step.hot_sum[q] == step.top && top < 0) {
        top = step.hot[q];
      } else {
        second = std::max(second, step.hot_sum[q]);
      }
    }
    if (top >= 0 && worse_.size(static_cast<size_t>(top)) > 0) {
      const auto i = static_cast<size_t>(top);
      least = std::max(second - step.top + fallback, rest);
      const std::span<const int32_t> label = worse_.keys(i);
      const std::span<const double> score = worse_.values(i);
      for (size_t q = 0; q < label.size(); ++q) before[label[q]] = std::max(static_cast<float>(score[q]), least);
      work.edges += label.size();
    }
  }
  for (size_t q = 0; q < step.hot.size(); ++q) {
    if (!(step.hot_key[q] - step.top > least)) continue;
    const auto i = static_cast<size_t>(step.hot[q]);
    kernels().scatter_f(step.hot_sum[q] - step.top, better_.keys(i).data(), better_.values(i).data(), better_.size(i),
                        before);
    work.edges += better_.size(i);
  }
}

// Default edges where rules limit them: the largest class of labels is reached by the best hot label that leads there,
// every other class by each hot label that does. Worse exceptions are not read, which leaves a bound. Labels that are
// not hot reach the largest class with the rest, and every other class with the best of those that lead there. best:
// room for one number per class.
void SparseEdges::bound_classes(const BoundStep& step, float fallback, float* before, float* best) const {
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  const PairClasses& classes = rules_->classes();
  const PairClasses::Side &from = classes.side[0], &to = classes.side[1];
  const auto class_of = [&](int32_t y) { return static_cast<size_t>(from.of[static_cast<size_t>(y)]); };
  std::fill(best, best + from.others.rows(), kNone);
  for (size_t q = 0; q < (step.list.empty() ? L_ : step.list.size()); ++q) {
    const float key = step.sum[q] + step.out[q];
    float& own = best[class_of(step.list.empty() ? static_cast<int32_t>(q) : step.list[q])];
    if (key <= step.rest && key > own) own = key;
  }
  float leads = step.rest - step.top;
  for (size_t target = 0; target < to.others.rows(); ++target) {
    if (target == classes.main) continue;
    float most = kNone;
    for (const int32_t r : to.others[target]) most = std::max(most, best[r]);
    for (const int32_t j : to.members[target]) before[j] = most - step.top;
  }
  for (size_t q = 0; q < step.hot.size(); ++q) {
    const float reached = step.hot_sum[q] - step.top + fallback;
    for (const int32_t target : from.others[class_of(step.hot[q])]) {
      if (static_cast<size_t>(target) == classes.main) {
        leads = std::max(leads, reached);
      } else {
        for (const int32_t j : to.members[static_cast<size_t>(target)]) before[j] = std::max(before[j], reached);
      }
    }
  }
  for (const int32_t j : to.members[classes.main]) before[j] = leads;
}

Factors SparseEdges::factors() const {
  Factors made;
  made.L = L_;
  made.rules = rules_.get();
  ScoreRange range;
  range.forbids = bool(rules_);
  range.add(fallback_);
  for (size_t i = 0; i < L_; ++i)
    for (const double score : rows_.values(i)) range.add(score);
  range.apply(made);
  kernels().exp_d(&fallback_, made.shift, 1, &made.rest);
  const auto fill = [&](const Exceptions& from, Factors::Side& to) {
    for (size_t i = 0; i < L_; ++i) {
      to.add_row(from.keys(i));
      to.factor.insert(to.factor.end(), from.values(i).begin(), from.values(i).end());
    }
    kernels().exp_d(to.factor.data(), made.shift, to.factor.size(), to.factor.data());
    for (const double factor : to.factor) to.more.push_back(factor - made.rest);
  };
  fill(rows_, made.side[0]);
  fill(columns_, made.side[1]);
  made.mild = std::all_of(made.side[0].factor.begin(), made.side[0].factor.end(),
                          [&](double factor) { return factor > kFewDigits * made.rest; });
  return made;
}

EdgeCosts SparseEdges::costs() const {
  return {.max_step = 4 * L_, .few_labels = 64, .hot_labels = L_, .hot_factor = 8, .one_round = bool(rules_)};
}

std::vector<double> SparseEdges::typical_scores() const {
  if (fallback_ != kForbidden) return {fallback_};
  std::vector<double> some;
  for (size_t i = 0; i < L_; ++i)
    for (const double score : rows_.values(i))
      if (std::isfinite(score)) some.push_back(score);
  return some;
}

std::shared_ptr<StepEdges> SparseEdges::constrained(const std::shared_ptr<const PairRules>& rules, bool) const {
  std::vector<Override> legal;
  for (const auto& [i, j] : rules->forbidden())
    if (rules->allows(static_cast<size_t>(i), static_cast<size_t>(j))) legal.push_back({i, j, kForbidden});
  for (size_t i = 0; i < L_; ++i)
    for (size_t q = 0; q < rows_.size(i); ++q)
      if (rules->may_follow(i, static_cast<size_t>(rows_.keys(i)[q])))
        legal.push_back({static_cast<int32_t>(i), rows_.keys(i)[q], rows_.values(i)[q]});
  std::sort(legal.begin(), legal.end(), tagwright::before);
  auto made = std::make_shared<SparseEdges>(L_, fallback_, legal, rules->rules().empty() ? nullptr : rules);
  if (table_) made->copy_table(*this, *rules);
  return made;
}

void SparseEdges::change(size_t i, size_t j, double score) {
  const auto from = static_cast<int32_t>(i), to = static_cast<int32_t>(j);
  const double before = this->score(i, j);
  StepEdges::change(i, j, score);
  rows_.set(i, to, score);
  columns_.set(j, from, score);
  if (before > fallback_ && !(score > fallback_)) better_.drop(i, to);
  if (before < fallback_ && !(score < fallback_)) worse_.drop(i, to);
  if (score > fallback_) better_.set(i, to, score);
  if (score < fallback_) worse_.set(i, to, score);
}

}  // namespace tagwright
