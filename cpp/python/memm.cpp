// The Python face of maxent Markov models and of dual decomposition.
#include <cmath>
#include <string>

#include "model/bidirectional.h"
#include "python/bindings.h"

namespace tagwright {
namespace {

using Bytes = Vector<uint8_t>;

class MemmModel : public PricedModel {
 public:
  Memm memm;
  size_t width = 1;

  size_t L() const override { return memm.L(); }
  const Templates& templates() const override { return memm.scorer->templates(); }
  std::unique_ptr<SentenceSearch> search() const override { return std::make_unique<MemmSearch>(memm, width); }
};

class LatticeModel : public PricedModel {
 public:
  nb::object held;  // the scorer and the edges, kept alive
  const Scorer* scorer;
  const Edges* edges;
  Plan plan;

  size_t L() const override { return scorer->L(); }
  const Templates& templates() const override { return scorer->templates(); }
  std::unique_ptr<SentenceSearch> search() const override {
    return std::make_unique<LatticeSearch>(*scorer, *edges, *plan.decoder, plan.options);
  }
};

std::unique_ptr<MemmModel> make_memm(std::shared_ptr<Scorer> scorer, const std::vector<std::string>& names,
                                     bool leftward, size_t width, Bytes start, Bytes stop, Bytes follows,
                                     nb::handle words, Vector<uint64_t> end, Vector<uint16_t> label) {
  auto made = std::make_unique<MemmModel>();
  need(names.size() == scorer->L(), "there must be one name a label");
  need(width >= 1, "beam must be at least 1");
  need(!scorer->weights().first_only && scorer->weights().parts.each == 0 && scorer->weights().edge_names.size() == 0,
       "a maxent Markov model has weights for labels only");
  const auto copied = [](const Bytes& from) { return std::vector<uint8_t>(from.data(), from.data() + from.shape(0)); };
  const IndexArrays index = index_arrays(words);
  made->memm.names = names;
  made->memm.history = scorer->templates().history();
  made->memm.leftward = leftward;
  made->memm.scorer = std::move(scorer);
  made->width = width;
  MemmRules& rules = made->memm.rules;
  rules = {copied(start), copied(stop), copied(follows), index.view(), span_of(end), span_of(label), {}};
  rules.check(names.size(), index.bytes.shape(0));
  using Held = std::tuple<IndexArrays, Vector<uint64_t>, Vector<uint16_t>>;
  rules.owner = {new Held(index, end, label), [](void* held) {
                   nb::gil_scoped_acquire gil;
                   delete static_cast<Held*>(held);
                 }};
  return made;
}

void check_text(const PricedModel& model, const Text& text) {
  need_columns(text, model.templates());
  need(!text.ready || model.templates().columns() == 0, "the templates read text, but features are ready-made");
}

// The k best labellings of each sentence, as decoding packs them.
nb::tuple memm_decode(const MemmModel& model, const Text& text, size_t width, size_t k, size_t threads) {
  need(threads >= 1 && k >= 1 && width >= 1, "threads, k and the beam must be at least 1");
  check_text(model, text);
  std::vector<Answer> answers(text.sentences());
  {
    nb::gil_scoped_release release;
    in_pieces(answers.size(), threads, [&](size_t first, size_t last) {
      MemmSearch search(model.memm, width, k);
      for (size_t s = first; s < last; ++s) {
        search.start(text, s);
        answers[s].paths = search.best();
        answers[s].work.rounds = 1;
        answers[s].exact = search.exact();
      }
    });
  }
  return pack(answers);
}

// log p(y | x, the label before) of every token in the model's order: (T, L + 1, L), the last row for no label before;
// -inf where the rules forbid.
auto memm_steps(const MemmModel& model, const Text& text, size_t sentence) {
  need(sentence < text.sentences(), "no such sentence");
  need(model.memm.history <= 1, "the model looks back at more than one label");
  check_text(model, text);
  const size_t T = text.length(sentence), L = model.L();
  std::vector<double> out(times(T, times(L + 1, L)), kForbidden);
  MemmSearch search(model.memm, 1);
  search.start(text, sentence);
  for (size_t t = 0; t < T; ++t) {
    for (size_t i = 0; i <= L; ++i) {
      if ((t == 0) != (i == L)) continue;
      const LabelHistory history = i == L ? search.none() : search.after(search.none(), static_cast<int32_t>(i));
      const double* row = search.log_probabilities(t, history);
      for (size_t j = 0; j < L; ++j)
        if (search.compatible(t, history, j, true)) out[(t * (L + 1) + i) * L + j] = row[j];
    }
  }
  return to_numpy(std::move(out), {T, L + 1, L});
}

std::unique_ptr<LatticeModel> make_lattice_model(nb::object scorer, nb::object edges, const Plan& plan) {
  auto made = std::make_unique<LatticeModel>();
  made->scorer = nb::cast<const Scorer*>(scorer);
  made->edges = nb::cast<const Edges*>(edges);
  made->plan = plan.with(1);
  need(made->scorer->L() == made->edges->L(), "the edges are for another number of labels");
  made->held = nb::make_tuple(scorer, edges);
  return made;
}

std::vector<double> model_scores(const PricedModel& model, const Text& text, IntArray labels,
                                 const std::vector<size_t>& paths, size_t threads) {
  check_text(model, text);
  need(threads >= 1, "threads must be at least 1");
  need(paths.size() == text.sentences(), "there must be a number of labellings for each sentence");
  for (const int32_t y : span_of(labels)) need(y >= 0 && static_cast<size_t>(y) < model.L(), "no such label");
  nb::gil_scoped_release release;
  return scores_of_labels(model, text, span_of(labels), paths, threads);
}

AgreeOptions options_of(size_t rounds, double step, const std::string& schedule) {
  need(rounds >= 1, "rounds must be at least 1");
  need(std::isfinite(step) && step > 0, "step must be above 0");
  need(schedule == "constant" || schedule == "falling", "schedule must be 'constant' or 'falling'");
  return {rounds, step, schedule == "constant" ? Schedule::constant : Schedule::falling};
}

// Labels of all sentences; and of each sentence joint score, rounds, agreed, certain; and the tokens in dispute.
nb::tuple agree_batch(const PricedModel& left, const Text& left_text, const PricedModel& right, const Text& right_text,
                      IntArray to_left, size_t rounds, double step, const std::string& schedule, size_t threads) {
  const AgreeOptions options = options_of(rounds, step, schedule);
  check_text(left, left_text);
  check_text(right, right_text);
  need(threads >= 1, "threads must be at least 1");
  need(left.L() == right.L() && to_left.shape(0) == left.L(), "the models have different labels");
  std::vector<bool> met(left.L(), false);
  for (const int32_t y : span_of(to_left)) {
    need(y >= 0 && static_cast<size_t>(y) < met.size() && !met[static_cast<size_t>(y)], "labels must be renumbered");
    met[static_cast<size_t>(y)] = true;
  }
  need(left_text.sentences() == right_text.sentences(), "the texts differ");
  for (size_t s = 0; s < left_text.sentences(); ++s)
    need(left_text.length(s) == right_text.length(s), "the texts differ");
  std::vector<Joint> made;
  {
    nb::gil_scoped_release release;
    made = agree_all(left, left_text, right, right_text, span_of(to_left), options, threads);
  }
  std::vector<int32_t> labels;
  nb::list facts;
  for (Joint& one : made) {
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
      return std::invalid_argument(std::string(name_) + " must give one label a token: " + what);
    };
    labels_.clear();
    if (!nb::isinstance<nb::iterable>(answer)) throw bad("what it gave is no list");
    for (const nb::handle item : answer) {
      int64_t label = -1;
      if (!nb::try_cast(nb::hasattr(item, "item") ? nb::object(item.attr("item")()) : nb::borrow(item), label) ||
          label < 0 || static_cast<size_t>(label) >= L_)
        throw bad("labels go from 0 to " + std::to_string(L_ - 1));
      labels_.push_back(static_cast<int32_t>(label));
    }
    if (labels_.size() != T_)
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
  const AgreeOptions options = options_of(rounds, step, schedule);
  need(L >= 1, "there must be a label");
  CalledSearch mine("left", std::move(left), T, L), its("right", std::move(right), T, L);
  const Agreement found = agree(mine, its, options);
  return nb::make_tuple(array_of(found.left), array_of(found.right), found.rounds, found.agreed, found.disputed);
}

}  // namespace

void bind_memm(nb::module_& m) {
  nb::class_<PricedModel>(m, "PricedModel")
      .def("scores", &model_scores, "text"_a, "labels"_a, "paths"_a, "threads"_a,
           "The scores of labellings, paths[s] of sentence s.");
  nb::class_<MemmModel, PricedModel>(m, "Memm")
      .def_static("make", &make_memm, "scorer"_a, "names"_a, "leftward"_a, "width"_a, "start"_a, "stop"_a, "follows"_a,
                  "words"_a, "end"_a, "label"_a)
      .def("decode", &memm_decode, "text"_a, "width"_a, "k"_a, "threads"_a)
      .def("steps", &memm_steps, "text"_a, "sentence"_a)
      .def_prop_ro("history", [](const MemmModel& model) { return model.memm.history; });
  nb::class_<LatticeModel, PricedModel>(m, "LatticeModel")
      .def_static("make", &make_lattice_model, "scorer"_a, "edges"_a, "plan"_a);
  m.def("agree_batch", &agree_batch, "left"_a, "left_text"_a, "right"_a, "right_text"_a, "to_left"_a, "rounds"_a,
        "step"_a, "schedule"_a, "threads"_a);
  m.def("agree", &agree_called, "left"_a, "right"_a, "T"_a, "L"_a, "rounds"_a, "step"_a, "schedule"_a);
}

}  // namespace tagwright
