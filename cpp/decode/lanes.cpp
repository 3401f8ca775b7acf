#include "decode/lanes.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>

#include "base/lazy.h"
#include "base/stop.h"
#include "base/thread_pool.h"
#include "kernels/kernels.h"

namespace tagwright {
namespace {

// Edge scores of few labels, without gaps.
template <class E>
struct Matrix {
  size_t L;
  std::vector<E> by_row, by_column;  // [i * L + j], [j * L + i]
  std::vector<E> stop, nothing;      // [label]

  explicit Matrix(const Edges& edges) : L(edges.L()), by_row(L * L), by_column(L * L), stop(L), nothing(L) {
    for (size_t i = 0; i < L; ++i) {
      stop[i] = static_cast<E>(edges.stop(i));
      for (size_t j = 0; j < L; ++j) by_row[i * L + j] = by_column[j * L + i] = static_cast<E>(edges.base(0, i, j));
    }
  }
};

// Up to kLanes sentences.
using Unit = std::span<const size_t>;

size_t longest(const std::vector<Sentence>& all, Unit who) {
  size_t T = 0;
  for (const size_t s : who) T = std::max(T, all[s].T);
  return T;
}

// In single precision, as `viterbi` has it: with a limit for the rounding error of each column. Where the best label of
// a column is not further above the second than that, nothing is settled.
class SinglePass {
 public:
  SinglePass(const Matrix<float>& matrix, const std::vector<Sentence>& all, Unit who, double magnitude, Arena& arena)
      : matrix_(matrix), all_(all), who_(who), L_(matrix.L), T_(longest(all, who)), magnitude_(magnitude) {
    alpha_ = arena.array<float>(times(T_, L_ * kLanes));
    limit_ = arena.array<double>(T_);
    labels_ = arena.array<int32_t>(T_ * kLanes);
  }

  void forward() {
    const Edges& edges = *all_[who_[0]].edges;
    const float* rows[kLanes];
    float most[kLanes] = {}, less[kLanes] = {};
    double size = 0, error = 0;  // size: of the numbers of the column before
    for (size_t t = 0; t < T_; ++t) {
      float* const column = at(t);
      if (t) {
        kernels().max_lanes_f(matrix_.by_row.data(), L_, at(t - 1), column);
      } else {
        for (size_t y = 0; y < L_; ++y) std::fill_n(column + y * kLanes, kLanes, static_cast<float>(edges.start(y)));
      }
      for (size_t lane = 0; lane < kLanes; ++lane) {
        // What is computed behind the end of a sentence is never read.
        const bool there = lane < who_.size() && t < all_[who_[lane]].T;
        rows[lane] = there ? all_[who_[lane]].nodes.f + t * L_ : matrix_.nothing.data();
        less[lane] = std::isfinite(most[lane]) ? most[lane] : 0.0F;
      }
      error += 6 * kFloatRounding * (size + magnitude_) + kFloatTiny;
      size = static_cast<double>(kernels().add_to_lanes(rows, less, L_, column, most));
      // The edge behind it is added once more on the way back.
      limit_[t] = 2 * (error + 2 * kFloatRounding * (size + magnitude_)) + kFloatTiny;
    }
  }

  // Whether the best path of every lane is known.
  bool trace() {
    const float* rows[kLanes];
    float best[kLanes], second[kLanes];
    int32_t where[kLanes] = {};
    for (size_t t = T_; t-- > 0;) {
      const auto there = [&](size_t lane) { return lane < who_.size() && t < all_[who_[lane]].T; };
      for (size_t lane = 0; lane < kLanes; ++lane) {
        rows[lane] = !there(lane)                  ? matrix_.nothing.data()
                     : t + 1 == all_[who_[lane]].T ? matrix_.stop.data()
                                                   : matrix_.by_column.data() + static_cast<size_t>(where[lane]) * L_;
      }
      kernels().best_of_lanes(rows, L_, at(t), best, second, where);
      for (size_t lane = 0; lane < who_.size(); ++lane) {
        if (!there(lane)) continue;
        if (!(static_cast<double>(best[lane]) - static_cast<double>(second[lane]) > limit_[t])) return false;
        labels_[lane * T_ + t] = where[lane];
      }
    }
    return true;
  }
  const int32_t* labels(size_t lane) const { return labels_ + lane * T_; }

