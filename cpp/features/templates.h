// Templates in CRF++'s form, with macros of our own: tokens in, feature strings out.
//
// A template is text with macros in it; each macro is a view on the sentence (the cell of column c, its last n
// characters, its shape, ...) at a row counted from the token at hand. A view is worked out once a token, however many
// templates use it. Where a macro gives nothing (a suffix of 4 characters of a word of 3), neither does its template.
//
// Templates that look at the labels of earlier tokens are apart: which features they give depends on the labels that
// are tried, so they are asked for once a history, not once a token.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "features/index.h"
#include "features/text.h"

namespace tagwright {

enum class Macro : uint8_t { x, lower, prefix, suffix, shape, digit, capital, punctuation, list, label };

// What a macro shows of each token.
struct View {
  Macro macro;
  size_t column;
  size_t n;  // characters of an affix, or the number of a word list
};

// A piece of a template: text, then the view at token t + row (view < 0: no more).
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
// entry first: B where one begins, I where it goes on, O elsewhere.
class WordList {
 public:
  void add(std::string_view entry);
  void mark(const std::vector<std::string_view>& lowered, std::vector<std::string_view>& marks) const;

 private:
  Index entries_;
  size_t longest_ = 0;  // in words
};

// So many labels a history holds at most: as many as fit into 64 bits.
inline constexpr size_t kLongestHistory = 4;

// The labels of the tokens before the one at hand.
struct Before {
  std::span<const std::string> names;
  const int32_t* label;  // label[-1]: of the token before; only as far back as the sentence goes
};

struct Feature {
  size_t begin, length;  // in FeatureScratch::bytes
  uint64_t hash;
  float value;
};

// Memory for the features of one sentence; made once a thread.
struct FeatureScratch {
  std::string bytes;
  std::vector<Feature> node, edge;                   // of the token at hand
  std::vector<std::vector<std::string_view>> views;  // [view][t]
  std::deque<std::string> made;                      // text that is not a piece of a cell; never moves
  size_t used = 0;
  std::vector<std::string_view> lowered;

  std::string_view text(const Feature& f) const { return std::string_view(bytes).substr(f.begin, f.length); }
};

class Templates {
 public:
  std::vector<View> views;
  std::vector<Template> templates;
  std::vector<WordList> lists;

  // Throws std::invalid_argument where templates ask for views or word lists that are not there.
  void check() const;
  // Works out the views of a sentence; then the features of its tokens can be asked for.
  void start(const Text& text, size_t sentence, FeatureScratch& scratch) const;
  // Fills scratch.node and scratch.edge with the features of token t of the sentence, but for those of its history.
  void expand(const Text& text, size_t sentence, size_t t, FeatureScratch& scratch) const;
  // Adds to scratch.node the features of token t that look at earlier labels. pure: those that
  // look at nothing else, which are the same for all tokens that are as far from the start.
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
