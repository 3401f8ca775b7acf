#include "model/trained_model.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <set>

#include "base/need.h"
#include "model/bidirectional.h"
#include "model/foreign/foreign.h"
#include "model/span_scheme.h"
#include "model/stored_parts.h"

namespace tagwright {
namespace {

using Labellings = TrainedModel::Labellings;

std::string text_of(const Json& object, std::initializer_list<std::string_view> names) {
  const Json* at = &object;
  for (const std::string_view name : names)
    if (at) at = at->find(name);
  return at && at->string() ? *at->string() : "";
}

Plan plan_of(const TagOptions& options) {
  const Decoder* const decoder = decoder_named(options.decoder);
  need(decoder, "no decoder named " + std::string(options.decoder));
  return Plan{decoder, {}};
}

class LinearModel final : public TrainedModel {
 public:
  LinearModel(Model model, std::string learner, std::string tokenizer)
      : TrainedModel(model.labels(), std::move(learner), std::move(tokenizer)), model_(std::move(model)) {}

  size_t columns() const override { return model_.columns(); }
  bool ready_made() const override { return model_.ready_made(); }
  Labellings tag(const Text& text, const TagOptions& options) const override { return model_.tag(text, options); }
  std::vector<std::vector<float>> marginals(const Text& text, size_t threads) const override {
    return model_.marginals(text, threads);
  }
  const Model* linear() const override { return &model_; }

 private:
  Model model_;
};

Labellings labellings_of(const std::vector<Answer>& answers) {
  Labellings made(answers.size());
  for (size_t s = 0; s < answers.size(); ++s)
    for (const Path& path : answers[s].paths) made[s].push_back({path.labels, path.score, 0, {}});
  return made;
}

class MemmModel final : public TrainedModel {
 public:
  MemmModel(std::unique_ptr<const Memm> memm, StoredLimits limits, bool ready, const std::string& tokenizer)
      : TrainedModel(memm->names, "memm", tokenizer),
        memm_(std::move(memm)),
        limits_(std::move(limits)),
        ready_made_(ready) {}

  size_t columns() const override { return ready_made_ ? 0 : memm_->scorer().templates().columns(); }
  bool ready_made() const override { return ready_made_; }
  Labellings tag(const Text& text, const TagOptions& options) const override {
    need(text.ready == ready_made_, ready_made_ ? "the model needs ready-made features" : "the model needs text");
    need(!options.probabilities, kNoProbabilities);
    if (const std::string_view name = plan_of(options).decoder->name; name != "auto" && name != "beam")
      throw Unsupported("a MEMM is decoded by a beam; use the decoder \"auto\"");
    const Text mine = directed(text);
    std::optional<AllowedLists> lists;
    if (limits_.dictionary) lists = limits_.dictionary->allowed(text);
    return labellings_of(decode_all(*memm_, mine, memm_->width, options.k, options.threads,
                                    {limits_.pairs.get(), lists ? &*lists : nullptr}));
  }

  const Memm& memm() const { return *memm_; }
  bool limited() const { return limits_.pairs || limits_.dictionary; }
  Text directed(const Text& text) const { return memm_->leftward ? text.reversed() : text; }

