// tree: our own exact decoder, 1-best and k-best. Node scores are read once; most labels are never looked at alone.
//
// A column is a tree of three levels: all labels, blocks of eight, labels. Going forward, each column gives every label
// an upper bound of the best path that ends in it. Only the labels of the best blocks, the hot ones, are followed edge
// by edge; the rest goes on as one block, and its bound is the largest sum of a label's own bound and its best edge
// out: the same for every label of the next column, so it costs nothing. Where the edges are default + exceptions that
// holds for default edges too, and only exceptions above them are walked.
//
// A path of labels that the bounds lead to gives the floor. Going back, blocks and labels whose bound reaches the floor
// are opened, and only there edges are summed in double precision: what survives holds every path that is good enough.
// On real models that is little more than the answer itself. Where it is more than a budget allows, more labels are hot
// in another round, and in the end Viterbi takes over: no input costs much more than with it.
//
// Bounds are in float32, counted from the best of the column before; what rounding can have taken from them is known.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "algorithms.h"
#include "kernels/kernels.h"

namespace tagwright {
namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr double kRounding = 0x1p-24;
constexpr double kLargestMagnitude = 1e30;  // beyond it, sums of float32 might overflow
constexpr size_t kFirst = 16;               // hot labels of the first round
constexpr float kNothing = -std::numeric_limits<float>::infinity();

struct Column {
  float* sum = nullptr;        // [label]: bound of a path that ends in it, counted from `offset`
  float* blocks = nullptr;     // [block]: the largest sum + out of its labels
  const float* out = nullptr;  // [label]: its best edge out; its stop score in the last column
  double offset = 0;           // what the sums are counted from
  double error = 0;            // how far rounding may have taken them below the truth
  float top = 0;               // the largest sum
  float rest = 0;              // the largest sum + out of a label that is not hot
  int32_t* hot = nullptr;
  float* key = nullptr;  // [hot]: sum + out
  size_t hots = 0;
};

// What is left of a column on the way back.
struct Left {
  size_t size = 0;
  int32_t* label = nullptr;
  double* behind = nullptr;  // [q]: score of the best path behind label[q], its own node not counted
  double* from = nullptr;    // [q]: the same and the node
  int32_t* next = nullptr;   // [q]: where that path goes on in the next column
  double* edges = nullptr;   // [q][p]: to what is left of the next column; for k > 1
};

class Tree {
 public:
  Tree(const Lattice& lattice, const Options& options, Arena& arena)
      : lattice_(lattice),
        edges_(lattice.edges),
        k_(options.k),
        T_(lattice.T),
        L_(lattice.L),
        width_((lattice.L + kGroup - 1) / kGroup * kGroup),
        arena_(arena),
        columns_(arena.array<Column>(lattice.T)),
        left_(arena.array<Left>(lattice.T)),
        margin_(static_cast<float>(lattice.edge_magnitude()) / (options.k > 1 ? 32.0F : 256.0F)),
        timed_(options.deadline < std::numeric_limits<double>::infinity()) {
    if (timed_) deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(Seconds(options.deadline));
    std::fill(columns_, columns_ + T_, Column{});
    before_ = floats();
    found_ = arena.array<int32_t>(width_ + kTreeLanes);
    rows_ = arena.array<const void*>(L_);
    keys_ = arena.array<float>(width_ + kTreeLanes);
    scores_ = arena.array<float>(L_);
    path_ = arena.array<int32_t>(T_);
    outs();
  }

  // Rounds with ever more hot labels, until little enough is left. Nothing comes back where that is not worth it.
  std::optional<Answer> run() {
    for (size_t most = kFirst; !round(most); most *= 4) {
      if (late()) return the_best_so_far();
      // Over a matrix a hot label costs as much as L edges of Viterbi, over exceptions far less. Who has set a deadline
      // wants an answer with a gap rather than Viterbi.
      const size_t limit = edges_.is_sparse() ? L_ : L_ / 16;
      if (most >= L_ || (4 * most > limit && !timed_)) return std::nullopt;
    }
    return std::move(answer_);
  }

  const Work& work() const { return answer_.work; }

