#include "train/online/online_crf.h"

#include <algorithm>
#include <cmath>

#include "base/need.h"
#include "base/stop.h"
#include "base/thread_pool.h"
#include "kernels/kernels.h"
#include "sums/forward_backward.h"

namespace tagwright {
namespace {

// The least difference of expected and observed counts that is a reason for a new weight.
constexpr double kNewFrom = 0.05;

}  // namespace

OnlineCrf::OnlineCrf(Corpus corpus, std::vector<uint16_t> parts, const OnlineOptions& options)
    : options_(options),
      corpus_(std::move(corpus)),
      part_of_(std::move(parts)),
      parts_(Parts::of_array(part_of_, corpus_.L)),
      padded_((corpus_.L + kGroup - 1) / kGroup * kGroup),
      runs_(corpus_, options_.runs) {
  need(parts_.keys() <= kMostLabels, "a model has between 1 and 65,535 labels, their parts included");
  parts_.check();
  need(options_.batch >= 1, "batch must be at least 1");
  need(std::isfinite(options_.rate) && std::isfinite(options_.l2) && std::isfinite(options_.margin),
       "rate, l2 and margin must be finite");
  need(corpus_.labels.size() == corpus_.node.end.size(), "the right labels are not known");
  const size_t L = corpus_.L;
  nodes_.reset(corpus_.features());
  edges_.reset(L);
  sets_.reset(corpus_.sets());
  need(!options_.rules || options_.rules->L() == L, "the rules are for another number of labels");
  need(!options_.allowed.columns() || options_.allowed.columns() == corpus_.labels.size(),
       "allowed: one list per token");
  if (choose_edge_form(L, 0, EdgeUse::kTraining) != EdgeForm::kSparse) {
    factor_.assign(times(L, L), 1.0F);
    for (size_t q = 0; q < factor_.size() && options_.rules; ++q)
      if (!options_.rules->may_follow(q / L, q % L)) factor_[q] = 0;
  }
  into_.assign(padded_, 0.0F);
  out_.assign(padded_, 0.0F);
  set_best_.assign(corpus_.sets(), 0.0F);
  hold_runs();
  observe();
}

// Makes entries of weight 0 for what the corpus has.
void OnlineCrf::observe() {
  const LabelsMet met = corpus_.met();
  for (size_t f = 0, at = 0; f < met.end.size(); ++f)
    for (; at < met.end[f]; ++at) observe_node(f, met.label[at]);
  observe_steps();
}

void OnlineCrf::extend(Corpus corpus) {
  need(corpus.L == corpus_.L && corpus.features() >= corpus_.features() && corpus.sets() == corpus_.sets(),
       "a corpus with other labels, or fewer features");
  corpus_ = std::move(corpus);
  nodes_.grow(corpus_.features());
  corpus_.for_each_met([&](size_t f, uint16_t y) { observe_node(f, y); });
  observe_steps();
}

void OnlineCrf::observe_node(size_t f, uint16_t y) {
  nodes_.find_or_add(f, y);
  for (size_t k = 0; k < parts_.each; ++k)
    nodes_.find_or_add(f, static_cast<uint16_t>(corpus_.L + parts_.of[k * corpus_.L + y]));
}

void OnlineCrf::observe_steps() {
  corpus_.for_each_step([&](size_t token, int32_t i, int32_t j) {
    if (options_.edges) edges_.find_or_add(static_cast<size_t>(i), static_cast<uint16_t>(j));
    for (const int32_t set : corpus_.sets_of(token))
      sets_.find_or_add(static_cast<size_t>(set), Corrections::pair(i, j));
  });
}

OnlineCrf::Seen OnlineCrf::run(std::span<const int32_t> sentences, size_t threads, const Corpus* from) {
  const ReadingFrom reading(corpus_, from);
  for (const int32_t s : sentences) need(s >= 0 && static_cast<size_t>(s) < corpus_.sentences(), "no such sentence");
  need(threads >= 1, "threads must be at least 1");
  Seen seen;
  asked_.resize(options_.batch);
  ThreadPool pool(std::min(threads, options_.batch));
  std::vector<Workspace> workspaces(options_.batch);
  for (size_t begin = 0; begin < sentences.size(); begin += options_.batch) {
    const auto some = sentences.subspan(begin, std::min(options_.batch, sentences.size() - begin));
    pool.each(some.size(), [&](size_t n) {
      check_stop();
      corpus_.visit();
      sum(static_cast<size_t>(some[n]), workspaces[n], asked_[n]);
    });
    take_steps(some, pool, seen);
  }
  return seen;
}

// Takes the steps that the sentences of a batch have asked for.
void OnlineCrf::take_steps(std::span<const int32_t> batch, ThreadPool& pool, Seen& seen) {
  pool.each(Rows::kShards + 1, [&](size_t n) { n ? step_nodes(batch, n - 1) : step_edges(batch); });
  exact_.forget();
  seen_ += static_cast<double>(batch.size());
  // By batches, so that sums are the same wherever a batch is.
  Seen all;
  for (size_t n = 0; n < batch.size(); ++n) all += asked_[n].seen;
  seen += all;
}

void OnlineCrf::sum(size_t s, Workspace& workspace, SparseGradient& asked) const {
  asked.end.clear();
  asked.nodes.clear();
  asked.edges.clear();
  asked.runs.clear();
  asked.seen = {};
  asked.seen.tokens = corpus_.length(s);
  if (corpus_.length(s) == 0) return;
  score(s, workspace);
  const bool few = !options_.keep.all() && choose_few(s, workspace);
  if (ngrams_) {
    sum_runs(s, few, workspace, asked);
  } else if (few && workspace.sums.backward()) {
    ask(s, workspace, asked);
  } else {
    sum_exactly(s, workspace, asked);
  }
  asked.seen.loss -= right_score(s, workspace);
}

double OnlineCrf::right_score(size_t s, const Workspace& workspace) const {
  const size_t first = corpus_.first_token(s), T = corpus_.length(s);
  double sum = 0;
  for (size_t t = 0; t < T; ++t) {
    const int32_t j = corpus_.labels[first + t];
    sum += workspace.scores[t * padded_ + static_cast<size_t>(j)];
    if (t == 0) continue;
    const int32_t i = corpus_.labels[first + t - 1];
    sum += edges_.at(static_cast<size_t>(i), static_cast<uint16_t>(j));
    for (const int32_t set : corpus_.sets_of(first + t))
      sum += sets_.at(static_cast<size_t>(set), Corrections::pair(i, j));
  }
  if (ngrams_) {
    LabelNgrams::Node at = corpus_.labels[first];
    for (size_t t = 1; t < T; ++t) sum += ngrams_->more(at = ngrams_->next(at, corpus_.labels[first + t]));
  }
  return sum;
}

void OnlineCrf::ask(size_t s, const Workspace& workspace, SparseGradient& asked) const {
  const size_t first = corpus_.first_token(s);
  const PrunedSums& sums = workspace.sums;
  const bool pairs = options_.edges || corpus_.sets() > 0;
  asked.seen.loss = sums.log_z();
  asked.seen.kept = sums.kept();
  asked.seen.missing = sums.missing();
  for (size_t t = 0; t < sums.T(); ++t) {
    const int32_t right = corpus_.labels[first + t];
    const auto labels = sums.labels(t);
    const auto p = sums.nodes(t);
    for (size_t q = 0; q < labels.size(); ++q) {
      const double g = p[q] - (labels[q] == right);
      if (std::fabs(g) >= kStepFrom) asked.nodes.emplace_back(static_cast<uint16_t>(labels[q]), static_cast<float>(g));
    }
    end_token(asked);
    if (t == 0 || !pairs) continue;
    const int32_t previous = corpus_.labels[first + t - 1];
    const auto from = sums.labels(t - 1);
    const double* edge = sums.edges(t).data();
    for (const int32_t i : from) {
      for (const int32_t j : labels) {
        const double g = *edge++ - (i == previous && j == right);
        if (std::fabs(g) < kStepFrom) continue;
        asked.edges.push_back(
            {static_cast<uint32_t>(t), static_cast<uint16_t>(i), static_cast<uint16_t>(j), static_cast<float>(g)});
      }
    }
  }
}

// What the labels of a token ask for is asked for of their parts, too.
void OnlineCrf::end_token(SparseGradient& asked) const {
  const size_t begin = asked.end.empty() ? 0 : asked.end.back(), labels = asked.nodes.size(), L = corpus_.L;
  for (size_t q = begin; q < labels; ++q) {
    const auto [label, gradient] = asked.nodes[q];
    for (size_t k = 0; k < parts_.each; ++k) {
      const auto key = static_cast<uint16_t>(L + parts_.of[k * L + label]);
      const auto first = asked.nodes.begin() + static_cast<ptrdiff_t>(labels);
      const auto found = std::find_if(first, asked.nodes.end(), [&](const auto& own) { return own.first == key; });
      if (found == asked.nodes.end()) {
        asked.nodes.emplace_back(key, gradient);
      } else {
        found->second += gradient;
      }
    }
  }
  const auto small = [](const auto& own) { return std::fabs(own.second) < kStepFrom; };
  asked.nodes.erase(std::remove_if(asked.nodes.begin() + static_cast<ptrdiff_t>(labels), asked.nodes.end(), small),
                    asked.nodes.end());
  asked.end.push_back(asked.nodes.size());
}

// The weights of edges as they are in this batch.
const Edges& OnlineCrf::exact_edges() const {
  return exact_.get([&] {
    std::vector<int32_t> previous, current, set, set_previous, set_current;
    std::vector<double> score, correction;
    for (size_t i = 0; i < edges_.rows(); ++i) {
      for (size_t q = 0; q < edges_.size(i); ++q) {
        previous.push_back(static_cast<int32_t>(i));
        current.push_back(edges_.keys(i)[q]);
        score.push_back(edges_.values(i)[q]);
      }
    }
    for (size_t r = 0; r < sets_.rows(); ++r) {
      for (size_t q = 0; q < sets_.size(r); ++q) {
        set.push_back(static_cast<int32_t>(r));
        set_previous.push_back(Corrections::previous(sets_.keys(r)[q]));
        set_current.push_back(Corrections::current(sets_.keys(r)[q]));
        correction.push_back(sets_.values(r)[q]);
      }
    }
    const EdgeExtras extras{.correction_sets = corpus_.sets(),
                            .correction_set = set,
                            .corrections = {set_previous, set_current, {nullptr, correction.data()}}};
    EdgeScores made = EdgeScores::from_triples(corpus_.L, 0.0, {previous, current, {nullptr, score.data()}},
                                               EdgeForm::kSparse, extras);
    return Edges(options_.rules ? made.constrained(options_.rules) : std::move(made));
  });
}

void OnlineCrf::sum_exactly(size_t s, Workspace& workspace, SparseGradient& asked) const {
  const size_t first = corpus_.first_token(s), T = corpus_.length(s), L = corpus_.L;
  workspace.arena.reset();
  double* const nodes = workspace.arena.array<double>(times(T, L));
  for (size_t t = 0; t < T; ++t) std::copy_n(workspace.scores.data() + t * padded_, L, nodes + t * L);
  const bool sets = corpus_.sets() > 0;
  if (sets) corpus_.sets_on(s, workspace.on);
  const Edges& edges = exact_edges();
  const Lattice lattice(edges, T, {nullptr, nodes}, sets ? &workspace.on : nullptr);
  const Sums sums = forward_backward(lattice, edges.factors(), {}, nullptr, workspace.arena);
  need(sums.log_z != kForbidden, "a sentence has no path");
  asked.seen.loss = sums.log_z;
  asked.seen.kept = T * L;
  asked.seen.exact = 1;
  for (size_t t = 0; t < T; ++t) {
    const Sums::Column& column = sums.columns[t];
    const int32_t right = corpus_.labels[first + t];
    for (size_t y = 0; y < L; ++y) {
      const double g = column.node[y] - (static_cast<int32_t>(y) == right);
      if (std::fabs(g) >= kStepFrom) asked.nodes.emplace_back(static_cast<uint16_t>(y), static_cast<float>(g));
    }
    end_token(asked);
    if (t == 0 || !(options_.edges || sets)) continue;
    // A pair of labels is no more likely than either of them.
    const Sums::Column& before = sums.columns[t - 1];
    const int32_t previous = corpus_.labels[first + t - 1];
    const auto likely = [](const Sums::Column& c, int32_t y) { return c.node[y] >= kStepFrom; };
    if (sums.logs) sums.step(lattice, t - 1, workspace.step);
    for (int32_t i = 0; i < static_cast<int32_t>(L); ++i) {
      if (!likely(before, i) && i != previous) continue;
      for (int32_t j = 0; j < static_cast<int32_t>(L); ++j) {
        if (!likely(column, j) && j != right) continue;
        const size_t p = static_cast<size_t>(i), q = static_cast<size_t>(j);
        const double edge = sums.logs ? workspace.step[p * L + q] : sums.edge(lattice, t - 1, p, q);
        const double g = edge - (i == previous && j == right);
        if (std::fabs(g) < kStepFrom) continue;
        asked.edges.push_back(
            {static_cast<uint32_t>(t), static_cast<uint16_t>(i), static_cast<uint16_t>(j), static_cast<float>(g)});
      }
    }
  }
}

void OnlineCrf::step_nodes(std::span<const int32_t> sentences, size_t shard) {
  const Stepper stepper{options_.rate, seen_};
  for (size_t n = 0; n < sentences.size(); ++n) {
    const SparseGradient& asked = asked_[n];
    const size_t first = corpus_.first_token(static_cast<size_t>(sentences[n]));
    for (size_t t = 0, begin = 0; t < asked.end.size(); begin = asked.end[t++]) {
      if (begin == asked.end[t]) continue;
      corpus_.for_each_feature(first + t, [&](size_t f, float value) {
        if (Rows::shard_of(f) != shard) return;
        for (size_t q = begin; q < asked.end[t]; ++q)
          step_node(stepper, f, asked.nodes[q].first, static_cast<double>(asked.nodes[q].second) * value);
      });
    }
  }
}

void OnlineCrf::step_node(const Stepper& stepper, size_t f, uint16_t label, double gradient) {
  const bool make = options_.touched && std::fabs(gradient) >= kNewFrom;
  const size_t entry = make ? nodes_.find_or_add(f, label) : nodes_.find(f, label);
  if (entry == kNoPlace) return;
  float& weight = nodes_.weight(f, entry);
  stepper.step(gradient, weight, nodes_.past(f, entry));
  note_node(f, label, weight);
}

void OnlineCrf::note_node(size_t f, uint16_t label, float weight) {
  if (!is_large(nodes_.size(f), parts_.keys())) return;
  const auto [found, fresh] = whole_[Rows::shard_of(f)].try_emplace(f);
  if (fresh) {
    found->second.assign(parts_.keys(), 0.0F);
    set_row(nodes_, f, found->second.data());
  }
  found->second[label] = weight;
}

void OnlineCrf::step_edges(std::span<const int32_t> sentences) {
  const Stepper stepper{options_.rate, seen_};
  const auto step = [&](auto& rows, size_t row, auto key, double gradient, auto&& note) {
    const bool make = options_.touched && std::fabs(gradient) >= kNewFrom;
    const size_t entry = make ? rows.find_or_add(row, key) : rows.find(row, key);
    if (entry == kNoPlace) return;
    float& weight = rows.weight(row, entry);
    stepper.step(gradient, weight, rows.past(row, entry));
    weight = std::clamp(weight, -kMostEdge, kMostEdge);
    note(weight);
  };
  for (size_t n = 0; n < sentences.size(); ++n) {
    const size_t first = corpus_.first_token(static_cast<size_t>(sentences[n]));
    for (const SparseGradient::Edge& e : asked_[n].edges) {
      if (options_.edges) step(edges_, e.i, e.j, e.gradient, [&](float weight) { set_factor(e.i, e.j, weight); });
      for (const int32_t set : corpus_.sets_of(first + e.t)) {
        float& best = set_best_[static_cast<size_t>(set)];
        step(sets_, static_cast<size_t>(set), Corrections::pair(e.i, e.j), e.gradient,
             [&](float weight) { best = std::max(best, weight); });
      }
    }
  }
  if (ngrams_) step_runs(stepper, sentences.size());
}

void OnlineCrf::set_factor(size_t i, size_t j, float weight) {
  // A model that training goes on from may have weights for pairs that are forbidden now.
  if (options_.rules && !options_.rules->may_follow(i, j)) return;
  into_[j] = std::max(into_[j], weight);
  out_[i] = std::max(out_[i], weight);
  if (factor_.empty()) return;
  const double score = weight;
  double factor;
  kernels().exp_d(&score, 0, 1, &factor);
  factor_[i * corpus_.L + j] = static_cast<float>(factor);
}

// The bounds are those of the weights as they are, so that they do not depend on how these came about.
void OnlineCrf::find_bounds() {
  std::fill(into_.begin(), into_.end(), 0.0F);
  std::fill(out_.begin(), out_.end(), 0.0F);
  std::fill(set_best_.begin(), set_best_.end(), 0.0F);
  edges_.each([&](size_t i, uint16_t j, float weight, OptimizerState&) { set_factor(i, j, weight); });
  sets_.each(
      [&](size_t set, uint64_t, float weight, OptimizerState&) { set_best_[set] = std::max(set_best_[set], weight); });
}

void OnlineCrf::end_epoch() {
  const Stepper stepper{options_.rate, seen_};
  const auto shrink = [&](size_t, auto, float& weight, OptimizerState& past) {
    stepper.shrink(options_.l2, weight, past);
  };
  if (options_.l2 > 0) {
    nodes_.each([&](size_t f, uint16_t label, float& weight, OptimizerState& past) {
      stepper.shrink(options_.l2, weight, past);
      note_node(f, label, weight);
    });
    edges_.each(shrink);
    sets_.each(shrink);
    for (size_t q = 0; q < runs_.size(); ++q) {
      stepper.shrink(options_.l2, run_weight_[q], run_past_[q]);
      set_run(q, run_weight_[q]);
    }
  }
  find_bounds();
}

std::vector<std::pair<double, double>> OnlineCrf::log_z(std::span<const int32_t> sentences) const {
  std::vector<std::pair<double, double>> found;
  Workspace workspace;
  for (const int32_t s : sentences) {
    need(s >= 0 && static_cast<size_t>(s) < corpus_.sentences(), "no such sentence");
    SparseGradient asked;
    sum(static_cast<size_t>(s), workspace, asked);
    found.emplace_back(asked.seen.loss + right_score(static_cast<size_t>(s), workspace), asked.seen.missing);
  }
  return found;
}

}  // namespace tagwright
