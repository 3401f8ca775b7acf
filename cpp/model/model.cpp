#include "model/model.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/need.h"
#include "model/stored_parts.h"

namespace tagwright {
namespace {

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
    throw ModelFileError("a " + learner + " model, which is not a lattice; load it as a TrainedModel");
  const Json* const first = facts.find("first_only");
  const bool first_only = first && first->boolean() && *first->boolean();
  std::vector<std::string> labels = strings(member(file.meta, "labels"), "labels");
  try {
    Weights weights = read_weights(labels.size(), file, first_only);
    *this = Model(std::move(labels), stored_templates(file), std::move(weights), end_scores(file, "start"),
                  end_scores(file, "stop"));
    learner_ = std::move(learner);
    ready_made_ = member(file.meta, "templates").is_null();
    StoredLimits limits = stored_limits(file, labels_.size(), "constraints.");
    if (limits.pairs) edges_ = std::make_unique<Edges>(edges_->constrained(std::move(limits.pairs)));
    if (limits.rules) edges_ = std::make_unique<Edges>(edges_->with_labelling_rules(std::move(limits.rules)));
    dictionary_ = std::move(limits.dictionary);
  } catch (const ModelFileError&) {
    throw;
  } catch (const std::invalid_argument& error) {
    throw ModelFileError("damaged (" + std::string(error.what()) + "); get or train it again");
  }
}

std::vector<std::vector<Labelling>> Model::tag(const Text& text, const TagOptions& options) const {
  need(text.ready == ready_made_, ready_made_ ? "the model needs ready-made features" : "the model needs text");
  need(!options.probabilities || probabilistic(), kNoProbabilities);
  const Decoder* const decoder = decoder_named(options.decoder);
  need(decoder, "no decoder named " + std::string(options.decoder));
  Plan plan = Plan{decoder, {}}.with(options.k);
  plan.options.proven = true;
  const std::optional<AllowedLists> lists = allowed(text);
  std::vector<Posteriors> posteriors;
  const std::vector<Answer> answers = tag_all(*scorer_, text, *edges_, plan, options.threads, lists ? &*lists : nullptr,
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

std::vector<std::vector<float>> Model::marginals(const Text& text, size_t threads) const {
  need(probabilistic(), kNoProbabilities);
  const std::optional<AllowedLists> lists = allowed(text);
  return label_marginals(*scorer_, text, *edges_, {}, threads, lists ? &*lists : nullptr);
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
