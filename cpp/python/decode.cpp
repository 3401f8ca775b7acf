// Decoders, their options, and decoding of any scores.
#include <optional>

#include "python/bindings.h"

namespace tagwright {

std::vector<Sentence> sentences_of(const std::vector<AnyArray>& nodes, const std::vector<const Edges*>& edges,
                                   const SwitchedOn& active, const AllowedLists* allowed) {
  need(edges.size() == 1 || edges.size() == nodes.size(), "edges: one, or one per sentence");
  need(!active || active->size() == nodes.size(), "active: one per sentence");
  std::vector<Sentence> sentences;
  size_t tokens = 0;
  for (size_t s = 0; s < nodes.size(); ++s) {
    const Edges* own = edges.size() == 1 ? edges[0] : edges[s];
    need(own && nodes[s].ndim() == 2 && nodes[s].shape(1) == own->L(), "node scores must have shape (T, L)");
    const auto* on = active && (*active)[s] ? &*(*active)[s] : nullptr;
    need(!allowed || tokens + nodes[s].shape(0) <= allowed->columns(), "allowed: one list per token");
    sentences.push_back({nodes[s].shape(0), scores_of(nodes[s]), own, on, allowed ? allowed->view(tokens) : Allowed{}});
    tokens += nodes[s].shape(0);
  }
  return sentences;
}

namespace {

// A Python value as an option takes it; nothing where no option takes such a value.
std::optional<Option::Value> value_of(nb::handle value) {
  if (value.is_none()) return std::monostate();
  if (nb::isinstance<nb::bool_>(value)) return nb::cast<bool>(value);
  if (nb::isinstance<nb::str>(value)) return nb::cast<std::string>(value);
  if (nb::detail::make_caster<PruningRule>::Tuple keep; nb::try_cast(value, keep))
    return std::apply(PruningRule::named, keep);
  if (int64_t number; nb::isinstance<nb::int_>(value) && nb::try_cast(value, number)) return number;
  return std::nullopt;
}

Plan make_plan(std::string_view name, const nb::dict& settings) {
  Plan plan{decoder_named(name), {}};
  need(plan.decoder, "no such decoder");
  for (const auto& [key, given] : settings) {
    const std::string named = nb::cast<std::string>(key);
    const Option* option = plan.decoder->option(named);
    if (!option) throw std::invalid_argument("decoder '" + std::string(name) + "' has no option '" + named + "'");
    const std::optional<Option::Value> value = value_of(given);
    if (!value || !option->set(plan.options, *value))
      throw std::invalid_argument(named + " must be " + option->takes() + ", not " + nb::repr(given).c_str());
  }
  return plan;
}

// An option's row: name, type in Python, default, what it takes in words, the words or numbers it may be.
nb::tuple row_of(const Option& option) {
  const Options defaults;
  const auto row = [&](const char* type, nb::object value, nb::object values) {
    return nb::make_tuple(std::string(option.name), type, value, option.takes(), values);
  };
  const auto range = [&] { return nb::make_tuple(option.low, option.high); };
  return std::visit(
      [&](auto field) -> nb::tuple {
        const auto& value = defaults.*field;
        using Type = std::remove_cvref_t<decltype(value)>;
        if constexpr (std::is_same_v<Type, size_t>) return row("int", nb::cast(value), range());
        if constexpr (std::is_same_v<Type, std::optional<size_t>>) return row("int | None", nb::cast(value), range());
        if constexpr (std::is_same_v<Type, std::string_view>)
          return row("str", nb::cast(std::string(value)), nb::tuple(nb::cast(option.choices)));
        if constexpr (std::is_same_v<Type, bool>) return row("bool", nb::cast(value), nb::make_tuple(false, true));
        return row("Keep | None", nb::none(), nb::tuple());
      },
      option.field);
}

nb::list rows() {
  nb::list rows;
  for (const Decoder& d : decoders()) {
    nb::list options;
    for (const Option& option : d.options)
      if (!option.only_to_compare) options.append(row_of(option));
    rows.append(nb::make_tuple(std::string(d.name), std::string(d.paper), d.exact, d.kbest, d.deadline,
                               std::string(d.maximises), bool(d.contexts.decode), options));
  }
  return rows;
}

nb::tuple decode(const std::vector<AnyArray>& nodes, const std::vector<const Edges*>& edges, const SwitchedOn& active,
                 const AllowedLists* allowed, const Plan& chosen, size_t k, size_t threads, double deadline) {
  Plan plan = chosen.with(k);
  plan.options.deadline = deadline;
  need(threads >= 1, "threads must be at least 1");
  const std::vector<Sentence> sentences = sentences_of(nodes, edges, active, allowed);
  return pack(without_gil([&] { return decode_all(sentences, *plan.decoder, plan.options, threads); }));
}

double score(const AnyArray& nodes, const Edges& edges, const StepSets& active, std::span<const int32_t> labels) {
  need(nodes.ndim() == 2 && nodes.shape(1) == edges.L(), "node scores must have shape (T, L)");
  need(labels.size() == nodes.shape(0), "a path has one label per token");
  for (const int32_t y : labels) need(y >= 0 && static_cast<size_t>(y) < edges.L(), "no such label");
  return path_score(Lattice(edges, labels.size(), scores_of(nodes), active ? &*active : nullptr), labels);
}

// The scores of some edges, corrections included: from label i of column t to label j of the next.
std::vector<double> edge_scores(const AnyArray& nodes, const Edges& edges, const StepSets& active,
                                std::span<const int32_t> t, std::span<const int32_t> i, std::span<const int32_t> j) {
  need(nodes.ndim() == 2 && nodes.shape(1) == edges.L(), "node scores must have shape (T, L)");
  need(t.size() == i.size() && t.size() == j.size(), "t, i and j must have the same length");
  const auto below = [](std::span<const int32_t> numbers, size_t end) {
    for (const int32_t n : numbers) need(n >= 0 && static_cast<size_t>(n) < end, "no such edge");
  };
  below(t, nodes.shape(0) ? nodes.shape(0) - 1 : 0);
  below(i, edges.L());
  below(j, edges.L());
  const Lattice lattice(edges, nodes.shape(0), scores_of(nodes), active ? &*active : nullptr);
  std::vector<double> made(t.size());
  for (size_t q = 0; q < t.size(); ++q)
    made[q] = lattice.edge(static_cast<size_t>(t[q]), static_cast<size_t>(i[q]), static_cast<size_t>(j[q]));
  return made;
}

}  // namespace

void bind_decode(nb::module_& m) {
  m.def("decoders", &rows,
        nb::sig("def decoders() -> list[tuple[str, str, bool, bool, bool, str, bool, list[tuple[str, str, object, str, "
                "tuple[object, ...]]]]]"),
        "Returns the decoder table: rows of name, paper, exact, kbest, deadline, what it maximises, ngrams, and "
        "options as "
        "name, type, default, takes, values.");

  nb::class_<Plan>(m, "Plan").def_static("make", &make_plan, "decoder"_a, "options"_a,
                                         nb::sig("def make(decoder: str, options: dict[str, object]) -> Plan"),
                                         "A decoder with its options; those not named have their defaults.");
  m.def("decode", &decode, "nodes"_a, "edges"_a, "active"_a.none(), "allowed"_a.none(), "plan"_a, "k"_a, "threads"_a,
        "deadline"_a,
        "Returns labels of all paths one behind the other; their scores; and for each sentence its paths, rounds, "
        "nodes, edges, whether it is exact, and gap.");
  m.def("score", &score, "nodes"_a, "edges"_a, "active"_a.none(), "labels"_a,
        "Returns the score of one path, summed from left to right in double precision.");
  m.def(
      "edge_scores",
      [](const AnyArray& nodes, const Edges& edges, const StepSets& active, std::span<const int32_t> t,
         std::span<const int32_t> i,
         std::span<const int32_t> j) { return array_of(edge_scores(nodes, edges, active, t, i, j)); },
      "nodes"_a, "edges"_a, "active"_a.none(), "t"_a, "i"_a, "j"_a,
      "Returns the scores of edges from label i of column t to label j of the next.");
}

}  // namespace tagwright
