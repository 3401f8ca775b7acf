#include "model/window_sums.h"

#include <cmath>

#include "base/need.h"
#include "sums/forward_backward.h"

namespace tagwright {
namespace {

// The sums of one window are those of a lattice of its own. What is before it is added to the scores of its first
// column, and what is behind it to those of its last: logarithms of alpha and beta, up to a constant.
class Window {
 public:
  Window(size_t T, const Edges& edges, const Columns& columns, Arena& arena)
      : T_(T), edges_(edges), inner_(edges.without_ends()), columns_(columns), arena_(arena) {}

  // alpha: of its first column with its nodes, nullptr for the first window; beta: of its last, or nullptr.
  template <class Use>
  void sum(size_t begin, size_t end, const double* alpha, const double* beta, Use&& use) {
    const size_t L = edges_.L(), n = end - begin;
    arena_.reset();
    const Supplied supplied = columns_(begin, end, arena_);
    double* nodes = arena_.array<double>(times(n, L));
    const Scores scores = masked(supplied.nodes, n, L, supplied.allowed, arena_);
    for (size_t at = 0; at < n * L; ++at) nodes[at] = scores[at];
    for (size_t y = 0; y < L; ++y) nodes[y] = alpha ? alpha[y] : edges_.start(y) + nodes[y];
    double* last = nodes + (n - 1) * L;
    for (size_t y = 0; y < L; ++y) last[y] += beta ? beta[y] : end == T_ ? edges_.stop(y) : 0;
    const Lattice lattice(inner_, n, {nullptr, nodes}, supplied.on.empty() ? nullptr : &supplied.on, begin);
    const Sums sums = forward_backward(lattice, inner_.factors(), {}, nullptr, arena_);
    need(sums.log_z != kForbidden, "no path");
    use(sums);
  }

 private:
  const size_t T_;
  const Edges& edges_;
  const Edges inner_;  // without start and stop scores
  const Columns& columns_;
  Arena& arena_;
};

}  // namespace

double sums_in_windows(size_t T, const Edges& edges, size_t window, const Columns& columns, const TakeColumn& take,
                       Arena& arena) {
  const size_t L = edges.L();
  Window one(T, edges, columns, arena);
  std::vector<double> alphas;  // [w * L + y]: of the last column of window w, less what was summed up before
  double log_z = 0;
  const auto alpha = [&](size_t w) { return w ? alphas.data() + (w - 1) * L : nullptr; };
  for_each_window(T, window, false, [&](size_t w, size_t begin, size_t end) {
    one.sum(begin, end, alpha(w), nullptr, [&](const Sums& sums) {
      log_z += sums.log_z;
      const double* from = sums.columns.back().from;
      for (size_t y = 0; y < L; ++y) alphas.push_back(sums.logs ? from[y] : std::log(from[y]));
    });
  });
  std::vector<double> beta;
  for_each_window(T, window, true, [&](size_t w, size_t begin, size_t end) {
    one.sum(begin, end, alpha(w), beta.empty() ? nullptr : beta.data(), [&](const Sums& sums) {
      for (size_t t = end; t-- > begin + (w > 0);) take(t, sums.columns[t - begin].node);
      if (w == 0) return;
      // A label whose probability is below what a double holds is left out of what comes before.
      beta.assign(L, kForbidden);
      for (size_t y = 0; y < L; ++y)
        if (const double p = sums.columns[0].node[y]; p > 0) beta[y] = std::log(p) - alpha(w)[y];
    });
  });
  return log_z;
}

}  // namespace tagwright
