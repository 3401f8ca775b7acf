/* tagwright from C and every language that can call C: load a model, tag text, decode scores.
 *
 * C99. The ABI is stable: within one TW_ABI_VERSION, functions and fields are added and never changed. Handles are
 * opaque, and every handle that a function returns is released by the function of its type that ends in _free.
 *
 * Every function that can fail returns a tw_status; TW_OK is 0. On failure *out is set to NULL (where there is one),
 * and tw_error() describes the error: what is wrong, where, and what to do.
 *
 * Threads: a model may be used by any number of threads at once. A result does not change and may be read by any
 * number of threads. Freeing a handle must not overlap with its use; results stay valid when their model is freed.
 *
 * Text is UTF-8. Offsets are in bytes. Labels are numbered from 0; tw_model_label returns their names.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32) && defined(TW_SHARED)
#if defined(TW_BUILD)
#define TW_API __declspec(dllexport)
#else
#define TW_API __declspec(dllimport)
#endif
#elif defined(__GNUC__)
#define TW_API __attribute__((visibility("default")))
#else
#define TW_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define TW_ABI_VERSION 1

typedef enum tw_status {
  TW_OK = 0,
  TW_INVALID_ARGUMENT = 1, /* out of range, not a score, not UTF-8; or nothing is allowed */
  TW_BAD_MODEL = 2,        /* a file that is damaged or not a model */
  TW_UNSUPPORTED = 3,      /* a model or an operation that this library cannot handle */
  TW_IO_ERROR = 4,         /* a file that cannot be read */
  TW_OUT_OF_MEMORY = 5,
  TW_INTERNAL_ERROR = 6
} tw_status;

/* The version of the library, such as "0.5.0", and of its ABI: TW_ABI_VERSION when the library was compiled. */
TW_API const char* tw_version(void);
TW_API uint32_t tw_abi_version(void);
/* The message of the last call on this thread that failed; "" if none did. Valid until the next failure on it. */
TW_API const char* tw_error(void);

/* --- models --- */

typedef struct tw_model tw_model;

/* Loads a model file. A file of more than 16 MB is mapped; it must not be modified while the model is in use. */
TW_API tw_status tw_model_load(const char* path, tw_model** out);
/* The same for the bytes of a file, which are copied. */
TW_API tw_status tw_model_from_memory(const void* bytes, size_t size, tw_model** out);
TW_API void tw_model_free(tw_model* model);

/* The number of labels; the name of a label, or NULL if there is no such label. */
TW_API size_t tw_model_labels(const tw_model* model);
TW_API const char* tw_model_label(const tw_model* model, size_t label);
/* How many columns a token must have. 0: tokens are ready-made features (tw_tag_features). */
TW_API size_t tw_model_columns(const tw_model* model);
/* 1 if scores are log probabilities up to a constant (CRF, HMM), else 0. */
TW_API int tw_model_probabilistic(const tw_model* model);
/* "crf", "perceptron", "hmm", ...; the tokeniser of its training, or "" if that is not known. */
TW_API const char* tw_model_learner(const tw_model* model);
TW_API const char* tw_model_tokenizer(const tw_model* model);

/* --- tagging --- */

/* Options of a call; 0 and NULL stand for the defaults. Set size to sizeof(tw_options), so that later versions of the
 * library know which fields the caller has. A pointer to options may be NULL. */
typedef struct tw_options {
  uint32_t size;         /* sizeof(tw_options) */
  uint32_t k;            /* labellings per sentence; default 1 */
  uint32_t threads;      /* over the sentences of a call; default 1 */
  uint32_t flags;        /* TW_PROBABILITIES | TW_MARGINALS */
  const char* decoder;   /* a name; default "auto" */
  const char* tokenizer; /* of tw_tag_text; default: that of the model's training, or else "whitespace" */
} tw_options;

/* Probabilities of labellings and of their labels; and of all labels of all tokens. CRF and HMM only. */
#define TW_PROBABILITIES 1u
#define TW_MARGINALS 2u

/* The labellings of sentences. */
typedef struct tw_result tw_result;

/* Tags text: each line is split into sentences and tokens. text need not end with a NUL. */
TW_API tw_status tw_tag_text(const tw_model* model, const char* text, size_t bytes, const tw_options* options,
                             tw_result** out);
/* Tags sentences of tokens. cells: strings of all tokens of all sentences, `columns` for each token.
 * lengths: [sentences], the number of tokens of each. */
TW_API tw_status tw_tag_tokens(const tw_model* model, const char* const* cells, size_t columns, const size_t* lengths,
                               size_t sentences, const tw_options* options, tw_result** out);
/* The same for ready-made features. features: of all tokens of all sentences, one behind the other. values: one for
 * each, or NULL where all are 1. counts: [token], the number of features of each. */
