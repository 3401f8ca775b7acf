// The batch objective against the enumeration of all labellings, and its gradient against finite differences.
#include <cmath>
#include <numeric>
#include <string>

#include "check.h"
#include "train/crf/batch_objective.h"

using namespace tagwright;
using namespace tagwright::test;

namespace {

constexpr size_t kLabels = 3;
using Labelling = std::vector<int32_t>;

struct Kind {
  const char* name;
  bool values = false, corrections = false, partial = false, weights = false, all_pairs = false, repeat = false;
  size_t order = 1;
  bool rules = false, forbidden = false, lists = false;
  EdgeForm form = EdgeForm::kSparse;
  bool parts = false;
  double margin = 0;
};

const Kind kKinds[] = {
    {.name = "plain"},
    {.name = "dense", .form = EdgeForm::kDense},
    {.name = "all pairs", .all_pairs = true},
    {.name = "a feature twice", .repeat = true},
    {.name = "values", .values = true},
    {.name = "corrections", .corrections = true},
    {.name = "corrections, dense", .corrections = true, .form = EdgeForm::kDense},
    {.name = "partial", .partial = true},
    {.name = "partial, corrections", .corrections = true, .partial = true},
    {.name = "weights", .weights = true},
    {.name = "partial, weights, values", .values = true, .partial = true, .weights = true},
    {.name = "order 2", .order = 2},
    {.name = "order 3, partial, weights", .partial = true, .weights = true, .order = 3},
    {.name = "rules", .rules = true},
    {.name = "rules, dense", .rules = true, .form = EdgeForm::kDense},
    {.name = "forbidden pair", .forbidden = true},
    {.name = "rules, forbidden pair, corrections, weights",
     .corrections = true,
     .weights = true,
     .rules = true,
     .forbidden = true},
    {.name = "lists", .lists = true},
    {.name = "lists, rules, corrections", .corrections = true, .rules = true, .lists = true},
    {.name = "lists, rules, order 2", .order = 2, .rules = true, .lists = true},
    {.name = "parts", .parts = true},
    {.name = "parts, all pairs, values", .values = true, .all_pairs = true, .parts = true},
    {.name = "parts, partial, weights, lists", .partial = true, .weights = true, .lists = true, .parts = true},
    {.name = "parts, margin, order 2", .order = 2, .parts = true, .margin = 2},
    {.name = "margin", .margin = 1},
    {.name = "margin, weights, corrections", .corrections = true, .weights = true, .margin = 0.5},
    {.name = "margin, partial, weights, rules", .partial = true, .weights = true, .rules = true, .margin = 1.5},
};

// Labels 0 and 1 share their first part, labels 0 and 2 the second.
const std::vector<uint16_t> kParts = {0, 0, 1, 2, 3, 2};

// A label follows itself or the label below it, cyclically.
std::shared_ptr<const PairRules> rules_of(const Kind& kind) {
  if (!kind.rules && !kind.forbidden) return nullptr;
  std::vector<PairRule> rules;
  if (kind.rules) rules.push_back({"test", {PairRule::kAnyState, 0, 1}, {0, 1, 1}});
  PairRules::Pairs forbidden;
  if (kind.forbidden) forbidden.emplace_back(2, 0);
  return std::make_shared<const PairRules>(kLabels, rules, forbidden, std::vector<bool>(), std::vector<bool>());
}

struct Problem {
  Corpus corpus;
  BatchOptions options;
  std::vector<int32_t> sentences;
};

Labelling legal_path(size_t T, const PairRules* rules, Draw& draw) {
  for (;;) {
    Labelling path;
    for (size_t t = 0; t < T; ++t) path.push_back(draw.whole(0, kLabels - 1));
    bool legal = true;
    for (size_t t = 1; t < T && rules; ++t)
      legal = legal && rules->may_follow(static_cast<size_t>(path[t - 1]), static_cast<size_t>(path[t]));
    if (legal) return path;
  }
}

Problem make(const Kind& kind, size_t sentences, size_t longest, size_t seed) {
  Draw draw(seed);
  Problem made;
  made.options = {kind.form, {rules_of(kind), {}}, kind.margin};
  CorpusArrays<Owned> arrays;
  Names names;
  for (int f = 0; f < 5; ++f) names.node.add("f" + std::to_string(f));
  for (int set = 0; set < 2 && kind.corrections; ++set) names.edge.add("e" + std::to_string(set));
  for (size_t s = 0; s < sentences; ++s) {
    made.sentences.push_back(static_cast<int32_t>(s));
    const Labelling path = legal_path(draw.below(longest + 1), made.options.limits.rules.get(), draw);
    bool partial = false;
    for (size_t t = 0; t < path.size(); ++t) {
      for (int n = 0; n < 2; ++n) {
        arrays.node.id.push_back(kind.repeat && n ? arrays.node.id.back() : draw.whole(2 * n, 2 * n + 2));
        if (kind.values) arrays.node.value.push_back(static_cast<float>(draw.whole(-8, 8)) / 8);
      }
      arrays.node.end.push_back(arrays.node.id.size());
      if (kind.corrections && draw.chance(0.7)) arrays.edge.id.push_back(draw.whole(0, 1));
      arrays.edge.end.push_back(arrays.edge.id.size());
      const bool known = !kind.partial || draw.chance(0.6);
      arrays.labels.push_back(known ? path[t] : -1);
      if (!known && draw.chance(0.7))
        for (int32_t y = 0; y < static_cast<int32_t>(kLabels); ++y)
          if (y == path[t] || draw.chance(0.3)) arrays.allowed.push_back(y);
      arrays.allowed_end.push_back(arrays.allowed.size());
      partial = partial || !known;
      if (!kind.lists) continue;
      Labelling list;
      for (int32_t y = 0; y < static_cast<int32_t>(kLabels); ++y)
        if (y == path[t] || draw.chance(0.5)) list.push_back(y);
      list.size() == kLabels ? made.options.limits.allowed.add_wide() : made.options.limits.allowed.add(list);
    }
    arrays.sentence_end.push_back(arrays.labels.size());
    if (kind.weights) arrays.weight.push_back(0.25 * draw.whole(1, 8));
    arrays.partial.push_back(partial);
  }
  if (!kind.partial) {
    arrays.partial.clear();
    arrays.allowed_end.clear();
  }
  made.corpus = hold(std::move(arrays), std::move(names), kLabels);
  made.corpus.check();
  return made;
}

BatchObjective objective_of(const Problem& problem, const Kind& kind) {
  return BatchObjective(problem.corpus,
                        WeightLayout(problem.corpus, {.all_pairs = kind.all_pairs,
                                                      .ngrams = {kind.order, 1},
                                                      .parts = kind.parts ? kParts : std::vector<uint16_t>()}),
                        problem.options);
}

// Calls visit(position, times) for every weight that counts in the score of a labelling.
template <class Visit>
void for_each_weight(const Problem& problem, const WeightLayout& layout, size_t s, const Labelling& path,
                     Visit&& visit) {
  const Corpus& corpus = problem.corpus;
  const auto found = [&](size_t at, double times) {
    if (at != kNoPlace) visit(at, times);
  };
  for (size_t t = 0; t < path.size(); ++t) {
    const size_t token = corpus.first_token(s) + t;
    corpus.for_each_feature(token, [&](size_t f, double value) {
      const auto y = static_cast<size_t>(path[t]);
      found(layout.node(f, y), value);
      for (size_t k = 0; k < layout.parts().each; ++k) found(layout.node(f, kLabels + kParts[k * kLabels + y]), value);
    });
    if (t == 0) continue;
    found(layout.edge(path[t - 1], path[t]), 1);
    for (const int32_t set : corpus.sets_of(token))
      found(layout.correction(static_cast<size_t>(set), path[t - 1], path[t]), 1);
    for (size_t q = 0; q < layout.keys().ngrams(); ++q) {
      const uint16_t* const run = layout.keys().runs.data() + q * NgramList::kLongest;
      const size_t n = run[NgramList::kLongest - 1] == kNoLabel ? NgramList::kShortest : NgramList::kLongest;
      if (t + 1 < n) continue;
      bool same = true;
      for (size_t at = 0; at < n; ++at) same = same && path[t + 1 - n + at] == run[at];
      if (same) visit(layout.first_ngram() + q, 1.0);
    }
  }
}

bool is_legal(const Problem& problem, size_t s, const Labelling& path) {
  const PairRules* const rules = problem.options.limits.rules.get();
  const AllowedLists& lists = problem.options.limits.allowed;
  for (size_t t = 0; t < path.size(); ++t) {
    if (t && rules && !rules->may_follow(static_cast<size_t>(path[t - 1]), static_cast<size_t>(path[t]))) return false;
    if (!lists.columns()) continue;
    const auto list = lists.view(problem.corpus.first_token(s))[t];
    if (!list.empty() && std::find(list.begin(), list.end(), path[t]) == list.end()) return false;
  }
  return true;
}

struct Expected {
  double log_z = 0;
  std::vector<double> counts;
};

// Sums over all labellings, one by one.
Expected enumerated(const Problem& problem, const WeightLayout& layout, std::span<const double> weights) {
  Expected made{0, std::vector<double>(layout.size(), 0.0)};
  for (size_t s = 0; s < problem.corpus.sentences(); ++s) {
    const size_t T = problem.corpus.length(s);
    const double weight = problem.corpus.weight_of(s);
    double all = 0, allowed = 0;
    std::vector<double> all_counts(layout.size(), 0.0), allowed_counts(layout.size(), 0.0);
    Labelling path(T, 0);
    for (bool more = true; more;) {
      if (is_legal(problem, s, path)) {
        double score = 0;
        for_each_weight(problem, layout, s, path, [&](size_t at, double times) { score += weights[at] * times; });
        for (size_t t = 0; t < T; ++t) {
          const auto own = problem.corpus.allowed_of(problem.corpus.first_token(s) + t);
          if (std::find(own.begin(), own.end(), path[t]) != own.end()) score -= problem.options.margin;
        }
        bool right = problem.corpus.is_partial(s);
        for (size_t t = 0; t < T; ++t)
          right = right && problem.corpus.may_have(problem.corpus.first_token(s) + t, path[t]);
        const double p = std::exp(score);
        all += p;
        allowed += right ? p : 0;
        for_each_weight(problem, layout, s, path, [&](size_t at, double times) {
          all_counts[at] += p * times;
          allowed_counts[at] += right ? p * times : 0;
        });
      }
      size_t t = 0;
      while (t < T && ++path[t] == static_cast<int32_t>(kLabels)) path[t++] = 0;
      more = t < T;
    }
    if (T == 0) continue;
    const bool partial = problem.corpus.is_partial(s);
    made.log_z +=
        weight * (std::log(all) - (partial ? std::log(allowed) : -problem.options.margin * static_cast<double>(T)));
    for (size_t q = 0; q < layout.size(); ++q)
      made.counts[q] += weight * (all_counts[q] / all - (partial ? allowed_counts[q] / allowed : 0));
  }
  return made;
}

std::vector<double> drawn(size_t n, size_t seed, double scale) {
  Draw draw(seed);
  std::vector<double> made(n);
  for (double& weight : made) weight = draw.normal(scale);
  return made;
}

bool close(double a, double b, double within) { return std::fabs(a - b) <= within * std::max(1.0, std::fabs(b)); }

TEST(expected_counts_are_those_of_all_labellings) {
  for (const Kind& kind : kKinds) {
    for (const double scale : {0.0, 1.0, 5.0}) {
      doing(std::string(kind.name) + ", scale " + std::to_string(scale));
      const Problem problem = make(kind, 24, 5, 1);
      const BatchObjective objective = objective_of(problem, kind);
      const std::vector<double> weights = drawn(objective.layout().size(), 2, scale);
      const Expected truth = enumerated(problem, objective.layout(), weights);
      std::vector<double> counts(weights.size(), NAN);
      const BatchSums sums = objective.expect(weights, {}, problem.sentences, 1, counts);
      CHECK(close(sums.log_z, truth.log_z, 1e-11));
      CHECK(sums.tokens == problem.corpus.tokens());
      for (size_t q = 0; q < counts.size(); ++q) CHECK(close(counts[q], truth.counts[q], 1e-9));
    }
  }
}

TEST(observed_counts_are_those_of_the_labels) {
  for (const Kind& kind : kKinds) {
    doing(kind.name);
    const Problem problem = make(kind, 24, 5, 3);
    const BatchObjective objective = objective_of(problem, kind);
    std::vector<double> counts(objective.layout().size(), NAN), truth(counts.size(), 0.0);
    objective.observe(problem.sentences, counts);
    for (size_t s = 0; s < problem.corpus.sentences(); ++s) {
      if (problem.corpus.is_partial(s)) continue;
      const auto own = problem.corpus.labels.subspan(problem.corpus.first_token(s), problem.corpus.length(s));
      for_each_weight(problem, objective.layout(), s, Labelling(own.begin(), own.end()),
                      [&](size_t at, double times) { truth[at] += problem.corpus.weight_of(s) * times; });
    }
    for (size_t q = 0; q < counts.size(); ++q) CHECK(close(counts[q], truth[q], 1e-12));
  }
}

TEST(expected_counts_are_the_gradient_of_log_z) {
  // Also of pruned sums: as long as the same labels are kept, they are those of one distribution.
  const PruningRule rules[] = {
      {}, {.rule = PruningRule::Rule::kSize, .size = 2}, {.rule = PruningRule::Rule::kRatio, .ratio = 0.2}};
  for (const Kind& kind : kKinds) {
    for (const PruningRule& keep : rules) {
      doing(std::string(kind.name) + ", " + keep.text());
      const Problem problem = make(kind, 8, 5, 5);
      const BatchObjective objective = objective_of(problem, kind);
      std::vector<double> weights = drawn(objective.layout().size(), 6, 1);
      std::vector<double> counts(weights.size()), other(weights.size());
      objective.expect(weights, keep, problem.sentences, 1, counts);
      constexpr double kStep = 1e-5;
      for (size_t q = 0; q < weights.size(); ++q) {
        const double at = weights[q];
        weights[q] = at + kStep;
        const double above = objective.expect(weights, keep, problem.sentences, 1, other).log_z;
        weights[q] = at - kStep;
        const double below = objective.expect(weights, keep, problem.sentences, 1, other).log_z;
        weights[q] = at;
        CHECK(std::fabs((above - below) / (2 * kStep) - counts[q]) < 1e-6);
      }
    }
  }
}

TEST(threads_and_shards_do_not_change_a_bit) {
  for (const Kind& kind : kKinds) {
    doing(kind.name);
    const size_t sentences = 2 * BatchObjective::kBlock + 30;
    const Problem problem = make(kind, sentences, 6, 7);
    const BatchObjective objective = objective_of(problem, kind);
    const std::vector<double> weights = drawn(objective.layout().size(), 8, 1);
    std::vector<double> counts(weights.size()), other(weights.size()), log_z(sentences);
    const BatchSums sums = objective.expect(weights, {}, problem.sentences, 1, counts, log_z);
    const BatchSums threaded = objective.expect(weights, {}, problem.sentences, 3, other);
    CHECK(threaded.log_z == sums.log_z && threaded.kept == sums.kept && other == counts);
    if (kind.lists) continue;  // lists of a shard are its own
    std::vector<double> total(weights.size(), 0.0), shard_log_z;
    for (const auto& [begin, end] : {std::pair<size_t, size_t>{0, 512}, {512, sentences}}) {
      const std::span<const int32_t> own = std::span(problem.sentences).subspan(begin, end - begin);
      const Corpus cut = problem.corpus.cut(own);
      const WeightKeys<Borrowed>& keys = objective.layout().keys();
      const auto copy = [](const auto& array) {
        return std::vector<std::remove_cvref_t<decltype(array[0])>>(array.begin(), array.end());
      };
      const BatchObjective shard(
          cut,
          WeightLayout({copy(keys.row_end), copy(keys.row_label), copy(keys.previous), copy(keys.current),
                        copy(keys.set), copy(keys.set_previous), copy(keys.set_current), copy(keys.runs)},
                       cut, kind.parts ? kParts : std::vector<uint16_t>()),
          problem.options, objective.grain());
      std::vector<int32_t> numbers(own.size());
      std::iota(numbers.begin(), numbers.end(), 0);
      std::vector<double> each(own.size());
      shard.expect(weights, {}, numbers, 2, other, each);
      for (size_t q = 0; q < total.size(); ++q) total[q] += other[q];
      shard_log_z.insert(shard_log_z.end(), each.begin(), each.end());
    }
    CHECK(total == counts);
    CHECK(shard_log_z == log_z);
  }
}

TEST(errors_name_the_sentence_of_the_whole_corpus) {
  const Kind kind{.name = "partial, forbidden pair", .partial = true, .forbidden = true};
  Problem problem = make(kind, 40, 5, 9);
  // A sentence that allows nothing but the forbidden pair: 2 -> 0.
  CorpusArrays<Owned> arrays;
  Names names;
  for (int f = 0; f < 5; ++f) names.node.add("f" + std::to_string(f));
  for (size_t s = 0; s < 6; ++s) {
    for (size_t t = 0; t < 2; ++t) {
      arrays.node.id.push_back(0);
      arrays.node.end.push_back(arrays.node.id.size());
      arrays.edge.end.push_back(0);
      arrays.labels.push_back(s == 4 && t == 0 ? 2 : s == 4 ? -1 : 1);
      if (s == 4 && t == 1) arrays.allowed.push_back(0);
      arrays.allowed_end.push_back(arrays.allowed.size());
    }
    arrays.sentence_end.push_back(arrays.labels.size());
    arrays.partial.push_back(s == 4);
  }
  problem.corpus = hold(std::move(arrays), std::move(names), kLabels);
  const auto message = [&](const Corpus& corpus, const PruningRule& keep, int32_t sentence) -> std::string {
    const BatchObjective objective(corpus, WeightLayout(corpus, {.all_pairs = true}), problem.options);
    std::vector<double> weights(objective.layout().size(), 0.0), counts(weights.size());
    try {
      objective.expect(weights, keep, std::vector<int32_t>{sentence}, 1, counts);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  const PruningRule size{.rule = PruningRule::Rule::kSize, .size = 1};
  const Corpus cut = problem.corpus.cut(std::vector<int32_t>{3, 4, 5});
  for (const PruningRule& keep : {PruningRule(), size}) {
    CHECK(message(problem.corpus, keep, 4).starts_with("sentence 4: no labelling has labels that y allows"));
    CHECK(message(cut, keep, 1).starts_with("sentence 4: no labelling has labels that y allows"));
  }
}

TEST(bad_arguments_are_refused) {
  const Kind kind = kKinds[0];
  const Problem problem = make(kind, 5, 4, 11);
  const BatchObjective objective = objective_of(problem, kind);
  std::vector<double> weights(objective.layout().size(), 0.0), counts(weights.size()), few(weights.size() - 1);
  CHECK_THROWS(std::invalid_argument, objective.expect(few, {}, problem.sentences, 1, counts));
  CHECK_THROWS(std::invalid_argument, objective.expect(weights, {}, problem.sentences, 1, few));
  CHECK_THROWS(std::invalid_argument, objective.expect(weights, {}, std::vector<int32_t>{5}, 1, counts));
  CHECK_THROWS(std::invalid_argument, objective.expect(weights, {}, problem.sentences, 0, counts));
  weights[0] = NAN;
  CHECK_THROWS(std::invalid_argument, objective.expect(weights, {}, problem.sentences, 1, counts));
}

}  // namespace
