// Stochastic training: AdaGrad (Duchi, Hazan and Singer 2011).
#include <cmath>

#include "base/need.h"
#include "base/stop.h"
#include "train/crf/crf.h"

namespace tagwright {
namespace {

// A gradient far below 1e-5 is no reason for a whole step.
constexpr double kLeast = 1e-10;

// How often the features (or sets) of a batch occur in it.
class Occurrences {
 public:
  explicit Occurrences(size_t ids) : times_(ids, 0) {}

  void add(std::span<const int32_t> ids) {
    for (const int32_t own : ids) {
      const auto id = static_cast<size_t>(own);
      if (times_[id]++ == 0) met_.push_back(id);
    }
  }
  // Calls take(id, times) for each and forgets them.
  template <class Take>
  void each(Take&& take) {
    for (const size_t id : met_) {
      take(id, static_cast<double>(times_[id]));
      times_[id] = 0;
    }
    met_.clear();
  }

 private:
  std::vector<uint32_t> times_;
  std::vector<size_t> met_;
};

}  // namespace

Crf::Seen Crf::adagrad(std::span<double> weights, std::span<double> squares, const Keep& keep,
                       std::span<const int32_t> sentences, size_t batch, double rate, double l2, const Corpus* from) {
  const double whole = static_cast<double>(corpus_.sentences());
  const ReadingFrom reading(corpus_, from);
  check(sentences, {weights.size(), squares.size()}, weights);
  need_labels();
  need(batch >= 1, "batch must be at least 1");
  for (const double sum : squares) need(sum >= 0 && std::isfinite(sum), "a sum of squares that is none");
  Ready ready;
  Workspace workspace;
  start(workspace, ready);
  Occurrences features(keys_.row_end.size()), sets(corpus_.sets());
  Seen seen;
  // g is taken from the counts, which are left at 0; share: of the penalty.
  const auto step = [&](size_t q, double share) {
    const double g = workspace.counts[q] + 2 * l2 * share * weights[q];
    workspace.counts[q] = 0;
    if (g == 0) return;
    squares[q] += g * g;
    weights[q] -= rate * g / std::sqrt(squares[q] + kLeast);
  };
  for (size_t begin = 0; begin < sentences.size(); begin += batch) {
    check_stop();
    const std::span<const int32_t> some = sentences.subspan(begin, std::min(batch, sentences.size() - begin));
    prepare(weights, false, ready);
    const bool lanes = together(ready, keep);
    const std::vector<std::vector<int32_t>> work = groups(some, lanes ? kLanes : 1);
    make_edges(work, ready);
    std::vector<int32_t> wide;
    const auto sum_all = [&](const std::vector<std::vector<int32_t>>& all, const Keep& rule, bool together) {
      for (const std::vector<int32_t>& group : all) {
        double log_z[kLanes];
        const size_t kept = sum(ready, rule, group, together, workspace, log_z);
        if (kept == kNoPlace) {
          wide.push_back(group[0]);
          continue;
        }
        seen.kept += kept;
        for (size_t lane = 0; lane < group.size(); ++lane) seen.log_z += log_z[lane];
      }
    };
    sum_all(work, keep, lanes);
    sum_all(groups(wide, kLanes), {}, true);
    fold(workspace);
    for (const int32_t s : some) {
      for_each_observed(static_cast<size_t>(s), [&](size_t q, double times) {
        workspace.counts[q] -= times;
        seen.right += times * weights[q];
      });
      for (size_t token = corpus_.first_token(static_cast<size_t>(s));
           token < corpus_.sentence_end[static_cast<size_t>(s)]; ++token) {
        ++seen.tokens;
        features.add(corpus_.features_of(token));
        sets.add(corpus_.sets_of(token));
      }
    }
    features.each([&](size_t f, double times) {
      const double share = times / scale_.feature_tokens[f];
      for (size_t q = node_begin(f); q < keys_.row_end[f]; ++q) step(q, share);
    });
    const double share = static_cast<double>(some.size()) / whole;
    const size_t edges = keys_.nodes(), behind = edges + keys_.edges();
    for (size_t q = edges; q < behind; ++q) step(q, share);
    for (size_t q = keys_.size() - keys_.ngrams(); q < keys_.size(); ++q) step(q, share);
    sets.each([&](size_t set, double times) {
      const double part = times / scale_.set_tokens[set];
      for (size_t q = set_begin(set); q < set_end_[set]; ++q) step(behind + q, part);
    });
  }
  return seen;
}

}  // namespace tagwright