 private:
  // Whether the answer was found, or that there is none; false where more hot labels are needed, or time is up.
  bool round(size_t most) {
    ++answer_.work.rounds;
    if (!forward(most)) return !late();
    if (!greedy()) return false;
    double least = 0;
    if (!floor(least)) return false;
    for (int tries = 0; tries < 3 && !late(); ++tries) {
      if (!back(least)) return false;
      if (k_ == 1) {
        answer_.paths.push_back(best());
        return true;
      }
      answer_.paths = enumerate();
      if (answer_.paths.size() == k_ && answer_.paths.back().score >= least) return true;
      // The floor was none: bounds of labels that are not hot stood for scores.
      answer_.paths.clear();
      least -= 4 * (bound_ - least);
    }
    return false;
  }

  // Whether time is up. It never is before there is a path to give back.
  bool late() const { return timed_ && reached_ != kNever && Clock::now() > deadline_; }

  std::optional<Answer> the_best_so_far() {
    answer_.paths.assign(1, {reached_path_, reached_});
    answer_.gap = std::max(0.0, bound_ + lattice_.slack() - reached_);
    return std::move(answer_);
  }

  float* floats() {
    float* made = arena_.array<float>(width_);
    std::fill(made + L_, made + width_, kNothing);
    return made;
  }

  // The best edge out of every label of every column.
  void outs() {
    const float* shared = edges_.is_stepwise() || T_ < 2 ? nullptr : edges_.reach().data();
    for (size_t t = 0; t < T_; ++t) {
      columns_[t].out = shared;
      const Patch& patch = t + 1 < T_ ? lattice_.patch(t) : none_;
      if (shared && t + 1 < T_ && patch.empty()) continue;
      float* own = floats();
      columns_[t].out = own;
      if (t + 1 == T_) {
        const std::span<const double> stop = edges_.stop();
        if (stop.empty()) std::fill(own, own + L_, 0.0F);
        std::transform(stop.begin(), stop.end(), own, rounded_up);
        break;
      }
      for (size_t y = 0; y < L_; ++y) own[y] = shared ? shared[y] : best_out(edges_, t, y);
      for (const Override& e : patch.by_row) own[e.i] = std::max(own[e.i], rounded_up(e.score));
    }
  }

  // Bounds for every column; false where there is no path, or time is up.
  bool forward(size_t most) {
    double offset = 0, error = 0;
    for (size_t t = 0; t < T_; ++t) {
      if (late()) return false;
      Column& c = columns_[t];
      if (!c.sum) {
        c.sum = arena_.array<float>(width_);
        c.blocks = arena_.array<float>(width_ / kTreeLanes);
      }
      double size = lattice_.node_magnitude(t) + 2 * lattice_.edge_magnitude();
      if (t == 0) {
        const std::span<const double> start = edges_.start();
        if (start.empty()) std::fill(before_, before_ + L_, 0.0F);
        std::transform(start.begin(), start.end(), before_, [](double score) { return static_cast<float>(score); });
      } else {
        size += follow(t - 1);
        offset += static_cast<double>(columns_[t - 1].top);
      }
      const Scores nodes = lattice_.nodes.from(t * L_);
      c.top = nodes.f ? kernels().bound_column_f(nodes.f, before_, c.out, L_, c.sum, c.blocks)
                      : kernels().bound_column_d(nodes.d, before_, c.out, L_, c.sum, c.blocks);
      if (c.top == kNothing) return false;
      error += 8 * kRounding * size;
      c.offset = offset;
      c.error = error;
      choose(c, most);
    }
    return true;
  }

  // Finds the labels whose sum + out is at least this, -inf aside; how many there are comes back.
  size_t open(const Column& c, double least) {
    // No float below `least` will do, and the lowest finite one forbids -inf.
    const float lowest = std::max(rounded_up(least), -std::numeric_limits<float>::max());
    return kernels().open_blocks(c.blocks, c.sum, c.out, width_, lowest, found_, keys_);
  }

  // A key that the best labels of at least n blocks reach.
  float reached_by(const float* blocks, size_t count, size_t n) {
    if (n <= kFirst) return kernels().reached_by_16(blocks, count);
    if (n >= count) return kNothing;
    std::copy(blocks, blocks + count, scores_);
    std::nth_element(scores_, scores_ + n - 1, scores_ + count, std::greater<>());
    return scores_[n - 1];
  }

