#include "capi/tagwright.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <system_error>
#include <vector>

#include "base/need.h"
#include "capi/handles.h"
#include "decode/batch.h"
#include "features/tokenizers.h"
#include "features/unicode.h"
#include "kernels/elementary.h"
#include "sums/marginals.h"

using namespace tagwright;

namespace {

thread_local std::string last_error;

tw_status fail(tw_status status, const char* message) {
  try {
    last_error = message;
  } catch (const std::bad_alloc&) {
    last_error.clear();
  }
  return status;
}

// Runs a call and returns its status: no exception leaves the library.
template <class Call>
tw_status guarded(Call&& call) {
  try {
    call();
    return TW_OK;
  } catch (const ModelFileError& error) {
    return fail(TW_BAD_MODEL, error.what());
  } catch (const Unsupported& error) {
    return fail(TW_UNSUPPORTED, error.what());
  } catch (const std::invalid_argument& error) {
    return fail(TW_INVALID_ARGUMENT, error.what());
  } catch (const std::system_error& error) {
    return fail(TW_IO_ERROR, error.what());
  } catch (const std::bad_alloc&) {
    return fail(TW_OUT_OF_MEMORY, "out of memory");
  } catch (const std::length_error&) {
    return fail(TW_OUT_OF_MEMORY, "out of memory");
  } catch (const std::exception& error) {
    return fail(TW_INTERNAL_ERROR, error.what());
  } catch (...) {
    return fail(TW_INTERNAL_ERROR, "an unknown error");
  }
}

// The same for a call that makes a handle.
template <class Handle, class Make>
tw_status made(Handle** out, Make&& make) {
  if (!out) return fail(TW_INVALID_ARGUMENT, "out is NULL");
  *out = nullptr;
  return guarded([&] { *out = make().release(); });
}

// a * b; throws where that is more than memory can hold.
size_t product(size_t a, size_t b) {
  if (b && a > std::numeric_limits<ptrdiff_t>::max() / sizeof(double) / b) throw std::bad_alloc();
  return a * b;
}

const TrainedModel& model_of(const tw_model* model) {
  need(model, "model is NULL");
  return *model->model;
}

// Fields that the caller's version of the struct has; others have their defaults.
tw_options options_of(const tw_options* given) {
  tw_options made{};
  if (!given) return made;
  constexpr uint32_t kFirst = sizeof(tw_options);  // of ABI version 1
  need(given->size == kFirst, "options: set size to sizeof(tw_options)");
  made = *given;
  need((made.flags & ~(TW_PROBABILITIES | TW_MARGINALS)) == 0, "options: an unknown flag");
  return made;
}

TagOptions tag_options(const tw_options& options) {
  TagOptions made;
  made.k = std::max<uint32_t>(options.k, 1);
  made.threads = std::max<uint32_t>(options.threads, 1);
  if (options.decoder) made.decoder = options.decoder;
  made.probabilities = (options.flags & TW_PROBABILITIES) != 0;
  return made;
}

std::string_view utf8(const char* text, size_t bytes, const char* what) {
  need(text || bytes == 0, std::string(what) + " is NULL");
  const std::string_view view(text ? text : "", bytes);
  need(is_utf8(view), std::string(what) + " is not UTF-8");
  return view;
}
std::string_view utf8(const char* text, const char* what) { return utf8(text, text ? std::strlen(text) : 1, what); }

// The characters of a line, and where each begins in bytes.
struct Line {
  std::u32string characters;
  std::vector<size_t> at;  // and where the line ends

