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

std::unique_ptr<Perceptron> make_perceptron(const Corpus& corpus, Keys parts, bool edges, bool all_pairs, double margin,
                                            std::optional<bool> dense_edges, std::shared_ptr<PairRules> rules,
                                            const AllowedLists* allowed) {
  return without_gil([&] {
    return std::make_unique<Perceptron>(
        corpus, copied(parts), PerceptronOptions{edges, all_pairs, margin, dense_edges, rules, lists_of(allowed)});
  });
}

std::unique_ptr<Crf> make_crf(const Corpus& corpus, bool edges, bool all_pairs, bool dense_edges, bool lanes,
                              std::shared_ptr<PairRules> rules, const AllowedLists* allowed) {
  return without_gil([&] {
    return std::make_unique<Crf>(corpus, keys_of(corpus, edges, all_pairs, rules.get()),
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

std::unique_ptr<OnlineCrf> make_online(const Corpus& corpus, Keys parts, bool edges, bool touched, size_t batch,
                                       double rate, double l2, const Keep& keep, size_t at_most,
                                       std::shared_ptr<PairRules> rules, const AllowedLists* allowed) {
  return without_gil([&] {
    return std::make_unique<OnlineCrf>(
        corpus, copied(parts), OnlineOptions{edges, touched, batch, rate, l2, keep, at_most, rules, lists_of(allowed)});
  });
}

nb::tuple packed(const Crf::Seen& seen) { return nb::make_tuple(seen.log_z - seen.right, seen.tokens, seen.kept); }

nb::tuple run(Perceptron& trainer, Integers sentences, const Plan& plan, const Corpus* from) {
  const Perceptron::Seen seen = without_gil([&] { return trainer.run(sentences, plan, from); });
  return nb::make_tuple(seen.tokens, seen.errors, seen.wrong_sentences, seen.work.rounds, seen.work.nodes,
                        seen.work.edges);
}

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
  each_of_state(state, [&](const std::string& name, auto& array) { out[name.c_str()] = array_of(std::move(array)); });
  return out;
}

template <class Trainer, class State>
void restore(Trainer& trainer, double seen, nb::dict arrays) {
  NamedArrays named(std::move(arrays));
  State state;
  each_of_state(state, [&](const std::string& name, auto& array) { named.read(name, array); });
  trainer.restore(seen, state);
}

}  // namespace

void bind_training(nb::module_& m) {
  nb::class_<Perceptron>(m, "PerceptronTrainer")
      .def_static("make", &make_perceptron, "corpus"_a, nb::kw_only(), "parts"_a, "edges"_a = true,
                  "all_pairs"_a = false, "margin"_a = 0.0, "dense_edges"_a.none() = nb::none(),
                  "rules"_a.none() = nb::none(), "allowed"_a.none() = nb::none())
      .def("run", &run, "sentences"_a, "plan"_a, "of"_a.none() = nb::none(),
           "Goes over sentences once, those of a cut of the corpus where one is given. Returns tokens, wrong tokens, "
           "wrong sentences; rounds, nodes, edges looked at.")
      .def("average", &Perceptron::average, WithoutGil())
      .def("start_from", &Perceptron::start_from, "weights"_a, "label"_a, WithoutGil(),
           "Takes over a model's weights; label: [its label] the number here.")
      .def("extend", &Perceptron::extend, "corpus"_a, WithoutGil(), "Goes on with other sentences.")
      .def("state", &state_of<Perceptron>, "Returns the arrays from which training can go on.")
      .def("restore", &restore<Perceptron, State<Borrowed>>, "seen"_a, "arrays"_a)
      .def_prop_ro("seen", &Perceptron::seen);

  nb::class_<OnlineCrf>(m, "OnlineTrainer")
      .def_static("make", &make_online, "corpus"_a, nb::kw_only(), "parts"_a, "edges"_a = true, "touched"_a = true,
                  "batch"_a = 8, "rate"_a = 0.5, "l2"_a = 0.0, "keep"_a, "at_most"_a = 0, "rules"_a.none() = nb::none(),
                  "allowed"_a.none() = nb::none())
      .def(
          "run",
          [](OnlineCrf& crf, Integers sentences, size_t threads, const Corpus* from) {
            const OnlineCrf::Seen seen = without_gil([&] { return crf.run(sentences, threads, from); });
            return nb::make_tuple(seen.loss, seen.tokens, seen.kept, seen.missing, seen.exact);
          },
          "sentences"_a, "threads"_a, "of"_a.none() = nb::none(),
          "Goes over sentences once, those of a cut of the corpus where one is given. Returns the loss, tokens, labels "
          "kept, what log Z may lack, sentences summed "
          "exactly.")
      .def("end_epoch", &OnlineCrf::end_epoch, WithoutGil(), "To be called after each pass over the corpus.")
      .def("log_z", &OnlineCrf::log_z, "sentences"_a, WithoutGil(),
           "Returns log Z of each sentence as it is summed in training, and what it may lack.")
      .def("average", &OnlineCrf::average, WithoutGil())
      .def("last", &OnlineCrf::last, WithoutGil())
      .def("start_from", &OnlineCrf::start_from, "weights"_a, "label"_a, WithoutGil(),
           "Takes over a model's weights; label: [its label] the number here.")
      .def("extend", &OnlineCrf::extend, "corpus"_a, WithoutGil(), "Goes on with other sentences.")
      .def("state", &state_of<OnlineCrf>, "Returns the arrays from which training can go on.")
      .def("restore", &restore<OnlineCrf, SteppedState<Borrowed>>, "seen"_a, "arrays"_a)
      .def_prop_ro("seen", &OnlineCrf::seen)
      .def_prop_ro("size", &OnlineCrf::size);

  nb::class_<Crf>(m, "CrfTrainer")
      .def_static("make", &make_crf, "corpus"_a, nb::kw_only(), "edges"_a = true, "all_pairs"_a = false,
                  "dense_edges"_a = false, "lanes"_a = true, "rules"_a.none() = nb::none(),
                  "allowed"_a.none() = nb::none())
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
          [](Crf& crf, std::span<double> weights, std::span<double> squares, const Keep& keep, Integers sentences,
             size_t batch, double rate, double l2, const Corpus* from) {
            return packed(
                without_gil([&] { return crf.adagrad(weights, squares, keep, sentences, batch, rate, l2, from); }));
          },
          "weights"_a, "squares"_a, "keep"_a, "sentences"_a, "batch"_a, "rate"_a, "l2"_a, "of"_a.none() = nb::none(),
          "Goes over the sentences once and changes weights and squares. Returns the loss, tokens, labels kept.")
      .def("trained", &Crf::trained, "weights"_a, WithoutGil())
      .def("start_from", &Crf::start_from, "weights"_a, "label"_a, "to"_a, WithoutGil(),
           "Takes over a model's weights, where there is a place for them; label: [its label] the number here.")
      .def_prop_ro("size", [](const Crf& crf) { return crf.keys().size(); })
      .def_prop_ro("nodes", [](const Crf& crf) { return crf.keys().nodes(); })
      .def_prop_ro("edges", [](const Crf& crf) { return crf.keys().edges(); });
}

}  // namespace tagwright