 private:
  std::unique_ptr<const Memm> memm_;
  StoredLimits limits_;
  bool ready_made_;
};

// The tag dictionary of a MEMM of version 0.5.0.
std::shared_ptr<const TagDictionary> word_index(const ModelFile& file, size_t L) {
  if (!file.has("dictionary.bytes")) return nullptr;
  const auto bytes = file.array<uint8_t>("dictionary.bytes");
  const auto ends = file.array<uint32_t>("dictionary.ends");
  const auto labels = file.array<uint16_t>("dictionary.label");
  const std::vector<uint64_t> word_end(ends.begin(), ends.end());
  const std::vector<int32_t> list(labels.begin(), labels.end());
  return std::make_shared<TagDictionary>(
      L, TagDictionary::Arrays{{reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                               word_end,
                               file.array<uint64_t>("dictionary.end"),
                               list,
                               {}});
}

std::shared_ptr<const MemmModel> memm_of(const ModelFile& file) {
  const Json& facts = member(file.meta, "facts");
  const Json& own = member(facts, "memm");
  std::vector<std::string> labels = strings(member(file.meta, "labels"), "labels");
  const bool ready = member(file.meta, "templates").is_null();
  Templates templates;
  if (ready) {
    templates = parse_templates(text_of(own, {"templates"}), "templates", {}, false).templates;
  } else {
    templates = stored_templates(file);
  }
  const std::string direction = text_of(own, {"direction"});
  const std::optional<size_t> beam = member(own, "beam").size();
  const bool* const spans = member(own, "spans").boolean();
  need((direction == "right" || direction == "left") && beam && *beam >= 1 && spans, "options of a MEMM");
  MemmRules rules;
  if (*spans) rules.pairs = span_rules(labels);
  rules.dictionary = stored_limits(file, labels.size(), "soft.").dictionary;
  if (!rules.dictionary) rules.dictionary = word_index(file, labels.size());
  Weights weights = read_weights(labels.size(), file, false);
  need(weights.arrays().edges() == 0, "a maxent Markov model has no edges");
  StoredLimits limits = stored_limits(file, labels.size(), "constraints.");
  auto memm = std::make_unique<const Memm>(std::make_shared<const Scorer>(std::move(templates), std::move(weights)),
                                           std::move(labels), direction == "left", *beam, std::move(rules));
  return std::make_shared<const MemmModel>(std::move(memm), std::move(limits), ready,
                                           text_of(facts, {"data", "tokenize"}));
}

// One of the two models of a bidirectional one.
struct Half {
  std::shared_ptr<const TrainedModel> model;
  const MemmModel* memm = nullptr;  // or else it is linear

  Text text(const Text& given) const {
    // The right half may read fewer columns than the left one.
    return memm ? memm->directed(given) : given;
  }
  // Calls use(search) with the search that dual decomposition runs.
  template <class Use>
  auto priced(const Plan& plan, Use&& use) const {
    if (memm) return use(static_cast<const PricedModel&>(memm->memm()));
    const Model& linear = *model->linear();
    const LatticeModel lattice(linear.scorer(), linear.edges(), plan.with(1));
    return use(static_cast<const PricedModel&>(lattice));
  }
};

class BidirectionalModel final : public TrainedModel {
 public:
  BidirectionalModel(Half left, Half right, const AgreeOptions& options, const std::string& tokenizer)
      : TrainedModel(left.model->labels(), "bidirectional", tokenizer),
        left_(std::move(left)),
        right_(std::move(right)),
        options_(options) {
    need(left_.model->ready_made() == right_.model->ready_made(),
         "one model reads text, the other ready-made features");
    for (const std::string& name : right_.model->labels()) {
      const auto at = std::find(labels().begin(), labels().end(), name);
      need(at != labels().end(), "the two models must have the same labels");
      to_left_.push_back(static_cast<int32_t>(at - labels().begin()));
    }
    to_right_.resize(labels().size(), -1);
    need(to_left_.size() == labels().size(), "the two models must have the same labels");
    for (size_t y = 0; y < to_left_.size(); ++y) to_right_[static_cast<size_t>(to_left_[y])] = static_cast<int32_t>(y);
  }

  size_t columns() const override { return std::max(left_.model->columns(), right_.model->columns()); }
  bool ready_made() const override { return left_.model->ready_made(); }

  Labellings tag(const Text& text, const TagOptions& options) const override {
    need(text.ready == ready_made(), ready_made() ? "the model needs ready-made features" : "the model needs text");
    need(!options.probabilities, kNoProbabilities);
    const Plan plan = plan_of(options);
    const Text mine = left_.text(text), its = right_.text(text);
    return left_.priced(plan, [&](const PricedModel& left) {
      return right_.priced(plan, [&](const PricedModel& right) {
        Labellings made;
        for (Joint& one : agree_all({left, mine}, {right, its}, to_left_, options_, options.threads))
          made.push_back({{std::move(one.labels), one.score, 0, {}}});
        if (options.k > 1) add_more(made, text, options, {left, mine}, {right, its});
        return made;
      });
    });
  }

 private:
  // The k best by joint score of what both agree on and the k best of each.
  void add_more(Labellings& made, const Text& text, const TagOptions& options, const Side& left,
                const Side& right) const {
    const Labellings own = left_.model->tag(text, options), its = right_.model->tag(text, options);
    std::vector<size_t> paths;
    std::vector<int32_t> flat, renumbered;
    for (size_t s = 0; s < made.size(); ++s) {
      std::set<std::vector<int32_t>> present{made[s][0].labels};
      for (const Labelling& one : own[s])
        if (present.insert(one.labels).second) made[s].push_back(one);
      for (Labelling one : its[s]) {
        for (int32_t& label : one.labels) label = to_left_[static_cast<size_t>(label)];
        if (present.insert(one.labels).second) made[s].push_back(std::move(one));
      }
      paths.push_back(made[s].size());
      for (const Labelling& one : made[s]) flat.insert(flat.end(), one.labels.begin(), one.labels.end());
    }
    for (const int32_t label : flat) renumbered.push_back(to_right_[static_cast<size_t>(label)]);
    const auto first = scores_of_labels(left.model, left.text, flat, paths, options.threads);
    const auto second = scores_of_labels(right.model, right.text, renumbered, paths, options.threads);
    size_t at = 0;
    for (auto& sentence : made) {
      for (Labelling& one : sentence) {
        one.score = first[at] + second[at];
        ++at;
      }
      std::stable_sort(sentence.begin(), sentence.end(),
                       [](const Labelling& a, const Labelling& b) { return a.score > b.score; });
      if (sentence.size() > options.k) sentence.resize(options.k);
    }
  }

  Half left_, right_;
  AgreeOptions options_;
  std::vector<int32_t> to_left_, to_right_;  // [label of the one]: its number in the other
};

std::shared_ptr<const TrainedModel> model_of(const ModelFile& file);

Half half_of(const ModelFile& file, const std::string& side) {
  ModelFile own;
  own.meta = member(file.meta, side);
  own.held = file.held;
  const std::string prefix = side + ".";
  for (const auto& [name, tensor] : file.arrays)
    if (name.starts_with(prefix)) own.arrays.emplace_back(name.substr(prefix.size()), tensor);
  const std::string learner = text_of(own.meta, {"facts", "learner"});
  need(learner != "bidirectional", "a bidirectional model cannot be one of two");
  if (learner == "memm") {
    const auto memm = memm_of(own);
    if (memm->limited()) throw Unsupported("a bidirectional model with constraints; use the Python package");
    return {memm, memm.get()};
  }
  if (own.has("constraints.names")) throw Unsupported("a bidirectional model with constraints; use the Python package");
  return {model_of(own), nullptr};
}

std::shared_ptr<const TrainedModel> bidirectional_of(const ModelFile& file) {
  const Json& facts = member(file.meta, "facts");
  const Json& own = member(facts, "bidirectional");
  const std::optional<size_t> rounds = member(own, "rounds").size();
  const double* const step = member(own, "step").number();
  const std::string schedule = text_of(own, {"schedule"});
  need(rounds && step && (schedule == "constant" || schedule == "falling"), "options of a bidirectional model");
  const AgreeOptions options{*rounds, *step, schedule == "constant" ? Schedule::constant : Schedule::falling};
  options.check();
  return std::make_shared<const BidirectionalModel>(half_of(file, "left"), half_of(file, "right"), options,
                                                    text_of(facts, {"data", "tokenize"}));
}

std::shared_ptr<const TrainedModel> model_of(const ModelFile& file) {
  const Json& facts = member(file.meta, "facts");
  const std::string learner = text_of(facts, {"learner"});
  try {
    if (learner == "memm") return memm_of(file);
    if (learner == "bidirectional") return bidirectional_of(file);
    return std::make_shared<const LinearModel>(Model(file), learner, text_of(facts, {"data", "tokenize"}));
  } catch (const ModelFileError&) {
    throw;
  } catch (const Unsupported&) {
    throw;
  } catch (const std::invalid_argument& error) {
    throw ModelFileError("damaged (" + std::string(error.what()) + "); get or train it again");
  }
}

// A model file of our own begins with JSON, behind the length of its header.
bool is_foreign(std::string_view bytes) {
  return !(bytes.size() > 8 && bytes[8] == '{') && !foreign_tool(bytes).empty();
}

// Holds the arrays of another tool's model.
std::shared_ptr<const TrainedModel> foreign_model(std::string_view bytes) {
  const auto held = std::make_shared<ForeignModel>(read_foreign(bytes));
  ModelFile file;
  file.held = held;
  const bool has[kArrayGroups] = {true, !held->weights.set.empty()};
  for_each_array(held->weights, [&]<class V>(ArrayGroup group, const char* name, const std::vector<V>& array) {
    if (has[group]) file.arrays.emplace_back(name, Tensor{dtype_of<V>(), array.data(), array.size()});
  });
  Templates templates;
  if (held->templates) templates = parse_templates(*held->templates, "templates", {}, false).templates;
  Weights weights = read_weights(held->labels.size(), file, false);
  return std::make_shared<const LinearModel>(Model(held->labels, std::move(templates), std::move(weights), {}, {}),
                                             "crf", "");
}

}  // namespace

std::shared_ptr<const TrainedModel> TrainedModel::load(const std::string& path) {
  constexpr size_t kStart = 64;
  std::string bytes(kStart, '\0');
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  bytes.resize(file ? std::fread(bytes.data(), 1, kStart, file.get()) : 0);
  if (!is_foreign(bytes)) return model_of(ModelFile::load(path));
  for (size_t got = kStart; got;) {
    constexpr size_t kPiece = size_t{1} << 20;
    const size_t had = bytes.size();
    bytes.resize(had + kPiece);
    got = std::fread(bytes.data() + had, 1, kPiece, file.get());
    bytes.resize(had + got);
  }
  try {
    return foreign_model(bytes);
  } catch (const ModelFileError& error) {
    throw ModelFileError(path + ": " + error.what());
  }
}

std::shared_ptr<const TrainedModel> TrainedModel::from_memory(std::string_view bytes) {
  if (is_foreign(bytes)) return foreign_model(bytes);
  const std::shared_ptr<char[]> copy(new char[bytes.size() + 1]);
  std::memcpy(copy.get(), bytes.data(), bytes.size());
  return model_of(ModelFile::parse({copy.get(), bytes.size()}, copy));
}

std::vector<std::vector<float>> TrainedModel::marginals(const Text&, size_t) const {
  throw std::invalid_argument(kNoProbabilities);
}

}  // namespace tagwright
