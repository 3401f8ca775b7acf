#include "train/trainer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "base/need.h"
#include "base/stop.h"

namespace tagwright {

namespace {

constexpr size_t kAllShards = WeightStore::kShards;

// The steps of the nodes of a sentence whose features are in a shard, or in any (kAllShards).
template <class Rule>
void step_nodes(const Rule& rule, const Corpus& corpus, size_t s, const SparseGradient& gradient, size_t shard,
                WeightStore& store) {
  const size_t first = corpus.first_token(s);
  const double scale = rule.scale(gradient.weight), visited = store.visited();
  for (size_t t = 0, begin = 0; t < gradient.node_end.size(); begin = gradient.node_end[t++]) {
    if (begin == gradient.node_end[t]) continue;
    corpus.for_each_feature(first + t, [&](size_t f, float value) {
      if (shard != kAllShards && WeightStore::Rows::shard_of(f) != shard) return;
      for (size_t q = begin; q < gradient.node_end[t]; ++q) {
        const auto [key, own] = gradient.nodes[q];
        store.update_node(f, key, rule.makes(static_cast<double>(own) * value), [&](float& weight, Moments& moments) {
          rule.step(visited, scale * static_cast<double>(own) * value, weight, moments);
        });
      }
    });
  }
}

// The steps of edges, corrections and n-grams of a sentence.
template <class Rule>
void step_edges(const Rule& rule, const Corpus& corpus, size_t s, const SparseGradient& gradient, WeightStore& store) {
  const size_t first = corpus.first_token(s);
  const double scale = rule.scale(gradient.weight), visited = store.visited();
  const auto step_by = [&](float own) {
    return [&rule, visited, by = scale * static_cast<double>(own)](float& weight, Moments& moments) {
      rule.step(visited, by, weight, moments);
      weight = std::clamp(weight, -Rule::kMostEdge, Rule::kMostEdge);
    };
  };
  for (const SparseGradient::Edge& e : gradient.edges) {
    const bool make = rule.makes(e.gradient);
    store.update_edge(e.i, e.j, make, step_by(e.gradient));
    for (const int32_t set : corpus.sets_of(first + e.t))
      store.update_correction(static_cast<size_t>(set), e.i, e.j, make, step_by(e.gradient));
  }
  for (const auto& [q, own] : gradient.ngrams) store.update_ngram(q, step_by(own));
}

StoreOptions store_options(const TrainerOptions& options) {
  StoreOptions made{.edges = options.edges, .ngrams = options.ngrams};
  made.squares = std::holds_alternative<AdaGradStep>(options.step);
  need(options.batch >= 1, "batch must be at least 1");
  if (const auto* const rule = std::get_if<PerceptronStep>(&options.step)) {
    // A perceptron that may give weights to anything begins with none.
    made.observe = !rule->grow;
    const auto* const best = std::get_if<BestPathOptions>(&options.gradient);
    const double margin = best ? best->margin * static_cast<double>(options.batch) : 0.5;
    if (std::has_single_bit(options.batch) && margin == std::trunc(margin)) made.denominator = options.batch;
  }
  return made;
}

std::unique_ptr<Gradient> make_gradient(const WeightStore& store, PathLimits limits,
                                        const std::variant<BestPathOptions, SumOptions>& options) {
  if (const auto* const best = std::get_if<BestPathOptions>(&options))
    return std::make_unique<BestPathGradient>(store, *best, std::move(limits));
  return std::make_unique<SumGradient>(store, std::get<SumOptions>(options), std::move(limits));
}

}  // namespace

Trainer::Trainer(Corpus corpus, std::vector<uint16_t> parts, TrainerOptions options)
    : options_(std::move(options)),
      store_(std::move(corpus), std::move(parts), store_options(options_)),
      gradient_(make_gradient(store_, std::move(options_.limits), options_.gradient)) {
  if (const auto* const rule = std::get_if<AdaGradStep>(&options_.step))
    need(std::isfinite(rule->rate) && std::isfinite(rule->l2) && rule->l2 >= 0, "rate and l2 must be finite");
  store_.attach(*gradient_);
}

void Trainer::compute(const Corpus& corpus, std::span<const int32_t> sentences, ThreadPool& pool,
                      Workspaces& workspaces) {
  if (gradients_.size() < sentences.size()) gradients_.resize(sentences.size());
  pool.for_each(sentences.size(), [&](size_t n) {
    check_stop();
    corpus.visit();
    const Workspaces::Taken own(workspaces, [&] { return gradient_->workspace(); });
    gradient_->compute(corpus, static_cast<size_t>(sentences[n]), *own, gradients_[n]);
  });
}

EpochStats Trainer::step(const Corpus& corpus, std::span<const int32_t> sentences, ThreadPool* pool) {
  std::visit(
      [&](const auto& rule) {
        const auto number = [&](size_t n) { return static_cast<size_t>(sentences[n]); };
        const auto nodes = [&](size_t shard) {
          for (size_t n = 0; n < sentences.size(); ++n)
            step_nodes(rule, corpus, number(n), gradients_[n], shard, store_);
        };
        const auto edges = [&] {
          for (size_t n = 0; n < sentences.size(); ++n) step_edges(rule, corpus, number(n), gradients_[n], store_);
        };
        if (!pool) {
          nodes(kAllShards);
          edges();
        } else {
          pool->for_each(WeightStore::kShards + 1, [&](size_t n) { n ? nodes(n - 1) : edges(); });
        }
      },
      options_.step);
  store_.add_seen(sentences.size());
  gradient_->end_batch();
  EpochStats stats;
  for (size_t n = 0; n < sentences.size(); ++n) stats += gradients_[n].stats;
  return stats;
}

EpochStats Trainer::run(std::span<const int32_t> sentences, size_t threads, const Corpus* cut) {
  const Corpus& corpus = cut ? *cut : store_.corpus();
  corpus.check_sentences(sentences);
  need(threads >= 1, "threads must be at least 1");
  const size_t batch = std::min(options_.batch, std::max<size_t>(1, sentences.size()));
  const Trimmed trimmed(thread_arena(), size_t{64} << 20);
  ThreadPool pool(std::min(threads, batch));
  Workspaces workspaces;
  EpochStats stats;
  for (size_t at = 0; at < sentences.size(); at += batch) {
    const std::span<const int32_t> own = sentences.subspan(at, std::min(batch, sentences.size() - at));
    compute(corpus, own, pool, workspaces);
    // Batch by batch, so that sums are the same wherever a batch is computed.
    stats += step(corpus, own, threads > 1 ? &pool : nullptr);
  }
  return stats;
}

std::vector<uint8_t> Trainer::gradient(std::span<const int32_t> sentences, size_t threads) {
  store_.corpus().check_sentences(sentences);
  const Trimmed trimmed(thread_arena(), size_t{64} << 20);
  ThreadPool pool(std::clamp<size_t>(threads, 1, std::max<size_t>(1, sentences.size())));
  Workspaces workspaces;
  compute(store_.corpus(), sentences, pool, workspaces);
  gradient_->end_batch();
  return to_bytes(store_.corpus(), sentences, gradients_, store_.ngrams());
}

EpochStats Trainer::apply(std::span<const std::span<const uint8_t>> gradients, std::span<const int32_t> which,
                          std::span<const int32_t> number, size_t threads) {
  const Corpus& whole = store_.corpus();
  std::vector<std::vector<ReceivedGradient>> received;
  for (const std::span<const uint8_t> bytes : gradients)
    received.push_back(from_bytes(bytes, whole, store_.parts().keys(), store_.ngrams()));
  need(which.size() == number.size(), "there must be one number per sentence");
  CorpusArrays<Owned> arrays;
  const auto append = [](Ids& to, const Ids& from) {
    for (const uint64_t end : from.end) to.end.push_back(to.id.size() + end);
    to.id.insert(to.id.end(), from.id.begin(), from.id.end());
    to.value.insert(to.value.end(), from.value.begin(), from.value.end());
  };
  if (gradients_.size() < which.size()) gradients_.resize(which.size());
  for (size_t n = 0; n < which.size(); ++n) {
    const auto sender = static_cast<size_t>(which[n]), s = static_cast<size_t>(number[n]);
    need(which[n] >= 0 && sender < received.size(), "no such gradient");
    need(number[n] >= 0 && s < received[sender].size(), "no such sentence");
    append(arrays.node, received[sender][s].features);
    append(arrays.edge, received[sender][s].sets);
    arrays.sentence_end.push_back(arrays.node.end.size());
    gradients_[n] = received[sender][s].gradient;
  }
  const Corpus batch = hold(std::move(arrays), {}, whole.L);
  std::vector<int32_t> sentences(which.size());
  std::iota(sentences.begin(), sentences.end(), 0);
  ThreadPool pool(std::max<size_t>(1, threads));
  return step(batch, sentences, threads > 1 ? &pool : nullptr);
}

void Trainer::extend(Corpus corpus, AllowedLists allowed) {
  store_.extend(std::move(corpus));
  gradient_->replace_allowed(store_.corpus(), std::move(allowed));
}

void Trainer::end_epoch() {
  if (const auto* const rule = std::get_if<AdaGradStep>(&options_.step); rule && rule->l2 > 0)
    store_.update_all([&](float& weight, Moments& moments) { rule->shrink(store_.visited(), weight, moments); });
  gradient_->end_epoch();
}

std::vector<std::pair<double, double>> Trainer::log_z(std::span<const int32_t> sentences) const {
  need(std::holds_alternative<SumOptions>(options_.gradient), "log Z is known only of gradients that are sums");
  store_.corpus().check_sentences(sentences);
  std::vector<std::pair<double, double>> found;
  const std::unique_ptr<Gradient::Workspace> workspace = gradient_->workspace();
  SparseGradient gradient;
  for (const int32_t s : sentences) {
    gradient_->compute(store_.corpus(), static_cast<size_t>(s), *workspace, gradient);
    found.emplace_back(gradient.log_z, gradient.stats.missing);
  }
  return found;
}

}  // namespace tagwright