  Line(std::string_view text, size_t begin, size_t end) {
    const char* const first = text.data();
    for (const char *next = first + begin, *const last = first + end; next < last;) {
      at.push_back(static_cast<size_t>(next - first));
      characters.push_back(next_char(next, last));
    }
    at.push_back(end);
  }
};

// Splits text into sentences and tokens.
std::vector<std::vector<TokenSpan>> split(std::string_view text, const Tokenizer& tokenizer) {
  std::vector<std::vector<TokenSpan>> sentences;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const Line line(text, begin, end);
    const std::vector<TokenSpan> spans = tokenizer.spans(line.characters);
    std::vector<size_t> starts{0};
    if (tokenizer.starts) starts = tokenizer.starts(line.characters, spans);
    for (size_t n = 0; n < starts.size() && !spans.empty(); ++n) {
      const size_t last = n + 1 < starts.size() ? starts[n + 1] : spans.size();
      auto& sentence = sentences.emplace_back();
      for (size_t t = starts[n]; t < last; ++t) sentence.push_back({line.at[spans[t].begin], line.at[spans[t].end]});
    }
    begin = end + 1;
  }
  return sentences;
}

const Tokenizer& tokenizer_for(const char* name, std::string_view otherwise) {
  const std::string_view chosen = name ? std::string_view(name) : otherwise;
  const Tokenizer* const found = tokenizer_named(chosen);
  if (!found) {
    std::string message = "tokenizer '" + std::string(chosen) + "': use one of";
    for (const Tokenizer& one : tokenizers()) message.append(" ").append(one.name);
    throw std::invalid_argument(message);
  }
  return *found;
}

std::unique_ptr<tw_result> tagged(const tw_model* model, const Text& text, const tw_options& options) {
  auto result = std::make_unique<tw_result>();
  result->model = model->model;
  result->probabilities = (options.flags & TW_PROBABILITIES) != 0;
  result->sentences.resize(text.sentences());
  if ((options.flags & TW_MARGINALS) != 0) {
    need(model->model->probabilistic(), kNoProbabilities);
    std::vector<std::vector<float>> all = model->model->marginals(text, tag_options(options).threads);
    for (size_t s = 0; s < all.size(); ++s) result->sentences[s].marginals = std::move(all[s]);
  }
  TrainedModel::Labellings found = model->model->tag(text, tag_options(options));
  for (size_t s = 0; s < found.size(); ++s) {
    result->sentences[s].tokens = text.length(s);
    result->sentences[s].labellings = std::move(found[s]);
  }
  return result;
}

void need_columns(const TrainedModel& model, size_t columns) {
  need(!model.ready_made(), "the model reads ready-made features; use tw_tag_features");
  need(columns >= std::max<size_t>(model.columns(), 1), "the model reads " + std::to_string(model.columns()) +
                                                            " columns per token, but there are " +
                                                            std::to_string(columns));
}

// Cells of sentences as a text of the model's columns.
Text text_of(const TrainedModel& model, const char* const* cells, size_t columns, std::span<const size_t> lengths) {
  need_columns(model, columns);
  Text text;
  text.columns = model.columns();
  size_t token = 0;
  for (const size_t length : lengths) {
    need(cells || length == 0, "cells is NULL");
    for (size_t t = 0; t < length; ++t, ++token) {
      for (size_t c = 0; c < text.columns; ++c) text.add_cell(utf8(cells[product(token, columns) + c], "a cell"));
      text.end_token();
    }
    text.end_sentence();
  }
  return text;
}

const Model& linear_of(const TrainedModel& model) {
  if (!model.linear()) throw Unsupported("a " + model.learner() + " model is not a sum of weights");
  return *model.linear();
}

const tw_result::Sentence* sentence_of(const tw_result* result, size_t sentence) {
  return result && sentence < result->sentences.size() ? &result->sentences[sentence] : nullptr;
}

const Labelling* labelling_of(const tw_result* result, size_t sentence, size_t labelling) {
  const auto* const own = sentence_of(result, sentence);
  return own && labelling < own->labellings.size() ? &own->labellings[labelling] : nullptr;
}

void need_scores(const double* nodes, const double* edges, size_t T, size_t L) {
  need(L >= 1, "there must be a label");
  need(L <= static_cast<size_t>(std::numeric_limits<int32_t>::max()), "too many labels");
  need(edges && (nodes || T == 0), "nodes or edges are NULL");
  product(T, L);
  product(L, L);
}

Edges edges_of(const double* edges, size_t L) {
  return Edges(EdgeScores::from_matrix(L, {nullptr, edges}, std::nullopt));
}

}  // namespace