  // The hot labels: those of the best blocks.
  void choose(Column& c, size_t most) {
    c.rest = reached_by(c.blocks, width_ / kTreeLanes, most);
    if (edges_.is_sparse())
      c.rest = std::max(c.rest, c.top + rounded_up(edges_.fallback()) - margin_ * static_cast<float>(most));
    c.hots = open(c, static_cast<double>(c.rest));
    if (c.hots > most) cut(c, most);
    c.hot = arena_.array<int32_t>(c.hots);
    c.key = arena_.array<float>(c.hots);
    std::copy(found_, found_ + c.hots, c.hot);
    std::copy(keys_, keys_ + c.hots, c.key);
    answer_.work.nodes += c.hots;
  }

  // Leaves the `most` best of what was found.
  void cut(Column& c, size_t most) {
    std::copy(keys_, keys_ + c.hots, scores_);
    std::nth_element(scores_, scores_ + most, scores_ + c.hots, std::greater<>());
    c.rest = scores_[most];
    size_t above = 0, n = 0;
    for (size_t q = 0; q < c.hots; ++q) above += keys_[q] > c.rest;
    for (size_t q = 0; q < c.hots; ++q) {
      if (keys_[q] < c.rest || (keys_[q] == c.rest && above == most)) continue;
      above += keys_[q] == c.rest;
      found_[n] = found_[q];
      keys_[n++] = keys_[q];
    }
    c.hots = n;
  }

  // before_[j]: bound of what reaches label j of column t + 1, counted from the top of column t. The largest magnitude
  // of what was added to edges comes back.
  double follow(size_t t) {
    const Column& c = columns_[t];
    const float rest = c.rest - c.top;
    double size = std::isfinite(rest) ? std::fabs(rest) : 0;
    for (size_t q = 0; q < c.hots; ++q) size = std::max(size, std::fabs(static_cast<double>(c.sum[c.hot[q]] - c.top)));
    if (edges_.is_sparse()) {
      follow_exceptions(c, rest);
    } else {
      follow_rows(t, c, rest);
    }
    for (size_t q = 0; lattice_.patched() && q < c.hots; ++q) {
      const float score = c.sum[c.hot[q]] - c.top;
      for (const Override& e : lattice_.patch(t).row(c.hot[q]))
        before_[e.j] = std::max(before_[e.j], score + static_cast<float>(e.score));
    }
    return size;
  }

  void follow_rows(size_t t, const Column& c, float rest) {
    std::fill(before_, before_ + L_, rest);
    const Scores matrix = edges_.matrix(t);
    const size_t stride = edges_.stride();
    for (size_t q = 0; q < c.hots; ++q) {
      const size_t i = static_cast<size_t>(c.hot[q]);
      scores_[q] = c.sum[i] - c.top;
      rows_[q] = matrix.f ? static_cast<const void*>(matrix.f + i * stride) : matrix.d + i * stride;
    }
    if (matrix.f) {
      kernels().follow_rows_f(reinterpret_cast<const float* const*>(rows_), scores_, c.hots, L_, before_);
    } else {
      kernels().follow_rows_d(reinterpret_cast<const double* const*>(rows_), scores_, c.hots, L_, before_);
    }
    answer_.work.edges += c.hots * L_;
  }

  // Every label is reached by the best one's default edge. Where that label's exception is worse, the second best of
  // the hot ones counts; its own worse exceptions are not looked at, which leaves a bound.
  void follow_exceptions(const Column& c, float rest) {
    const float fallback = rounded_up(edges_.fallback());
    std::fill(before_, before_ + L_, std::max(fallback, rest));
    int32_t top = -1;
    float second = kNothing;
    for (size_t q = 0; q < c.hots; ++q) {
      const float sum = c.sum[c.hot[q]];
      if (sum == c.top && top < 0) {
        top = c.hot[q];
      } else {
        second = std::max(second, sum);
      }
    }
    float least = std::max(fallback, rest);
    if (top >= 0 && edges_.worse().size(static_cast<size_t>(top)) > 0) {
      const size_t i = static_cast<size_t>(top);
      least = std::max(second - c.top + fallback, rest);
      const std::span<const int32_t> label = edges_.worse().keys(i);
      const std::span<const double> score = edges_.worse().values(i);
      for (size_t q = 0; q < label.size(); ++q) before_[label[q]] = std::max(static_cast<float>(score[q]), least);
      answer_.work.edges += label.size();
    }
    const Exceptions& better = edges_.better();
    for (size_t q = 0; q < c.hots; ++q) {
      if (!(c.key[q] - c.top > least)) continue;
      const size_t i = static_cast<size_t>(c.hot[q]);
      kernels().scatter_f(c.sum[i] - c.top, better.keys(i).data(), better.values(i).data(), better.size(i), before_);
      answer_.work.edges += better.size(i);
    }
  }

