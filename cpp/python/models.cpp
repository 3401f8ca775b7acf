// The Python face of models and training.
#include <cmath>
#include <string>

#include "base/threads.h"
#include "model/scorer.h"
#include "python/train.h"
#include "sums/forward_backward.h"
#include "train/perceptron.h"

namespace tagwright {
namespace {

std::unique_ptr<Scorer> make_scorer(const Templates& templates, size_t L, nb::handle node_names, nb::handle edge_names,
                                    Vector<uint64_t> row_end, Vector<uint16_t> label, Vector<float> weight,
                                    Vector<uint16_t> parts, size_t part_count, bool first_only) {
  const IndexArrays node = index_arrays(node_names), edge = index_arrays(edge_names);
  need(L > 0 && parts.shape(0) % L == 0, "parts: there must be as many for each label");
  Weights weights{.L = L,
                  .parts = {L, part_count, parts.shape(0) / L, span_of(parts)},
                  .node_names = node.view(),
                  .edge_names = edge.view(),
                  .row_end = span_of(row_end),
                  .label = span_of(label),
                  .weight = span_of(weight),
                  .first_only = first_only,
                  .owner = {}};
  using Held =
      std::tuple<IndexArrays, IndexArrays, Vector<uint64_t>, Vector<uint16_t>, Vector<float>, Vector<uint16_t>>;
  weights.owner = {new Held(node, edge, row_end, label, weight, parts), [](void* held) {
                     nb::gil_scoped_acquire gil;
                     delete static_cast<Held*>(held);
                   }};
  nb::gil_scoped_release release;
  check_weights(weights, node.bytes.shape(0), edge.bytes.shape(0));
  return std::make_unique<Scorer>(templates, std::move(weights));
}

nb::tuple scorer_decode(const Scorer& scorer, const Text& text, const Edges& edges, const Plan& chosen, size_t k,
                        size_t threads) {
  const Plan plan = chosen.with(k);
  need(threads >= 1, "threads must be at least 1");
  need(edges.L() == scorer.L(), "the edges are for another number of labels");
  need_columns(text, scorer.templates());
  std::vector<Answer> answers;
  {
    nb::gil_scoped_release release;
    std::vector<Sentence> sentences(text.sentences());
    for (size_t s = 0; s < sentences.size(); ++s) sentences[s] = {text.length(s), {}, &edges, nullptr};
    const Supply supply = [&](size_t s, Arena& arena) {
      Supplied made;
      float* nodes = arena.array<float>(times(text.length(s), scorer.L()));
      scorer.score(text, s, nodes, made.on);
      made.nodes = {nodes, nullptr};
      return made;
    };
    answers = decode_all(sentences, *plan.decoder, plan.options, threads, supply);
  }
  return pack(answers);
}

nb::tuple scorer_nodes(const Scorer& scorer, const Text& text, size_t sentence) {
  need(sentence < text.sentences(), "no such sentence");
  need_columns(text, scorer.templates());
  const size_t T = text.length(sentence);
  std::vector<float> nodes(times(T, scorer.L()));
  std::vector<std::vector<int32_t>> on;
  scorer.score(text, sentence, nodes.data(), on);
  return nb::make_tuple(to_numpy(std::move(nodes), {T, scorer.L()}), on);
}

// Sums over the lattices of sentences, in parallel; taken: called for each with its sums and node scores.
template <class Take>
void scorer_sums(const Scorer& scorer, const Text& text, const Edges& edges, const Keep& keep, size_t threads,
                 Take&& taken) {
  need(threads >= 1, "threads must be at least 1");
  need(edges.L() == scorer.L(), "the edges are for another number of labels");
  need_columns(text, scorer.templates());
  nb::gil_scoped_release release;
  in_parallel(text.sentences(), threads, [&](size_t s) {
    const size_t T = text.length(s);
    if (T == 0) return;
    Arena& arena = thread_arena();
    arena.trim(kHeld);
    std::vector<std::vector<int32_t>> on;
    float* nodes = arena.array<float>(times(T, scorer.L()));
    scorer.score(text, s, nodes, on);
    const Lattice lattice(edges, T, {nodes, nullptr}, on.empty() ? nullptr : &on);
    const Sums sums = forward_backward(lattice, edges.factors(), keep, nullptr, arena);
    if (sums.log_z == kForbidden)
      throw std::invalid_argument("sentence " + std::to_string(s) + ": no path" +
                                  (keep.all() ? "" : " among the labels that keep chose; keep more"));
    taken(s, sums);
    arena.trim(kHeld);
  });
}

// Probabilities of all labels, an array (T, L) a sentence.
nb::list scorer_marginals(const Scorer& scorer, const Text& text, const Edges& edges, const KeepTuple& rule,
                          size_t threads) {
  std::vector<std::vector<float>> made(text.sentences());
  const size_t L = scorer.L();
  scorer_sums(scorer, text, edges, std::apply(keep_of, rule), threads, [&](size_t s, const Sums& sums) {
    made[s].assign(times(text.length(s), L), 0.0F);
    for (size_t t = 0; t < sums.columns.size(); ++t)
      for (size_t q = 0; q < sums.columns[t].labels.size(); ++q)
        made[s][t * L + static_cast<size_t>(sums.columns[t].labels[q])] = static_cast<float>(sums.columns[t].node[q]);
  });
  nb::list out;
  for (size_t s = 0; s < made.size(); ++s) out.append(to_numpy(std::move(made[s]), {text.length(s), L}));
  return out;
}

// log Z of each sentence, and the probability of each label of its paths; labels, paths: as decoding gives them.
nb::tuple scorer_probabilities(const Scorer& scorer, const Text& text, const Edges& edges, IntArray labels,
                               const std::vector<size_t>& paths, size_t threads) {
  need(paths.size() == text.sentences(), "there must be a number of paths for each sentence");
  std::vector<size_t> begin(text.sentences() + 1, 0);
  for (size_t s = 0; s < text.sentences(); ++s) begin[s + 1] = begin[s] + times(paths[s], text.length(s));
  need(begin.back() == labels.shape(0), "there must be one label a token of every path");
  for (const int32_t y : span_of(labels)) need(y >= 0 && static_cast<size_t>(y) < scorer.L(), "no such label");
  std::vector<double> log_z(text.sentences(), 0.0), probability(labels.shape(0), 0.0);
  const int32_t* label = labels.data();
  scorer_sums(scorer, text, edges, {}, threads, [&](size_t s, const Sums& sums) {
    log_z[s] = sums.log_z;
    for (size_t at = begin[s]; at < begin[s + 1]; ++at)
      probability[at] = sums.columns[(at - begin[s]) % text.length(s)].node[label[at]];
  });
  return nb::make_tuple(array_of(std::move(log_z)), array_of(std::move(probability)));
}

// --- training ---

struct Trainer {
  std::shared_ptr<Names> names;
  std::unique_ptr<Perceptron> perceptron;
  Digest corpus;  // of what it is trained on
};

std::unique_ptr<Trainer> make_trainer(const Text& text, const Templates& templates, IntArray labels, size_t L,
                                      const std::vector<std::string_view>& known_node,
                                      const std::vector<std::string_view>& known_edge, size_t min_count, bool edges,
                                      bool all_pairs, double margin, Vector<uint16_t> parts, size_t part_count,
                                      std::optional<bool> sparse_edges, size_t threads) {
  need(L > 0 && L + part_count <= std::numeric_limits<uint16_t>::max(),
       "a model has between 1 and 65,535 labels, their parts included");
  need(parts.shape(0) % L == 0, "parts: there must be as many for each label");
  TrainingCorpus read = read_corpus(text, templates, labels, L, known_node, known_edge, min_count, threads);
  auto made = std::make_unique<Trainer>();
  made->names = read.names;
  made->corpus = read.digest;
  nb::gil_scoped_release release;
  Encoded& corpus = read.corpus;
  std::vector<int32_t>& own = read.labels;
  PerceptronOptions options{.L = L,
                            .parts = part_count,
                            .parts_each = parts.shape(0) / L,
                            .edges = edges,
                            .all_pairs = all_pairs,
                            .margin = margin};
  need(margin >= 0 && margin <= 1e6, "margin must be between 0 and 1,000,000");
  if (sparse_edges) options.edge_form = *sparse_edges ? choose_edge_form(L, 0, EdgeUse::kTraining) : EdgeForm::kDense;
  made->perceptron = std::make_unique<Perceptron>(
      std::move(corpus), std::move(own), made->names->node.size(), made->names->edge.size(),
      std::vector<uint16_t>(parts.data(), parts.data() + parts.shape(0)), options);
  return made;
}

nb::tuple trainer_run(Trainer& trainer, IntArray sentences, const Plan& plan) {
  for (const int32_t s : span_of(sentences))
    need(s >= 0 && static_cast<size_t>(s) < trainer.perceptron->sentences(), "no such sentence");
  Perceptron::Seen seen;
  {
    nb::gil_scoped_release release;
    seen = trainer.perceptron->run(span_of(sentences), *plan.decoder, plan.options);
  }
  return nb::make_tuple(seen.tokens, seen.errors, seen.wrong_sentences, seen.work.rounds, seen.work.nodes,
                        seen.work.edges);
}

std::unique_ptr<TrainedWeights> trainer_average(const Trainer& trainer) {
  const Perceptron& p = *trainer.perceptron;
  auto out = std::make_unique<TrainedWeights>();
  out->names = trainer.names;
  const double n = std::max(p.seen(), 1.0);
  const auto average = [&](float weight, double sum) { return static_cast<float>(weight - sum / n); };
  const auto each = [&](const auto& rows, auto&& take, auto&& ended) {
    for (size_t r = 0; r < rows.rows(); ++r) {
      const auto weights = rows.template values<0>(r);
      const auto sums = rows.template values<1>(r);
      for (size_t q = 0; q < weights.size(); ++q)
        if (const float w = average(weights[q], sums[q]); w != 0) take(r, rows.keys(r)[q], w);
      ended();
    }
  };
  out->node_end.reserve(p.nodes().rows());
  out->node_label.reserve(p.nodes().entries());
  out->node_weight.reserve(p.nodes().entries());
  each(
      p.nodes(),
      [&](size_t, uint16_t label, float w) {
        out->node_label.push_back(label);
        out->node_weight.push_back(w);
      },
      [&] { out->node_end.push_back(out->node_label.size()); });
  const auto nothing = [] {};
  each(
      p.edges(),
      [&](size_t i, uint16_t j, float w) {
        out->previous.push_back(static_cast<int32_t>(i));
        out->current.push_back(j);
        out->edge.push_back(w);
      },
      nothing);
  each(
      p.sets(),
      [&](size_t set, uint64_t pair, float w) {
        out->set.push_back(static_cast<int32_t>(set));
        out->set_previous.push_back(Corrections::previous(pair));
        out->set_current.push_back(Corrections::current(pair));
        out->correction.push_back(w);
      },
      nothing);
  return out;
}

// All that a trainer needs to go on, beside its corpus: for nodes, edges and sets their rows, keys, weights and u.
nb::dict trainer_state(const Trainer& trainer) {
  nb::dict out;
  const auto put = [&](const char* name, const auto& rows) {
    std::vector<uint32_t> row;
    std::vector<uint64_t> key;
    std::vector<float> weight;
    std::vector<double> sum;
    for (size_t r = 0; r < rows.rows(); ++r) {
      for (size_t q = 0; q < rows.size(r); ++q) {
        const float w = rows.template values<0>(r)[q];
        const double u = rows.template values<1>(r)[q];
        row.push_back(static_cast<uint32_t>(r));
        key.push_back(rows.keys(r)[q]);
        weight.push_back(w);
        sum.push_back(u);
      }
    }
    out[name] = nb::make_tuple(array_of(std::move(row)), array_of(std::move(key)), array_of(std::move(weight)),
                               array_of(std::move(sum)));
  };
  put("nodes", trainer.perceptron->nodes());
  put("edges", trainer.perceptron->edges());
  put("sets", trainer.perceptron->sets());
  return out;
}

using StateArrays = std::tuple<Vector<uint32_t>, Vector<uint64_t>, Vector<float>, Vector<double>>;

void trainer_restore(Trainer& trainer, double seen, const StateArrays& nodes, const StateArrays& edges,
                     const StateArrays& sets) {
  Perceptron& p = *trainer.perceptron;
  const size_t L = p.options().L;
  need(std::isfinite(seen) && seen >= 0, "state: sentences seen must be a number");
  const auto each = [](const StateArrays& arrays, auto&& take) {
    const auto& [row, key, weight, sum] = arrays;
    need(row.shape(0) == key.shape(0) && row.shape(0) == weight.shape(0) && row.shape(0) == sum.shape(0),
         "state: arrays of unequal length");
    for (size_t q = 0; q < row.shape(0); ++q) {
      need(std::isfinite(weight(q)) && std::isfinite(sum(q)), "state: a weight that is not finite");
      take(row(q), key(q), weight(q), sum(q));
    }
  };
  each(nodes, [&](size_t f, uint64_t y, float w, double u) {
    need(f < p.nodes().rows() && y < p.parts().keys(), "state: a weight for a feature or label that is not there");
    p.set_node(f, y, w, u);
  });
  each(edges, [&](size_t i, uint64_t j, float w, double u) {
    need(i < L && j < L, "state: an edge between labels that are not there");
    p.set_edge(i, j, w, u);
  });
  each(sets, [&](size_t set, uint64_t pair, float w, double u) {
    const auto i = static_cast<size_t>(Corrections::previous(pair)),
               j = static_cast<size_t>(Corrections::current(pair));
    need(set < p.sets().rows() && i < L && j < L, "state: a correction that is not there");
    p.set_pair(set, i, j, w, u);
  });
  p.set_seen(seen);
}

}  // namespace

void bind_models(nb::module_& m) {
  nb::class_<Scorer>(m, "Scorer")
      .def_static("make", &make_scorer, "templates"_a, "L"_a, "names"_a, "edge_names"_a, "row_end"_a, "label"_a,
                  "weight"_a, "parts"_a, "part_count"_a, "first_only"_a)
      .def("decode", &scorer_decode, "text"_a, "edges"_a, "plan"_a, "k"_a, "threads"_a)
      .def("marginals", &scorer_marginals, "text"_a, "edges"_a, "keep"_a, "threads"_a)
      .def("probabilities", &scorer_probabilities, "text"_a, "edges"_a, "labels"_a, "paths"_a, "threads"_a)
      .def("nodes", &scorer_nodes, "text"_a, "sentence"_a,
           "Node scores (T, L) and the correction sets switched on at each step.");

  nb::class_<Trainer>(m, "PerceptronTrainer")
      .def_static("make", &make_trainer, "text"_a, "templates"_a, "labels"_a, "L"_a, "known_node"_a, "known_edge"_a,
                  "min_count"_a, "edges"_a, "all_pairs"_a, "margin"_a, "parts"_a, "part_count"_a,
                  "sparse_edges"_a.none(), "threads"_a)
      .def("run", &trainer_run, "sentences"_a, "plan"_a,
           "Tokens, wrong tokens, wrong sentences; rounds, nodes, edges looked at.")
      .def("average", &trainer_average, nb::call_guard<nb::gil_scoped_release>())
      .def("state", &trainer_state)
      .def("restore", &trainer_restore, "seen"_a, "nodes"_a, "edges"_a, "sets"_a)
      .def_prop_ro("features", [](const Trainer& t) { return t.names->node.size() + t.names->edge.size(); })
      .def_prop_ro("seen", [](const Trainer& t) { return t.perceptron->seen(); })
      .def_prop_ro("corpus", [](const Trainer& t) { return hex(t.corpus); });
}

}  // namespace tagwright
