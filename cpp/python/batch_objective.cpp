// The batch objective of CRFs.
#include "train/crf/batch_objective.h"

#include "python/bindings.h"

namespace tagwright {
namespace {

using Keys = std::span<const uint16_t>;

constexpr const char* kNgramLabels = "ngrams.labels";

BatchOptions options_of(bool dense_edges, std::shared_ptr<PairRules> rules, const AllowedLists* allowed) {
  return {dense_edges ? EdgeForm::kDense : EdgeForm::kSparse, {std::move(rules), allowed ? *allowed : AllowedLists()}};
}

std::unique_ptr<BatchObjective> make(const Corpus& corpus, bool edges, bool all_pairs, size_t order,
                                     size_t min_ngram_count, bool dense_edges, std::shared_ptr<PairRules> rules,
                                     const AllowedLists* allowed) {
  return without_gil([&] {
    return std::make_unique<BatchObjective>(corpus, WeightLayout(corpus, {edges, all_pairs, {order, min_ngram_count}}),
                                            options_of(dense_edges, std::move(rules), allowed));
  });
}

std::unique_ptr<BatchObjective> make_shard(const Corpus& corpus, nb::dict keys, double grain,
                                           Vector<double> feature_grain, bool dense_edges,
                                           std::shared_ptr<PairRules> rules, const AllowedLists* allowed) {
  NamedArrays named(std::move(keys));
  WeightKeys<Borrowed> given;
  for_each_key_array(given, [&](const char* name, auto& array) { named.read(name, array); });
  named.read(kNgramLabels, given.runs);
  WeightKeys<Owned> held{copied(given.row_end),     copied(given.row_label), copied(given.previous),
                         copied(given.current),     copied(given.set),       copied(given.set_previous),
                         copied(given.set_current), copied(given.runs)};
  CountGrain own;
  own.probability = grain;
  own.feature = copied(span_of(feature_grain));
  return without_gil([&] {
    return std::make_unique<BatchObjective>(corpus, WeightLayout(std::move(held), corpus),
                                            options_of(dense_edges, std::move(rules), allowed), std::move(own));
  });
}

std::unique_ptr<BatchObjective> make_hmm(const Text& text, size_t L, const std::vector<std::string>& given,
                                         std::span<const uint64_t> row_end, Keys row_label, Keys previous,
                                         Keys current) {
  WeightKeys<Owned> keys{copied(row_end), copied(row_label), copied(previous), copied(current), {}, {}, {}};
  // Views of our own: without the lock, Python's strings may go at any time.
  const std::vector<std::string_view> names(given.begin(), given.end());
  return without_gil(
      [&] { return std::make_unique<BatchObjective>(BatchObjective::hmm(text, L, names, std::move(keys))); });
}

nb::dict keys_of(const BatchObjective& objective) {
  nb::dict out;
  const auto put = [&](const char* name, const auto& array) {
    out[name] = array_of(std::vector<std::remove_cvref_t<decltype(array[0])>>(array.begin(), array.end()));
  };
  for_each_key_array(objective.layout().keys(), put);
  put(kNgramLabels, objective.layout().keys().runs);
  return out;
}

nb::tuple expect(const BatchObjective& objective, std::span<const double> weights, const Keep& keep,
                 std::span<const int32_t> sentences, size_t threads, std::span<double> counts,
                 std::optional<std::span<double>> per_sentence) {
  const BatchSums sums = without_gil([&] {
    return objective.expect(weights, keep, sentences, threads, counts, per_sentence.value_or(std::span<double>()));
  });
  return nb::make_tuple(sums.log_z, sums.tokens, sums.kept);
}

}  // namespace

void bind_batch_objective(nb::module_& m) {
  nb::class_<BatchObjective>(m, "BatchObjective")
      .def_static("make", &make, "corpus"_a, nb::kw_only(), "edges"_a = true, "all_pairs"_a = false, "order"_a = 1,
                  "min_ngram_count"_a = 1, "dense_edges"_a = false, "rules"_a.none() = nb::none(),
                  "allowed"_a.none() = nb::none())
      .def_static("shard", &make_shard, "corpus"_a, "keys"_a, "grain"_a, "feature_grain"_a, nb::kw_only(),
                  "dense_edges"_a = false, "rules"_a.none() = nb::none(), "allowed"_a.none() = nb::none(),
                  "The objective of a shard that begins and ends with a block; keys and grains are the whole corpus'.")
      .def_static("hmm", &make_hmm, "text"_a, "L"_a, "names"_a, "row_end"_a, "row_label"_a, "previous"_a, "current"_a,
                  "The sums of a hidden Markov model: a token's first feature has a row with the labels it may have.")
      .def("expect", &expect, "weights"_a, "keep"_a, "sentences"_a, "threads"_a, "counts"_a,
           "per_sentence"_a.none() = nb::none(),
           "Fills the expected counts, and log Z of each sentence. Returns log Z, tokens, labels kept.")
      .def("observe", &BatchObjective::observe, "sentences"_a, "counts"_a, WithoutGil(),
           "Fills the counts of the right labels.")
      .def("model_weights", &BatchObjective::model_weights, "weights"_a, WithoutGil(),
           "Returns the weights as a model holds them.")
      .def("warm_start", &BatchObjective::warm_start, "model"_a, "label"_a, "to"_a, WithoutGil(),
           "Copies a model's weights to where they have a position; label: [its label] the number here.")
      .def("keys", &keys_of, "Returns the arrays that say which weights there are.")
      .def_prop_ro("grain", [](const BatchObjective& own) { return own.grain().probability; })
      .def("feature_grain", [](const BatchObjective& own) { return array_of(own.grain().feature); })
      .def_prop_ro_static("block", [](nb::handle) { return BatchObjective::kBlock; })
      .def_prop_ro("size", [](const BatchObjective& own) { return own.layout().size(); })
      .def_prop_ro("nodes", [](const BatchObjective& own) { return own.layout().keys().nodes(); })
      .def_prop_ro("edges", [](const BatchObjective& own) { return own.layout().keys().edges(); });
}

}  // namespace tagwright