extern "C" {

const char* tw_version(void) { return TAGWRIGHT_VERSION; }
uint32_t tw_abi_version(void) { return TW_ABI_VERSION; }
const char* tw_error(void) { return last_error.c_str(); }

tw_status tw_model_load(const char* path, tw_model** out) {
  return made(out, [&] {
    need(path, "path is NULL");
    return std::make_unique<tw_model>(TrainedModel::load(path));
  });
}

tw_status tw_model_from_memory(const void* bytes, size_t size, tw_model** out) {
  return made(out, [&] {
    need(bytes || size == 0, "bytes is NULL");
    const std::string_view view(bytes ? static_cast<const char*>(bytes) : "", size);
    return std::make_unique<tw_model>(TrainedModel::from_memory(view));
  });
}

void tw_model_free(tw_model* model) { delete model; }

size_t tw_model_labels(const tw_model* model) { return model ? model->model->labels().size() : 0; }
const char* tw_model_label(const tw_model* model, size_t label) {
  return label < tw_model_labels(model) ? model->model->labels()[label].c_str() : nullptr;
}
size_t tw_model_columns(const tw_model* model) { return model ? model->columns() : 0; }
int tw_model_probabilistic(const tw_model* model) { return model && model->model->probabilistic() ? 1 : 0; }
const char* tw_model_learner(const tw_model* model) { return model ? model->model->learner().c_str() : nullptr; }
const char* tw_model_tokenizer(const tw_model* model) { return model ? model->model->tokenizer().c_str() : nullptr; }

tw_status tw_tag_text(const tw_model* model, const char* text, size_t bytes, const tw_options* options,
                      tw_result** out) {
  return made(out, [&] {
    const TrainedModel& own = model_of(model);
    const tw_options chosen = options_of(options);
    need_columns(own, 1);
    const std::string_view view = utf8(text, bytes, "text");
    const bool known = tokenizer_named(own.tokenizer()) != nullptr;
    const auto sentences = split(view, tokenizer_for(chosen.tokenizer, known ? own.tokenizer() : "whitespace"));
    Text given;
    given.columns = own.columns();
    for (const auto& sentence : sentences) {
      for (const TokenSpan& span : sentence) {
        if (given.columns) given.add_cell(view.substr(span.begin, span.end - span.begin));
        given.end_token();
      }
      given.end_sentence();
    }
    auto result = tagged(model, given, chosen);
    for (size_t s = 0; s < sentences.size(); ++s) result->sentences[s].offsets = sentences[s];
    return result;
  });
}

tw_status tw_tag_tokens(const tw_model* model, const char* const* cells, size_t columns, const size_t* lengths,
                        size_t sentences, const tw_options* options, tw_result** out) {
  return made(out, [&] {
    const TrainedModel& own = model_of(model);
    const tw_options chosen = options_of(options);
    need(lengths || sentences == 0, "lengths is NULL");
    const Text text = text_of(own, cells, columns, {lengths, sentences});
    return tagged(model, text, chosen);
  });
}

tw_status tw_tag_features(const tw_model* model, const char* const* features, const float* values, const size_t* counts,
                          const size_t* lengths, size_t sentences, const tw_options* options, tw_result** out) {
  return made(out, [&] {
    const TrainedModel& own = model_of(model);
    const tw_options chosen = options_of(options);
    need(own.ready_made(), "the model reads text; use tw_tag_tokens");
    need(lengths || sentences == 0, "lengths is NULL");
    Text text;
    text.ready = true;
    size_t token = 0, at = 0;
    for (size_t s = 0; s < sentences; ++s) {
      for (size_t t = 0; t < lengths[s]; ++t, ++token) {
        need(counts, "counts is NULL");
        for (size_t n = 0; n < counts[token]; ++n, ++at) {
          need(features, "features is NULL");
          text.add_cell(utf8(features[at], "a feature"));
          if (!values) continue;
          need(std::fabs(values[at]) < 1e30F, "the value of a feature is NaN or beyond 1e30");
          text.value.push_back(values[at]);
        }
        text.end_token();
      }
      text.end_sentence();
    }
    return tagged(model, text, chosen);
  });
}

tw_status tw_tokenize(const char* text, size_t bytes, const char* tokenizer, tw_result** out) {
  return made(out, [&] {
    auto result = std::make_unique<tw_result>();
    for (auto& sentence : split(utf8(text, bytes, "text"), tokenizer_for(tokenizer, "english"))) {
      auto& own = result->sentences.emplace_back();
      own.tokens = sentence.size();
      own.offsets = std::move(sentence);
    }
    return result;
  });
}

tw_status tw_scores(const tw_model* model, const char* const* cells, size_t columns, size_t tokens, double* nodes,
                    double* edges) {
  return guarded([&] {
    need((nodes || tokens == 0) && edges, "nodes or edges are NULL");
    const Model& own = linear_of(model_of(model));
    const Text text = text_of(*model->model, cells, columns, {&tokens, 1});
    // Edge kind: the arrays of the caller have no place for n-grams and corrections.
    if (own.edges().ngrams() || own.edges().corrections().rows() > 0)
      throw Unsupported("the edges of this model depend on tokens or on more than two labels");
    const size_t L = own.labels().size();
    std::vector<float> scores(product(tokens, L));
    std::vector<std::vector<int32_t>> active;
    own.scorer().score(text, 0, scores.data(), active);
    const std::optional<AllowedLists> lists = own.allowed(text);
    Arena arena;
    const Scores found = masked({scores.data(), nullptr}, tokens, L, lists ? lists->view(0) : Allowed{}, arena);
    for (size_t at = 0; at < scores.size(); ++at) nodes[at] = found[at];
    for (size_t y = 0; y < L; ++y) {
      own.edges().row(0, y, edges + y * L);
      if (tokens == 0) continue;
      nodes[y] = own.edges().start(y) + nodes[y];
      nodes[(tokens - 1) * L + y] += own.edges().stop(y);
    }
  });
}

tw_status tw_explain(const tw_model* model, const char* const* cells, size_t columns, size_t tokens, size_t token,
                     size_t label, tw_explanation** out) {
  return made(out, [&] {
    const Model& own = linear_of(model_of(model));
    need(token < tokens, "no such token");
    need(label < own.labels().size(), "no such label");
    const Text text = text_of(*model->model, cells, columns, {&tokens, 1});
    return std::make_unique<tw_explanation>(
        tw_explanation{own.scorer().contributions(text, 0, token, label), own.scorer().unknown(text, 0, token),
                       described_features(own.scorer().templates(), text, 0, token)});
  });
}

void tw_explanation_free(tw_explanation* explanation) { delete explanation; }
size_t tw_explanation_features(const tw_explanation* explanation) {
  return explanation ? explanation->contributions.size() : 0;
}
const char* tw_explanation_feature(const tw_explanation* explanation, size_t feature) {
  return feature < tw_explanation_features(explanation) ? explanation->contributions[feature].feature.c_str() : nullptr;
}
double tw_explanation_score(const tw_explanation* explanation, size_t feature) {
  return feature < tw_explanation_features(explanation) ? explanation->contributions[feature].score : 0;
}
int32_t tw_explanation_part(const tw_explanation* explanation, size_t feature) {
  return feature < tw_explanation_features(explanation) ? explanation->contributions[feature].part + 1 : 0;
}
const char* tw_explanation_unknown(const tw_explanation* explanation, size_t feature) {
  return explanation && feature < explanation->unknown.size() ? explanation->unknown[feature].c_str() : nullptr;
}

const char* tw_explanation_words(const tw_explanation* explanation, const char* feature) {
  if (!explanation || !feature) return nullptr;
  for (const DescribedFeature& one : explanation->described)
    if (one.feature == feature) return one.words.c_str();
  return nullptr;
}

tw_status tw_decode(const double* nodes, const double* edges, size_t T, size_t L, const tw_options* options,
                    tw_result** out) {
  return made(out, [&] {
    const TagOptions chosen = tag_options(options_of(options));
    need_scores(nodes, edges, T, L);
    const Decoder* const decoder = decoder_named(chosen.decoder);
    need(decoder, "no decoder named " + std::string(chosen.decoder));
    const Plan plan = Plan{decoder, {}}.with(chosen.k);
    const Edges own = edges_of(edges, L);
    const std::vector<Answer> answers =
        decode_all({Sentence{T, {nullptr, nodes}, &own, nullptr}}, *decoder, plan.options, 1);
    auto result = std::make_unique<tw_result>();
    auto& sentence = result->sentences.emplace_back();
    sentence.tokens = T;
    for (const Path& path : answers.at(0).paths) sentence.labellings.push_back({path.labels, path.score, 0, {}});
    return result;
  });
}

tw_status tw_marginals(const double* nodes, const double* edges, size_t T, size_t L, double* node_probabilities,
                       double* edge_probabilities, double* log_z) {
  return guarded([&] {
    need_scores(nodes, edges, T, L);
    if (edge_probabilities) product(product(L, L), T);
    const Edges own = edges_of(edges, L);
    const auto lattice = [&](size_t) { return Lattice(own, T, {nullptr, nodes}, nullptr); };
    std::vector<Marginals> found = marginals_all(1, lattice, {}, edge_probabilities != nullptr, 1);
    for (size_t at = 0; node_probabilities && at < T * L; ++at) node_probabilities[at] = found[0].nodes[at];
    if (edge_probabilities) std::copy(found[0].edges.begin(), found[0].edges.end(), edge_probabilities);
    if (log_z) *log_z = found[0].log_z;
  });
}

void tw_result_free(tw_result* result) { delete result; }

size_t tw_result_sentences(const tw_result* result) { return result ? result->sentences.size() : 0; }

size_t tw_result_tokens(const tw_result* result, size_t sentence) {
  const auto* const own = sentence_of(result, sentence);
  return own ? own->tokens : 0;
}

int tw_result_offsets(const tw_result* result, size_t sentence, size_t token, size_t* begin, size_t* end) {
  const auto* const own = sentence_of(result, sentence);
  if (!own || token >= own->offsets.size()) return 0;
  if (begin) *begin = own->offsets[token].begin;
  if (end) *end = own->offsets[token].end;
  return 1;
}

size_t tw_result_labellings(const tw_result* result, size_t sentence) {
  const auto* const own = sentence_of(result, sentence);
  return own ? own->labellings.size() : 0;
}

double tw_result_score(const tw_result* result, size_t sentence, size_t labelling) {
  const Labelling* const own = labelling_of(result, sentence, labelling);
  return own ? own->score : 0;
}

double tw_result_probability(const tw_result* result, size_t sentence, size_t labelling) {
  const Labelling* const own = labelling_of(result, sentence, labelling);
  return own && result->probabilities ? portable_exp(own->log_probability) : 0;
}

double tw_result_log_probability(const tw_result* result, size_t sentence, size_t labelling) {
  const Labelling* const own = labelling_of(result, sentence, labelling);
  return own ? own->log_probability : 0;
}

const int32_t* tw_result_labels(const tw_result* result, size_t sentence, size_t labelling) {
  const Labelling* const own = labelling_of(result, sentence, labelling);
  return own ? own->labels.data() : nullptr;
}

const char* tw_result_label(const tw_result* result, size_t sentence, size_t labelling, size_t token) {
  const Labelling* const own = labelling_of(result, sentence, labelling);
  if (!own || token >= own->labels.size() || !result->model) return nullptr;
  return result->model->labels()[static_cast<size_t>(own->labels[token])].c_str();
}

const double* tw_result_label_probabilities(const tw_result* result, size_t sentence, size_t labelling) {
  const Labelling* const own = labelling_of(result, sentence, labelling);
  return own && result->probabilities ? own->label_probability.data() : nullptr;
}

const float* tw_result_marginals(const tw_result* result, size_t sentence) {
  const auto* const own = sentence_of(result, sentence);
  return own && !own->marginals.empty() ? own->marginals.data() : nullptr;
}
}
