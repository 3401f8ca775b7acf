// Templates in CRF++'s form, with macros of our own: tokens in, feature strings out.
//
// A template is text with macros in it; each macro is a view on the sentence (the cell of column c, its last n
// characters, its shape, ...) at a row counted from the current token. A view is computed once per token, however many
// templates use it. Where a macro gives nothing (a suffix of 4 characters of a word of 3), neither does its template.
//
// Patterns of Wapiti are templates, too. A macro may name a row from the start or the end of the sentence (@1, @-1):
// that is a view which shows all tokens the same.
//
// Templates that look at the labels of earlier tokens are apart: which features they give depends on the labels that
// are tried, so they are expanded once per history, not once per token.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "features/macros.h"
#include "features/text.h"
#include "features/word_list.h"

namespace tagwright {

// What a macro shows of each token.
struct View {
  const Macro* macro;
  size_t column;
  size_t n;                                      // the macro's third argument; of %in the number of the word list
  std::shared_ptr<const ByteRegex> regex{};      // or this
  std::shared_ptr<const WordTable> table{};      // what %class and %lexicon read; n is their fourth argument
  std::shared_ptr<const VectorTable> vectors{};  // what %vector reads
  // A row of the sentence: from 1 on, or from -1 backwards from its end. None: the row is that of the Part.
  std::optional<int32_t> fixed_row{};
  // In patterns of Wapiti, what it shows of _x-1 .. _x-4, _x-# before the sentence, then of _x+1 .. _x+4, _x+# behind
  // it. Empty: any macro gives _B-1, _B-2 ..., _B+1, ... there.
  std::vector<std::string> outside{};

  Macro::From from() const { return macro->from; }
  std::string_view show(std::string_view cell, TextPool& pool) const {
    return macro->show(cell, {n, regex.get(), table.get(), vectors.get()}, pool);
  }
  // Appends what stands `distance` tokens before or behind the sentence.
  void append_outside(std::string& out, size_t distance, bool before) const;
};

// A piece of a template: text, then the view at token t + row (view < 0: text only).
struct Part {
  std::string literal;
  int32_t view;
  int32_t row;
};

struct Template {
  bool edge;     // B: for edges into the token; U: for its nodes
  bool history;  // looks at labels of earlier tokens
  bool pure;     // looks at nothing else
  bool finds;    // makes a feature only where a word list has something
  std::vector<Part> parts;
  bool ends = false;  // may end early, at kEndsFeature
  // Components of the vector that its only macro gives: it makes one feature for each that is not 0, whose name has the
  // number of the component in the place of the macro. 0: it makes one feature.
  size_t dimensions = 0;

  // The part with its only macro, where there are dimensions.
  const Part& vector_part() const { return parts[parts[0].view < 0]; }
  std::string component_name(std::string_view component) const;
  // The features of all components as one, such as U90:0..63.
  std::string vector_name() const;
};

// The most labels that a history holds: as many as fit into 64 bits.
inline constexpr size_t kLongestHistory = 4;

// The labels of the tokens before the current one.
struct Before {
  std::span<const std::string> names;
  const int32_t* label;  // label[-1]: of the token before; only as far back as the sentence goes
};

struct Feature {
  size_t begin, length;  // in FeatureScratch::bytes
  uint64_t hash;
  float value;
};

// Some templates, and what they look at.
struct TemplateSet {
  std::vector<size_t> templates;  // in their order
  std::vector<size_t> views;
  size_t back = 0, on = 0;  // how many tokens before and after the current one
};

// Memory for the features of one sentence; one per thread.
struct FeatureScratch {
  std::string bytes;
  std::vector<Feature> node, edge;  // of the current token
  // Views are computed for some tokens at a time, begin .. end - 1, and for those around them that templates look at.
  size_t begin = 0, end = 0, first = 0;
  std::vector<std::vector<std::string_view>> views;  // [view][t - first]
  std::vector<std::vector<std::string_view>> marks;  // [view][t]: what word lists say of the whole sentence
  TextPool pool;                                     // text that is not a piece of a cell
  std::vector<std::string_view> lowered;             // [t]: the cells of a column in lower case
  TextPool token_pool;                               // the same for one token alone
  std::vector<std::string_view> token_views;         // [view]

  std::string_view text(const Feature& f) const { return std::string_view(bytes).substr(f.begin, f.length); }
};

class Templates {
 public:
  std::vector<View> views;
  std::vector<Template> templates;
  std::vector<WordList> lists;
  std::vector<std::string> list_names{};  // of the word lists, for descriptions

  // Throws std::invalid_argument where templates name views or word lists that are not there.
  void check() const;
  // Begins a sentence, before the features of its tokens are expanded.
  void start(const Text& text, size_t sentence, FeatureScratch& scratch) const;
  // Fills scratch.node and scratch.edge with the features of token t, except those that look at earlier labels.
  void expand(const Text& text, size_t sentence, size_t t, FeatureScratch& scratch) const;
  // Adds to scratch.node the features of token t that look at earlier labels. pure: those that look at nothing else,
  // which are the same for all tokens at the same distance from the start.
  enum class Which : uint8_t { pure, mixed };
  void expand_history(Which which, const Text& text, size_t sentence, size_t t, const Before& before,
                      FeatureScratch& scratch) const;

  // The templates that are chosen.
  TemplateSet set_of(const std::vector<bool>& chosen) const;
  // The row at which all views of a template for nodes lie, where it looks at cells only: what it gives depends on one
  // token alone. None for other templates; 0 where there is no view at all.
  std::optional<int32_t> row_of(const Template& one) const;
  // Adds to scratch.node the features that such templates have of a token, wherever they look for it; `which`: filled
  // with the places in the set of those that give one.
  void expand_token(const TemplateSet& set, const Text& text, size_t token, FeatureScratch& scratch,
                    std::vector<uint32_t>& which) const;
  // What such a template gives `distance` tokens before or behind the sentence.
  std::string expand_beyond(const Template& one, size_t distance, bool before) const;
  // Computes what a set looks at for token t and its neighbours, unless it is there.
  void show(const TemplateSet& set, const Text& text, size_t sentence, size_t t, FeatureScratch& scratch) const;
  // Adds the features of a template for token t, whose views are shown, to scratch.node or scratch.edge; returns
  // whether there are any: one, or those of the components of a vector. T: tokens of the sentence; before: where it
  // looks at labels.
  bool expand_one(const Template& one, size_t T, size_t t, const Before* before, FeatureScratch& scratch) const;

  // The features of each token of a sentence: of its nodes, and of the edges into it.
  using Strings = std::vector<std::string>;
  std::vector<std::pair<Strings, Strings>> features(const Text& text, size_t sentence) const;

  // How many labels back the templates look.
  size_t history() const;
  // How many columns a token must have.
  size_t columns() const;
  // Throws std::invalid_argument unless a text is such as the templates read.
  void check_text(const Text& text) const;

 private:
  // What a view with a fixed row shows of a sentence.
  std::string_view show_fixed(size_t view, const Text& text, size_t sentence, FeatureScratch& scratch) const;
  // Adds the features of the components of a vector; returns whether there are any.
  static bool expand_vector(const Template& one, std::string_view vector, FeatureScratch& scratch);
  // The same for all templates.
  void show(const Text& text, size_t sentence, size_t t, FeatureScratch& scratch) const;
};

}  // namespace tagwright
