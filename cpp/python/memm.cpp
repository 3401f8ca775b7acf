// Maxent Markov models, and dual decomposition.
#include <string>

#include "model/bidirectional.h"
#include "python/objects.h"

namespace tagwright {
namespace {

// arrays: may hold a tag dictionary. spans: rules for pairs of span labels, or none.
std::unique_ptr<Memm> make_memm(std::shared_ptr<Scorer> scorer, const std::vector<std::string>& names, nb::dict arrays,
                                bool leftward, size_t width, const PairRules* spans) {
  NamedArrays named(std::move(arrays));
  MemmRules rules;
  if (spans) rules.spans = std::make_shared<const PairRules>(*spans);
  if (named.has("dictionary.slots")) {
    NameArrays<Borrowed> words;
    named.read("dictionary.slots", words.slots);
    named.read("dictionary.ends", words.ends);
    named.read("dictionary.bytes", words.bytes);
    named.read("dictionary.end", rules.end);
    named.read("dictionary.label", rules.label);
    rules.words = words.view();
    rules.word_bytes = words.bytes.size();
    rules.owner = named.owner();
  }
  return std::make_unique<Memm>(std::move(scorer), names, leftward, width, std::move(rules));
}

AgreeOptions options_of(size_t rounds, double step, const std::string& schedule) {
  need(schedule == "constant" || schedule == "falling", "schedule must be 'constant' or 'falling'");
  return {rounds, step, schedule == "constant" ? Schedule::constant : Schedule::falling};
}

// Rules for pairs and lists of allowed labels, each perhaps none.
using Limits = std::tuple<const PairRules*, const AllowedLists*>;

TextLimits text_limits(const Limits& given) { return {std::get<0>(given), std::get<1>(given)}; }

// Labels of all sentences; and of each sentence joint score, rounds, agreed, certain; and the tokens in dispute.
nb::tuple agree_batch(const PricedModel& left, const Text& left_text, const PricedModel& right, const Text& right_text,
                      std::span<const int32_t> to_left, size_t rounds, double step, const std::string& schedule,
                      size_t threads, const Limits& left_limits, const Limits& right_limits) {
  const AgreeOptions options = options_of(rounds, step, schedule);
  const std::vector<Joint> made = without_gil([&] {
    return agree_all(left, left_text, right, right_text, to_left, options, threads, text_limits(left_limits),
                     text_limits(right_limits));
  });
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
          if (!nb::try_cast(nb::hasattr(item, "item") ? nb::object(item.attr("item")()) : nb::borrow(item), label) ||
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

nb::tuple agree_called(nb::callable left, nb::callable right, size_t T, size_t L, size_t rounds, double step,
                       const std::string& schedule) {
  need(L >= 1, "there must be a label");
  CalledSearch mine("left", std::move(left), T, L), its("right", std::move(right), T, L);
  const Agreement found = agree(mine, its, options_of(rounds, step, schedule));
  return nb::make_tuple(array_of(found.left), array_of(found.right), found.rounds, found.agreed, found.disputed);
}

}  // namespace

void bind_memm(nb::module_& m) {
  nb::class_<PricedModel>(m, "PricedModel")
      .def(
          "scores",
          [](const PricedModel& model, const Text& text, std::span<const int32_t> labels,
             const std::vector<size_t>& paths, size_t threads) {
            return without_gil([&] { return scores_of_labels(model, text, labels, paths, threads); });
          },
          "text"_a, "labels"_a, "paths"_a, "threads"_a, "Returns the scores of labellings, paths[s] of sentence s.");
  nb::class_<Memm, PricedModel>(m, "Memm")
      .def_static("make", &make_memm, "scorer"_a, "names"_a, "arrays"_a, nb::kw_only(), "leftward"_a, "width"_a,
                  "spans"_a.none())
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
          [](const Scorer& scorer, const Edges& edges, const Plan& plan) {
            return std::make_unique<LatticeModel>(scorer, edges, plan.with(1));
          },
          "scorer"_a, "edges"_a, "plan"_a, nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>());
  m.def("agree_batch", &agree_batch, "left"_a, "left_text"_a, "right"_a, "right_text"_a, "to_left"_a, nb::kw_only(),
        "rounds"_a, "step"_a, "schedule"_a, "threads"_a, "left_limits"_a, "right_limits"_a);
  m.def("agree", &agree_called, "left"_a, "right"_a, "T"_a, "L"_a, nb::kw_only(), "rounds"_a, "step"_a, "schedule"_a);
}

}  // namespace tagwright
