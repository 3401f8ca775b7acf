// Trainers, and the batch objective of CRFs.
#include "python/bindings.h"
#include "train/crf/batch_objective.h"
#include "train/margin.h"
#include "train/trainer.h"

namespace tagwright {
namespace {

using Integers = std::span<const int32_t>;
using Keys = std::span<const uint16_t>;

AllowedLists lists_of(const AllowedLists* given) { return given ? *given : AllowedLists(); }

// Keyword arguments, each read once.
class Keywords {
 public:
  explicit Keywords(const nb::kwargs& given) : given_(given) {}

  // The argument of this name, or `otherwise` where there is none or it is None. Throws what Python raises for an
  // argument of another type.
  template <class V>
  V get(const char* name, V otherwise) {
    ++read_;
    if (!given_.contains(name)) return --read_, otherwise;
    const nb::object value = given_[name];
    if (value.is_none()) return otherwise;
    V found;
    if (!nb::try_cast(value, found))
      throw nb::type_error((std::string(name) + ": an argument of another type").c_str());
    return found;
  }
  // The arrays of an argument, copied.
  std::vector<uint16_t> keys(const char* name) {
    const auto given = get<Vector<uint16_t>>(name, {});
    return given.size() ? copied(span_of(given)) : std::vector<uint16_t>();
  }
  PathLimits limits() {
    return {get<std::shared_ptr<PairRules>>("rules", nullptr), lists_of(get<const AllowedLists*>("allowed", nullptr))};
  }
  void check_all_read() const {
    if (read_ != given_.size()) throw nb::type_error("an unknown keyword argument");
  }

