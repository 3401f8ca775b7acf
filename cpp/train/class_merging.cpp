#include <algorithm>
#include <limits>
#include <numeric>

#include "base/stop.h"
#include "train/n_log_n.h"
#include "train/word_classes.h"

namespace tagwright {
namespace {

// The loss of each pair is kept, and updated by what a merge changes, so that a merge takes time for each pair, not for
// each pair and class (Brown et al. 1992, section 4).
class Merging {
 public:
  Merging(ClassCounts counts, size_t classes, ThreadPool& pool)
      : counts_(std::move(counts)), classes_(classes), pool_(pool), group_(classes) {
    std::iota(group_.begin(), group_.end(), 0U);
    for (uint32_t c = 0; c < classes; ++c)
      if (counts_.total(c) > 0) alive_.push_back(c);
    for (uint32_t d = 0; d < counts_.size(); ++d)
      if (counts_.total(d) > 0) present_.push_back(d);
    loss_.resize(classes * classes);
    pool_.for_each(alive_.size(), [&](size_t n) {
      for (size_t m = n + 1; m < alive_.size(); ++m) loss(alive_[n], alive_[m]) = loss_of(alive_[n], alive_[m]);
    });
  }

  size_t alive() const { return alive_.size(); }
  const std::vector<uint32_t>& group() const { return group_; }

  void merge_best() {
    const auto [a, b] = best();
    add_terms(a, b, -1);
    merge(a, b);
    add_terms(a, b, 1);
    pool_.for_each(alive_.size(), [&](size_t n) {
      const uint32_t c = alive_[n];
      if (c != a) loss(std::min(a, c), std::max(a, c)) = loss_of(std::min(a, c), std::max(a, c));
    });
    check_stop();
  }

 private:
  double& loss(size_t a, size_t b) { return loss_[a * classes_ + b]; }

  // The part of the loss of merging a and b that is due to their bigrams with class d.
  double term(size_t a, size_t b, size_t d) const {
    const uint32_t *const after = counts_.after(d), *const before = counts_.before(d);
    return f_(after[a]) + f_(after[b]) - f_(uint64_t{after[a]} + after[b]) + f_(before[a]) + f_(before[b]) -
           f_(uint64_t{before[a]} + before[b]);
  }

  double loss_of(size_t a, size_t b) const {
    const uint32_t *const a_after = counts_.after(a), *const b_after = counts_.after(b);
    const uint32_t *const a_before = counts_.before(a), *const b_before = counts_.before(b);
    double sum = 0;
    for (const uint32_t d : present_) {
      if (d == a || d == b) continue;
      sum += f_(a_after[d]) + f_(b_after[d]) - f_(uint64_t{a_after[d]} + b_after[d]);
      sum += f_(a_before[d]) + f_(b_before[d]) - f_(uint64_t{a_before[d]} + b_before[d]);
    }
    sum += f_(a_after[a]) + f_(a_after[b]) + f_(b_after[a]) + f_(b_after[b]);
    sum -= f_(uint64_t{a_after[a]} + a_after[b] + b_after[a] + b_after[b]);
    const uint64_t n = counts_.total(a), m = counts_.total(b);
    return sum - 2 * (f_(n) + f_(m) - f_(n + m));
  }

  // The pair that loses least; of several, the first one.
  std::pair<uint32_t, uint32_t> best() {
    std::vector<std::pair<double, uint32_t>> of_row(alive_.size(), {std::numeric_limits<double>::infinity(), 0});
    pool_.for_each(alive_.size(), [&](size_t n) {
      for (size_t m = n + 1; m < alive_.size(); ++m)
        if (loss(alive_[n], alive_[m]) < of_row[n].first) of_row[n] = {loss(alive_[n], alive_[m]), alive_[m]};
    });
    size_t least = 0;
    for (size_t n = 1; n < of_row.size(); ++n)
      if (of_row[n].first < of_row[least].first) least = n;
    return {alive_[least], of_row[least].second};
  }

  // Adds what the losses of other pairs owe to the classes a and b, before they are merged; to a, afterwards.
  void add_terms(uint32_t a, uint32_t b, double sign) {
    pool_.for_each(alive_.size(), [&](size_t n) {
      const uint32_t c = alive_[n];
      if (c == a || c == b) return;
      for (size_t m = n + 1; m < alive_.size(); ++m) {
        const uint32_t d = alive_[m];
        if (d == a || d == b) continue;
        loss(c, d) += sign * (term(c, d, a) + (sign < 0 ? term(c, d, b) : 0.0));
      }
    });
  }

  void merge(uint32_t a, uint32_t b) {
    for (const uint32_t d : present_) {
      const int64_t after = counts_.after(b)[d];
      counts_.add(b, d, -after);
      counts_.add(a, d, after);
    }
    for (const uint32_t d : present_) {
      const int64_t before = counts_.before(b)[d];
      counts_.add(d, b, -before);
      counts_.add(d, a, before);
    }
    const auto total = static_cast<int64_t>(counts_.total(b));
    counts_.add_total(b, -total);
    counts_.add_total(a, total);
    std::erase(alive_, b);
    std::erase(present_, b);
    for (uint32_t& own : group_)
      if (own == b) own = a;
  }

  const NLogN f_;
  ClassCounts counts_;
  size_t classes_;
  ThreadPool& pool_;
  std::vector<uint32_t> group_;    // [class]
  std::vector<uint32_t> alive_;    // the groups, in rising order
  std::vector<uint32_t> present_;  // these, and the classes that are not merged
  std::vector<double> loss_;       // [a][b]: of merging them, a < b
};

}  // namespace

std::vector<std::vector<uint32_t>> merged_classes(ClassCounts counts, size_t classes, std::vector<size_t> sizes,
                                                  ThreadPool& pool) {
  std::sort(sizes.begin(), sizes.end(), std::greater<>());
  std::vector<std::vector<uint32_t>> made;
  if (sizes.size() == 1 && sizes[0] >= classes) {
    std::vector<uint32_t> own(classes);
    std::iota(own.begin(), own.end(), 0U);
    return {own};
  }
  Merging merging(std::move(counts), classes, pool);
  for (const size_t size : sizes) {
    while (merging.alive() > size) merging.merge_best();
    made.push_back(merging.group());
  }
  return made;
}

}  // namespace tagwright
