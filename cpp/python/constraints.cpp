// Constraints: rules for pairs of labels, rules about whole labellings, and lists of allowed labels.
#include <algorithm>
#include <string>

#include "python/objects.h"

namespace tagwright {
namespace {

// A rule: its name, and the states that labels need before them and leave.
using RuleArrays = std::tuple<std::string, Vector<int32_t>, Vector<int32_t>>;

std::vector<bool> flags_of(const std::optional<Vector<bool>>& flags) {
  std::vector<bool> made;
  for (size_t y = 0; flags && y < flags->shape(0); ++y) made.push_back((*flags)(y));
  return made;
}

std::shared_ptr<PairRules> make_rules(size_t L, const std::vector<RuleArrays>& arrays,
                                      std::span<const int32_t> previous, std::span<const int32_t> current,
                                      const std::optional<Vector<bool>>& start,
                                      const std::optional<Vector<bool>>& stop) {
  need(previous.size() == current.size(), "constraints: previous and current must have the same length");
  std::vector<PairRule> rules;
  for (const auto& [name, entry, exit] : arrays) rules.push_back({name, copied(span_of(entry)), copied(span_of(exit))});
  PairRules::Pairs forbidden;
  for (size_t q = 0; q < previous.size(); ++q) forbidden.emplace_back(previous[q], current[q]);
  need(!start || start->shape(0) == L, "constraints: start is for other labels");
  need(!stop || stop->shape(0) == L, "constraints: stop is for other labels");
  return std::make_shared<PairRules>(L, std::move(rules), std::move(forbidden), flags_of(start), flags_of(stop));
}

// A rule about whole labellings: its name, the fewest and the most units, -1 for any number, members and their flags.
using CountArrays = std::tuple<std::string, int64_t, int64_t, Vector<int32_t>, Vector<uint8_t>>;

// A function of Python and the names of labels that it is given.
struct Predicate {
  nb::callable function;
  nb::list names;  // one per label; not changed meanwhile
};

// The same as the core calls it, on any thread.
LabellingRules::Accept predicate_of(nb::callable function, nb::list names) {
  const std::shared_ptr<Predicate> held(new Predicate{std::move(function), std::move(names)}, [](Predicate* own) {
    const nb::gil_scoped_acquire acquire;
    delete own;
  });
  return [held](std::span<const int32_t> labels) {
    const nb::gil_scoped_acquire acquire;
    const nb::object given = names_of(held->names, labels);
    const int accepted = PyObject_IsTrue(held->function(given).ptr());
    if (accepted < 0) throw nb::python_error();
    return accepted == 1;
  };
}

// names: of the labels.
std::shared_ptr<LabellingRules> make_labelling_rules(nb::list names, const std::vector<CountArrays>& arrays,
                                                     const std::vector<nb::callable>& accept, size_t limit) {
  std::vector<CountRule> counts;
  for (const auto& [name, least, most, label, flags] : arrays) {
    need(least >= 0 && most >= -1, "constraints: numbers of units must not be negative");
    counts.push_back({name, static_cast<size_t>(least), most < 0 ? SIZE_MAX : static_cast<size_t>(most),
                      copied(span_of(label)), copied(span_of(flags))});
  }
  std::vector<LabellingRules::Accept> predicates;
  for (const nb::callable& function : accept) predicates.push_back(predicate_of(function, nb::list(names)));
  return std::make_shared<LabellingRules>(names.size(), std::move(counts), std::move(predicates), limit);
}

// Reads the lists of one token after the other.
class ListReader {
 public:
  // names: the numbers of labels by their names, or None where labels are numbers only.
  explicit ListReader(nb::object names) : names_(std::move(names)) {}

  // L: how many labels there are.
  // where(): what the token is called in messages.
  template <class Where>
  void read(nb::handle token, size_t L, Where&& where, AllowedLists& lists) {
    L_ = L;
    labels_.clear();
    const Expected expected{"a list of labels, or None where all are allowed", "; write a list around it", kMostItems};
    for_each_item(token, expected, where, [&](nb::handle item, size_t) { labels_.push_back(label(item, where)); });
    if (labels_.empty())
      throw std::invalid_argument(where() + " is empty, so that no label is left; use None where all are allowed");
    if (const auto falls = [](int32_t a, int32_t b) { return a >= b; };
        std::adjacent_find(labels_.begin(), labels_.end(), falls) != labels_.end()) {
      std::sort(labels_.begin(), labels_.end());
      labels_.erase(std::unique(labels_.begin(), labels_.end()), labels_.end());
    }
    lists.add(labels_);
  }

 private:
  static constexpr size_t kMostItems = size_t{1} << 24;