TW_API tw_status tw_tag_features(const tw_model* model, const char* const* features, const float* values,
                                 const size_t* counts, const size_t* lengths, size_t sentences,
                                 const tw_options* options, tw_result** out);
/* Splits text without tagging it; the result has sentences and tokens, and no labellings. */
TW_API tw_status tw_tokenize(const char* text, size_t bytes, const char* tokenizer, tw_result** out);

/* --- explanations: perceptrons, CRFs and HMMs only --- */

/* Writes the scores of one sentence, as tw_decode and tw_marginals take them, to nodes [tokens * labels] and edges
 * [labels * labels]; what the model's constraints forbid is -inf. TW_UNSUPPORTED if the model's edges depend on tokens
 * or on more than two labels. */
TW_API tw_status tw_scores(const tw_model* model, const char* const* cells, size_t columns, size_t tokens,
                           double* nodes, double* edges);

/* Why a token of a sentence has the node score that it has for a label: what each of its features adds. */
typedef struct tw_explanation tw_explanation;
TW_API tw_status tw_explain(const tw_model* model, const char* const* cells, size_t columns, size_t tokens,
                            size_t token, size_t label, tw_explanation** out);
TW_API void tw_explanation_free(tw_explanation* explanation);
/* The number of features that add something; their names, or NULL; what each adds, in the order of the sum. */
TW_API size_t tw_explanation_features(const tw_explanation* explanation);
TW_API const char* tw_explanation_feature(const tw_explanation* explanation, size_t feature);
TW_API double tw_explanation_score(const tw_explanation* explanation, size_t feature);
/* The part of the label that the weight belongs to, from 1; 0: the label itself. */
TW_API int32_t tw_explanation_part(const tw_explanation* explanation, size_t feature);
/* The features of the token that the model does not have, one after the other; NULL behind the last. */
TW_API const char* tw_explanation_unknown(const tw_explanation* explanation, size_t feature);
/* What a feature of the token means, in words, derived from its template: "suffix ies"; NULL for other features. */
TW_API const char* tw_explanation_words(const tw_explanation* explanation, const char* feature);

/* --- scores --- */

/* Returns the best paths of a lattice of T tokens and L labels as a result of one sentence. The score of a path is the
 * sum of its node scores and of the edge scores between them; higher is better, -inf forbids, NaN is an error.
 * nodes: [T * L]. edges: [L * L], from the first label to the second. Of the options, k and decoder are read. */
TW_API tw_status tw_decode(const double* nodes, const double* edges, size_t T, size_t L, const tw_options* options,
                           tw_result** out);
/* Writes the probabilities of nodes, exact sums over all paths, to node_probabilities [T * L]; those of edges to
 * edge_probabilities [(T - 1) * L * L]; and the logarithm of the sum of exp(score) to log_z. Any of the three may be
 * NULL. */
TW_API tw_status tw_marginals(const double* nodes, const double* edges, size_t T, size_t L, double* node_probabilities,
                              double* edge_probabilities, double* log_z);

/* --- results --- */

TW_API void tw_result_free(tw_result* result);
/* For an index that is out of range, and a NULL result, the functions below return 0 or NULL. */
TW_API size_t tw_result_sentences(const tw_result* result);
TW_API size_t tw_result_tokens(const tw_result* result, size_t sentence);
/* Where a token is in the text: bytes begin .. end - 1. Returns 1, or 0 if the result is not of a text. */
TW_API int tw_result_offsets(const tw_result* result, size_t sentence, size_t token, size_t* begin, size_t* end);
/* The number of labellings of a sentence, best first: k, or fewer if there are no more. */
TW_API size_t tw_result_labellings(const tw_result* result, size_t sentence);
TW_API double tw_result_score(const tw_result* result, size_t sentence, size_t labelling);
/* With TW_PROBABILITIES; otherwise 0. */
TW_API double tw_result_probability(const tw_result* result, size_t sentence, size_t labelling);
TW_API double tw_result_log_probability(const tw_result* result, size_t sentence, size_t labelling);
/* The labels of a labelling, [token]; the name of one of them, NULL for tw_decode. */
TW_API const int32_t* tw_result_labels(const tw_result* result, size_t sentence, size_t labelling);
TW_API const char* tw_result_label(const tw_result* result, size_t sentence, size_t labelling, size_t token);
/* The probabilities of the labels of a labelling, [token], with TW_PROBABILITIES; otherwise NULL. */
TW_API const double* tw_result_label_probabilities(const tw_result* result, size_t sentence, size_t labelling);
/* The probabilities of all labels, [token * labels + label], with TW_MARGINALS; otherwise NULL. */
TW_API const float* tw_result_marginals(const tw_result* result, size_t sentence);

#ifdef __cplusplus
}
#endif
