// Sums over lattices.
#include <algorithm>

#include "kernels/elementary.h"
#include "lattice/no_path.h"
#include "python/bindings.h"
#include "sums/marginals.h"
#include "sums/ngram_sums.h"

namespace tagwright {
namespace {

auto zeros_to_numpy(Zeros& zeros, std::initializer_list<size_t> shape) {
  double* const held = zeros.release();
  return nb::ndarray<nb::numpy, double>(held, shape, nb::capsule(held, [](void* p) noexcept { std::free(p); }));
}

nb::list marginals_of(const std::vector<AnyArray>& nodes, const std::vector<const Edges*>& edges,
                      const SwitchedOn& active, const AllowedLists* allowed, const PruningRule& keep, bool with_edges,
                      size_t threads) {
  need(threads >= 1, "threads must be at least 1");
  const std::vector<Sentence> all = sentences_of(nodes, edges, active, allowed);
  const auto lattice = [&](size_t s) {
    return Lattice(*all[s].edges, all[s].T, all[s].nodes, all[s].on, 0, all[s].allowed);
  };
  std::vector<Marginals> made =
      without_gil([&] { return marginals_all(all.size(), lattice, keep, with_edges, threads); });
  nb::list out;
  for (size_t s = 0; s < made.size(); ++s) {
    const size_t T = all[s].T, L = all[s].edges->L();
    nb::object per_edge = nb::none();
    if (with_edges) per_edge = nb::cast(to_numpy(std::move(made[s].edges), {T ? T - 1 : 0, L, L}));
    out.append(nb::make_tuple(zeros_to_numpy(made[s].nodes, {T, L}), per_edge, made[s].log_z, made[s].entropy,
                              array_of(std::move(made[s].kept))));
  }
  return out;
}

// The one sentence of a call.
template <class Use>
auto with_lattice(const std::vector<AnyArray>& nodes, const std::vector<const Edges*>& edges, const SwitchedOn& active,
                  const AllowedLists* allowed, Use&& use) {
  const std::vector<Sentence> all = sentences_of(nodes, edges, active, allowed);
  need(all.size() == 1, "one sentence");
  return without_gil([&] {
    Arena& arena = thread_arena();
    arena.reset();
    const Trimmed trimmed(arena, kHeldBytes);
    return use(Lattice(*all[0].edges, all[0].T, all[0].nodes, all[0].on, 0, all[0].allowed), arena);
  });
}

// The same with its sums by exact forward-backward.
template <class Use>
auto with_sums(const std::vector<AnyArray>& nodes, const std::vector<const Edges*>& edges, const SwitchedOn& active,
               const AllowedLists* allowed, Use&& use) {
  return with_lattice(nodes, edges, active, allowed, [&](const Lattice& lattice, Arena& arena) {
    Sums sums;
    thread_local NgramSums ngrams;
    if (lattice.T) {
      sums = forward_backward(lattice, {}, arena, ngrams);
      if (sums.log_z == kForbidden) throw std::invalid_argument(why_no_path(lattice).value_or(kUnderflow));
    }
    return use(lattice, sums, arena);
  });
}

nb::tuple paths_through_labels(const std::vector<AnyArray>& nodes, const std::vector<const Edges*>& edges,
                               const SwitchedOn& active, const AllowedLists* allowed,
                               const std::vector<std::vector<int32_t>>& labels, bool probabilities) {
  PathsThrough made = with_lattice(nodes, edges, active, allowed, [&](const Lattice& lattice, Arena& arena) {
    return paths_through(lattice, labels, probabilities, arena);
  });
  nb::list per_node, per_edge, per_probability;
  for (std::vector<double>& own : made.nodes) per_node.append(array_of(std::move(own)));
  const auto add_steps = [&](std::vector<std::vector<double>>& steps, nb::list& to) {
    for (size_t t = 0; t < steps.size(); ++t)
      to.append(to_numpy(std::move(steps[t]), {labels[t].size(), labels[t + 1].size()}));
  };
  add_steps(made.edges, per_edge);
  add_steps(made.probabilities, per_probability);
  return nb::make_tuple(made.best, per_node, per_edge, per_probability);
}

auto behind_best_labels(const std::vector<AnyArray>& nodes, const std::vector<const Edges*>& edges,
                        const SwitchedOn& active, const AllowedLists* allowed) {
  size_t T = 0, L = 0;
  std::vector<double> made = with_lattice(nodes, edges, active, allowed, [&](const Lattice& lattice, Arena& arena) {
    T = lattice.T, L = lattice.L;
    return behind_best(lattice, arena);
  });
  return to_numpy(std::move(made), {T, L});
}

auto sample(const std::vector<AnyArray>& nodes, const std::vector<const Edges*>& edges, const SwitchedOn& active,
            const AllowedLists* allowed, size_t n, uint64_t seed) {
  std::vector<int32_t> made =
      with_sums(nodes, edges, active, allowed,
                [&](const Lattice&, const Sums& sums, Arena& arena) { return samples(sums, n, seed, arena); });
  return to_numpy(std::move(made), {n, nodes[0].shape(0)});
}

nb::list spans(const std::vector<AnyArray>& nodes, const std::vector<const Edges*>& edges, const SwitchedOn& active,
               const AllowedLists* allowed, const SpanRules& rules, std::span<const int32_t> labels, size_t k) {
  const SpanQuery query{rules, k};
  return pack(with_sums(nodes, edges, active, allowed, [&](const Lattice& lattice, const Sums& sums, Arena& arena) {
    need(k || labels.size() == lattice.T, "a path has one label per token");
    for (const int32_t y : labels) need(y >= 0 && static_cast<size_t>(y) < lattice.L, "no such label");
    return query.answer(lattice, sums, labels, arena);
  }));
}

// A function of numbers, for one and for an array of them.
template <double function(double)>
void bind_elementary(nb::module_& m, const char* name) {
  m.def(name, [](double x) { return function(x); }, "x"_a, "The same bits on every machine.");
  m.def(
      name,
      [](const Vector<double>& x) {
        const std::span<const double> given = span_of(x);
        std::vector<double> made(given.size());
        without_gil([&] { std::transform(given.begin(), given.end(), made.begin(), function); });
        return array_of(std::move(made));
      },
      "x"_a);
}

}  // namespace

void bind_sums(nb::module_& m) {
  bind_elementary<portable_exp>(m, "exp");
  bind_elementary<portable_log>(m, "log");
  bind_elementary<portable_log1p>(m, "log1p");
  bind_elementary<portable_expm1>(m, "expm1");
  m.def("marginals", &marginals_of, "nodes"_a, "edges"_a, "active"_a.none(), "allowed"_a.none(), "keep"_a,
        "with_edges"_a, "threads"_a,
        "Returns for each sentence: node probabilities, edge probabilities or None, log Z, entropy, labels kept.");
  m.def("behind_best", &behind_best_labels, "nodes"_a, "edges"_a, "active"_a.none(), "allowed"_a.none(),
        "Returns how far the best path through each node is behind the best path.");
  m.def("paths_through", &paths_through_labels, "nodes"_a, "edges"_a, "active"_a.none(), "allowed"_a.none(), "labels"_a,
        "probabilities"_a,
        "Returns for one sentence the score of the best path; for the given labels of each token how far the best path "
        "through each is behind it; the same for the edges between them; and the probabilities of these edges.");
  m.def("sample", &sample, "nodes"_a, "edges"_a, "active"_a.none(), "allowed"_a.none(), "n"_a, "seed"_a,
        "Returns labellings of one sentence drawn from its distribution, (n, T).");
  nb::class_<SpanRules>(m, "SpanRules")
      .def(nb::init<std::span<const int32_t>, std::span<const uint8_t>, std::span<const uint8_t>>(), "type"_a,
           "goes_on"_a, "continues"_a);
  m.def("spans", &spans, "nodes"_a, "edges"_a, "active"_a.none(), "allowed"_a.none(), "rules"_a, "labels"_a, "k"_a,
        "Returns the spans of one sentence's labelling, or the k most probable of any, each as type, first token, the "
        "token behind the last, probability.");
}

}  // namespace tagwright
