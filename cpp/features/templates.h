// Templates in CRF++'s form, with macros of our own: tokens in, feature strings out.
//
// A template is text with macros in it; each macro is a view on the sentence (the cell of column c, its last n
// characters, its shape, ...) at a row counted from the current token. A view is computed once per token, however many
// templates use it. Where a macro gives nothing (a suffix of 4 characters of a word of 3), neither does its template.
//
// Templates that look at the labels of earlier tokens are apart: which features they give depends on the labels that
// are tried, so they are expanded once per history, not once per token.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "features/index.h"
#include "features/macros.h"
#include "features/text.h"

namespace tagwright {

// What a macro shows of each token.
struct View {
  const Macro* macro;
  size_t column;
  size_t n;  // the macro's third argument; of %in the number of the word list

  Macro::From from() const { return macro->from; }
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
};

// Entries of one or several words, in lower case. A sentence is marked with them from left to right, the longest
// entry first: B where one begins, I where it continues, O elsewhere.
class WordList {
 public:
  void add(std::string_view entry);
  void mark(const std::vector<std::string_view>& lowered, std::vector<std::string_view>& marks) const;

 private:
  Index entries_;
  size_t longest_ = 0;  // in words
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

// Memory for the features of one sentence; one per thread.
struct FeatureScratch {
  std::string bytes;
  std::vector<Feature> node, edge;                   // of the current token
  std::vector<std::vector<std::string_view>> views;  // [view][t]
  TextPool pool;                                     // text that is not a piece of a cell
  std::vector<std::string_view> lowered;             // [t]: the cells of a column in lower case

  std::string_view text(const Feature& f) const { return std::string_view(bytes).substr(f.begin, f.length); }
};

class Templates {
 public:
  std::vector<View> views;
  std::vector<Template> templates;
  std::vector<WordList> lists;

  // Throws std::invalid_argument where templates name views or word lists that are not there.
  void check() const;
  // Computes the views of a sentence, which the features of its tokens need.
  void start(const Text& text, size_t sentence, FeatureScratch& scratch) const;
  // Fills scratch.node and scratch.edge with the features of token t, except those that look at earlier labels.
  void expand(const Text& text, size_t sentence, size_t t, FeatureScratch& scratch) const;
  // Adds to scratch.node the features of token t that look at earlier labels. pure: those that look at nothing else,
  // which are the same for all tokens at the same distance from the start.
  enum class Which : uint8_t { pure, mixed };
  void expand_history(Which which, const Text& text, size_t sentence, size_t t, const Before& before,
                      FeatureScratch& scratch) const;
  // How many labels back the templates look.
  size_t history() const;
  // How many columns a token must have.
  size_t columns() const;
  // Throws std::invalid_argument unless a text is such as the templates read.
  void check_text(const Text& text) const;

 private:
  void expand_one(const Template& one, size_t T, size_t t, const Before* before, FeatureScratch& scratch) const;
};

}  // namespace tagwright
