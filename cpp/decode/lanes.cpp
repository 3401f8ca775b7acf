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

// The scores of their columns, [t][y][lane]. What is computed behind the end of a sentence is never read.
template <class E>
class LaneColumns {
 public:
  LaneColumns(const Matrix<E>& matrix, const std::vector<Sentence>& all, Unit who, Arena& arena)
      : matrix_(matrix), all_(all), who_(who), L_(matrix.L) {
    for (const size_t s : who) T_ = std::max(T_, all[s].T);
    alpha_ = arena.array<E>(times(T_, L_ * kLanes));
    labels_ = arena.array<int32_t>(T_ * kLanes);
  }

  const int32_t* labels(size_t lane) const { return labels_ + lane * T_; }

 protected:
  bool there(size_t lane, size_t t) const { return lane < who_.size() && t < all_[who_[lane]].T; }
  E* at(size_t t) { return alpha_ + t * L_ * kLanes; }
  // Returns column t with what reaches its labels, before their node scores are added.
  E* reach(size_t t) {
    E* const column = at(t);
    if (t) {
      if constexpr (sizeof(E) == sizeof(float)) kernels().max_lanes_f(matrix_.by_row.data(), L_, at(t - 1), column);
      if constexpr (sizeof(E) == sizeof(double)) kernels().max_lanes_d(matrix_.by_row.data(), L_, at(t - 1), column);
    } else {
      const Edges& edges = *all_[who_[0]].edges;
      for (size_t y = 0; y < L_; ++y) std::fill_n(column + y * kLanes, kLanes, static_cast<E>(edges.start(y)));
    }
    return column;
  }

  const Matrix<E>& matrix_;
  const std::vector<Sentence>& all_;
  const Unit who_;
  const size_t L_;
  size_t T_ = 0;
  E* alpha_;
  int32_t* labels_;  // [lane][t]
};

// In single precision, as `viterbi` has it: with a limit for the rounding error of each column. Where the best label of
// a column is not further above the second than that, nothing is settled.
class SinglePass : public LaneColumns<float> {
 public:
  SinglePass(const Matrix<float>& matrix, const std::vector<Sentence>& all, Unit who, double magnitude, Arena& arena)
      : LaneColumns(matrix, all, who, arena), magnitude_(magnitude), limit_(arena.array<double>(T_)) {}

  void forward() {
    const float* rows[kLanes];
    float most[kLanes] = {}, less[kLanes] = {};
    double size = 0, error = 0;  // size: of the numbers of the column before
    for (size_t t = 0; t < T_; ++t) {
      float* const column = reach(t);
      for (size_t lane = 0; lane < kLanes; ++lane) {
        rows[lane] = there(lane, t) ? all_[who_[lane]].nodes.f + t * L_ : matrix_.nothing.data();
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
      for (size_t lane = 0; lane < kLanes; ++lane) {
        rows[lane] = !there(lane, t)               ? matrix_.nothing.data()
                     : t + 1 == all_[who_[lane]].T ? matrix_.stop.data()
                                                   : matrix_.by_column.data() + static_cast<size_t>(where[lane]) * L_;
      }
      kernels().best_of_lanes(rows, L_, at(t), best, second, where);
      for (size_t lane = 0; lane < who_.size(); ++lane) {
        if (!there(lane, t)) continue;
        if (!(static_cast<double>(best[lane]) - static_cast<double>(second[lane]) > limit_[t])) return false;
        labels_[lane * T_ + t] = where[lane];
      }
    }
    return true;
  }

 private:
  const double magnitude_;  // of an edge and a node
  double* limit_;           // [t]
};

// In double precision.
class DoublePass : public LaneColumns<double> {
 public:
  using LaneColumns::LaneColumns;

  void forward() {
    for (size_t t = 0; t < T_; ++t) {
      double* const column = reach(t);
      for (size_t lane = 0; lane < who_.size(); ++lane) {
        if (!there(lane, t)) continue;
        const Scores row = all_[who_[lane]].nodes.from(t * L_);
        if (row.f) {
          for (size_t y = 0; y < L_; ++y) column[y * kLanes + lane] += static_cast<double>(row.f[y]);
        } else {
          for (size_t y = 0; y < L_; ++y) column[y * kLanes + lane] += row.d[y];
        }
      }
    }
  }

  // Finds a lane's best path, the first of the best; false where there is none.
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
      labels_[lane * T_ + t] = static_cast<int32_t>(y);
      if (t == 0) break;
      double best = kForbidden;
      y = first_best(t - 1, matrix_.by_column.data() + y * L_, best);
    }
    return score > kForbidden;
  }
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
    // Edge kind: scores of double precision are not rounded to float32.
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
      visit_(who[lane], pass.labels(lane));
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

// Whether these sentences are decoded faster in lanes: one path each, few labels, the same edges.
bool worth_lanes(const std::vector<Sentence>& sentences, const Plan& plan) {
  constexpr size_t kFewSentences = 4, kLong = 2048;
  if (plan.options.window || sentences.size() < kFewSentences) return false;
  const Edges* const edges = sentences[0].edges;
  return plan.is_viterbi(*edges) && edges->costs().lanes &&
         std::all_of(sentences.begin(), sentences.end(),
                     [&](const Sentence& s) { return s.edges == edges && !s.on && s.T <= kLong; });
}

}  // namespace

bool decode_in_lanes(const std::vector<Sentence>& sentences, const Plan& plan, size_t threads, const VisitPath& visit) {
  if (!worth_lanes(sentences, plan)) return false;
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
