// Trainers.
#include "python/bindings.h"
#include "train/crf/crf.h"
#include "train/perceptron.h"

namespace tagwright {
namespace {

using Integers = std::span<const int32_t>;
using Keys = std::span<const uint16_t>;
using Reals = std::span<const double>;

std::unique_ptr<Perceptron> make_perceptron(const Text& text, const Templates& templates, Integers labels, size_t L,
                                            const Weights* known, size_t min_count, size_t threads, Keys parts,
                                            bool edges, bool all_pairs, double margin,
                                            std::optional<bool> dense_edges) {
  return without_gil([&] {
    const CorpusOptions read{L, min_count, known, {}, threads};
    return std::make_unique<Perceptron>(read_corpus(text, templates, labels, read), copied(parts),
                                        PerceptronOptions{edges, all_pairs, margin, dense_edges});
  });
}

std::unique_ptr<Crf> make_crf(const Text& text, const Templates& templates, Integers labels, size_t L,
                              const Weights* known, size_t min_count, size_t threads,
                              const std::vector<std::string>& label_names, bool edges, bool all_pairs, bool dense_edges,
                              bool lanes) {
  return without_gil([&] {
    const CorpusOptions read{L, min_count, known, label_names, threads};
    Corpus corpus = read_corpus(text, templates, labels, read);
    WeightKeys<Owned> keys = keys_of(corpus, edges, all_pairs);
    return std::make_unique<Crf>(std::move(corpus), std::move(keys), CrfOptions{dense_edges, lanes, false});
  });
}

std::unique_ptr<Crf> make_closed(const Text& text, size_t L, const std::vector<std::string_view>& names,
                                 std::span<const uint64_t> row_end, Keys row_label, Keys previous, Keys current) {
  WeightKeys<Owned> keys{copied(row_end), copied(row_label), copied(previous), copied(current), {}, {}, {}};
  return without_gil([&] { return std::make_unique<Crf>(Crf::closed(text, L, names, std::move(keys))); });
}

nb::tuple packed(const Crf::Seen& seen) { return nb::make_tuple(seen.log_z - seen.right, seen.tokens, seen.kept); }

nb::tuple run(Perceptron& trainer, Integers sentences, const Plan& plan) {
  const Perceptron::Seen seen = without_gil([&] { return trainer.run(sentences, plan); });
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

nb::dict state_of(const Perceptron& trainer) {
  nb::dict out;
  State<Owned> state = trainer.state();
  each_of_state(state, [&](const std::string& name, auto& array) { out[name.c_str()] = array_of(std::move(array)); });
  return out;
}

void restore(Perceptron& trainer, double seen, nb::dict arrays) {
  NamedArrays named(std::move(arrays));
  State<Borrowed> state;
  each_of_state(state, [&](const std::string& name, auto& array) { named.read(name, array); });
  trainer.restore(seen, state);
}

}  // namespace

void bind_training(nb::module_& m) {
  nb::class_<Perceptron>(m, "PerceptronTrainer")
      .def_static("make", &make_perceptron, "text"_a, "templates"_a, "labels"_a, nb::kw_only(), "L"_a,
                  "known"_a.none() = nb::none(), "min_count"_a = 1, "threads"_a = 1, "parts"_a, "edges"_a = true,
                  "all_pairs"_a = false, "margin"_a = 0.0, "dense_edges"_a.none() = nb::none())
      .def("run", &run, "sentences"_a, "plan"_a,
           "Goes over sentences once. Returns tokens, wrong tokens, wrong sentences; rounds, nodes, edges looked at.")
      .def("average", &Perceptron::average, WithoutGil())
      .def("start_from", &Perceptron::start_from, "weights"_a, "label"_a, WithoutGil(),
           "Takes over a model's weights; label: [its label] the number here.")
      .def("state", &state_of, "Returns the arrays from which training can go on.")
      .def("restore", &restore, "seen"_a, "arrays"_a)
      .def_prop_ro("seen", &Perceptron::seen)
      .def_prop_ro("corpus", [](const Perceptron& p) { return hex(p.corpus().digest); });

  nb::class_<Crf>(m, "CrfTrainer")
      .def_static("make", &make_crf, "text"_a, "templates"_a, "labels"_a, nb::kw_only(), "L"_a,
                  "known"_a.none() = nb::none(), "min_count"_a = 1, "threads"_a = 1,
                  "label_names"_a = std::vector<std::string>(), "edges"_a = true, "all_pairs"_a = false,
                  "dense_edges"_a = false, "lanes"_a = true)
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
