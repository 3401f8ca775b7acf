#include "model/model.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/need.h"
#include "model/tag_lines.h"

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
  need(parsed.templates.history() == 0, "the templates look at earlier labels, which only a MEMM can");
  return std::move(parsed.templates);
}

Weights weights_of(const ModelFile& file, size_t L, bool first_only) {
  WeightArrays<Borrowed> a;
  bool has[kArrayGroups] = {true};
  for_each_array(a, [&](ArrayGroup group, const char* name, auto&) { has[group] |= file.find(name) != nullptr; });
  for_each_array(a, [&]<class V>(ArrayGroup group, const char* name, std::span<const V>& array) {
    if (has[group]) array = file.array<V>(name);
  });
  need(!has[kSets] || !a.set.empty(), "the sets of corrections are not those that have names");
  Weights made(L, a, first_only, file.owner);
  made.check();
  return made;
}

// The scores of being the first or the last label; empty if the model has none.
std::vector<double> end_scores(const ModelFile& file, std::string_view name, size_t L) {
  const Tensor* const found = file.find(name);
  if (!found) return {};
  std::vector<double> made;
  if (found->dtype == Dtype::f64) {
    for (const double score : file.array<double>(name)) made.push_back(score);
  } else {
    for (const float score : file.array<float>(name)) made.push_back(score);
  }
  need(made.size() == L && std::all_of(made.begin(), made.end(), [](double score) { return std::isfinite(score); }),
       std::string(name) + " must hold a finite score for each label");
  return made;
}

Edges edges_of(const ModelFile& file, const Weights& weights) {
  const WeightArrays<Borrowed>& a = weights.arrays();
  const auto wide = [](std::span<const uint16_t> labels) {
    std::vector<int32_t> made(labels.begin(), labels.end());
    std::replace(made.begin(), made.end(), static_cast<int32_t>(kNoLabel), -1);
    return made;
  };
  const auto previous = wide(a.previous), current = wide(a.current), set_previous = wide(a.set_previous),
             set_current = wide(a.set_current), runs = wide(a.runs);
  const std::vector<double> correction(a.correction_score.begin(), a.correction_score.end()),
      ngram(a.ngram_score.begin(), a.ngram_score.end()), start = end_scores(file, "start", weights.L()),
                                                         stop = end_scores(file, "stop", weights.L());
  EdgeExtras extras;
  if (!start.empty()) extras.start = start;
  if (!stop.empty()) extras.stop = stop;
  if (!runs.empty()) extras.ngrams = {runs, ngram};
  if (!a.set.empty()) {
    extras.correction_sets = static_cast<size_t>(a.set.back()) + 1;
    extras.correction_set = a.set;
    extras.corrections = {set_previous, set_current, {nullptr, correction.data()}};
  }
  const EdgeTriples triples{previous, current, {a.edge_score.data(), nullptr}};
  return Edges(EdgeScores::from_triples(weights.L(), 0.0, triples, std::nullopt, extras));
}

std::vector<bool> flags(const ModelFile& file, std::string_view name) {
  std::vector<bool> made;
  if (file.find(name))
    for (const uint8_t flag : file.array<uint8_t>(name)) made.push_back(flag != 0);
  return made;
}

bool lists_rise(std::span<const int32_t> labels, size_t L) {
  for (size_t q = 0; q < labels.size(); ++q)
    if (labels[q] < 0 || static_cast<size_t>(labels[q]) >= L || (q && labels[q - 1] >= labels[q])) return false;
  return true;
}

}  // namespace

Model Model::from_memory(std::string_view bytes) {
  const std::shared_ptr<char[]> copy(new char[bytes.size() + 1]);
  std::memcpy(copy.get(), bytes.data(), bytes.size());
  return Model(ModelFile::parse({copy.get(), bytes.size()}, copy));
}

Model::Model(ModelFile file) : file_(std::move(file)) {
  const Json& facts = member(file_.meta, "facts");
  const auto fact = [&](std::string_view name) { return facts.find(name); };
  if (const Json* learner = fact("learner"); learner && learner->string()) learner_ = *learner->string();
  if (learner_ == "memm" || learner_ == "bidirectional")
    throw ModelFileError("a " + learner_ + " model, which only the Python package can use");
  labels_ = strings(member(file_.meta, "labels"), "labels");
  std::vector<std::string> sorted = labels_;
  std::sort(sorted.begin(), sorted.end());
  try {
    need(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end(), "label names must be strings that differ");
    const Json* const first = fact("first_only");
    Weights weights = weights_of(file_, labels_.size(), first && first->boolean() && *first->boolean());
    edges_ = std::make_unique<Edges>(edges_of(file_, weights));
    ready_made_ = member(file_.meta, "templates").is_null();
    scorer_ = std::make_unique<Scorer>(templates_of(file_.meta), std::move(weights));
    read_constraints();
  } catch (const ModelFileError&) {
    throw;
  } catch (const std::invalid_argument& error) {
    throw ModelFileError("damaged (" + std::string(error.what()) + "); get or train it again");
  }
}

