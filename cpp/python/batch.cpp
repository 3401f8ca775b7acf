// Padded batches: sums and their derivatives, written into given arrays, and decoding without Python objects.
#include "sums/batch.h"

#include "decode/lanes.h"
#include "python/bindings.h"

namespace tagwright {
namespace {

using Filled = nb::ndarray<nb::c_contig, nb::device::cpu>;
using Allowed = nb::ndarray<const bool, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Tags = nb::ndarray<const int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
// A matrix, or pairs with their values and what all others score; start and stop.
using EdgeArrays = std::tuple<std::optional<AnyArray>, const PairShape*, std::optional<AnyArray>, double,
                              std::optional<AnyArray>, std::optional<AnyArray>>;

BatchEdges edges_of(const EdgeArrays& given, size_t L) {
  const auto& [matrix, pairs, values, fallback, start, stop] = given;
  BatchEdges made{.L = L, .fallback = fallback};
  need(matrix.has_value() != (pairs != nullptr), "edges: a matrix or pairs");
  if (matrix) {
    need(matrix->ndim() == 2 && matrix->shape(0) == L && matrix->shape(1) == L, "edge scores must have shape (L, L)");
    made.matrix = scores_of(*matrix);
  } else {
    need(pairs->L() == L && values && values->ndim() == 1 && values->shape(0) == pairs->size(),
         "values: one for each pair of labels");
    made.pairs = pairs;
    made.values = scores_of(*values);
  }
  const auto end = [&](const std::optional<AnyArray>& scores) {
    if (!scores) return Scores();
    need(scores->ndim() == 1 && scores->shape(0) == L, "start and stop must have shape (L,)");
    return scores_of(*scores);
  };
  made.start = end(start);
  made.stop = end(stop);
  return made;
}

template <class V>
std::span<V> filled(const std::optional<Filled>& array, size_t size) {
  if (!array) return {};
  need(array->dtype() == nb::dtype<V>() && array->size() == size, "an array to fill has another type or size");
  return {static_cast<V*>(array->data()), size};
}

// Which labels are allowed; tags whose scores are returned; the weight of all sentences, or those of each.
using SumInputs = std::tuple<std::optional<Allowed>, std::optional<Tags>, double, std::span<const double>>;
// Arrays that are filled: log Z, scores of tags, derivatives by nodes and edges, the pairs that these are for, and
// derivatives by start and stop scores.
using SumOutputs = std::tuple<std::span<double>, std::span<double>, std::optional<Filled>, std::optional<Filled>,
                              const PairShape*, std::optional<Filled>, std::optional<Filled>>;

// single: whether edge derivatives are float32.
void fill_sums(const AnyArray& nodes, std::span<const int64_t> lengths,
               const std::variant<EdgeArrays, const Edges*>& edges, const SumInputs& inputs, const PruningRule& keep,
               bool single, const SumOutputs& outputs, size_t threads) {
  const auto& [allowed, tags, weight, weights] = inputs;
  const auto& [log_z, scores, node_out, edge_out, counted, start_out, stop_out] = outputs;
  need(nodes.ndim() == 3 && nodes.shape(2) > 0, "node scores must have shape (B, T, L)");
  const size_t B = nodes.shape(0), T = nodes.shape(1), L = nodes.shape(2);
  need(lengths.size() == B && log_z.size() == B && scores.size() == (tags ? B : 0) &&
           (weights.empty() || weights.size() == B),
       "one per sentence");
  need(threads >= 1, "threads must be at least 1");
  need(!allowed || (allowed->shape(0) == B && allowed->shape(1) == T && allowed->shape(2) == L),
       "allowed must have the shape of the node scores");
  need(!tags || (tags->shape(0) == B && tags->shape(1) == T), "tags must have shape (B, T)");
  need(!counted || counted->L() == L, "the pairs are for another number of labels");
  Batch batch{.B = B, .T = T, .nodes = scores_of(nodes), .lengths = lengths};
  if (allowed) batch.allowed = allowed->data();
  if (tags) batch.tags = tags->data();
  batch.all_weigh = weight;
  batch.weights = weights;
  batch.keep = keep;
  batch.log_z = log_z;
  batch.scores = scores;
  if (node_out && node_out->dtype() == nb::dtype<float>()) {
    batch.nodes_f = filled<float>(node_out, nodes.size()).data();
  } else if (node_out) {
    batch.nodes_d = filled<double>(node_out, nodes.size()).data();
  }
  batch.counted = counted;
  need(node_out || (!start_out && !stop_out), "start and stop only beside nodes");
  std::vector<double> ends(2 * L);
  if (start_out) batch.start = ends.data();
  if (stop_out) batch.stop = ends.data() + L;
  const size_t count = counted ? counted->size() : times(L, L);
  const std::span<float> single_counts = single ? filled<float>(edge_out, count) : std::span<float>();
  const std::span<double> counts = single ? std::span<double>() : filled<double>(edge_out, count);

  const auto sum = [&](const BatchEdges& view) {
    without_gil([&] {
      single ? sum_batch<float>(view, batch, single_counts, threads) : sum_batch<double>(view, batch, counts, threads);
      return true;
    });
  };
  if (const auto* given = std::get_if<const Edges*>(&edges)) {
    constexpr const char* kOneMatrix = "edges: one matrix for all steps";
    need(*given && (*given)->L() == L, kOneMatrix);
    (*given)->need_same_steps(kOneMatrix);
    (*given)->need_no_ngrams(
        "these sums know no ngrams of labels, but the edges have some; use marginals_batch without edge_counts");
    const CopiedEdges copy(**given);
    sum(copy.view());
  } else {
    sum(edges_of(std::get<EdgeArrays>(edges), L));
  }
  const auto copy = [&](const std::optional<Filled>& out, size_t from) {
    const auto fill = [&](auto to) { std::copy_n(ends.data() + from, to.size(), to.data()); };
    if (out && out->dtype() == nb::dtype<float>()) return fill(filled<float>(out, L));
    if (out) fill(filled<double>(out, L));
  };
  copy(start_out, 0);
  copy(stop_out, L);
}

// labels: [b][k][t], scores: [b][k], counts: [b]; all filled.
void fill_paths(const AnyArray& nodes, std::span<const int64_t> lengths, const std::vector<const Edges*>& edges,
                const Plan& chosen, size_t k, size_t threads, double deadline,
                const std::tuple<std::span<int32_t>, std::span<double>, std::span<int32_t>>& outputs) {
  const auto& [labels, scores, counts] = outputs;
  Plan plan = chosen.with(k);
  plan.options.deadline = deadline;
  plan.options.proven = true;
  need(threads >= 1, "threads must be at least 1");
  need(nodes.ndim() == 3, "node scores must have shape (B, T, L)");
  const size_t B = nodes.shape(0), T = nodes.shape(1), L = nodes.shape(2);
  need(lengths.size() == B && counts.size() == B && scores.size() == times(B, k) &&
           labels.size() == times(times(B, k), T),
       "arrays to fill: (B, k, T), (B, k) and (B,)");
  need(edges.size() == 1 || edges.size() == B, "edges: one, or one per sentence");
  std::vector<Sentence> sentences;
  sentences.reserve(B);
  for (size_t b = 0; b < B; ++b) {
    const Edges* own = edges.size() == 1 ? edges[0] : edges[b];
    need(own && own->L() == L, "node scores must have shape (B, T, L)");
    need(lengths[b] >= 0 && static_cast<size_t>(lengths[b]) <= T, "lengths must be between 0 and T");
    sentences.push_back({static_cast<size_t>(lengths[b]), scores_of(nodes).from(b * T * L), own, nullptr});
  }
  without_gil([&] {
    std::fill(labels.begin(), labels.end(), -1);
    std::fill(scores.begin(), scores.end(), kForbidden);
    for (size_t b = 0; b < B; ++b) {
      counts[b] = lengths[b] == 0;
      if (lengths[b] == 0) scores[b * k] = 0;
    }
    const auto write = [&](size_t path, const int32_t* own, size_t T_own, double score) {
      scores[path] = score;
      std::copy(own, own + T_own, labels.data() + path * T);
    };
    if (decode_in_lanes(sentences, plan, threads, [&](size_t b, const int32_t* own) {
          const Sentence& sentence = sentences[b];
          counts[b] = 1;
          write(b, own, sentence.T, path_score(*sentence.edges, sentence.nodes, {own, sentence.T}));
        }))
      return true;
    decode_all(
        sentences, *plan.decoder, plan.options, threads, {}, [&](size_t b, const Lattice*, const Answer& answer) {
          counts[b] = static_cast<int32_t>(answer.paths.size());
          for (size_t q = 0; q < answer.paths.size(); ++q)
            write(b * k + q, answer.paths[q].labels.data(), answer.paths[q].labels.size(), answer.paths[q].score);
        });
    return true;
  });
}

}  // namespace

void bind_batch(nb::module_& m) {
  nb::class_<PairShape>(m, "Pairs")
      .def(nb::init<size_t, std::span<const int32_t>, std::span<const int32_t>>(), "L"_a, "previous"_a, "current"_a)
      .def_prop_ro("L", &PairShape::L)
      .def("__len__", &PairShape::size);
  m.def("fill_sums", &fill_sums, "nodes"_a, "lengths"_a, "edges"_a, "inputs"_a, "keep"_a, "single"_a,
        "outputs"_a.noconvert(), "threads"_a,
        "Sums over a padded batch. inputs: allowed, tags, weight, weights. outputs: arrays for log Z, scores of tags, "
        "derivatives by nodes and edges, the pairs of the latter, and derivatives by start and stop.");
  m.def("fill_paths", &fill_paths, "nodes"_a, "lengths"_a, "edges"_a, "plan"_a, "k"_a, "threads"_a, "deadline"_a,
        "outputs"_a.noconvert(), "The k best paths of a padded batch. outputs: arrays for labels, scores and counts.");
}

}  // namespace tagwright
