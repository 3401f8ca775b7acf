// Sums over lattices.
#include "python/bindings.h"
#include "sums/marginals.h"

namespace tagwright {
namespace {

nb::list marginals_of(const std::vector<AnyArray>& nodes, const std::vector<const Edges*>& edges,
                      const SwitchedOn& switched_on, const Keep& keep, bool with_edges, size_t threads) {
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
