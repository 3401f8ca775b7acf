// Extensions of a node, best first, ranked no further than requested.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/kernels.h"
#include "lattice/scores.h"

namespace tagwright {

// A way on: to node q of the neighbouring column.
struct Way {
  double promise;  // its score plus what is behind node q
  double score;
  int32_t q;
};

inline bool better(const Way& a, const Way& b) { return a.promise != b.promise ? a.promise > b.promise : a.q < b.q; }

// The ways on from one node: a stretch of a pool.
struct Ranking {
  size_t begin = 0, size = 0, requested = 0;
};

class Rankings {
 public:
  // The n-th best way of a ranking, or nullptr where there are fewer that are not forbidden; it holds until the next
  // call. fill(scores, promises) writes those of all `size` nodes; it is called again when a ranking grows, four times
  // as long each time.
  template <class Fill>
  const Way* way(Ranking& ranking, size_t n, size_t size, Fill&& fill) {
    if (n >= ranking.size && ranking.size == ranking.requested) {
      ranking.requested = std::max<size_t>(n + 1, ranking.requested ? 4 * ranking.requested : 2);
      scores_.resize(size);
      promises_.resize(size);
      fill(scores_.data(), promises_.data());
      ranking.begin = pool_.size();
      ranking.requested == 2 ? best_two() : best(ranking.requested);
      ranking.size = pool_.size() - ranking.begin;
    }
    return n < ranking.size ? &pool_[ranking.begin + n] : nullptr;
  }

 private:
  void best_two() {
    for (int n = 0; n < 2 && !promises_.empty(); ++n) {
      const size_t q = kernels().argmax_d(promises_.data(), promises_.size());
      if (promises_[q] == kForbidden) return;
      pool_.push_back({promises_[q], scores_[q], static_cast<int32_t>(q)});
      promises_[q] = kForbidden;
    }
  }

  void best(size_t n) {
    const auto begin = static_cast<ptrdiff_t>(pool_.size());
    for (size_t q = 0; q < promises_.size(); ++q)
      if (promises_[q] != kForbidden) pool_.push_back({promises_[q], scores_[q], static_cast<int32_t>(q)});
    const auto first = pool_.begin() + begin;
    const auto end = first + std::min(static_cast<ptrdiff_t>(n), pool_.end() - first);
    std::nth_element(first, end, pool_.end(), better);
    pool_.erase(end, pool_.end());
    std::sort(first, pool_.end(), better);
  }

  std::vector<Way> pool_;
  std::vector<double> scores_, promises_;
};

}  // namespace tagwright
