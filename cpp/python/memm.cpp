// Maxent Markov models, and dual decomposition.
#include <string>

#include "model/bidirectional.h"
#include "model/model.h"
#include "python/objects.h"

namespace tagwright {
namespace {

// rules, dictionary: the model's own, which are soft.
std::unique_ptr<Memm> make_memm(const std::vector<std::string>& names, const Templates& templates, nb::dict arrays,
                                bool leftward, size_t width, const PairRules* rules, const TagDictionary* dictionary) {
  Weights weights = read_weights(names.size(), NamedArrays(std::move(arrays)), false);
  need(weights.arrays().edges() == 0, "a maxent Markov model has no edges");
  MemmRules own;
  if (rules) own.pairs = std::make_shared<const PairRules>(*rules);
  if (dictionary) own.dictionary = std::make_shared<const TagDictionary>(*dictionary);
  return std::make_unique<Memm>(std::make_shared<const Scorer>(templates, std::move(weights)), names, leftward, width,
                                std::move(own));
}

// Rounds, step and schedule.
using OptionTuple = std::tuple<size_t, double, std::string>;

AgreeOptions options_of(const OptionTuple& given) {
  const auto& [rounds, step, schedule] = given;
  need(schedule == "constant" || schedule == "falling", "schedule must be 'constant' or 'falling'");
  return {rounds, step, schedule == "constant" ? Schedule::constant : Schedule::falling};
}

// A model, its text, and its rules for pairs and lists of allowed labels, or None.
using SideTuple = std::tuple<const PricedModel*, const Text*, const PairRules*, const AllowedLists*>;

Side side_of(const SideTuple& given) {
  const auto& [model, text, rules, lists] = given;
  need(model && text, "a model and its text are needed");
  return {*model, *text, {rules, lists}};
}

// Labels of all sentences; and of each sentence joint score, rounds, agreed, certain; and the tokens in dispute.
nb::tuple agree_batch(const SideTuple& left, const SideTuple& right, std::span<const int32_t> to_left,
                      const OptionTuple& options, size_t threads) {
  const std::vector<Joint> made =
      without_gil([&] { return agree_all(side_of(left), side_of(right), to_left, options_of(options), threads); });
  std::vector<int32_t> labels;
  nb::list facts;
  for (const Joint& one : made) {
    labels.insert(labels.end(), one.labels.begin(), one.labels.end());
    facts.append(nb::make_tuple(one.score, one.found.rounds, one.found.agreed, one.found.certain, one.found.disputed));
  }
  return nb::make_tuple(array_of(std::move(labels)), facts);
}

// Any function of prices (T, L) as a search.
class CalledSearch : public PricedSearch {
 public:
  CalledSearch(const char* name, nb::callable function, size_t T, size_t L)
      : name_(name), function_(std::move(function)), T_(T), L_(L), prices_(times(T, L), 0.0) {}

  size_t length() const override { return T_; }
  void change(size_t t, int32_t label, double by) override { prices_[t * L_ + static_cast<size_t>(label)] += by; }
  const std::vector<int32_t>& find() override {
    const nb::object answer = function_(to_numpy(prices_, {T_, L_}));
    const auto bad = [&](const std::string& what) {
      return std::invalid_argument(std::string(name_) + " must give one label per token: " + what);
    };
    labels_.clear();
    const Expected labels{"a list of labels", "", SIZE_MAX};
    for_each_item(
        answer, labels, [&] { return "the answer of " + std::string(name_); },
        [&](nb::handle item, size_t n) {
          int64_t label = -1;
          if (!nb::try_cast(has_attribute(item, "item") ? nb::object(item.attr("item")()) : nb::borrow(item), label) ||
              label < 0 || static_cast<size_t>(label) >= L_)
            throw bad("labels go from 0 to " + std::to_string(L_ - 1));
          // An answer may have no end.
          if (n >= T_) throw bad("there are more labels than tokens, " + std::to_string(T_));
          labels_.push_back(static_cast<int32_t>(label));
        });
    if (labels_.size() < T_)
      throw bad(std::to_string(T_) + " tokens, but " + std::to_string(labels_.size()) + " labels");
    return labels_;
  }
  const std::vector<int32_t>& confirm() override { return labels_; }
  bool exact() const override { return true; }

 private:
  const char* name_;
  nb::callable function_;
  size_t T_, L_;
  std::vector<double> prices_;
  std::vector<int32_t> labels_;
};

nb::tuple agree_called(nb::callable left, nb::callable right, size_t T, size_t L, const OptionTuple& options) {
  need(L >= 1, "there must be a label");
  CalledSearch mine("left", std::move(left), T, L), its("right", std::move(right), T, L);
  const Agreement found = agree(mine, its, options_of(options));
  return nb::make_tuple(array_of(found.left), array_of(found.right), found.rounds, found.agreed, found.disputed);
}

}  // namespace

void bind_memm(nb::module_& m) {
  nb::class_<PricedModel>(m, "PricedModel")
      .def("scores", native(scores_of_labels), "text"_a, "labels"_a, "paths"_a, "threads"_a,
           "Returns the scores of labellings, paths[s] of sentence s.");
  nb::class_<Memm, PricedModel>(m, "Memm")
      .def_static("make", &make_memm, "names"_a, "templates"_a, "arrays"_a, nb::kw_only(), "leftward"_a, "width"_a,
                  "rules"_a.none(), "dictionary"_a.none())
      .def(
          "decode",
          [](const Memm& model, const Text& text, size_t width, size_t k, size_t threads, const PairRules* rules,
             const AllowedLists* allowed) {
            return pack(without_gil([&] { return decode_all(model, text, width, k, threads, {rules, allowed}); }));
          },
          "text"_a, "width"_a, "k"_a, "threads"_a, "rules"_a.none() = nb::none(), "allowed"_a.none() = nb::none())
      .def(
          "steps",
          [](const Memm& model, const Text& text, size_t sentence, const PairRules* rules,
             const AllowedLists* allowed) {
            const TextLimits limits{rules, allowed};
            limits.check(text, model.L());
            std::vector<double> steps =
                without_gil([&] { return memm_steps(model, text, sentence, limits.of(text, sentence)); });
            return to_numpy(std::move(steps), {text.length(sentence), model.L() + 1, model.L()});
          },
          "text"_a, "sentence"_a, "rules"_a.none() = nb::none(), "allowed"_a.none() = nb::none())
      .def_prop_ro("history", &Memm::history);
  nb::class_<LatticeModel, PricedModel>(m, "LatticeModel")
      .def_static(
          "make",
          [](const Model& model, const Edges& edges, const Plan& plan) {
            return std::make_unique<LatticeModel>(model.scorer(), edges, plan.with(1));
          },
          "model"_a, "edges"_a, "plan"_a, nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>());
  m.def("agree_batch", &agree_batch, "left"_a, "right"_a, "to_left"_a, "options"_a, "threads"_a,
        nb::sig("def agree_batch(left: tuple[PricedModel, Text, PairRules | None, AllowedLists | None], "
                "right: tuple[PricedModel, Text, PairRules | None, AllowedLists | None], "
                "to_left: NDArray[numpy.int32], options: tuple[int, float, str], threads: int) -> tuple"));
  m.def("agree", &agree_called, "left"_a, "right"_a, "T"_a, "L"_a, "options"_a);
}

}  // namespace tagwright
