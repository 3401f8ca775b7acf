// Sums over the labels of each column that matter.
//
// Labels are opened by bounds: node score, best edge into the label and best edge out of it. Nothing else is computed
// for those that are too far below the best one. Of the opened ones, what the labels kept before send them tells which
// are kept. What the others could bring is limited on the way (sums/pruned_sums.h).
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/stop.h"
#include "kernels/kernels.h"
#include "train/online/online_crf.h"

namespace tagwright {
namespace {

// Where so many labels are opened, exact sums are faster.
size_t most_opened(size_t L) { return std::max<size_t>(128, L / 4); }

// Found by trying: with it, sentences are rarely summed again.
double first_width(double epsilon) { return std::max(2.0, 4 - std::log(epsilon)); }

}  // namespace

void OnlineCrf::score(size_t s, Workspace& workspace) const {
  const size_t first = corpus_.first_token(s), T = corpus_.length(s), L = corpus_.L, keys = parts_.keys();
  workspace.scores.resize(T * padded_);
  workspace.by_key.resize(keys);
  const auto whole = [&](size_t f) -> const float* {
    if (!is_large(nodes_.size(f), keys)) return nullptr;
    const auto& rows = whole_[Rows::shard_of(f)];
    const auto found = rows.find(f);
    return found == rows.end() ? nullptr : found->second.data();
  };
  Meter meter;
  for (size_t t = 0; t < T; ++t) {
    meter.count(1000 + keys);
    float* const scores = workspace.scores.data() + t * padded_;
    float* const out = parts_.each ? workspace.by_key.data() : scores;
    std::fill(out, out + keys, 0.0F);
    const size_t begin = corpus_.node.begin(first + t);
    const auto value = [&](size_t n) { return corpus_.node.value_of(begin + n); };
    add_rows(nodes_, corpus_.features_of(first + t), value, whole, keys, out);
    if (parts_.each) {
      parts_.add_to_labels(out);
      std::copy(out, out + L, scores);
    }
    scores[corpus_.labels[first + t]] -= static_cast<float>(options_.margin);
  }
  if (options_.rules || options_.allowed.columns()) forbid(s, workspace);
}

// Labels that a token may not have, or that may be neither first nor last, score -inf.
void OnlineCrf::forbid(size_t s, Workspace& workspace) const {
  constexpr float kForbiddenF = -std::numeric_limits<float>::infinity();
  const size_t place = corpus_.place_of(s), T = corpus_.length(s), L = corpus_.L;
  for (size_t t = 0; t < T && options_.allowed.columns(); ++t) {
    const std::span<const int32_t> list = options_.allowed.view(place)[t];
    if (list.empty()) continue;
    float* const scores = workspace.scores.data() + t * padded_;
    workspace.by_key.assign(scores, scores + L);
    std::fill(scores, scores + L, kForbiddenF);
    for (const int32_t y : list) scores[y] = workspace.by_key[static_cast<size_t>(y)];
  }
  for (size_t y = 0; y < L && options_.rules && T; ++y) {
    if (!options_.rules->may_start(y)) workspace.scores[y] = kForbiddenF;
    if (!options_.rules->may_stop(y)) workspace.scores[(T - 1) * padded_ + y] = kForbiddenF;
  }
}

// How much the corrections at the step into a token can add to an edge.
double OnlineCrf::set_bound(size_t token) const {
  double sum = 0;
  for (const int32_t set : corpus_.sets_of(token)) sum += set_best_[static_cast<size_t>(set)];
  return sum;
}

// Writes labels to workspace.opened and returns how many. top: the best bound. unopened: a limit for the sum of
// exp(bound - top) over the others.
size_t OnlineCrf::open_column(const float* scores, double width, Workspace& workspace, float& top,
                              double& unopened) const {
  const Kernels& k = kernels();
  k.bound_column_f(scores, into_.data(), out_.data(), corpus_.L, workspace.sum.data(), workspace.blocks.data());
  top = static_cast<float>(k.max_f(workspace.blocks.data(), workspace.blocks.size()));
  const float least = top - static_cast<float>(width);
  unopened = k.exp_below(workspace.sum.data(), out_.data(), padded_, least, top);
  return k.open_blocks(workspace.blocks.data(), workspace.sum.data(), out_.data(), padded_, least,
                       workspace.opened.data(), workspace.keys.data());
}

// Leaves the best of n opened labels, as many as are wanted; the others count as not opened.
size_t OnlineCrf::best_opened(size_t n, size_t wanted, double& unopened, float top, Workspace& workspace) const {
  float* const key = workspace.keys.data();
  int32_t* const label = workspace.opened.data();
  workspace.bounds.assign(key, key + n);
  std::nth_element(workspace.bounds.begin(), workspace.bounds.begin() + static_cast<ptrdiff_t>(wanted - 1),
                   workspace.bounds.end(), std::greater<>());
  const float least = workspace.bounds[wanted - 1];
  size_t kept = 0, as_good = 0;  // as the last that is kept
  for (size_t q = 0; q < n; ++q) {
    if (key[q] < least) continue;
    if (kept < wanted) {
      label[kept++] = label[q];
    } else {
      ++as_good;
    }
  }
  unopened = kernels().exp_below(workspace.sum.data(), out_.data(), padded_, least, top) +
             static_cast<double>(as_good) * std::exp(static_cast<double>(least) - static_cast<double>(top));
  return kept;
}

// Leaves those of the n opened labels whose beliefs are close enough to the best, at the front of workspace.opened, and
// of the messages beside them. lost: the sum of the others' beliefs.
size_t OnlineCrf::keep_best(size_t n, double width, double& lost, Workspace& workspace) const {
  const double* const belief = workspace.beliefs.data();
  const Keep& keep = options_.keep;
  double least = kernels().max_d(belief, n) * std::exp(-width);
  const size_t at_least = keep.rule == Keep::Rule::kDivergence ? keep.at_least : 1;
  const size_t at_most =
      std::min(keep.rule == Keep::Rule::kSize ? keep.size : n, options_.at_most ? options_.at_most : n);
  const auto nth = [&](size_t q) {
    workspace.order.assign(belief, belief + n);
    std::nth_element(workspace.order.begin(), workspace.order.begin() + static_cast<ptrdiff_t>(q - 1),
                     workspace.order.end(), std::greater<>());
    return workspace.order[q - 1];
  };
  if (at_most < n) least = std::max(least, nth(at_most));
  if (at_least > 1) least = std::min(least, nth(std::min(at_least, n)));
  size_t kept = 0;
  lost = 0;
  for (size_t q = 0; q < n; ++q) {
    if (belief[q] < least || kept == at_most) {
      lost += belief[q];
      continue;
    }
    workspace.opened[kept] = workspace.opened[q];
    workspace.messages[kept++] = workspace.messages[q];
  }
  return kept;
}

// exp(edge score) of all pairs, [p * to + q], at the step into a token.
void OnlineCrf::fill_factors(size_t token, std::span<const int32_t> from, std::span<const int32_t> to,
                             double* out) const {
  const size_t L = corpus_.L, n = to.size();
  for (size_t p = 0; p < from.size(); ++p) {
    const auto i = static_cast<size_t>(from[p]);
    double* const row = out + p * n;
    if (!factor_.empty()) {
      const float* const all = factor_.data() + i * L;
      for (size_t q = 0; q < n; ++q) row[q] = all[to[q]];
    } else {
      for (size_t q = 0; q < n; ++q) row[q] = edges_.at(i, static_cast<uint16_t>(to[q]));
      kernels().exp_d(row, 0, n, row);
    }
    for (size_t q = 0; q < n && factor_.empty() && options_.rules; ++q)
      if (!options_.rules->may_follow(i, static_cast<size_t>(to[q]))) row[q] = 0;
    for (const int32_t set : corpus_.sets_of(token)) {
      for (size_t q = 0; q < n; ++q) {
        const float more = sets_.at(static_cast<size_t>(set), Corrections::pair(from[p], to[q]));
        if (more != 0) row[q] *= std::exp(static_cast<double>(more));
      }
    }
  }
}

bool OnlineCrf::forward(size_t s, const Width& width, Workspace& workspace) const {
  const size_t first = corpus_.first_token(s), T = corpus_.length(s);
  const bool promise = options_.keep.rule == Keep::Rule::kDivergence && options_.at_most == 0;
  PrunedSums& sums = workspace.sums;
  sums.clear();
  workspace.sum.resize(padded_);
  workspace.blocks.resize(padded_ / kTreeLanes);
  workspace.keys.resize(padded_ + kTreeLanes);
  workspace.opened.resize(padded_ + kTreeLanes);
  std::vector<double>&messages = workspace.messages, &beliefs = workspace.beliefs, &node = workspace.node;
  Meter meter;
  for (size_t t = 0; t < T; ++t) {
    const float* const score = workspace.scores.data() + t * padded_;
    float top;
    double unopened, lost;
    size_t n = open_column(score, width.open, workspace, top, unopened);
    if (promise && n > most_opened(corpus_.L)) return false;
    if (const size_t few = 4 * options_.at_most; few > 0 && n > few) n = best_opened(n, few, unopened, top, workspace);
    const double corrected = corpus_.sets() ? set_bound(first + t) + (t + 1 < T ? set_bound(first + t + 1) : 0) : 0;
    const std::span<const int32_t> before = t ? sums.labels(t - 1) : std::span<const int32_t>();
    const std::span<int32_t> opened(workspace.opened);
    meter.count(1000 + 10 * (corpus_.L + before.size() * n));  // exp takes as long as ten edges
    // What reaches the opened labels.
    const auto send = [&](std::span<const int32_t> to, double* out) {
      std::fill_n(out, to.size(), t ? sums.left_out() : 1.0);
      if (t == 0) return;
      workspace.step.resize(before.size() * to.size());
      fill_factors(first + t, before, to, workspace.step.data());
      const double* factor = workspace.step.data();
      for (size_t p = 0; p < before.size(); ++p, factor += to.size())
        for (size_t q = 0; q < to.size(); ++q) out[q] += sums.upper()[p] * factor[q];
    };
    messages.resize(n + 1);
    beliefs.resize(n + 1);
    node.resize(n + 1);
    send(opened.first(n), messages.data());
    for (size_t q = 0; q < n; ++q) {
      const auto y = static_cast<size_t>(opened[q]);
      beliefs[q] = static_cast<double>(score[y]) + static_cast<double>(out_[y]);
    }
    const double shift = kernels().max_d(beliefs.data(), n);
    kernels().exp_d(beliefs.data(), shift, n, beliefs.data());
    for (size_t q = 0; q < n; ++q) beliefs[q] *= messages[q];
    n = keep_best(n, width.keep, lost, workspace);
    // The right label is always kept: what is learnt is to tell it from the others.
    const int32_t right = corpus_.labels[first + t];
    if (std::find(opened.begin(), opened.begin() + static_cast<ptrdiff_t>(n), right) ==
        opened.begin() + static_cast<ptrdiff_t>(n)) {
      opened[n] = right;
      send(opened.subspan(n, 1), messages.data() + n);
      ++n;
    }
    for (size_t q = 0; q < n; ++q) node[q] = score[opened[q]];
    sums.add_column(opened.first(n), node.data());
    if (t) fill_factors(first + t, sums.labels(t - 1), sums.labels(t), sums.factors());
    // Bounds of labels that were not opened hold for any label before them.
    const double reach = t ? sums.all() : 1;
    const double others =
        lost * std::exp(shift - node[0]) + unopened * std::exp(static_cast<double>(top) - node[0]) * reach;
    if (!sums.forward(messages.data(), others * std::exp(corrected))) return false;
    if (promise && sums.missing() > 2 * options_.keep.epsilon * static_cast<double>(T)) break;
  }
  return true;
}

bool OnlineCrf::choose_few(size_t s, Workspace& workspace) const {
  const Keep& keep = options_.keep;
  const double T = static_cast<double>(corpus_.length(s));
  if (keep.rule == Keep::Rule::kSize || keep.rule == Keep::Rule::kRatio) {
    constexpr double kFar = 12;
    const double width = keep.rule == Keep::Rule::kRatio ? -std::log(keep.ratio) : kFar;
    return forward(s, {width + 3, width}, workspace);
  }
  if (options_.at_most) {
    const double width = first_width(keep.epsilon);
    return forward(s, {width + 3, width}, workspace);
  }
  constexpr size_t kTries = 3;
  double more = 0;
  for (size_t n = 0; n < kTries; ++n) {
    const double width = first_width(keep.epsilon) + more;
    if (!forward(s, {width + 3, width}, workspace)) return false;
    const double missing = workspace.sums.missing();
    if (workspace.sums.T() == corpus_.length(s) && missing <= keep.epsilon * T) return true;
    more += 2 + std::log(missing / (keep.epsilon * T));
  }
  return false;
}

}  // namespace tagwright
