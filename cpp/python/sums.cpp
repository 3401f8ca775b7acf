// The Python face of sums over lattices.
#include <cmath>

#include "base/threads.h"
#include "python/bindings.h"
#include "sums/forward_backward.h"

namespace tagwright {

Keep keep_of(const std::string& rule, double value, size_t at_least) {
  if (rule.empty()) return {};
  if (rule == "divergence") {
    need(value >= 0 && at_least >= 1, "keep: epsilon must be at least 0, at_least at least 1");
    return {.rule = Keep::Rule::kDivergence, .epsilon = value, .at_least = at_least};
  }
  if (rule == "size") {
    need(value >= 1 && value < 0x1p31, "keep: the size must be at least 1");
    return {.rule = Keep::Rule::kSize, .size = static_cast<size_t>(value)};
  }
  need(rule == "ratio", "keep: no such rule");
  need(value > 0 && value <= 1, "keep: the ratio must be above 0 and at most 1");
  return {.rule = Keep::Rule::kRatio, .ratio = value};
}

namespace {

// One sentence's share.
struct Summed {
  double log_z = 0;
  std::vector<double> nodes;  // (T, L)
  std::vector<double> edges;  // (T - 1, L, L), where wanted
  std::vector<int32_t> kept;  // (T)
};

Summed sum(const Lattice& lattice, const Keep& keep, bool with_edges, Arena& arena) {
  Summed out;
  const size_t T = lattice.T, L = lattice.L;
  out.nodes.assign(times(T, L), 0.0);
  if (with_edges) out.edges.assign(times(T ? T - 1 : 0, times(L, L)), 0.0);
  if (T == 0) return out;
  const Sums sums = forward_backward(lattice, lattice.edges.factors(), keep, nullptr, arena);
  if (sums.log_z == kForbidden)
    throw std::invalid_argument(keep.all() ? "no path: -inf scores forbid every labelling"
                                           : "no path among the labels that keep chose: -inf scores forbid them all; "
                                             "keep more, or use keep=None to see whether there is one");
  out.log_z = sums.log_z;
  std::vector<double> step;
  for (size_t t = 0; t < T; ++t) {
    const Sums::Column& column = sums.columns[t];
    for (size_t q = 0; q < column.labels.size(); ++q)
      out.nodes[t * L + static_cast<size_t>(column.labels[q])] = column.node[q];
    out.kept.push_back(static_cast<int32_t>(column.labels.size()));
    if (!with_edges || t + 1 == T) continue;
    const Sums::Column& next = sums.columns[t + 1];
    sums.step(lattice, t, step);
    for (size_t p = 0; p < column.labels.size(); ++p)
      for (size_t q = 0; q < next.labels.size(); ++q)
        out.edges[(t * L + static_cast<size_t>(column.labels[p])) * L + static_cast<size_t>(next.labels[q])] =
            step[p * next.labels.size() + q];
  }
  return out;
}

nb::list marginals(const std::vector<AnyArray>& nodes, const std::vector<const Edges*>& edges,
                   const std::optional<std::vector<std::optional<std::vector<std::vector<int32_t>>>>>& switched_on,
                   const KeepTuple& rule, bool with_edges, size_t threads) {
  const Keep keep = std::apply(keep_of, rule);
  need(threads >= 1, "threads must be at least 1");
  need(edges.size() == 1 || edges.size() == nodes.size(), "edges: one, or one a sentence");
  need(!switched_on || switched_on->size() == nodes.size(), "switched_on: one a sentence");
  std::vector<Scores> scores;
  for (size_t s = 0; s < nodes.size(); ++s) {
    const Edges* own = edges.size() == 1 ? edges[0] : edges[s];
    need(own && nodes[s].ndim() == 2 && nodes[s].shape(1) == own->L(), "node scores must have shape (T, L)");
    scores.push_back(scores_of(nodes[s]));
  }
  std::vector<Summed> made(nodes.size());
  {
    nb::gil_scoped_release release;
    in_parallel(nodes.size(), threads, [&](size_t s) {
      const auto* on = switched_on && (*switched_on)[s] ? &*(*switched_on)[s] : nullptr;
      Arena& arena = thread_arena();
      arena.trim(kHeld);
      try {
        const Lattice lattice(*(edges.size() == 1 ? edges[0] : edges[s]), nodes[s].shape(0), scores[s], on);
        made[s] = sum(lattice, keep, with_edges, arena);
      } catch (const std::invalid_argument& error) {
        if (nodes.size() == 1) throw;
        fail_in(s, error);
      }
      arena.trim(kHeld);
    });
  }
  nb::list out;
  for (size_t s = 0; s < made.size(); ++s) {
    const size_t T = nodes[s].shape(0), L = nodes[s].shape(1);
    nb::object per_edge = nb::none();
    if (with_edges) per_edge = nb::cast(to_numpy(std::move(made[s].edges), {T ? T - 1 : 0, L, L}));
    out.append(nb::make_tuple(to_numpy(std::move(made[s].nodes), {T, L}), per_edge, made[s].log_z,
                              array_of(std::move(made[s].kept))));
  }
  return out;
}

}  // namespace

void bind_sums(nb::module_& m) {
  m.def("marginals", &marginals, "nodes"_a, "edges"_a, "switched_on"_a.none(), "keep"_a, "with_edges"_a, "threads"_a,
        "For each sentence: node probabilities, edge probabilities or None, log Z, labels kept.");
}

}  // namespace tagwright
