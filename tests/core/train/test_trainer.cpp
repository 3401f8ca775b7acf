// The training loop against what is known by other means: enumeration of all paths, finite differences, and averages
// taken one sentence at a time.
#include <cmath>
#include <functional>
#include <map>
#include <numeric>

#include "check.h"
#include "train/trainer.h"

using namespace tagwright;
using test::Draw;

namespace {

constexpr size_t kL = 3, kFeatures = 5, kSets = 2;

struct CorpusShape {
  size_t sentences = 6, longest = 4;
  bool partial = false, weights = false, values = false, sets = false;
};

Corpus random_corpus(Draw& draw, const CorpusShape& shape) {
  CorpusArrays<Owned> made;
  const auto add_ids = [&](Ids& to, size_t count) {
    for (size_t id = 0; id < count; ++id) {
      if (!draw.chance(0.5)) continue;
      to.id.push_back(static_cast<int32_t>(id));
      if (shape.values && count == kFeatures) to.value.push_back(static_cast<float>(draw.normal()));
    }
    to.end.push_back(to.id.size());
  };
  for (size_t s = 0; s < shape.sentences; ++s) {
    bool any = false;
    for (size_t T = 2 + draw.below(shape.longest - 1); T-- > 0;) {
      add_ids(made.node, kFeatures);
      add_ids(made.edge, shape.sets ? kSets : 0);
      const bool open = shape.partial && draw.chance(0.4);
      any |= open;
      made.labels.push_back(open ? -1 : draw.whole(0, kL - 1));
      if (open && draw.chance(0.6)) {
        const int without = draw.whole(0, kL - 1);
        for (int y = 0; y < static_cast<int>(kL); ++y)
          if (y != without) made.allowed.push_back(y);
      }
      made.allowed_end.push_back(made.allowed.size());
    }
    made.sentence_end.push_back(made.labels.size());
    made.partial.push_back(any);
    if (shape.weights) made.weight.push_back(0.25 * draw.whole(0, 8));
  }
  if (!shape.partial) {
    made.partial.clear();
    made.allowed_end.clear();
  }
  Corpus corpus = hold(std::move(made), {}, kL);
  corpus.feature_count = kFeatures;
  corpus.set_count = shape.sets ? kSets : 0;
  return corpus;
}

std::vector<int32_t> all_of(const Corpus& corpus) {
  std::vector<int32_t> numbers(corpus.sentences());
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

struct NoView : WeightView {
  void edge_changed(size_t, size_t, float) override {}
  void correction_changed(size_t, size_t, size_t, float) override {}
  void ngram_changed(size_t, float) override {}
  void ngrams_replaced(NgramIndex&) override {}
};

// The score of a path by the weights of a store; margin: less for each allowed label on it.
double score_of(const WeightStore& store, size_t s, const std::vector<int32_t>& path, double margin = 0) {
  const Corpus& corpus = store.corpus();
  const size_t first = corpus.first_token(s);
  double sum = 0;
  for (size_t t = 0; t < path.size(); ++t) {
    corpus.for_each_feature(first + t, [&](size_t f, float value) {
      sum += static_cast<double>(store.nodes().at(f, static_cast<uint16_t>(path[t]))) * value;
    });
    for (const int32_t y : corpus.allowed_of(first + t)) sum -= y == path[t] ? margin : 0;
    if (t == 0) continue;
    sum += store.edges().at(static_cast<size_t>(path[t - 1]), static_cast<uint16_t>(path[t]));
    for (const int32_t set : corpus.sets_of(first + t))
      sum += store.sets().at(static_cast<size_t>(set), Corrections::pair(path[t - 1], path[t]));
  }
  for (size_t q = 0; q < store.ngrams().size(); ++q) {
    std::vector<int32_t> ngram;
    for (size_t n = 0; n < 4; ++n)
      if (const uint16_t y = store.ngrams().keys()[q * 4 + n]; y != kNoLabel) ngram.push_back(y);
    for (size_t t = 0; t + ngram.size() <= path.size(); ++t)
      if (std::equal(ngram.begin(), ngram.end(), path.begin() + static_cast<ptrdiff_t>(t)))
        sum += store.state()[3].weight[q];
  }
  return sum;
}

void for_each_path(size_t T, const std::function<void(const std::vector<int32_t>&)>& visit) {
  std::vector<int32_t> path(T, 0);
  for (;;) {
    visit(path);
    size_t t = 0;
    while (t < T && ++path[t] == static_cast<int32_t>(kL)) path[t++] = 0;
    if (t == T) return;
  }
}

// log of the sum over all paths, or over the allowed ones.
double log_sum(const WeightStore& store, size_t s, bool allowed_only, double margin = 0) {
  const Corpus& corpus = store.corpus();
  double sum = 0;
  for_each_path(corpus.length(s), [&](const std::vector<int32_t>& path) {
    bool counts = true;
    for (size_t t = 0; t < path.size() && allowed_only; ++t)
      counts &= corpus.may_have(corpus.first_token(s) + t, path[t]);
    if (counts) sum += std::exp(score_of(store, s, path, margin));
  });
  return std::log(sum);
}

// Sets every weight that there may be.
void fill(WeightStore& store, Draw& draw, double scale) {
  const auto random = [&](float& weight, Moments&) { weight = static_cast<float>(draw.normal(scale)); };
  for (size_t f = 0; f < kFeatures; ++f)
    for (size_t y = 0; y < kL; ++y) store.update_node(f, static_cast<uint16_t>(y), true, random);
  for (size_t i = 0; i < kL; ++i) {
    for (size_t j = 0; j < kL; ++j) {
      store.update_edge(i, j, true, random);
      for (size_t set = 0; set < store.corpus().sets(); ++set) store.update_correction(set, i, j, true, random);
    }
  }
  for (size_t q = 0; q < store.ngrams().size(); ++q) store.update_ngram(q, random);
}

bool close(double a, double b, double least = 1e-5) { return std::fabs(a - b) <= least * (1 + std::fabs(a)); }

TrainerOptions sums_with(PruningRule rule, size_t order = 1, double margin = 0) {
  return {
      .gradient = SumOptions{{rule, 0}, margin}, .step = AdaGradStep{0.5, 0, true}, .batch = 2, .ngrams = {order, 1}};
}

TrainerOptions best_path_with(size_t order = 1, size_t batch = 1) {
  return {.gradient = BestPathOptions{Plan{decoder_named("viterbi"), {}}},
          .step = PerceptronStep{batch, true},
          .batch = batch,
          .ngrams = {order, 1}};
}

bool same_state(const WeightState<Owned>& a, const WeightState<Owned>& b) {
  bool same = true;
  for (size_t kind = 0; kind < a.size(); ++kind)
    same &= a[kind].row == b[kind].row && a[kind].key == b[kind].key && a[kind].weight == b[kind].weight &&
            a[kind].sum == b[kind].sum && a[kind].squares == b[kind].squares;
  return same;
}

WeightState<Borrowed> view_of(const WeightState<Owned>& state) {
  WeightState<Borrowed> made;
  for (size_t kind = 0; kind < state.size(); ++kind)
    made[kind] = {state[kind].row, state[kind].key, state[kind].weight, state[kind].sum, state[kind].squares};
  return made;
}

const std::vector<CorpusShape> kShapes = {{},
                                          {.sets = true},
                                          {.partial = true},
                                          {.partial = true, .sets = true},
                                          {.weights = true, .values = true},
                                          {.partial = true, .weights = true, .values = true, .sets = true}};

}  // namespace

TEST(lazy_averages_are_those_taken_after_every_sentence) {
  for (const bool squares : {false, true}) {
    Draw draw(1);
    NoView view;
    WeightStore store(random_corpus(draw, {}), {}, {.squares = squares, .observe = false});
    store.attach(view);
    std::map<std::pair<size_t, uint16_t>, double> weight, sum;
    constexpr size_t kSentences = 50;
    for (size_t s = 0; s < kSentences; ++s) {
      for (int n = draw.whole(0, 4); n > 0; --n) {
        const size_t f = draw.below(kFeatures);
        const auto y = static_cast<uint16_t>(draw.below(kL));
        const float before = store.nodes().at(f, y);
        store.update_node(f, y, true, [&](float& w, Moments& moments) {
          if (squares) {
            AdaGradStep{}.step(store.visited(), draw.normal(), w, moments);
          } else {
            PerceptronStep{}.step(store.visited(), draw.whole(-3, 3), w, moments);
          }
        });
        weight[{f, y}] += static_cast<double>(store.nodes().at(f, y)) - static_cast<double>(before);
      }
      store.add_seen(1);
      for (const auto& [key, w] : weight) sum[key] += w;
    }
    const Weights average = store.weights(true);
    size_t entries = 0;
    for (size_t f = 0; f < kFeatures; ++f) {
      const auto row = average.rows();
      for (size_t q = 0; q < row.size(f); ++q, ++entries)
        CHECK(close(row.values(f)[q], sum[{f, row.keys(f)[q]}] / kSentences, squares ? 1e-4 : 1e-6));
    }
    CHECK(entries == weight.size());
  }
}

TEST(rows_that_are_mostly_filled_score_as_sparse_ones) {
  // Large rows are held whole beside the sparse ones: both must be read as the same.
  constexpr size_t kMany = 100;
  CorpusArrays<Owned> arrays;
  arrays.node = {{0, 1}, {}, {2}};
  arrays.labels = {0};
  arrays.sentence_end = {1};
  Corpus corpus = hold(std::move(arrays), {}, kMany);
  corpus.feature_count = 2;
  NoView view;
  WeightStore store(corpus, {}, {.observe = false});
  store.attach(view);
  Draw draw(2);
  for (size_t step = 0; step < 400; ++step) {
    const size_t f = draw.below(2);
    const auto y = static_cast<uint16_t>(draw.below(f ? 10 : kMany));
    store.update_node(f, y, true, [&](float& w, Moments&) { w += static_cast<float>(draw.whole(-2, 2)); });
    std::vector<double> scores(kMany, 0.0);
    store.add_scores(store.corpus(), 0, scores.data());
    for (size_t k = 0; k < kMany; ++k)
      CHECK(scores[k] == store.nodes().at(0, static_cast<uint16_t>(k)) + store.nodes().at(1, static_cast<uint16_t>(k)));
  }
}

TEST(a_restored_trainer_continues_with_the_same_weights) {
  for (const CorpusShape& shape : kShapes) {
    for (const TrainerOptions& options : {best_path_with(2, 3), sums_with({}, 2), sums_with({}, 3)}) {
      Draw draw(3);
      const Corpus corpus = random_corpus(draw, shape);
      Trainer first(corpus, {}, options), second(corpus, {}, options);
      const std::vector<int32_t> all = all_of(corpus);
      first.run(all, 1);
      first.end_epoch();
      const WeightState<Owned> state = first.store().state();
      second.store().restore(first.store().visited(), view_of(state));
      CHECK(same_state(state, second.store().state()));
      first.run(all, 1);
      second.run(all, 2);
      CHECK(same_state(first.store().state(), second.store().state()));
    }
  }
}

TEST(mixed_weights_are_means_and_their_averages_count_every_sentence) {
  Draw draw(4);
  const Corpus corpus = random_corpus(draw, {.sentences = 8});
  const TrainerOptions options = best_path_with(2);
  Trainer whole(corpus, {}, options);
  whole.run(all_of(corpus), 1);
  const WeightState<Owned> before = whole.store().state();
  std::vector<WeightState<Owned>> states;
  std::vector<std::pair<double, WeightState<Borrowed>>> shards;
  for (const size_t begin : {size_t{0}, size_t{4}}) {
    Trainer shard(corpus, {}, options);
    WeightState<Owned> weights = before;
    for (auto& kind : weights) kind.sum.clear();
    shard.store().restore(0, view_of(weights));
    const std::vector<int32_t> all = all_of(corpus);
    shard.run(std::span(all).subspan(begin, begin ? 4 : 3), 1);
    states.push_back(shard.store().state());
    shards.emplace_back(shard.store().visited(), WeightState<Borrowed>());
  }
  for (size_t n = 0; n < states.size(); ++n) shards[n].second = view_of(states[n]);
  const double visited = whole.store().visited();
  whole.store().mix(shards);
  CHECK(whole.store().visited() == visited + 7);
  const WeightState<Owned> mixed = whole.store().state();
  for (size_t kind = 0; kind < mixed.size(); ++kind) {
    const auto find = [&](const StateArrays<Owned>& a, uint32_t row, uint64_t key) -> std::pair<double, double> {
      for (size_t q = 0; q < a.row.size(); ++q)
        if (a.row[q] == row && a.key[q] == key) return {a.weight[q], a.sum[q]};
      return {0, 0};
    };
    for (size_t q = 0; q < mixed[kind].row.size(); ++q) {
      const uint32_t row = mixed[kind].row[q];
      const uint64_t key = mixed[kind].key[q];
      const auto [w0, u0] = find(before[kind], row, key);
      const auto [w1, u1] = find(states[0][kind], row, key);
      const auto [w2, u2] = find(states[1][kind], row, key);
      CHECK(mixed[kind].weight[q] == static_cast<float>((w1 + w2) / 2));
      // The sum of the weight over all sentences.
      const double all = (visited * w0 - u0) + (3 * w1 - u1) + (4 * w2 - u2);
      CHECK(close((visited + 7) * mixed[kind].weight[q] - mixed[kind].sum[q], all, 1e-9));
    }
  }
}

TEST(losses_are_those_of_all_paths) {
  for (const CorpusShape& shape : kShapes) {
    for (const PruningRule& rule : {PruningRule{}, PruningRule{.rule = PruningRule::Rule::kSize, .size = kL}}) {
      for (const size_t order : {size_t{1}, size_t{2}, size_t{3}}) {
        Draw draw(5 + order);
        Trainer trainer(random_corpus(draw, shape), {}, sums_with(rule, order, 0.5));
        fill(trainer.store(), draw, 1.5);
        const Corpus& corpus = trainer.store().corpus();
        const auto found = trainer.log_z(all_of(corpus));
        for (size_t s = 0; s < corpus.sentences(); ++s) {
          const double lacking = log_sum(trainer.store(), s, false, 0.5) - found[s].first;
          CHECK(lacking > -1e-5 && lacking < found[s].second + 1e-5 && lacking < 1e-3);
          CHECK(!rule.all() || found[s].second == 0);
        }
      }
    }
  }
}

TEST(pruned_sums_lack_no_more_than_they_report) {
  for (const size_t order : {size_t{1}, size_t{2}, size_t{3}}) {
    for (size_t seed = 0; seed < 10; ++seed) {
      Draw draw(seed);
      Trainer trainer(random_corpus(draw, {.sentences = 5}), {},
                      sums_with({.rule = PruningRule::Rule::kSize, .size = 1}, order));
      fill(trainer.store(), draw, 1);
      trainer.end_epoch();
      const auto found = trainer.log_z(all_of(trainer.store().corpus()));
      for (size_t s = 0; s < found.size(); ++s) {
        const double exact = log_sum(trainer.store(), s, false);
        CHECK(found[s].first <= exact + 1e-5);
        CHECK(exact <= found[s].first + found[s].second + 1e-5);
      }
    }
  }
}

TEST(gradients_are_finite_differences_of_losses) {
  for (const CorpusShape& shape : kShapes) {
    for (const PruningRule& rule : {PruningRule{}, PruningRule{.rule = PruningRule::Rule::kSize, .size = kL}}) {
      for (const size_t order : {size_t{1}, size_t{3}}) {
        Draw draw(7 + order);
        WeightStore store(random_corpus(draw, shape), {}, {.squares = true, .ngrams = {order, 1}});
        SumGradient gradient(store, {{rule, 0}, 0}, {});
        store.attach(gradient);
        fill(store, draw, 1);
        const auto workspace = gradient.workspace();
        SparseGradient sparse;
        const Corpus& corpus = store.corpus();
        for (size_t s = 0; s < corpus.sentences(); ++s) {
          const auto loss = [&] { return corpus.weight_of(s) * (log_sum(store, s, false) - log_sum(store, s, true)); };
          gradient.compute(corpus, s, *workspace, sparse);
          CHECK(close(sparse.stats.loss, loss(), 1e-4));
          const double slack = 0.011 * static_cast<double>(corpus.length(s)) * 3 * corpus.weight_of(s) + 1e-3;
          constexpr float kStep = 1.0F / 64;
          const auto difference = [&](auto&& update) {
            update([&](float& w, Moments&) { w += kStep; });
            const double up = loss();
            update([&](float& w, Moments&) { w -= 2 * kStep; });
            const double down = loss();
            update([&](float& w, Moments&) { w += kStep; });
            return (up - down) / (2 * static_cast<double>(kStep));
          };
          for (size_t f = 0; f < kFeatures; ++f) {
            for (uint16_t y = 0; y < kL; ++y) {
              double own = 0;
              for (size_t t = 0; t < corpus.length(s); ++t)
                corpus.for_each_feature(corpus.first_token(s) + t, [&](size_t id, float value) {
                  for (size_t q = t ? sparse.node_end[t - 1] : 0; q < sparse.node_end[t]; ++q)
                    if (id == f && sparse.nodes[q].first == y)
                      own += sparse.weight * static_cast<double>(sparse.nodes[q].second) * value;
                });
              CHECK(std::fabs(own - difference([&](auto&& by) { store.update_node(f, y, true, by); })) < slack);
            }
          }
          for (size_t i = 0; i < kL; ++i) {
            for (size_t j = 0; j < kL; ++j) {
              double own = 0, of_set = 0;
              for (const SparseGradient::Edge& e : sparse.edges) {
                if (e.i != i || e.j != j) continue;
                own += sparse.weight * static_cast<double>(e.gradient);
                for (const int32_t set : corpus.sets_of(corpus.first_token(s) + e.t))
                  of_set += set == 0 ? sparse.weight * static_cast<double>(e.gradient) : 0;
              }
              CHECK(std::fabs(own - difference([&](auto&& by) { store.update_edge(i, j, true, by); })) < slack);
              if (corpus.sets())
                CHECK(std::fabs(of_set - difference([&](auto&& by) { store.update_correction(0, i, j, true, by); })) <
                      slack);
            }
          }
          for (size_t q = 0; q < store.ngrams().size(); ++q) {
            double own = 0;
            for (const auto& [ngram, g] : sparse.ngrams) own += ngram == q ? sparse.weight * static_cast<double>(g) : 0;
            CHECK(std::fabs(own - difference([&](auto&& by) { store.update_ngram(q, by); })) < slack);
          }
        }
      }
    }
  }
}

TEST(a_perceptron_moves_from_the_best_path_to_the_correct_one) {
  for (const CorpusShape& shape : kShapes) {
    for (const size_t order : {size_t{1}, size_t{3}}) {
      Draw draw(11 + order);
      Trainer trainer(random_corpus(draw, shape), {}, best_path_with(order));
      fill(trainer.store(), draw, 0.5);
      const WeightStore& store = trainer.store();
      const Corpus& corpus = store.corpus();
      for (size_t s = 0; s < corpus.sentences(); ++s) {
        // The best path, and the best allowed one.
        std::vector<int32_t> best, correct;
        double most = -1e9, most_allowed = -1e9;
        for_each_path(corpus.length(s), [&](const std::vector<int32_t>& path) {
          const double score = score_of(store, s, path);
          bool allowed = true;
          for (size_t t = 0; t < path.size(); ++t) allowed &= corpus.may_have(corpus.first_token(s) + t, path[t]);
          if (score > most) most = score, best = path;
          if (allowed && score > most_allowed) most_allowed = score, correct = path;
        });
        std::map<std::pair<size_t, int32_t>, double> expected;  // of nodes
        for (size_t f = 0; f < kFeatures; ++f)
          for (int32_t y = 0; y < static_cast<int32_t>(kL); ++y)
            expected[{f, y}] = static_cast<double>(store.nodes().at(f, static_cast<uint16_t>(y)));
        for (size_t t = 0; t < best.size() && best != correct; ++t) {
          corpus.for_each_feature(corpus.first_token(s) + t, [&](size_t f, float value) {
            expected[{f, correct[t]}] += corpus.weight_of(s) * value;
            expected[{f, best[t]}] -= corpus.weight_of(s) * value;
          });
        }
        const double gap = most - most_allowed;
        const double before = score_of(store, s, correct) - score_of(store, s, best);
        const auto number = static_cast<int32_t>(s);
        const EpochStats stats = trainer.run({&number, 1}, 1);
        CHECK((stats.errors > 0) == (best != correct));
        CHECK(close(before, -gap, 1e-9));
        for (const auto& [key, w] : expected)
          CHECK(close(store.nodes().at(key.first, static_cast<uint16_t>(key.second)), w));
        const double after = score_of(store, s, correct) - score_of(store, s, best);
        CHECK(best == correct || corpus.weight_of(s) == 0 ? close(after, before) : after > before);
      }
    }
  }
}

TEST(gradients_computed_elsewhere_lead_to_the_same_weights) {
  for (const CorpusShape& shape : kShapes) {
    for (const TrainerOptions& options :
         {best_path_with(3, 4), sums_with({}, 2), sums_with({.rule = PruningRule::Rule::kSize, .size = 2}, 1)}) {
      Draw draw(13);
      const Corpus corpus = random_corpus(draw, shape);
      Trainer here(corpus, {}, options), there(corpus, {}, options);
      for (size_t epoch = 0; epoch < 3; ++epoch) {
        const std::vector<int32_t> all = all_of(corpus);
        const EpochStats one = here.run(all, 2);
        EpochStats other;
        for (size_t at = 0; at < all.size(); at += options.batch) {
          // In two messages, the sentences by turns.
          std::vector<int32_t> halves[2], which, number;
          for (size_t n = at; n < std::min(at + options.batch, all.size()); ++n) {
            which.push_back(static_cast<int32_t>(n % 2));
            number.push_back(static_cast<int32_t>(halves[n % 2].size()));
            halves[n % 2].push_back(all[n]);
          }
          const std::vector<uint8_t> bytes[2] = {there.gradient(halves[0], 1), there.gradient(halves[1], 2)};
          const std::span<const uint8_t> views[2] = {bytes[0], bytes[1]};
          other += there.apply(views, which, number, 2);
        }
        CHECK(same_state(here.store().state(), there.store().state()));
        CHECK(one.tokens == other.tokens && one.errors == other.errors && one.loss == other.loss);
        CHECK(one.kept == other.kept && one.wrong_sentences == other.wrong_sentences);
        here.end_epoch();
        there.end_epoch();
      }
    }
  }
}

TEST(new_sentences_bring_their_ngrams) {
  Draw draw(17);
  const Corpus first = random_corpus(draw, {.sentences = 3}), second = random_corpus(draw, {.sentences = 10});
  for (const TrainerOptions& options : {best_path_with(2), sums_with({}, 2)}) {
    Trainer trainer(first, {}, options);
    trainer.run(all_of(first), 1);
    const WeightState<Owned> before = trainer.store().state();
    trainer.extend(second);
    const NgramIndex expected(second, {2, 1});
    for (size_t q = 0; q < expected.size(); ++q)
      CHECK(trainer.store().ngrams().find(expected[q]) != kNoPlace);
    for (size_t q = 0; q < before[3].key.size(); ++q) {
      const size_t now = trainer.store().ngrams().find(before[3].key[q]);
      CHECK(now != kNoPlace && trainer.store().state()[3].weight[now] == before[3].weight[q]);
    }
    trainer.run(all_of(second), 1);
  }
}
