// Sums over lattices.
#include "python/bindings.h"
#include "sums/marginals.h"

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

std::vector<Sentence> sentences_of(const std::vector<AnyArray>& nodes, const std::vector<const Edges*>& edges,
                                   const SwitchedOn& switched_on) {
  need(edges.size() == 1 || edges.size() == nodes.size(), "edges: one, or one per sentence");
  need(!switched_on || switched_on->size() == nodes.size(), "switched_on: one per sentence");
  std::vector<Sentence> sentences;
  for (size_t s = 0; s < nodes.size(); ++s) {
    const Edges* own = edges.size() == 1 ? edges[0] : edges[s];
    need(own && nodes[s].ndim() == 2 && nodes[s].shape(1) == own->L(), "node scores must have shape (T, L)");
    const auto* on = switched_on && (*switched_on)[s] ? &*(*switched_on)[s] : nullptr;
    sentences.push_back({nodes[s].shape(0), scores_of(nodes[s]), own, on});
  }
  return sentences;
}

namespace {

nb::list marginals_of(const std::vector<AnyArray>& nodes, const std::vector<const Edges*>& edges,
                      const SwitchedOn& switched_on, const KeepTuple& rule, bool with_edges, size_t threads) {
  const Keep keep = std::apply(keep_of, rule);
  need(threads >= 1, "threads must be at least 1");
  const std::vector<Sentence> all = sentences_of(nodes, edges, switched_on);
  const auto lattice = [&](size_t s) { return Lattice(*all[s].edges, all[s].T, all[s].nodes, all[s].on); };
  std::vector<Marginals> made =
      without_gil([&] { return marginals_all(all.size(), lattice, keep, with_edges, threads); });
  nb::list out;
  for (size_t s = 0; s < made.size(); ++s) {
    const size_t T = all[s].T, L = all[s].edges->L();
    nb::object per_edge = nb::none();
    if (with_edges) per_edge = nb::cast(to_numpy(std::move(made[s].edges), {T ? T - 1 : 0, L, L}));
    out.append(nb::make_tuple(to_numpy(std::move(made[s].nodes), {T, L}), per_edge, made[s].log_z,
                              array_of(std::move(made[s].kept))));
  }
  return out;
}

}  // namespace

void bind_sums(nb::module_& m) {
  m.def("marginals", &marginals_of, "nodes"_a, "edges"_a, "switched_on"_a.none(), "keep"_a, "with_edges"_a, "threads"_a,
        "Returns for each sentence: node probabilities, edge probabilities or None, log Z, labels kept.");
}

}  // namespace tagwright