  template <class Where>
  int32_t label(nb::handle item, Where&& where) const {
    if (PyLong_CheckExact(item.ptr())) {
      int beyond = 0;
      const long number = PyLong_AsLongAndOverflow(item.ptr(), &beyond);
      if (!beyond && number >= 0 && static_cast<size_t>(number) < L_) return static_cast<int32_t>(number);
    }
    if (!names_.is_none() && !PyLong_CheckExact(item.ptr())) {
      // Of a string of another class, as NumPy has, the text counts, not what its class makes of equality.
      const nb::object name = nb::steal(PyUnicode_Check(item.ptr()) ? PyUnicode_FromObject(item.ptr()) : nullptr);
      PyObject* const found = name.is_valid() ? PyDict_GetItemWithError(names_.ptr(), name.ptr()) : nullptr;
      if (PyErr_Occurred()) throw nb::python_error();
      if (found) return nb::cast<int32_t>(nb::handle(found));
      throw std::invalid_argument(where() + " names " + nb::repr(item).c_str() + ", which is no label of the model");
    }
    const nb::object index = nb::steal(PyBool_Check(item.ptr()) ? nullptr : PyNumber_Index(item.ptr()));
    PyErr_Clear();
    int64_t number = -1;
    if (!index.is_valid()) throw std::invalid_argument(where() + " must hold whole numbers, not " + class_name(item));
    if (!nb::try_cast(index, number) || number < 0 || static_cast<size_t>(number) >= L_)
      throw std::invalid_argument(where() + " names label " + nb::str(index).c_str() + ", but labels go from 0 to " +
                                  std::to_string(L_ - 1));
    return static_cast<int32_t>(number);
  }

  size_t L_ = 0;
  nb::object names_;
  std::vector<int32_t> labels_;
};

// given: for each sentence None, or a list of one entry per token: None, or labels.
std::unique_ptr<AllowedLists> read_lists(nb::handle given, const std::vector<size_t>& lengths,
                                         const std::vector<size_t>& L, nb::object names) {
  auto made = std::make_unique<AllowedLists>();
  need(L.size() == 1 || L.size() == lengths.size(), "allowed: how many labels there are, once or per sentence");
  ListReader reader(std::move(names));
  const bool many = lengths.size() != 1;
  const auto in_sentence = [&](size_t s) { return many ? " of sentence " + std::to_string(s) : std::string(); };
  size_t sentences = 0;
  for_each_item(
      given, {"a list with one entry per sentence", "", lengths.size()}, [] { return std::string("allowed"); },
      [&](nb::handle sentence, size_t s) {
        need(s < lengths.size(),
             "allowed has more entries than there are sentences, " + std::to_string(lengths.size()));
        ++sentences;
        if (sentence.is_none()) {
          for (size_t t = 0; t < lengths[s]; ++t) made->add_wide();
          return;
        }
        size_t tokens = 0;
        const auto name = [&] { return "allowed" + in_sentence(s); };
        for_each_item(sentence, {"a list with one entry per token", "", SIZE_MAX}, name,
                      [&](nb::handle token, size_t t) {
                        if (++tokens > lengths[s]) return;
                        if (token.is_none()) return made->add_wide();
                        const auto where = [&] { return "allowed[" + std::to_string(t) + "]" + in_sentence(s); };
                        reader.read(token, L[L.size() == 1 ? 0 : s], where, *made);
                      });
        if (tokens != lengths[s])
          throw std::invalid_argument(name() + " has " + std::to_string(tokens) + " entries, but there are " +
                                      std::to_string(lengths[s]) + " tokens");
      });
  need(sentences == lengths.size(), "allowed has " + std::to_string(sentences) + " entries, but there are " +
                                        std::to_string(lengths.size()) + " sentences");
  return made;
}

}  // namespace

void bind_constraints(nb::module_& m) {
  nb::class_<PairRules>(m, "PairRules")
      .def_static("make", &make_rules, "L"_a, "rules"_a, "previous"_a, "current"_a, "start"_a.none(), "stop"_a.none())
      .def(
          "may_follow",
          [](const PairRules& rules, std::span<const int32_t> previous, std::span<const int32_t> current) {
            need(previous.size() == current.size(), "previous and current must have the same length");
            std::vector<uint8_t> may(previous.size());
            for (size_t q = 0; q < may.size(); ++q) {
              const auto i = static_cast<size_t>(previous[q]), j = static_cast<size_t>(current[q]);
              need(i < rules.L() && j < rules.L(), "no such label");
              may[q] = rules.may_follow(i, j);
            }
            return array_of(std::move(may));
          },
          "previous"_a, "current"_a, "Returns for each pair of labels whether the second may follow the first.");
  nb::class_<LabellingRules>(m, "LabellingRules")
      .def_static("make", &make_labelling_rules, "names"_a, "counts"_a, "accept"_a, "limit"_a)
      .def(
          "violated",
          [](const LabellingRules& rules, std::span<const int32_t> labels) -> std::optional<size_t> {
            for (const int32_t y : labels) need(y >= 0 && static_cast<size_t>(y) < rules.L(), "no such label");
            const std::vector<size_t> units = rules.units(labels);
            for (size_t r = 0; r < units.size(); ++r)
              if (units[r] < rules.counts()[r].least || units[r] > rules.counts()[r].most) return r;
            return std::nullopt;
          },
          "labels"_a,
          "Returns the number of the first rule that a labelling violates, or None; predicates are left out.");
  nb::class_<AllowedLists>(m, "AllowedLists")
      .def_static("read", &read_lists, "given"_a, "lengths"_a, "L"_a, "names"_a.none() = nb::none())
      .def(
          "lists",
          [](const AllowedLists& from) {
            std::vector<std::optional<std::vector<int32_t>>> made(from.columns());
            for (size_t t = 0; t < made.size(); ++t)
              if (const auto own = from.view()[t]; !own.empty()) made[t] = copied(own);
            return made;
          },
          "Returns the labels that each token may have, or None where it may have all.");
}

}  // namespace tagwright
