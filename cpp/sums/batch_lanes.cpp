#include "sums/batch_lanes.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>

#include "base/need.h"
#include "base/stop.h"
#include "kernels/elementary.h"

namespace tagwright {
namespace {

// Where edges forbid, a number below this may be the only way to continue; see forward_backward.cpp.
constexpr double kTiny = 1e-80;
constexpr size_t kTile = kCountDown * kCountAcross;

}  // namespace

template <class E>
LaneUnit<E>::LaneUnit(const BatchFactors<E>& factors, const BatchEdges& edges, const Batch& batch,
                      std::span<const size_t> who)
    : factors_(factors), edges_(edges), batch_(batch), who_(who.begin(), who.end()), L_(edges.L) {
  for (const size_t b : who_) lengths_.push_back(batch.length(b));
  T_ = lengths_[0];
  vectors_ = who_.size() * 2 > kMostLanes<E> ? 2 : 1;
  lanes_ = vectors_ * kMostLanes<E> / 2;
  stride_ = times((L_ + kTile - 1) / kTile * kTile, lanes_);
  trouble_.assign(lanes_, false);
}

template <class E>
void LaneUnit<E>::run(E* memory, bool back) {
  alpha_ = memory;
  psi_ = alpha_ + T_ * stride_;
  beta_ = psi_ + T_ * stride_;
  rows_ = beta_ + stride_;
  scale_.resize(T_ * lanes_);
  lowered_.resize(lanes_);
  below_.resize(L_);
  forward();
  if (back) backward();
  for (size_t lane = 0; lane < lanes_; ++lane) {
    if (!trouble_[lane]) continue;
    for (size_t t = 0; t < T_; ++t)
      for (size_t y = 0; y < L_; ++y) alpha(t)[y * lanes_ + lane] = psi(t)[y * lanes_ + lane] = 0;
  }
}

// The node scores of one token with what stands beside them. most: the largest.
template <class E>
const E* LaneUnit<E>::row(size_t lane, size_t t, double& most) {
  const size_t b = who_[lane], at = b * batch_.T + t;
  const Scores given = batch_.nodes.from(at * L_);
  const Scan scan = given.f ? kernels().scan_f(given.f, L_) : kernels().scan_d(given.d, L_);
  if (!scan.valid || !(scan.magnitude <= kLargestScore)) {
    const size_t bad = check_scores(given, L_).bad;
    throw std::invalid_argument("the node score of token " + std::to_string(t) + ", label " + std::to_string(bad) +
                                why_no_score(given[bad]));
  }
  most = scan.max;
  const bool first = t == 0 && edges_.start, last = t + 1 == lengths_[lane] && edges_.stop;
  if constexpr (std::is_same_v<E, float>) {
    if (given.f && !first && !last && !batch_.allowed) return given.f;
  } else {
    if (given.d && !first && !last && !batch_.allowed) return given.d;
  }
  E* const own = rows_ + lane * L_;
  for (size_t y = 0; y < L_; ++y) own[y] = static_cast<E>(given[y]);
  if (first)
    for (size_t y = 0; y < L_; ++y) own[y] = static_cast<E>(edges_.start[y] + given[y]);
  if (last)
    for (size_t y = 0; y < L_; ++y) own[y] = static_cast<E>(own[y] + edges_.stop[y]);
  if (batch_.allowed)
    for (size_t y = 0; y < L_; ++y)
      if (!batch_.allowed[at * L_ + y]) own[y] = static_cast<E>(kForbidden);
  if constexpr (std::is_same_v<E, float>) {
    most = kernels().max_f(own, L_);
  } else {
    most = kernels().max_d(own, L_);
  }
  return own;
}

// Fills psi of a column and lowered_.
template <class E>
void LaneUnit<E>::nodes(size_t t) {
  const E* rows[kMostLanes<E>] = {};
  E shift[kMostLanes<E>] = {};
  for (size_t lane = 0; lane < lanes_; ++lane) {
    lowered_[lane] = 0;
    if (!there(lane, t)) continue;
    try {
      rows[lane] = row(lane, t, lowered_[lane]);
    } catch (const std::invalid_argument& error) {
      fail_in(who_[lane], error);
    }
    // -inf: the token may have no label. Very large numbers differ by more than is left of them.
    if (!(std::abs(lowered_[lane]) < (sizeof(E) == 4 ? 1e4 : 1e12))) {
      trouble_[lane] = true;
      rows[lane] = nullptr;
      lowered_[lane] = 0;
      continue;
    }
    shift[lane] = static_cast<E>(lowered_[lane]);
    if (!factors_.forbids) continue;
    const double least = lowered_[lane] + portable_log(kTiny);
    bool lost = false;
    for (size_t y = 0; y < L_; ++y)
      lost = lost || (rows[lane][y] < least && rows[lane][y] != static_cast<E>(kForbidden));
    trouble_[lane] = trouble_[lane] || lost;
  }
  batch_kernels<E>().exp(rows, shift, L_, lanes_, psi(t));
  std::fill(psi(t) + L_ * lanes_, psi(t) + stride_, E{0});
}

// to = what `from` sends over one step; total: [lane], the sum of `from`.
template <class E>
void LaneUnit<E>::send(size_t direction, const E* from, const double* total, E* to) {
  const BatchKernels<E>& k = batch_kernels<E>();
  // Edge kind: two kernels, over panels of a matrix or over lists of pairs.
  if (factors_.dense) {
    k.spread_dense(factors_.panels[direction].data(), L_, vectors_, from, to);
  } else {
    E rest[kMostLanes<E>];
    for (size_t lane = 0; lane < lanes_; ++lane) rest[lane] = static_cast<E>(factors_.rest * total[lane]);
    const PairEntries& side = factors_.entries[direction];
    k.spread_sparse(side.begin.data(), side.index.data(), factors_.more[direction].data(), L_, vectors_, rest, from,
                    to);
    if (!factors_.mild) sum_again(direction, from, total, to);
  }
  std::fill(to + L_ * lanes_, to + stride_, E{0});
}

// Takes those sums again of which little is left of a total: in double precision, and edge by edge where that is not
// enough either.
template <class E>
void LaneUnit<E>::sum_again(size_t direction, const E* from, const double* total, E* to) {
  E limit[kMostLanes<E>];
  for (size_t lane = 0; lane < lanes_; ++lane)
    limit[lane] = static_cast<E>(kBatchDigits<E> * factors_.rest * total[lane]);
  const PairEntries& side = factors_.entries[direction];
  const std::vector<E>& factor = factors_.factor[direction];
  double exact[kMostLanes<E>];  // [lane]: the sum of `from`
  std::fill(exact, exact + lanes_, -1);
  const size_t found = batch_kernels<E>().below(limit, L_, vectors_, to, below_.data());
  for (size_t n = 0; n < found; ++n) {
    const auto j = static_cast<size_t>(below_[n]);
    for (size_t lane = 0; lane < lanes_; ++lane) {
      if (!(to[j * lanes_ + lane] < limit[lane])) continue;
      if (exact[lane] < 0) {
        exact[lane] = 0;
        for (size_t i = 0; i < L_; ++i) exact[lane] += static_cast<double>(from[i * lanes_ + lane]);
      }
      double others = exact[lane], sum = 0;
      for (size_t q = side.begin[j]; q < side.begin[j + 1]; ++q) {
        const double value = from[static_cast<size_t>(side.index[q]) * lanes_ + lane];
        others -= value;
        sum += value * static_cast<double>(factor[q]);
      }
      if (others < 1e-6 * exact[lane]) {
        others = 0;
        for (size_t i = 0, q = side.begin[j]; i < L_; ++i) {
          if (q < side.begin[j + 1] && side.index[q] == static_cast<int32_t>(i)) {
            ++q;
          } else {
            others += static_cast<double>(from[i * lanes_ + lane]);
          }
        }
      }
      to[j * lanes_ + lane] = static_cast<E>(sum + others * factors_.rest);
    }
  }
}

// Notices numbers near underflow where they may matter.
template <class E>
void LaneUnit<E>::look(size_t t, const E* column) {
  if (!factors_.forbids) return;
  for (size_t lane = 0; lane < lanes_; ++lane) {
    if (!there(lane, t)) continue;
    bool tiny = false;
    for (size_t y = 0; y < L_; ++y) {
      const double value = column[y * lanes_ + lane];
      tiny = tiny || (value > 0 && value < kTiny);
    }
    trouble_[lane] = trouble_[lane] || tiny;
  }
}

template <class E>
void LaneUnit<E>::forward() {
  const BatchKernels<E>& k = batch_kernels<E>();
  double total[kMostLanes<E>], one[kMostLanes<E>];
  double log_z[kMostLanes<E>] = {};
  E inverse[kMostLanes<E>];
  std::fill(one, one + lanes_, 1.0);  // what alpha is scaled to
  Meter meter;
  for (size_t t = 0; t < T_; ++t) {
    meter.count(lanes_ * L_ * L_ / 8);
    nodes(t);
    if (t == 0) {
      std::fill(alpha(0), alpha(0) + stride_, E{1});
      std::fill(alpha(0) + L_ * lanes_, alpha(0) + stride_, E{0});
    } else {
      send(0, alpha(t - 1), one, alpha(t));
    }
    k.multiply(psi(t), L_, vectors_, alpha(t), total);
    for (size_t lane = 0; lane < lanes_; ++lane) {
      const bool fine = there(lane, t) && total[lane] > 0 && std::isfinite(static_cast<E>(1 / total[lane]));
      inverse[lane] = fine ? static_cast<E>(1 / total[lane]) : 0;
      scale_[t * lanes_ + lane] = inverse[lane];
      if (fine) log_z[lane] += portable_log(total[lane]) + lowered_[lane] + (t ? factors_.shift : 0);
      if (!fine && there(lane, t)) trouble_[lane] = true;
    }
    k.scale(inverse, L_, vectors_, alpha(t));
    look(t, alpha(t));
  }
  for (size_t lane = 0; lane < who_.size(); ++lane) batch_.log_z[who_[lane]] = log_z[lane];
}

template <class E>
void LaneUnit<E>::backward() {
  const BatchKernels<E>& k = batch_kernels<E>();
  double total[kMostLanes<E>];
  E by[kMostLanes<E>], weight[kMostLanes<E>] = {};
  for (size_t lane = 0; lane < who_.size(); ++lane) weight[lane] = static_cast<E>(batch_.weight(who_[lane]));
  const bool alike = batch_.alike();
  Meter meter;
  std::fill(beta_, beta_ + stride_, E{0});
  for (size_t t = T_; t-- > 0;) {
    meter.count(lanes_ * L_ * L_ / 4);
    if (t + 1 < T_) {
      E* const ahead = psi(t + 1);
      k.multiply(beta_, L_, vectors_, ahead, total);
      for (size_t lane = 0; lane < lanes_; ++lane) {
        by[lane] = static_cast<E>(scale_[(t + 1) * lanes_ + lane]);
        total[lane] *= static_cast<double>(by[lane]);
        if (!std::isfinite(total[lane])) trouble_[lane] = true;
      }
      k.scale(by, L_, vectors_, ahead);
      look(t + 1, ahead);
      send(1, ahead, total, beta_);
    }
    for (size_t lane = 0; lane < who_.size(); ++lane)
      if (t + 1 == lengths_[lane])
        for (size_t y = 0; y < L_; ++y) beta_[y * lanes_ + lane] = 1;
    const auto store = [&](auto* out, auto kernel) {
      decltype(out) rows[kMostLanes<E>] = {};
      for (size_t lane = 0; lane < who_.size(); ++lane)
        if (there(lane, t)) rows[lane] = out + (who_[lane] * batch_.T + t) * L_;
      kernel(alpha(t), beta_, weight, L_, lanes_, rows);
    };
    if (batch_.nodes_f) store(batch_.nodes_f, k.store_f);
    if (batch_.nodes_d) store(batch_.nodes_d, k.store_d);
    if (!alike) k.scale(weight, L_, vectors_, alpha(t));
  }
}

template <class E>
void LaneUnit<E>::count(size_t first, size_t last, const PairEntries* entries, E* count) const {
  if (T_ < 2) return;
  const BatchColumns<E> columns{alpha(0), psi(1), T_ - 1, stride_, vectors_};
  if (!entries) return batch_kernels<E>().count_dense(columns, first, last, L_, count);
  batch_kernels<E>().count_sparse(columns, entries->begin.data(), entries->index.data(), first, last, count);
}

template <class E>
std::vector<size_t> LaneUnit<E>::in_trouble() const {
  std::vector<size_t> found;
  for (size_t lane = 0; lane < who_.size(); ++lane)
    if (trouble_[lane]) found.push_back(who_[lane]);
  return found;
}

template class LaneUnit<float>;
template class LaneUnit<double>;

}  // namespace tagwright
