// One step of Viterbi over default + exceptions, in O(L log L + exceptions) and mostly far less:
// best[j] = max_i previous[i] + e(i, j).
//
// The best label reaches every column by a default edge, except those where its exception is worse; these are left to
// the next best label, and so on. An exception worse than the default matters to no other column. A row whose best
// exception cannot beat the least that default edges reach is not looked at.
//
// Where rules limit the default, all this is done for the largest class of columns, with the rows that lead there by
// default. What leads to the columns of the other classes is looked at column by column: exceptions, and the best rows
// that lead to the class.
#include <algorithm>
#include <numeric>

#include "decode/viterbi.h"
#include "kernels/kernels.h"

namespace tagwright {
namespace {

class SparseStep {
 public:
  SparseStep(const EdgeScores& edges, const double* previous, double* best, Arena& arena, Work& work)
      : edges_(edges), L_(edges.L()), previous_(previous), best_(best), arena_(arena), work_(work) {}

  void run() {
    const PairRules* const rules = edges_.default_rules();
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
    const double reached = leads_[top] + edges_.fallback();
    std::fill(best_, best_ + L_, reached);
    work_.edges += L_;
    const Exceptions& worse = edges_.worse();
    const std::span<const int32_t> label = worse.keys(top);
    const std::span<const double> score = worse.values(top);
    for (size_t q = 0; q < label.size(); ++q) best_[label[q]] = leads_[top] + score[q];
    work_.edges += worse.size(top);

    most_ = arena_.array<double>(L_);
    worth_ = arena_.array<int32_t>(L_);
    for (size_t i = 0; i < L_; ++i) most_[i] = previous_[i] + edges_.better().largest()[i];
    take_better(reached, std::numeric_limits<double>::infinity());
    if (worse.size(top) == 0) return;
    const double least = reach_open(top);
    if (least < reached) take_better(least, reached);
  }

  // Rows whose best exception reaches from `least` on, but stays below `most`.
  void take_better(double least, double most) {
    const Exceptions& better = edges_.better();
    const size_t n = kernels().at_least_d(most_, L_, least, worth_);
    for (size_t r = 0; r < n; ++r) {
      const size_t i = static_cast<size_t>(worth_[r]), count = better.size(i);
      if (!(most_[i] < most)) continue;
      kernels().scatter_d(previous_[i], better.keys(i).data(), better.values(i).data(), count, best_);
      work_.edges += count;
    }
  }

  // Settles, except for the better exceptions not taken yet, the columns that label `top` does not reach by a default
  // edge. Returns the least of what they have then.
  double reach_open(size_t top) {
    const Exceptions& worse = edges_.worse();
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
      const double reached = rest[top] + edges_.fallback();
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
    const Exceptions& columns = edges_.columns();
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
      if (first != sorted.end()) v = std::max(v, leads_[*first] + edges_.fallback());
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
    for (size_t c = 0; c < after.others.size(); ++c) {
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
        const std::span<const int32_t> labels = edges_.columns().keys(static_cast<size_t>(j));
        const std::span<const double> scores = edges_.columns().values(static_cast<size_t>(j));
        double v = kForbidden;
        for (size_t q = 0; q < labels.size(); ++q) {
          exception_of[labels[q]] = j;
          v = std::max(v, previous_[labels[q]] + scores[q]);
        }
        size_t q = 0;
        while (q < n && exception_of[row(q)] == j) ++q;
        if (q < n) v = std::max(v, previous_[rows[q]] + edges_.fallback());
        best_[j] = v;
        work_.edges += labels.size() + 1;
      }
    }
  }

  const EdgeScores& edges_;
  const size_t L_;
  const double* previous_;         // [i]
  const double* leads_ = nullptr;  // [i]: the same for the rows whose default edges lead on, -inf for others
  double* best_;                   // [j]
  double* most_ = nullptr;         // [i]: what the best exception of row i reaches
  int32_t* worth_ = nullptr;
  Arena& arena_;
  Work& work_;
};

}  // namespace

void sparse_step(const EdgeScores& edges, const double* previous, double* best, Arena& arena, Work& work) {
  SparseStep(edges, previous, best, arena, work).run();
}

}  // namespace tagwright