// The arrays that src/tagwright/constraints/arrays.py writes.
void Model::read_constraints() {
  if (!file_.find("constraints.names")) return;
  const size_t L = labels_.size();
  const auto names = file_.array<uint8_t>("constraints.names");
  const auto entry = file_.array<int32_t>("constraints.entry"), exit = file_.array<int32_t>("constraints.exit");
  const auto previous = file_.array<int32_t>("constraints.previous"),
             current = file_.array<int32_t>("constraints.current");
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
  std::vector<bool> start = flags(file_, "constraints.start"), stop = flags(file_, "constraints.stop");
  if (rules || !forbidden.empty() || !start.empty() || !stop.empty()) {
    auto all = std::make_shared<PairRules>(L, std::move(made), std::move(forbidden), std::move(start), std::move(stop));
    edges_ = std::make_unique<Edges>(edges_->constrained(std::move(all)));
  }
  if (file_.find("constraints.unknown")) unknown_ = file_.array<int32_t>("constraints.unknown");
  need(lists_rise(unknown_, L), "constraints: labels out of order");
  if (!file_.find("constraints.words")) return;
  has_dictionary_ = true;
  const auto bytes = file_.array<uint8_t>("constraints.words");
  const auto word_end = file_.array<uint64_t>("constraints.word_end");
  list_end_ = file_.array<uint64_t>("constraints.list_end");
  list_ = file_.array<int32_t>("constraints.list");
  need(word_end.size() == list_end_.size(), "constraints: words and lists do not fit together");
  uint64_t word = 0, list = 0;
  for (size_t n = 0; n < word_end.size(); ++n) {
    need(word_end[n] >= word && word_end[n] <= bytes.size() && list_end_[n] >= list && list_end_[n] <= list_.size() &&
             lists_rise(list_.subspan(list, list_end_[n] - list), L),
         "constraints: words and lists do not fit together");
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + word, word_end[n] - word);
    need(words_.add(text) == static_cast<int32_t>(n), "constraints: a word that occurs twice");
    word = word_end[n];
    list = list_end_[n];
  }
}

std::optional<AllowedLists> Model::allowed_in(const Text& text) const {
  if (!has_dictionary_) return std::nullopt;
  AllowedLists made;
  for (size_t s = 0; s < text.sentences(); ++s) {
    for (size_t token = text.first_token(s); token < text.sentence_end[s]; ++token) {
      need(text.first_cell(token) < text.token_end[token], "a tag dictionary needs tokens with a word");
      const int32_t id = words_.find(text.cell(text.first_cell(token)));
      if (id == kNoId) {
        if (unknown_.empty())
          made.add_wide();
        else
          made.add(unknown_);
        continue;
      }
      const size_t begin = id ? list_end_[static_cast<size_t>(id) - 1] : 0;
      const auto labels = list_.subspan(begin, list_end_[static_cast<size_t>(id)] - begin);
      if (labels.empty())
        throw std::invalid_argument("sentence " + std::to_string(s) +
                                    ": the tag dictionary leaves no label for token " +
                                    std::to_string(token - text.first_token(s)));
      made.add(labels);
    }
  }
  return made;
}

std::vector<std::vector<Labelling>> Model::tag(const Text& text, const TagOptions& options) const {
  need(text.ready == ready_made_, ready_made_ ? "the model needs ready-made features" : "the model needs text");
  need(!options.probabilities || probabilistic(),
       "the scores of this model are not probabilities: they only rank labellings");
  const Decoder* const decoder = decoder_named(options.decoder);
  need(decoder, "no decoder named " + std::string(options.decoder));
  const Plan plan = Plan{decoder, {}}.with(options.k);
  const std::optional<AllowedLists> allowed = allowed_in(text);
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
  need(!has_dictionary_, "tag_lines: a model with a tag dictionary");
  const Decoder* const decoder = decoder_named(options.decoder);
  need(decoder, "no decoder named " + std::string(options.decoder));
  const std::vector<std::string_view> names(labels_.begin(), labels_.end());
  return tagwright::tag_lines(*scorer_, block, format, *edges_, Plan{decoder, {}}.with(1), options.threads, names);
}

}  // namespace tagwright