 private:
  float* at(size_t t) { return alpha_ + t * L_ * kLanes; }

  const Matrix<float>& matrix_;
  const std::vector<Sentence>& all_;
  const Unit who_;
  const size_t L_, T_;
  const double magnitude_;  // of an edge and a node
  float* alpha_;            // [t][y][lane]: as `viterbi` has it
  double* limit_;           // [t]
  int32_t* labels_;         // [lane][t]
};

// In double precision.
class DoublePass {
 public:
  DoublePass(const Matrix<double>& matrix, const std::vector<Sentence>& all, Unit who, Arena& arena)
      : matrix_(matrix), all_(all), who_(who), L_(matrix.L), T_(longest(all, who)) {
    alpha_ = arena.array<double>(times(T_, L_ * kLanes));
    labels_ = arena.array<int32_t>(T_);
  }

  void forward() {
    const Edges& edges = *all_[who_[0]].edges;
    for (size_t t = 0; t < T_; ++t) {
      double* const column = at(t);
      if (t) {
        kernels().max_lanes_d(matrix_.by_row.data(), L_, at(t - 1), column);
      } else {
        for (size_t y = 0; y < L_; ++y) std::fill_n(column + y * kLanes, kLanes, edges.start(y));
      }
      for (size_t lane = 0; lane < who_.size(); ++lane) {
        const Sentence& own = all_[who_[lane]];
        if (t >= own.T) continue;  // What is computed here is never read.
        const Scores row = own.nodes.from(t * L_);
        if (row.f) {
          for (size_t y = 0; y < L_; ++y) column[y * kLanes + lane] += static_cast<double>(row.f[y]);
        } else {
          for (size_t y = 0; y < L_; ++y) column[y * kLanes + lane] += row.d[y];
        }
      }
    }
  }

  // Finds a lane's best path, the first of the best, for labels(); false where there is none.
  bool trace(size_t lane) {
    const Sentence& own = all_[who_[lane]];
    const auto first_best = [&](size_t t, const double* more, double& best) {
      const double* column = at(t) + lane;
      size_t found = 0;
      for (size_t y = 0; y < L_; ++y) {
        const double v = column[y * kLanes] + more[y];
        if (v > best) {
          best = v;
          found = y;
        }
      }
      return found;
    };
    double score = kForbidden;
    size_t y = first_best(own.T - 1, matrix_.stop.data(), score);
    for (size_t t = own.T - 1; score > kForbidden; --t) {
      labels_[t] = static_cast<int32_t>(y);
      if (t == 0) break;
      double best = kForbidden;
      y = first_best(t - 1, matrix_.by_column.data() + y * L_, best);
    }
    return score > kForbidden;
  }
  const int32_t* labels() const { return labels_; }

 private:
  double* at(size_t t) { return alpha_ + t * L_ * kLanes; }

  const Matrix<double>& matrix_;
  const std::vector<Sentence>& all_;
  const Unit who_;
  const size_t L_, T_;
  double* alpha_;  // [t][y][lane]: score of the best path that ends in label y of column t
  int32_t* labels_;
};

// The sentences of one call.
class LaneDecoder {
 public:
  LaneDecoder(const std::vector<Sentence>& all, const VisitPath& visit)
      : all_(all), visit_(visit), edges_(*all[0].edges), single_(edges_) {}

