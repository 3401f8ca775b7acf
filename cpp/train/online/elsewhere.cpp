// An online CRF in several places: each sums some sentences of a batch, and all take the same steps in the same order.
#include <algorithm>

#include "base/need.h"
#include "base/stop.h"
#include "base/thread_pool.h"
#include "train/online/online_crf.h"
#include "train/online/steps.h"

namespace tagwright {

std::vector<uint8_t> OnlineCrf::ask(std::span<const int32_t> sentences, size_t threads) {
  need(runs_.empty(), "steps of ngrams are taken in one place");
  for (const int32_t s : sentences) need(s >= 0 && static_cast<size_t>(s) < corpus_.sentences(), "no such sentence");
  std::vector<SparseGradient> asked(sentences.size());
  std::vector<Workspace> workspaces(sentences.size());
  ThreadPool pool(std::max<size_t>(1, std::min(threads, sentences.size())));
  pool.each(sentences.size(), [&](size_t n) {
    check_stop();
    sum(static_cast<size_t>(sentences[n]), workspaces[n], asked[n]);
  });
  exact_.forget();
  Steps steps;
  std::vector<char> pairs;  // [t]: whether a pair of labels is stepped into token t
  for (size_t n = 0; n < sentences.size(); ++n) {
    const SparseGradient& own = asked[n];
    const size_t first = corpus_.first_token(static_cast<size_t>(sentences[n]));
    pairs.assign(own.end.size(), false);
    for (const SparseGradient::Edge& e : own.edges) {
      pairs[e.t] = true;
      steps.edge_token.push_back(e.t);
      steps.edge_previous.push_back(e.i);
      steps.edge_current.push_back(e.j);
      steps.edge_gradient.push_back(e.gradient);
    }
    steps.edge_end.push_back(steps.edge_token.size());
    for (size_t t = 0, begin = 0; t < own.end.size(); begin = own.end[t++]) {
      if (begin < own.end[t]) {
        corpus_.for_each_feature(first + t, [&](size_t f, float value) {
          steps.feature.push_back(static_cast<int32_t>(f));
          if (!corpus_.node.value.empty()) steps.value.push_back(value);
        });
      }
      for (const int32_t set : corpus_.sets_of(first + t))
        if (pairs[t]) steps.set.push_back(set);
      for (size_t q = begin; q < own.end[t]; ++q) {
        steps.node.push_back(own.nodes[q].first);
        steps.node_gradient.push_back(own.nodes[q].second);
      }
      steps.feature_end.push_back(steps.feature.size());
      steps.set_end.push_back(steps.set.size());
      steps.node_end.push_back(steps.node.size());
    }
    steps.sentence_end.push_back(steps.node_end.size());
    steps.loss.push_back(own.seen.loss);
    steps.missing.push_back(own.seen.missing);
    steps.kept.push_back(own.seen.kept);
    steps.exact.push_back(own.seen.exact);
  }
  return packed(steps);
}

OnlineCrf::Seen OnlineCrf::apply(const std::vector<std::span<const uint8_t>>& given, std::span<const int32_t> which,
                                 std::span<const int32_t> number, size_t threads) {
  need(runs_.empty(), "steps of ngrams are taken in one place");
  std::vector<Steps> from;
  for (const std::span<const uint8_t> bytes : given) from.push_back(unpacked(bytes, corpus_, parts_.keys()));
  need(which.size() == number.size(), "there must be one number per sentence");
  CorpusArrays<Owned> batch;
  asked_.resize(std::max(asked_.size(), which.size()));
  for (size_t n = 0; n < which.size(); ++n) {
    need(which[n] >= 0 && static_cast<size_t>(which[n]) < from.size(), "no such steps");
    const Steps& steps = from[static_cast<size_t>(which[n])];
    need(number[n] >= 0 && static_cast<size_t>(number[n]) < steps.sentence_end.size(), "no such sentence");
    const auto s = static_cast<size_t>(number[n]);
    const auto before = [](const std::vector<uint64_t>& ends, size_t at) { return at ? ends[at - 1] : 0; };
    const auto add = [&](const std::vector<int32_t>& id, const std::vector<uint64_t>& ends, size_t token, Ids& to) {
      to.id.insert(to.id.end(), id.begin() + static_cast<ptrdiff_t>(before(ends, token)),
                   id.begin() + static_cast<ptrdiff_t>(ends[token]));
      to.end.push_back(to.id.size());
    };
    SparseGradient& asked = asked_[n];
    asked.end.clear();
    asked.nodes.clear();
    asked.edges.clear();
    for (size_t token = before(steps.sentence_end, s); token < steps.sentence_end[s]; ++token) {
      for (size_t at = before(steps.feature_end, token); at < steps.feature_end[token] && !steps.value.empty(); ++at)
        batch.node.value.push_back(steps.value[at]);
      add(steps.feature, steps.feature_end, token, batch.node);
      add(steps.set, steps.set_end, token, batch.edge);
      for (size_t q = before(steps.node_end, token); q < steps.node_end[token]; ++q)
        asked.nodes.emplace_back(steps.node[q], steps.node_gradient[q]);
      asked.end.push_back(asked.nodes.size());
    }
    batch.sentence_end.push_back(batch.node.end.size());
    for (size_t e = before(steps.edge_end, s); e < steps.edge_end[s]; ++e)
      asked.edges.push_back(
          {steps.edge_token[e], steps.edge_previous[e], steps.edge_current[e], steps.edge_gradient[e]});
    asked.seen = {steps.loss[s], steps.missing[s], asked.end.size(), steps.kept[s], steps.exact[s]};
  }
  need(batch.node.value.empty() || batch.node.value.size() == batch.node.id.size(), "steps: some without values");
  const Corpus here = hold(std::move(batch), {}, corpus_.L);
  std::vector<int32_t> everyone(which.size());
  for (size_t n = 0; n < everyone.size(); ++n) everyone[n] = static_cast<int32_t>(n);
  // The names of features, and how many there are, are those of the corpus.
  Corpus whole = corpus_;
  static_cast<EncodedArrays<Borrowed>&>(whole) = here;
  const ReadingFrom reading(corpus_, &whole);
  ThreadPool pool(std::max<size_t>(1, threads));
  Seen seen;
  take_steps(everyone, pool, seen);
  return seen;
}

std::vector<float> OnlineCrf::bounds() const {
  std::vector<float> made(into_);
  made.insert(made.end(), out_.begin(), out_.end());
  made.insert(made.end(), set_best_.begin(), set_best_.end());
  return made;
}

void OnlineCrf::set_bounds(std::span<const float> bounds) {
  need(bounds.size() == into_.size() + out_.size() + set_best_.size(), "there must be one bound per label and set");
  const auto take = [&](std::vector<float>& to) {
    std::copy_n(bounds.begin(), to.size(), to.begin());
    bounds = bounds.subspan(to.size());
  };
  take(into_);
  take(out_);
  take(set_best_);
}

}  // namespace tagwright