  // A path through hot labels, each the best way to the one behind it; false where it comes to an end.
  bool greedy() {
    const Column& last = columns_[T_ - 1];
    size_t best = 0;
    for (size_t q = 1; q < last.hots; ++q)
      if (last.key[q] > last.key[best]) best = q;
    if (last.hots == 0 || last.key[best] == kNothing) return false;
    path_[T_ - 1] = last.hot[best];
    // The bound of all paths: of the best label, or of the rest.
    bound_ = std::min(bound_, last.offset + last.error + static_cast<double>(std::max(last.key[best], last.rest)));
    for (size_t t = T_ - 1; t-- > 0;) {
      const Column& c = columns_[t];
      double reached = kNever;
      for (size_t q = 0; q < c.hots; ++q) {
        if (!(static_cast<double>(c.key[q]) > reached)) continue;
        const size_t i = static_cast<size_t>(c.hot[q]);
        const double score = static_cast<double>(c.sum[i]) + lattice_.edge(t, i, static_cast<size_t>(path_[t + 1]));
        ++answer_.work.edges;
        if (!(score > reached)) continue;
        reached = score;
        path_[t] = c.hot[q];
      }
      if (reached == kNever) return false;
    }
    return true;
  }

  // A score that k paths reach, as far as bounds of hot labels are scores: those that leave the greedy path for good at
  // one label. False where there are not so many.
  bool floor(double& least) {
    const double score = path_score(lattice_, {path_, T_});
    if (score > reached_) {
      reached_ = score;
      if (timed_) reached_path_.assign(path_, path_ + T_);
    }
    least = reached_ - lattice_.slack();
    if (k_ == 1) return reached_ != kNever;
    promises_.assign(1, score);
    double behind = edges_.stop(static_cast<size_t>(path_[T_ - 1]));
    for (size_t t = T_; t-- > 0;) {
      const Column& c = columns_[t];
      const size_t next = t + 1 < T_ ? static_cast<size_t>(path_[t + 1]) : 0;
      if (t + 1 < T_) behind += lattice_.node(t + 1, next);
      for (size_t q = 0; q < c.hots; ++q) {
        if (c.hot[q] == path_[t]) continue;
        const double beyond = behind + c.offset;
        if (promises_.size() == k_ && static_cast<double>(c.key[q]) + beyond <= promises_.front()) continue;
        const size_t i = static_cast<size_t>(c.hot[q]);
        const double step = t + 1 < T_ ? lattice_.edge(t, i, next) : edges_.stop(i) - behind;
        answer_.work.edges += t + 1 < T_;
        promise(static_cast<double>(c.sum[i]) + beyond + step);
      }
      if (t + 1 < T_) behind += lattice_.edge(t, static_cast<size_t>(path_[t]), next);
    }
    least = promises_.front() - lattice_.slack() - columns_[T_ - 1].error;
    // Too few: a guess, which enumerating what is left proves or not.
    if (promises_.size() < k_) least -= static_cast<double>(kFirst * margin_);
    return promises_.front() != kNever;
  }

  void promise(double score) {
    if (promises_.size() == k_) {
      if (score <= promises_.front()) return;
      std::pop_heap(promises_.begin(), promises_.end(), std::greater<>());
      promises_.pop_back();
    }
    promises_.push_back(score);
    std::push_heap(promises_.begin(), promises_.end(), std::greater<>());
  }

