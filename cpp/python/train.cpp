// Trainers.
#include "python/bindings.h"
#include "train/crf/crf.h"
#include "train/online/online_crf.h"
#include "train/perceptron.h"

namespace tagwright {
namespace {

using Integers = std::span<const int32_t>;
using Keys = std::span<const uint16_t>;
using Reals = std::span<const double>;

AllowedLists lists_of(const AllowedLists* given) { return given ? *given : AllowedLists(); }

// What is known beyond one label per token: where the allowed labels of each end, those labels, and sentences' weights.
using MarkArrays = std::optional<std::tuple<Vector<uint64_t>, Vector<int32_t>, Vector<double>>>;

Marks marks_of(const MarkArrays& given) {
  if (!given) return {};
  const auto& [end, allowed, weight] = *given;
  return {span_of(end), span_of(allowed), span_of(weight)};
}

std::unique_ptr<Perceptron> make_perceptron(const Text& text, const Templates& templates, Integers labels, size_t L,
                                            const Weights* known, size_t min_count, size_t threads, Keys parts,
                                            bool edges, bool all_pairs, double margin, size_t order, size_t min_pattern,
                                            std::optional<bool> dense_edges, std::shared_ptr<PairRules> rules,
                                            const AllowedLists* allowed, const MarkArrays& marks) {
  return without_gil([&] {
    const CorpusOptions read{L, min_count, known, {}, threads, marks_of(marks)};
    return std::make_unique<Perceptron>(
        read_corpus(text, templates, labels, read), copied(parts),
        PerceptronOptions{edges, all_pairs, margin, {order, min_pattern}, dense_edges, rules, lists_of(allowed)});
  });
}

std::unique_ptr<Crf> make_crf(const Text& text, const Templates& templates, Integers labels, size_t L,
                              const Weights* known, size_t min_count, size_t threads,
                              const std::vector<std::string>& label_names, bool edges, bool all_pairs, bool dense_edges,
                              bool lanes, size_t order, size_t min_pattern, std::shared_ptr<PairRules> rules,
                              const AllowedLists* allowed, const MarkArrays& marks) {
  return without_gil([&] {
    const CorpusOptions read{L, min_count, known, label_names, threads, marks_of(marks)};
    Corpus corpus = read_corpus(text, templates, labels, read);
    WeightKeys<Owned> keys = keys_of(corpus, edges, all_pairs, rules.get(), {order, min_pattern});
    return std::make_unique<Crf>(std::move(corpus), std::move(keys),
                                 CrfOptions{dense_edges, lanes, false, rules, lists_of(allowed)});
  });
}

std::unique_ptr<Crf> make_closed(const Text& text, size_t L, const std::vector<std::string>& given,
                                 std::span<const uint64_t> row_end, Keys row_label, Keys previous, Keys current) {
  WeightKeys<Owned> keys{copied(row_end), copied(row_label), copied(previous), copied(current), {}, {}, {}};
  // Views of our own: without the lock, Python's strings may go at any time.
  const std::vector<std::string_view> names(given.begin(), given.end());
  return without_gil([&] { return std::make_unique<Crf>(Crf::closed(text, L, names, std::move(keys))); });
}

std::unique_ptr<OnlineCrf> make_online(const Text& text, const Templates& templates, Integers labels, size_t L,
                                       const Weights* known, size_t min_count, size_t threads, Keys parts, bool edges,
                                       bool touched, size_t batch, double rate, double l2, double margin,
                                       const Keep& keep, size_t at_most, size_t order, size_t min_pattern,
                                       std::shared_ptr<PairRules> rules, const AllowedLists* allowed) {
  return without_gil([&] {
    const CorpusOptions read{L, min_count, known, {}, threads};
    return std::make_unique<OnlineCrf>(
        read_corpus(text, templates, labels, read), copied(parts),
        OnlineOptions{
            edges, touched, batch, rate, l2, margin, keep, at_most, rules, lists_of(allowed), {order, min_pattern}});
  });
}

nb::tuple packed(const Crf::Seen& seen) { return nb::make_tuple(seen.log_z - seen.right, seen.tokens, seen.kept); }

nb::tuple run(Perceptron& trainer, Integers sentences, const Plan& plan) {
  const Perceptron::Seen seen = without_gil([&] { return trainer.run(sentences, plan); });
  return nb::make_tuple(seen.tokens, seen.errors, seen.wrong_sentences, seen.work.rounds, seen.work.nodes,
                        seen.work.edges);
}

constexpr const char* kPatternState = "state.patterns.";  // only where there are some

// The names of the arrays of a checkpoint: state.nodes.row and so on.
template <class Arrays, class Take>
void each_of_state(Arrays& state, Take&& take) {
  for (size_t kind = 0; kind < state.size(); ++kind)
    each_state_array(state[kind], [&](const char* name, auto& array) {
      take(std::string("state.") + kStateKinds[kind] + "." + name, array);
    });
}

template <class Trainer>
nb::dict state_of(const Trainer& trainer) {
  nb::dict out;
  auto state = trainer.state();
  const bool patterns = !state.back().key.empty();
  each_of_state(state, [&](const std::string& name, auto& array) {
    if (patterns || !name.starts_with(kPatternState)) out[name.c_str()] = array_of(std::move(array));
  });
  return out;
}

template <class Trainer, class State>
void restore(Trainer& trainer, double seen, nb::dict arrays) {
  NamedArrays named(std::move(arrays));
  State state;
  const bool patterns = named.has(std::string(kPatternState) + "key");
  each_of_state(state, [&](const std::string& name, auto& array) {
    if (patterns || !name.starts_with(kPatternState)) named.read(name, array);
  });
  trainer.restore(seen, state);
}

}  // namespace

void bind_training(nb::module_& m) {
  nb::class_<Perceptron>(m, "PerceptronTrainer")
      .def_static("make", &make_perceptron, "text"_a, "templates"_a, "labels"_a, nb::kw_only(), "L"_a,
                  "known"_a.none() = nb::none(), "min_count"_a = 1, "threads"_a = 1, "parts"_a, "edges"_a = true,
                  "all_pairs"_a = false, "margin"_a = 0.0, "order"_a = 1, "min_pattern"_a = 1,
                  "dense_edges"_a.none() = nb::none(), "rules"_a.none() = nb::none(), "allowed"_a.none() = nb::none(),
                  "marks"_a.none() = nb::none())
      .def("run", &run, "sentences"_a, "plan"_a,
           "Goes over sentences once. Returns tokens, wrong tokens, wrong sentences; rounds, nodes, edges looked at.")
      .def("average", &Perceptron::average, WithoutGil())
      .def("start_from", &Perceptron::start_from, "weights"_a, "label"_a, WithoutGil(),
           "Takes over a model's weights; label: [its label] the number here.")
      .def("state", &state_of<Perceptron>, "Returns the arrays from which training can go on.")
      .def("restore", &restore<Perceptron, State<Borrowed>>, "seen"_a, "arrays"_a)
      .def_prop_ro("seen", &Perceptron::seen)
      .def_prop_ro("corpus", [](const Perceptron& p) { return hex(p.corpus().digest); });

  nb::class_<OnlineCrf>(m, "OnlineTrainer")
      .def_static("make", &make_online, "text"_a, "templates"_a, "labels"_a, nb::kw_only(), "L"_a,
                  "known"_a.none() = nb::none(), "min_count"_a = 1, "threads"_a = 1, "parts"_a, "edges"_a = true,
                  "touched"_a = true, "batch"_a = 8, "rate"_a = 0.5, "l2"_a = 0.0, "margin"_a = 0.0, "keep"_a,
                  "at_most"_a = 0, "order"_a = 1, "min_pattern"_a = 1, "rules"_a.none() = nb::none(),
                  "allowed"_a.none() = nb::none())
      .def(
          "run",
          [](OnlineCrf& crf, Integers sentences, size_t threads) {
            const OnlineCrf::Seen seen = without_gil([&] { return crf.run(sentences, threads); });
            return nb::make_tuple(seen.loss, seen.tokens, seen.kept, seen.missing, seen.exact);
          },
          "sentences"_a, "threads"_a,
          "Goes over sentences once. Returns the loss, tokens, labels kept, what log Z may lack, sentences summed "
          "exactly.")
      .def("end_epoch", &OnlineCrf::end_epoch, WithoutGil(), "To be called after each pass over the corpus.")
      .def("log_z", &OnlineCrf::log_z, "sentences"_a, WithoutGil(),
           "Returns log Z of each sentence as it is summed in training, and what it may lack.")
      .def("average", &OnlineCrf::average, WithoutGil())
      .def("last", &OnlineCrf::last, WithoutGil())
      .def("start_from", &OnlineCrf::start_from, "weights"_a, "label"_a, WithoutGil(),
           "Takes over a model's weights; label: [its label] the number here.")
      .def("state", &state_of<OnlineCrf>, "Returns the arrays from which training can go on.")
      .def("restore", &restore<OnlineCrf, SteppedState<Borrowed>>, "seen"_a, "arrays"_a)
      .def_prop_ro("seen", &OnlineCrf::seen)
      .def_prop_ro("size", &OnlineCrf::size)
      .def_prop_ro("corpus", [](const OnlineCrf& crf) { return hex(crf.corpus().digest); });

  nb::class_<Crf>(m, "CrfTrainer")
      .def_static("make", &make_crf, "text"_a, "templates"_a, "labels"_a, nb::kw_only(), "L"_a,
                  "known"_a.none() = nb::none(), "min_count"_a = 1, "threads"_a = 1,
                  "label_names"_a = std::vector<std::string>(), "edges"_a = true, "all_pairs"_a = false,
                  "dense_edges"_a = false, "lanes"_a = true, "order"_a = 1, "min_pattern"_a = 1,
                  "rules"_a.none() = nb::none(), "allowed"_a.none() = nb::none(), "marks"_a.none() = nb::none())
      .def_static("closed", &make_closed, "text"_a, "L"_a, "names"_a, "row_end"_a, "row_label"_a, "previous"_a,
                  "current"_a)
      .def(
          "expect",
          [](const Crf& crf, Reals weights, const Keep& keep, Integers sentences, size_t threads,
             std::span<double> counts) {
            return packed(without_gil([&] { return crf.expect(weights, keep, sentences, threads, counts); }));
          },
          "weights"_a, "keep"_a, "sentences"_a, "threads"_a, "counts"_a,
          "Fills the expected counts. Returns log Z, tokens, labels kept.")
      .def("observe", &Crf::observe, "sentences"_a, "counts"_a, WithoutGil(), "Fills what the right labels count.")
      .def(
          "adagrad",
          [](const Crf& crf, std::span<double> weights, std::span<double> squares, const Keep& keep, Integers sentences,
             size_t batch, double rate, double l2) {
            return packed(without_gil([&] { return crf.adagrad(weights, squares, keep, sentences, batch, rate, l2); }));
          },
          "weights"_a, "squares"_a, "keep"_a, "sentences"_a, "batch"_a, "rate"_a, "l2"_a,
          "Goes over the sentences once and changes weights and squares. Returns the loss, tokens, labels kept.")
      .def("trained", &Crf::trained, "weights"_a, WithoutGil())
      .def("start_from", &Crf::start_from, "weights"_a, "label"_a, "to"_a, WithoutGil(),
           "Takes over a model's weights, where there is a place for them; label: [its label] the number here.")
      .def_prop_ro("size", [](const Crf& crf) { return crf.keys().size(); })
      .def_prop_ro("nodes", [](const Crf& crf) { return crf.keys().nodes(); })
      .def_prop_ro("edges", [](const Crf& crf) { return crf.keys().edges(); })
      .def_prop_ro("corpus", [](const Crf& crf) { return hex(crf.corpus().digest); });
}

}  // namespace tagwright