 private:
  const nb::kwargs& given_;
  size_t read_ = 0;
};

constexpr const char* kTrainerSignature =
    "def make(corpus: Corpus, *, gradient: str, parts: NDArray[numpy.uint16], edges: bool = True, grow: bool = True, "
    "batch: int = 1, rate: float = 0.5, l2: float = 0.0, margin: float = 0.0, pruning: tuple[str, float, int] | None = "
    "None, max_labels: int = 0, order: int = 1, min_ngram_count: int = 1, plan: Plan | None = None, dense_edges: bool "
    "| None = None, rules: PairRules | None = None, allowed: AllowedLists | None = None) -> Trainer";

std::unique_ptr<Trainer> make_trainer(const Corpus& corpus, const nb::kwargs& given) {
  Keywords read(given);
  const auto gradient = read.get<std::string>("gradient", "");
  std::vector<uint16_t> parts = read.keys("parts");
  const bool grow = read.get("grow", true);
  const double margin = read.get("margin", 0.0), rate = read.get("rate", 0.5), l2 = read.get("l2", 0.0);
  const auto [rule, value, at_least] = read.get<std::tuple<std::string, double, size_t>>("pruning", {"", 0.0, 1});
  const SumOptions sums{{PruningRule::named(rule, value, at_least), read.get<size_t>("max_labels", 0)}, margin};
  const Plan* const plan = read.get<const Plan*>("plan", nullptr);
  const auto dense = read.get<std::optional<bool>>("dense_edges", {});
  TrainerOptions options;
  options.batch = read.get<size_t>("batch", 1);
  options.edges = read.get("edges", true);
  options.ngrams = {read.get<size_t>("order", 1), read.get<size_t>("min_ngram_count", 1)};
  options.limits = read.limits();
  read.check_all_read();
  need(gradient == "sums" || gradient == "best_path", "gradient must be \"best_path\" or \"sums\"");
  need(gradient == "sums" || plan, "gradient=\"best_path\" needs a plan");
  if (gradient == "sums") {
    options.gradient = sums;
    options.step = AdaGradStep{rate, l2, grow};
  } else {
    options.gradient = BestPathOptions{*plan, margin, dense};
    options.step = PerceptronStep{options.batch, grow};
  }
  return without_gil([&] { return std::make_unique<Trainer>(corpus, std::move(parts), std::move(options)); });
}

constexpr const char* kObjectiveSignature =
    "def make(corpus: Corpus, *, edges: bool = True, all_pairs: bool = False, order: int = 1, min_ngram_count: int = "
    "1, parts: NDArray[numpy.uint16] | None = None, margin: float = 0.0, dense_edges: bool = False, rules: PairRules | "
    "None = None, allowed: AllowedLists | None = None) -> BatchObjective";
constexpr const char* kShardSignature =
    "def shard(corpus: Corpus, keys: dict[str, NDArray], grain: float, feature_grain: NDArray[numpy.float64], *, "
    "parts: "
    "NDArray[numpy.uint16] | None = None, margin: float = 0.0, dense_edges: bool = False, rules: PairRules | None = "
    "None, allowed: AllowedLists | None = None) -> BatchObjective";

BatchOptions batch_options(Keywords& read) {
  const EdgeForm form = read.get("dense_edges", false) ? EdgeForm::kDense : EdgeForm::kSparse;
  return {form, read.limits(), read.get("margin", 0.0)};
}

std::unique_ptr<BatchObjective> make_objective(const Corpus& corpus, const nb::kwargs& given) {
  Keywords read(given);
  LayoutOptions layout{read.get("edges", true), read.get("all_pairs", false)};
  layout.ngrams = {read.get<size_t>("order", 1), read.get<size_t>("min_ngram_count", 1)};
  layout.parts = read.keys("parts");
  BatchOptions options = batch_options(read);
  read.check_all_read();
  return without_gil(
      [&] { return std::make_unique<BatchObjective>(corpus, WeightLayout(corpus, layout), std::move(options)); });
}

std::unique_ptr<BatchObjective> make_shard(const Corpus& corpus, nb::dict keys, double grain,
                                           const Vector<double>& feature_grain, const nb::kwargs& options_given) {
  Keywords read(options_given);
  std::vector<uint16_t> parts = read.keys("parts");
  BatchOptions options = batch_options(read);
  read.check_all_read();
  NamedArrays named(std::move(keys));
  WeightKeys<Owned> held;
  for_each_key_array(held, [&](const char* name, auto& array) { named.read(name, array); });
  CountGrain own;
  own.probability = grain;
  own.feature = copied(span_of(feature_grain));
  return without_gil([&] {
    return std::make_unique<BatchObjective>(corpus, WeightLayout(std::move(held), corpus, std::move(parts)),
                                            std::move(options), std::move(own));
  });
}

std::unique_ptr<MarginTrainer> make_margin(const Corpus& corpus, const BatchObjective& objective,
                                           const std::string& kind, const nb::dict& options) {
  using Kind = MarginRule::Kind;
  const auto number = [&](const char* name, double otherwise) {
    return options.contains(name) ? nb::cast<double>(options[name]) : otherwise;
  };
  MarginRule rule;
  rule.kind = kind == "arow" ? Kind::arow : kind == "passive_aggressive" ? Kind::passive_aggressive : Kind::perceptron;
  rule.type = static_cast<int>(number("type", 1));
  rule.aggressiveness = number("c", 1);
  rule.error_sensitive = number("error_sensitive", 1) != 0;
  rule.variance = number("variance", 1);
  rule.gamma = number("gamma", 1);
  return without_gil([&] { return std::make_unique<MarginTrainer>(corpus, objective.layout(), rule); });
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
  ArrayDict out;
  for_each_key_array(objective.layout().keys(), out);
  return out.dict;
}

nb::tuple expect(const BatchObjective& objective, std::span<const double> weights, const PruningRule& keep,
                 std::span<const int32_t> sentences, size_t threads, std::span<double> counts,
                 std::optional<std::span<double>> per_sentence) {
  const BatchSums sums = without_gil([&] {
    return objective.expect(weights, keep, sentences, threads, counts, per_sentence.value_or(std::span<double>()));
  });
  return nb::make_tuple(sums.log_z, sums.tokens, sums.kept);
}

nb::dict stats_of(const EpochStats& stats) {
  nb::dict out;
  out["tokens"] = stats.tokens;
  out["errors"] = stats.errors;
  out["wrong_sentences"] = stats.wrong_sentences;
  out["loss"] = stats.loss;
  out["kept"] = stats.kept;
  out["missing"] = stats.missing;
  out["exact"] = stats.exact;
  out["work"] = nb::make_tuple(stats.work.rounds, stats.work.nodes, stats.work.edges);
  return out;
}

// The arrays of a kind of weights that a state has: n-grams only where there are some.
template <class Arrays, class Visit>
void for_each_state_array(size_t kind, Arrays& a, Visit&& visit) {
  const std::string prefix = std::string("state.") + kStateKinds[kind] + ".";
  visit(prefix + "row", a.row);
  visit(prefix + "key", a.key);
  visit(prefix + "weight", a.weight);
  visit(prefix + "sum", a.sum);
  visit(prefix + "squares", a.squares);
}

nb::dict state_of_store(const WeightStore& store) {
  ArrayDict out;
  WeightState<Owned> state = without_gil([&] { return store.state(); });
  for (size_t kind = 0; kind < state.size(); ++kind) {
    if (kind == 3 && state[kind].key.empty()) continue;
    for_each_state_array(kind, state[kind], [&](const std::string& name, auto& array) {
      if (store.options().squares || !name.ends_with("squares")) out(name, array);
    });
  }
  return out.dict;
}

// The arrays of a state, while Python's are held.
class NamedState {
 public:
  explicit NamedState(nb::dict arrays) : named_(std::move(arrays)) {
    for (size_t kind = 0; kind < state.size(); ++kind) {
      const std::string prefix = std::string("state.") + kStateKinds[kind] + ".";
      if (kind == 3 && !named_.has(prefix + "key")) continue;
      for_each_state_array(kind, state[kind], [&](const std::string& name, auto& array) {
        const bool may_lack = name.ends_with("sum") || name.ends_with("squares");
        if (!may_lack || named_.has(name)) named_.read(name, array);
      });
      // Checkpoints of 0.5.0 have sums in single precision, by another name.
      if (Borrowed<float> late; named_.has(prefix + "late")) {
        named_.read(prefix + "late", late);
        sums_[kind].assign(late.begin(), late.end());
        state[kind].sum = sums_[kind];
      }
    }
  }
  WeightState<Borrowed> state;