  // Everything that lies on a path of at least this score; false where it is too much.
  bool back(double least) {
    // What a sum in double costs, against an edge in Viterbi's inner loop.
    size_t budget = T_ * (64 + 4 * k_ + L_ * L_ / 256);
    double most = 0;
    for (size_t t = T_; t-- > 0;) {
      const Column& c = columns_[t];
      const Left* next = t + 1 < T_ ? &left_[t + 1] : nullptr;
      const double needed = least - c.offset - c.error;
      const size_t n = open(c, needed - most);
      const size_t pairs = n * (next ? next->size : 1);
      if (pairs > budget || late()) return false;
      budget -= pairs;
      answer_.work.edges += pairs;
      Left& left = left_[t];
      left.size = 0;
      left.label = arena_.array<int32_t>(n);
      left.next = arena_.array<int32_t>(n);
      left.behind = arena_.array<double>(n);
      left.from = arena_.array<double>(n);
      left.edges = k_ > 1 && next ? arena_.array<double>(pairs) : nullptr;
      most = kNever;
      for (size_t q = 0; q < n; ++q) {
        const size_t y = static_cast<size_t>(found_[q]);
        double behind = next ? kNever : edges_.stop(y);
        int32_t where = 0;
        double* edges = left.edges ? left.edges + left.size * next->size : nullptr;
        for (size_t p = 0; next && p < next->size; ++p) {
          const double step = lattice_.edge(t, y, static_cast<size_t>(next->label[p])), v = step + next->from[p];
          if (edges) edges[p] = step;
          if (v > behind) {
            behind = v;
            where = static_cast<int32_t>(p);
          }
        }
        if (!(static_cast<double>(c.sum[y]) + behind >= needed)) continue;
        double node = lattice_.node(t, y);
        if (t == 0) node = edges_.start(y) + node;
        left.label[left.size] = static_cast<int32_t>(y);
        left.next[left.size] = where;
        left.behind[left.size] = behind;
        left.from[left.size] = node + behind;
        most = std::max(most, left.from[left.size]);
        ++left.size;
      }
      answer_.work.nodes += left.size;
      if (left.size == 0) return false;
    }
    return true;
  }

  Path best() const {
    Path path{std::vector<int32_t>(T_), 0};
    size_t q = 0;
    for (size_t p = 1; p < left_[0].size; ++p)
      if (left_[0].from[p] > left_[0].from[q]) q = p;
    for (size_t t = 0; t < T_; ++t) {
      path.labels[t] = left_[t].label[q];
      q = static_cast<size_t>(left_[t].next[q]);
    }
    path.score = path_score(lattice_, path.labels);
    return path;
  }

  std::vector<Path> enumerate() {
    Graph graph;
    graph.T = T_;
    graph.size = [&](size_t t) { return left_[t].size; };
    graph.first = [&](double* out) {
      for (size_t q = 0; q < left_[0].size; ++q) out[q] = left_[0].from[q] - left_[0].behind[q];
    };
    graph.next = [&](size_t t, size_t p, double* out) {
      const Left& next = left_[t + 1];
      for (size_t q = 0; q < next.size; ++q)
        out[q] = left_[t].edges[p * next.size + q] + lattice_.node(t + 1, static_cast<size_t>(next.label[q]));
    };
    graph.ahead = [&](size_t t) { return left_[t].behind; };
    std::vector<Path> paths;
    for (GraphPath& path : enumerate_paths(graph, k_, answer_.work)) {
      for (size_t t = 0; t < T_; ++t) path.at[t] = left_[t].label[path.at[t]];
      const double score = path_score(lattice_, path.at);
      paths.push_back({std::move(path.at), score});
    }
    return paths;
  }

  const Lattice& lattice_;
  const Edges& edges_;
  const size_t k_, T_, L_, width_;
  Arena& arena_;
  Column* columns_;
  Left* left_;
  Patch none_;
  float* before_;   // [j]
  int32_t* found_;  // labels, by open()
  float* keys_;     // [found]
  const void** rows_;
  float* scores_;
  int32_t* path_;
  Answer answer_;
  double bound_ = std::numeric_limits<double>::infinity();  // of every path
  double reached_ = kNever;                                 // by a path
  std::vector<int32_t> reached_path_;
  // Sparse edges: how far below the best default edge a label's best edge must reach for it not to be hot, per hot
  // label.
  const float margin_;
  const bool timed_;
  Clock::time_point deadline_;
  std::vector<double> promises_;
};

}  // namespace

Answer tree(const Lattice& lattice, const Options& options, Arena& arena) {
  Work work;
  double magnitude = lattice.edge_magnitude();
  for (size_t t = 0; t < lattice.T; ++t) magnitude = std::max(magnitude, lattice.node_magnitude(t));
  if (magnitude <= kLargestMagnitude) {
    Tree search(lattice, options, arena);
    if (std::optional<Answer> found = search.run()) return std::move(*found);
    work = search.work();
  }
  Answer sure = (options.k == 1 ? viterbi : viterbi_astar)(lattice, options, arena);
  sure.work.rounds += work.rounds;
  sure.work.nodes += work.nodes;
  sure.work.edges += work.edges;
  return sure;
}

}  // namespace tagwright
