// Files of one token per line, the plain case: blocks of lines to text, and the lines with labels.
//
// The formats are Python's (src/tagwright/data/columns.py, conllu.py), which reads whatever is not plain and says what
// is wrong with it. Here anything unusual is refused, and the rest is read and written as it would be there.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "features/text.h"

namespace tagwright {

struct LineForm {
  bool conllu = false;    // ten columns with a TAB between them, comments, ranges and empty nodes
  bool tab = true;        // a TAB separates columns; otherwise runs of blanks and TABs do
  size_t width = 1;       // columns of a token
  size_t columns = 1;     // of these the text has the first; of CoNLL-U those from FORM on
  size_t pick = 0;        // CoNLL-U: the column that the label goes to, which the text shows as _
  char separator = '\t';  // of other files: what stands before the label
};

// Sentences of a block of lines.
struct Lines {
  struct Line {
    std::string_view text;  // as it is written; of CoNLL-U without a change
    bool token;
  };
  Text text;
  std::vector<Line> lines;
  std::vector<size_t> sentence_end;  // in lines
};

// Reads a block, whose lines end with \n; none where it is not plain UTF-8 of this form.
std::optional<Lines> read_lines(std::string_view block, const LineForm& form);

// Adds the lines of a sentence with a label for each of its tokens, and a blank line.
void append_tagged(std::string& out, const Lines& lines, size_t sentence, const LineForm& form,
                   std::span<const int32_t> labels, std::span<const std::string_view> names);

// Cuts a block between sentences into at least one piece, each of about so many bytes or more.
std::vector<std::string_view> cut_between_sentences(std::string_view block, size_t bytes);

}  // namespace tagwright
