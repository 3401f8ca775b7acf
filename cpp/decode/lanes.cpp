#include "decode/lanes.h"

#include <algorithm>
#include <atomic>
#include <numeric>

#include "base/stop.h"
#include "base/threads.h"
#include "kernels/kernels.h"

namespace tagwright {
namespace {

struct Matrix {
  size_t L;
  std::vector<double> by_row, by_column;  // [i * L + j], [j * L + i]

  explicit Matrix(const Edges& edges) : L(edges.L()), by_row(L * L), by_column(L * L) {
    for (size_t i = 0; i < L; ++i) {
      edges.row(0, i, by_row.data() + i * L);
      edges.column(0, i, by_column.data() + i * L);
    }
  }
};

// One unit of up to kLanes sentences.
class LanePass {
 public:
  LanePass(const Matrix& matrix, const std::vector<Sentence>& all, std::span<const size_t> who, Arena& arena)
      : matrix_(matrix), all_(all), who_(who), L_(matrix.L) {
    for (const size_t s : who) T_ = std::max(T_, all[s].T);
    alpha_ = arena.array<double>(times(T_, L_ * kLanes));
    labels_ = arena.array<int32_t>(T_);
  }

  bool valid() const {
    return std::all_of(who_.begin(), who_.end(), [&](size_t s) {
      const size_t n = all_[s].T * L_;
      return check_scores(all_[s].nodes, n).bad == n;
    });
  }

  void forward() {
    const Edges& edges = *all_[who_[0]].edges;
    for (size_t t = 0; t < T_; ++t) {
      double* const column = at(t);
      if (t) {
        kernels().max_lanes(matrix_.by_row.data(), L_, at(t - 1), column);
      } else {
        for (size_t y = 0; y < L_; ++y) std::fill_n(column + y * kLanes, kLanes, edges.start(y));
      }
      for (size_t lane = 0; lane < who_.size(); ++lane) {
        const Sentence& own = all_[who_[lane]];
        if (t >= own.T) continue;  // What is computed here is never looked at.
        const Scores row = own.nodes.from(t * L_);
        if (row.f) {
          for (size_t y = 0; y < L_; ++y) column[y * kLanes + lane] += static_cast<double>(row.f[y]);
        } else {
          for (size_t y = 0; y < L_; ++y) column[y * kLanes + lane] += row.d[y];
        }
      }
    }
  }

  // Returns the score of a lane's best path, the first of the best; labels(): its labels.
  double trace(size_t lane) {
    const Sentence& own = all_[who_[lane]];
    const auto first_best = [&](size_t t, auto&& more, double& best) {
      const double* column = at(t) + lane;
      size_t found = 0;
      for (size_t y = 0; y < L_; ++y) {
        const double v = column[y * kLanes] + more(y);
        if (v > best) {
          best = v;
          found = y;
        }
      }
      return found;
    };
    double score = kForbidden;
    size_t y = first_best(own.T - 1, [&](size_t i) { return own.edges->stop(i); }, score);
    for (size_t t = own.T - 1; score > kForbidden; --t) {
      labels_[t] = static_cast<int32_t>(y);
      if (t == 0) break;
      const double* into = matrix_.by_column.data() + y * L_;
      double best = kForbidden;
      y = first_best(t - 1, [&](size_t i) { return into[i]; }, best);
    }
    return score;
  }
  const int32_t* labels() const { return labels_; }

 private:
  double* at(size_t t) { return alpha_ + t * L_ * kLanes; }

  const Matrix& matrix_;
  const std::vector<Sentence>& all_;
  const std::span<const size_t> who_;
  const size_t L_;
  size_t T_ = 0;
  double* alpha_;  // [t][y][lane]: score of the best path that ends in label y of column t
  int32_t* labels_;
};

}  // namespace

bool worth_lanes(const std::vector<Sentence>& sentences, const Plan& plan) {
  constexpr size_t kFewLabels = 64, kFewSentences = 4, kLong = 2048;
  const bool viterbi = plan.decoder->name == "auto" || plan.decoder->name == "viterbi";
  if (!viterbi || plan.options.k > 1 || plan.options.window || sentences.size() < kFewSentences) return false;
  if (plan.options.deadline < std::numeric_limits<double>::infinity()) return false;
  const Edges* const edges = sentences[0].edges;
  if (edges->is_stepwise() || edges->patterns() || !edges->has_matrix() || edges->L() > kFewLabels) return false;
  return std::all_of(sentences.begin(), sentences.end(),
                     [&](const Sentence& s) { return s.edges == edges && !s.on && s.T <= kLong; });
}

bool decode_in_lanes(const std::vector<Sentence>& sentences, size_t threads,
                     const std::function<void(size_t sentence, const int32_t* labels, double score)>& take) {
  constexpr size_t kUnits = 16;  // that a thread takes at a time
  std::vector<size_t> order(sentences.size());
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order, [&](size_t s) { return sentences[s].T == 0; });
  const auto longer = [&](size_t a, size_t b) { return sentences[a].T > sentences[b].T; };
  if (!std::is_sorted(order.begin(), order.end(), longer)) std::stable_sort(order.begin(), order.end(), longer);
  const Matrix matrix(*sentences[0].edges);
  std::atomic<bool> fine = true;
  const size_t run = kUnits * kLanes;
  const Trimmed trimmed(thread_arena(), size_t{16} << 20);
  in_parallel((order.size() + run - 1) / run, threads, [&](size_t n) {
    for (size_t from = n * run; from < std::min(order.size(), (n + 1) * run) && fine; from += kLanes) {
      check_stop();
      Arena& arena = thread_arena();
      arena.reset();
      LanePass pass(matrix, sentences, std::span(order).subspan(from, std::min(kLanes, order.size() - from)), arena);
      if (!pass.valid()) {
        fine = false;
        return;
      }
      pass.forward();
      for (size_t lane = 0; lane < std::min(kLanes, order.size() - from); ++lane) {
        const double score = pass.trace(lane);
        if (score == kForbidden) fine = false;
        if (score > kForbidden) take(order[from + lane], pass.labels(), score);
      }
    }
  });
  return fine;
}

}  // namespace tagwright