  // Decodes some sentences; returns false where one has no path or a number that is not a score. doubtful: whether
  // single precision is not worth another try; set where it settled nothing.
  bool decode(Unit who, bool& doubtful, Arena& arena) {
    double largest = 0;
    bool single = !doubtful && edges_.is_float();
    for (const size_t s : who) {
      const size_t n = all_[s].T * edges_.L();
      const ScoreCheck found = check_scores(all_[s].nodes, n);
      if (found.bad < n) return false;
      largest = std::max(largest, found.magnitude);
      single = single && all_[s].nodes.f;
    }
    const double magnitude = largest + edges_.magnitude();
    if (single && magnitude <= kFloatRange) {
      SinglePass pass(single_, all_, who, magnitude, arena);
      pass.forward();
      if (pass.trace()) {
        for (size_t lane = 0; lane < who.size(); ++lane) visit_(who[lane], pass.labels(lane));
        return true;
      }
      doubtful = true;
    }
    DoublePass pass(exact(), all_, who, arena);
    pass.forward();
    for (size_t lane = 0; lane < who.size(); ++lane) {
      if (!pass.trace(lane)) return false;
      visit_(who[lane], pass.labels());
    }
    return true;
  }

 private:
  const Matrix<double>& exact() {
    return exact_.get([&] { return Matrix<double>(edges_); });
  }

  const std::vector<Sentence>& all_;
  const VisitPath& visit_;
  const Edges& edges_;
  const Matrix<float> single_;
  Lazy<Matrix<double>> exact_;
};

}  // namespace

bool worth_lanes(const std::vector<Sentence>& sentences, const Plan& plan) {
  constexpr size_t kFewSentences = 4, kLong = 2048;
  if (plan.options.k > 1 || plan.options.window || sentences.size() < kFewSentences) return false;
  if (plan.options.deadline < std::numeric_limits<double>::infinity()) return false;
  const Edges* const edges = sentences[0].edges;
  if (edges->labelling_rules()) return false;
  return plan.decoder->variant(*edges).lanes && edges->costs().lanes &&
         std::all_of(sentences.begin(), sentences.end(),
                     [&](const Sentence& s) { return s.edges == edges && !s.on && s.T <= kLong; });
}

bool decode_in_lanes(const std::vector<Sentence>& sentences, size_t threads, const VisitPath& visit) {
  constexpr size_t kUnits = 16;  // that a thread takes at a time
  std::vector<size_t> order(sentences.size());
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order, [&](size_t s) { return sentences[s].T == 0; });
  const auto longer = [&](size_t a, size_t b) { return sentences[a].T > sentences[b].T; };
  if (!std::is_sorted(order.begin(), order.end(), longer)) std::stable_sort(order.begin(), order.end(), longer);
  LaneDecoder decoder(sentences, visit);
  std::atomic<bool> fine = true;
  const size_t run = kUnits * kLanes;
  const Trimmed trimmed(thread_arena(), size_t{16} << 20);
  in_parallel((order.size() + run - 1) / run, threads, [&](size_t n) {
    bool doubtful = false;
    for (size_t from = n * run; from < std::min(order.size(), (n + 1) * run) && fine; from += kLanes) {
      check_stop();
      Arena& arena = thread_arena();
      arena.reset();
      const Unit who = std::span(order).subspan(from, std::min(kLanes, order.size() - from));
      if (!decoder.decode(who, doubtful, arena)) fine = false;
    }
  });
  return fine;
}

std::optional<std::vector<Answer>> viterbi_in_lanes(std::span<const Lattice* const> lattices, Arena& arena) {
  std::vector<Sentence> sentences;
  std::vector<size_t> order;
  for (const Lattice* lattice : lattices) {
    order.push_back(sentences.size());
    sentences.push_back({lattice->T, lattice->nodes, &lattice->edges, nullptr});
  }
  std::vector<Answer> answers(lattices.size());
  const size_t L = lattices[0]->L;
  const VisitPath visit = [&](size_t s, const int32_t* labels) {
    const size_t T = sentences[s].T;
    answers[s].paths.push_back({{labels, labels + T}});
    answers[s].work = {1, T * L, (T - 1) * L * (L + 1)};
  };
  LaneDecoder decoder(sentences, visit);
  bool doubtful = false;
  for (size_t from = 0; from < order.size(); from += kLanes)
    if (!decoder.decode(std::span(order).subspan(from, std::min(kLanes, order.size() - from)), doubtful, arena))
      return std::nullopt;
  return answers;
}

}  // namespace tagwright
