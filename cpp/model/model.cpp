#include "model/model.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/need.h"

namespace tagwright {
namespace {

const Json& member(const Json& object, std::string_view name) {
  const Json* const found = object.find(name);
  if (!found) throw ModelFileError("damaged (" + std::string(name) + " is missing)");
  return *found;
}

std::vector<std::string> strings(const Json& value, const std::string& name) {
  if (!value.array()) throw ModelFileError("damaged (" + name + " is not a list)");
  std::vector<std::string> made;
  for (const Json& item : *value.array()) {
    if (!item.string()) throw ModelFileError("damaged (" + name + " is not a list of strings)");
    made.push_back(*item.string());
  }
  return made;
}

Templates templates_of(const Json& meta) {
  const Json& text = member(meta, "templates");
  if (text.is_null()) return {};
  if (!text.string()) throw ModelFileError("damaged (templates are not text)");
  std::vector<NamedList> lists;
  const Json& given = member(meta, "lists");
  if (!given.object()) throw ModelFileError("damaged (lists is not an object)");
  for (const auto& [name, entries] : *given.object()) lists.push_back({name, strings(entries, "word list " + name)});
  std::sort(lists.begin(), lists.end(), [](const NamedList& a, const NamedList& b) { return a.name < b.name; });
  const Json* const finds = meta.find("finds");
  ParsedTemplates parsed =
      parse_templates(*text.string(), "templates", lists, finds && finds->boolean() && *finds->boolean());
  return std::move(parsed.templates);
}

// The scores of being the first or the last label; empty if the model has none.
std::vector<double> end_scores(const ModelFile& file, std::string_view name) {
  const Tensor* const found = file.find(name);
  if (!found) return {};
  std::vector<double> made;
  if (found->dtype == Dtype::f64) {
    for (const double score : file.array<double>(name)) made.push_back(score);
  } else {
    for (const float score : file.array<float>(name)) made.push_back(score);
  }
  return made;
}

void check_ends(const std::vector<double>& scores, size_t L, const char* name) {
  const auto finite = [](double score) { return std::isfinite(score); };
  need(scores.empty() || (scores.size() == L && std::all_of(scores.begin(), scores.end(), finite)),
       std::string(name) + " must hold a finite score for each label");
}

// The edges in the form that suits their number (lattice/edge_form.h).
Edges edges_with(const Weights& weights, const std::vector<double>& start, const std::vector<double>& stop) {
  const WeightArrays<Borrowed>& a = weights.arrays();
  const std::vector<double> ngrams(a.ngram_score.begin(), a.ngram_score.end());
  EdgeExtras extras;
  if (!start.empty()) extras.start = start;
  if (!stop.empty()) extras.stop = stop;
  return Edges(edges_of(weights.L(), a, weights.edge_names().size(),
                        {{a.edge_score.data(), nullptr}, {a.correction_score.data(), nullptr}, ngrams}, std::nullopt,
                        extras));
}

std::vector<bool> flags(const ModelFile& file, std::string_view name) {
  std::vector<bool> made;
  if (file.find(name))
    for (const uint8_t flag : file.array<uint8_t>(name)) made.push_back(flag != 0);
  return made;
}

}  // namespace

Model Model::from_memory(std::string_view bytes) {
  const std::shared_ptr<char[]> copy(new char[bytes.size() + 1]);
  std::memcpy(copy.get(), bytes.data(), bytes.size());
  return Model(ModelFile::parse({copy.get(), bytes.size()}, copy));
}

Model::Model(std::vector<std::string> labels, Templates templates, Weights weights, const std::vector<double>& start,
             const std::vector<double>& stop)
    : labels_(std::move(labels)), ready_made_(templates.templates.empty()) {
  std::vector<std::string> sorted = labels_;
  std::sort(sorted.begin(), sorted.end());
  need(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end(), "label names must be strings that differ");
  need(labels_.size() == weights.L(), "there must be one name per label");
  need(templates.history() == 0, "the templates look at earlier labels, which only a MEMM can");
  check_ends(start, weights.L(), "start");
  check_ends(stop, weights.L(), "stop");
  edges_ = std::make_unique<Edges>(edges_with(weights, start, stop));
  scorer_ = std::make_unique<Scorer>(std::move(templates), std::move(weights));
}

Model::Model(const ModelFile& file) {
  const Json& facts = member(file.meta, "facts");
  std::string learner;
  if (const Json* found = facts.find("learner"); found && found->string()) learner = *found->string();
  if (learner == "memm" || learner == "bidirectional")
    throw ModelFileError("a " + learner + " model, which only the Python package can use");
  const Json* const first = facts.find("first_only");
  const bool first_only = first && first->boolean() && *first->boolean();
  std::vector<std::string> labels = strings(member(file.meta, "labels"), "labels");
  try {
    Weights weights = read_weights(labels.size(), file, first_only);
    *this = Model(std::move(labels), templates_of(file.meta), std::move(weights), end_scores(file, "start"),
                  end_scores(file, "stop"));
    learner_ = std::move(learner);
    ready_made_ = member(file.meta, "templates").is_null();
    read_constraints(file);
  } catch (const ModelFileError&) {
    throw;
  } catch (const std::invalid_argument& error) {
    throw ModelFileError("damaged (" + std::string(error.what()) + "); get or train it again");
  }
}

namespace {

std::shared_ptr<const LabellingRules> labelling_rules(const ModelFile& file, size_t L) {
  const auto names = file.array<uint8_t>("constraints.count_names"),
             flags = file.array<uint8_t>("constraints.count_flags");
  const auto least = file.array<int32_t>("constraints.count_least"),
             most = file.array<int32_t>("constraints.count_most"),
             label = file.array<int32_t>("constraints.count_label"), limit = file.array<int32_t>("constraints.limit");
  const auto ends = file.array<uint64_t>("constraints.count_end");
  need(least.size() == ends.size() && most.size() == ends.size() && limit.size() == 1 && limit[0] >= 1 &&
           flags.size() == label.size() && (ends.empty() ? label.empty() : ends.back() == label.size()),
       "constraints: rules about whole labellings do not fit together");
  std::vector<CountRule> counts;
  auto begin = names.begin();
  for (size_t n = 0, from = 0; n < ends.size(); from = ends[n++]) {
    need(least[n] >= 0 && from <= ends[n] && ends[n] <= label.size(), "constraints: a rule about whole labellings");
    const auto end = std::find(begin, names.end(), '\n');
    const auto part = [&](auto all) {
      const auto own = all.subspan(from, ends[n] - from);
      return std::vector(own.begin(), own.end());
    };
    counts.push_back({std::string(begin, end), static_cast<size_t>(least[n]),
                      most[n] < 0 ? SIZE_MAX : static_cast<size_t>(most[n]), part(label), part(flags)});
    begin = end == names.end() ? end : end + 1;
  }
  return std::make_shared<const LabellingRules>(L, std::move(counts), std::vector<LabellingRules::Accept>(),
                                                static_cast<size_t>(limit[0]));
}

}  // namespace

// The arrays that src/tagwright/constraints/arrays.py writes.
void Model::read_constraints(const ModelFile& file) {
  if (!file.has("constraints.names")) return;
  const size_t L = labels_.size();
  const auto array = [&]<class V>(const char* name, V) {
    return file.has(name) ? file.array<V>(name) : std::span<const V>();
  };
  const auto names = file.array<uint8_t>("constraints.names");
  const auto entry = file.array<int32_t>("constraints.entry"), exit = file.array<int32_t>("constraints.exit");
  const auto previous = file.array<int32_t>("constraints.previous"),
             current = file.array<int32_t>("constraints.current");
  const size_t rules = names.empty() ? 0 : 1 + static_cast<size_t>(std::count(names.begin(), names.end(), '\n'));
  need(entry.size() == rules * L && exit.size() == entry.size(), "constraints: rules for another number of labels");
  need(previous.size() == current.size(), "constraints: pairs of one label");
  std::vector<PairRule> made;
  const auto row = [&](std::span<const int32_t> all, size_t n) {
    const auto own = all.subspan(n * L, L);
    return std::vector<int32_t>(own.begin(), own.end());
  };
  auto begin = names.begin();
  for (size_t n = 0; n < rules; ++n) {
    const auto end = std::find(begin, names.end(), '\n');
    made.push_back({std::string(begin, end), row(entry, n), row(exit, n)});
    begin = end == names.end() ? end : end + 1;
  }
  PairRules::Pairs forbidden;
  for (size_t q = 0; q < previous.size(); ++q) forbidden.emplace_back(previous[q], current[q]);
  std::vector<bool> start = flags(file, "constraints.start"), stop = flags(file, "constraints.stop");
  if (rules || !forbidden.empty() || !start.empty() || !stop.empty()) {
    auto all = std::make_shared<PairRules>(L, std::move(made), std::move(forbidden), std::move(start), std::move(stop));
    edges_ = std::make_unique<Edges>(edges_->constrained(std::move(all)));
  }
  if (file.has("constraints.count_names"))
    edges_ = std::make_unique<Edges>(edges_->with_labelling_rules(labelling_rules(file, L)));
  if (!file.has("constraints.words")) return;
  const auto bytes = file.array<uint8_t>("constraints.words");
  dictionary_.emplace(L, TagDictionary::Arrays{{reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                                               file.array<uint64_t>("constraints.word_end"),
                                               file.array<uint64_t>("constraints.list_end"),
                                               file.array<int32_t>("constraints.list"),
                                               array("constraints.unknown", int32_t{})});
}

std::vector<std::vector<Labelling>> Model::tag(const Text& text, const TagOptions& options) const {
  need(text.ready == ready_made_, ready_made_ ? "the model needs ready-made features" : "the model needs text");
  need(!options.probabilities || probabilistic(),
       "the scores of this model are not probabilities: they only rank labellings");
  const Decoder* const decoder = decoder_named(options.decoder);
  need(decoder, "no decoder named " + std::string(options.decoder));
  Plan plan = Plan{decoder, {}}.with(options.k);
  plan.options.proven = true;
  std::optional<AllowedLists> allowed;
  if (dictionary_) allowed = dictionary_->allowed(text);
  std::vector<Posteriors> posteriors;
  const std::vector<Answer> answers =
      tag_all(*scorer_, text, *edges_, plan, options.threads, allowed ? &*allowed : nullptr,
              options.probabilities ? &posteriors : nullptr);
  std::vector<std::vector<Labelling>> made(answers.size());
  for (size_t s = 0; s < answers.size(); ++s) {
    for (size_t p = 0; p < answers[s].paths.size(); ++p) {
      const Path& path = answers[s].paths[p];
      Labelling& own = made[s].emplace_back(Labelling{path.labels, path.score, 0, {}});
      if (!options.probabilities) continue;
      const size_t T = path.labels.size();
      // Rounding may put a score that is all of Z a little above it.
      own.log_probability = std::min(path.score - posteriors[s].log_z, 0.0);
      const auto first = posteriors[s].label.begin() + static_cast<ptrdiff_t>(p * T);
      own.label_probability.assign(first, first + static_cast<ptrdiff_t>(T));
    }
  }
  return made;
}

std::vector<std::string_view> Model::tag(std::span<const std::string> words) const {
  need(columns() <= 1, "the model reads several columns; give a Text");
  Text text;
  text.columns = columns();
  for (const std::string& word : words) {
    if (text.columns) text.add_cell(word);
    text.end_token();
  }
  text.end_sentence();
  if (words.empty()) return {};
  const std::vector<std::vector<Labelling>> found = tag(text);
  std::vector<std::string_view> made;
  for (const int32_t label : found.at(0).at(0).labels) made.emplace_back(labels_[static_cast<size_t>(label)]);
  return made;
}

std::vector<std::string_view> Model::tag(std::string_view sentence) const {
  constexpr std::string_view kBlanks = " \t\r\n";
  std::vector<std::string> words;
  for (size_t begin = sentence.find_first_not_of(kBlanks); begin != std::string_view::npos;) {
    const size_t end = std::min(sentence.find_first_of(kBlanks, begin), sentence.size());
    words.emplace_back(sentence.substr(begin, end - begin));
    begin = sentence.find_first_not_of(kBlanks, end);
  }
  return tag(words);
}

std::optional<std::string> Model::tag_lines(std::string_view block, const LineFormat& format,
                                            const TagOptions& options) const {
  const Decoder* const decoder = decoder_named(options.decoder);
  need(decoder, "no decoder named " + std::string(options.decoder));
  const std::vector<std::string_view> names(labels_.begin(), labels_.end());
  Plan plan = Plan{decoder, {}}.with(1);
  plan.options.proven = true;
  return tagwright::tag_lines(*scorer_, block, format, *edges_, plan, options.threads, names,
                              dictionary_ ? &*dictionary_ : nullptr);
}

}  // namespace tagwright
