// Templates as text: the syntax of CRF++'s template files, with the macros of macros.h.
//
//   U00:%x[-1,0]/%x[0,0]     a feature for labels        B       a weight for each pair of labels
//   B:%lower[0,0]            a feature for edges         # ...   a comment
//
// %% is the character %. A * in the place of a list's name stands for every list that its first entry declares to be
// what the macro reads (ListKind), with one template for each.
//
// A text with a line that begins with u, b or *, with a macro of Wapiti that CRF++ lacks, or with a row such as @1 is a
// pattern file of Wapiti. There
//
//   *:%x[0,0]                is a feature for labels and one for edges
//   u:%x[0,0]  # ...         is a feature followed by a comment; U, B and u, b are the same
//
// and what stands outside a sentence is _x-1 .. _x-4, _x-#, _x+1 .. _x+4, _x+#, on which %t and %m are computed, too.
#pragma once

#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "features/templates.h"

namespace tagwright {

inline constexpr int32_t kLongestAffix = 1000;  // characters

// The message names file, line and column (in characters) of the error.
struct TemplateError : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

struct NamedList {
  std::string name;
  std::vector<std::string> entries;
  std::shared_ptr<const VectorTable> vectors{};  // in place of entries

  ListKind kind() const { return vectors ? ListKind::vectors : declared_kind(entries); }
};

struct ParsedTemplates {
  // The first macro that reads a column, for messages.
  struct Reader {
    size_t column, line, at;
    std::string macro;
  };

  std::string name;  // of the file or preset
  Templates templates;
  bool edges = false;              // a plain B: weights for pairs of labels
  std::vector<std::string> lists;  // names of the word lists in use, in the order in which templates name them
  std::vector<std::shared_ptr<const WordTable>> tables;  // [list]: what %class or %lexicon reads; else nullptr
  std::vector<Reader> readers;                           // one per column that is read

  // What the name of the feature of the word alone begins with; none if there is no such feature.
  std::optional<std::string> word_prefix() const;
  // Describes a macro that reads a column which tokens with this many columns lack.
  std::string missing_column(size_t columns) const;
};

// lists: sorted by name. only_found: whether a template with * makes a feature only for tokens that a list contains
// (since version 0.5.0). Throws TemplateError.
ParsedTemplates parse_templates(std::string_view text, std::string name, std::span<const NamedList> lists,
                                bool only_found);

}  // namespace tagwright