 private:
  NamedArrays named_;
  std::array<std::vector<double>, 4> sums_;
};

}  // namespace

void bind_training(nb::module_& m) {
  nb::class_<Trainer>(m, "Trainer")
      .def_static("make", &make_trainer, "corpus"_a, "options"_a, nb::sig(kTrainerSignature),
                  "Returns the trainer of a learner: the gradient of best paths with the perceptron's step, or that of "
                  "sums with AdaGrad's.")
      .def("run", native(&Trainer::run, stats_of), "sentences"_a, "threads"_a = 1, "cut"_a.none() = nb::none(),
           "Makes one pass over sentences, of a cut of the corpus where one is given. Returns what it has counted.")
      .def("gradient", native(&Trainer::gradient, array_of), "sentences"_a, "threads"_a = 1,
           "Returns the gradients of sentences, as bytes.")
      .def(
          "apply",
          [](Trainer& trainer, const std::vector<Vector<uint8_t>>& given, Integers which, Integers number,
             size_t threads) {
            std::vector<std::span<const uint8_t>> gradients;
            for (const Vector<uint8_t>& one : given) gradients.push_back(span_of(one));
            return stats_of(without_gil([&] { return trainer.apply(gradients, which, number, threads); }));
          },
          "gradients"_a, "which"_a, "number"_a, "threads"_a = 1,
          "Steps by the gradients of a batch, whose n-th sentence is number[n] of gradients[which[n]]. Returns what "
          "run returns.")
      .def("end_epoch", native(&Trainer::end_epoch), "To be called after each pass over the corpus.")
      .def("log_z", native(&Trainer::log_z), "sentences"_a,
           "Returns log Z of each sentence as it is summed in training, and an upper bound of what it lacks.")
      .def("average", native(+[](const Trainer& trainer) { return trainer.store().weights(true); }),
           "Returns the weights, averaged over the sentences visited.")
      .def("restart_average", native(+[](Trainer& trainer) { trainer.store().restart_average(); }),
           "Lets averages begin here: sentences visited before do not count.")
      .def("last", native(+[](const Trainer& trainer) { return trainer.store().weights(false); }),
           "Returns the weights as they are.")
      .def("start_from", native(+[](Trainer& trainer, const Weights& weights, Integers label) {
             trainer.store().start_from(weights, label);
           }),
           "weights"_a, "label"_a, "Warm-starts from a model's weights; label: [its label] the number here.")
      .def("extend", native(+[](Trainer& trainer, const Corpus& corpus, const AllowedLists* allowed) {
             trainer.extend(corpus, lists_of(allowed));
           }),
           "corpus"_a, "allowed"_a.none() = nb::none(), "Continues with other sentences.")
      .def(
          "state", [](const Trainer& trainer) { return state_of_store(trainer.store()); },
          "Returns the arrays from which training resumes.")
      .def(
          "restore",
          [](Trainer& trainer, double visited, nb::dict arrays) {
            const NamedState named(std::move(arrays));
            without_gil([&] { trainer.store().restore(visited, named.state); });
          },
          "visited"_a, "arrays"_a)
      .def(
          "bounds", [](const Trainer& trainer) { return array_of(trainer.bounds()); },
          "Returns the bounds of edges, which an unfinished epoch has beside its state.")
      .def("set_bounds", &Trainer::set_bounds, "bounds"_a)
      .def(
          "mix",
          [](Trainer& trainer, const std::vector<std::pair<double, nb::dict>>& shards) {
            std::vector<std::unique_ptr<NamedState>> named;
            std::vector<std::pair<double, WeightState<Borrowed>>> states;
            for (const auto& [visited, arrays] : shards) {
              named.push_back(std::make_unique<NamedState>(arrays));
              states.emplace_back(visited, named.back()->state);
            }
            without_gil([&] { trainer.store().mix(states); });
          },
          "shards"_a,
          "Takes the mean of the weights with which shards of the corpus ended an epoch; shards: sentences visited, "
          "state.")
      .def_prop_ro("visited", [](const Trainer& trainer) { return trainer.store().visited(); })
      .def_prop_ro("size", [](const Trainer& trainer) { return trainer.store().size(); });
}

void bind_batch_objective(nb::module_& m) {
  nb::class_<BatchObjective>(m, "BatchObjective")
      .def_static("make", &make_objective, "corpus"_a, "options"_a, nb::sig(kObjectiveSignature),
                  "Returns the objective over a corpus, with the weights that it calls for.")
      .def_static("shard", &make_shard, "corpus"_a, "keys"_a, "grain"_a, "feature_grain"_a, "options"_a,
                  nb::sig(kShardSignature),
                  "The objective of a shard that begins and ends with a block; keys and grains are the whole corpus'.")
      .def_static("hmm", &make_hmm, "text"_a, "L"_a, "names"_a, "row_end"_a, "row_label"_a, "previous"_a, "current"_a,
                  "The sums of a hidden Markov model: a token's first feature has a row with the labels it may have.")
      .def("expect", &expect, "weights"_a, "keep"_a, "sentences"_a, "threads"_a, "counts"_a,
           "per_sentence"_a.none() = nb::none(),
           "Fills the expected counts, and log Z of each sentence. Returns log Z, tokens, labels kept.")
      .def("observe", native(&BatchObjective::observe), "sentences"_a, "counts"_a,
           "Fills the counts of the right labels.")
      .def("model_weights", native(&BatchObjective::model_weights), "weights"_a,
           "Returns the weights as a model holds them.")
      .def("warm_start", native(&BatchObjective::warm_start), "model"_a, "label"_a, "to"_a,
           "Copies a model's weights to where they have a position; label: [its label] the number here.")
      .def("keys", &keys_of, "Returns the arrays that say which weights there are.")
      .def_prop_ro("grain", [](const BatchObjective& own) { return own.grain().probability; })
      .def("feature_grain", [](const BatchObjective& own) { return array_of(own.grain().feature); })
      .def_prop_ro_static("block", [](nb::handle) { return BatchObjective::kBlock; })
      .def_prop_ro("size", [](const BatchObjective& own) { return own.layout().size(); })
      .def_prop_ro("nodes", [](const BatchObjective& own) { return own.layout().keys().nodes(); })
      .def_prop_ro("edges", [](const BatchObjective& own) { return own.layout().keys().edges(); });
  nb::class_<MarginTrainer>(m, "MarginTrainer")
      .def_static("make", &make_margin, "corpus"_a, "objective"_a, "kind"_a, "options"_a,
                  "Returns an online trainer of the weights that an objective has over the same corpus; kind: "
                  "'perceptron', 'passive_aggressive' or 'arow'.")
      .def(
          "epoch",
          [](MarginTrainer& trainer, std::span<const int32_t> sentences) {
            return without_gil([&] { return trainer.epoch(sentences); });
          },
          "sentences"_a, "Returns the loss of one pass over these sentences, in this order.")
      .def("weights", [](const MarginTrainer& trainer) { return array_of(trainer.weights()); })
      .def("average", [](const MarginTrainer& trainer) { return array_of(trainer.average()); });
}

}  // namespace tagwright
