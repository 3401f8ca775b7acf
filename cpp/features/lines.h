// Files of one token per line: column files and CoNLL-U. Where sentences end, what tokens and labels are, and the
// lines with labels added.
//
// A line ends with \n or \r\n; one of blanks and TABs only ends a sentence. Splitting into sentences happens here and
// nowhere else. A block that is malformed (not UTF-8, a wrong number of columns, an empty label, ...) is rejected as a
// whole: Python (src/tagwright/data/columns.py, conllu.py) then reads the same sentences and reports the first error.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "features/index.h"
#include "features/text.h"

namespace tagwright {

struct LineFormat {
  bool conllu = false;          // ten columns separated by TABs; comments, ranges and empty nodes are not tokens
  bool comments = false;        // column files: lines "#" and "# ..." are comments
  bool tab = true;              // a TAB separates columns; otherwise runs of blanks and TABs do
  size_t width = 1;             // columns of a token's line
  size_t columns = 1;           // columns in the text: the first ones; of CoNLL-U those from FORM on
  std::vector<size_t> picks{};  // columns of the label, in the order of its pieces; in CoNLL-U the text has _ there
  bool labelled = false;        // whether labels are read, from `picks`
  char separator = '\t';        // column files: what precedes an added label

  // Throws std::invalid_argument where columns are read that are not there.
  void check() const;
};

// Sentences of a block of lines.
struct Lines {
  struct Line {
    std::string_view
        text;  // as it is written: without its end and, where blanks separate columns, without outer blanks
    bool token;
  };
  Text text;
  std::vector<Line> lines;
  std::vector<size_t> sentence_end;  // [sentence], in lines
  std::string label_bytes;           // labels of all tokens, one behind the other
  std::vector<size_t> label_end;     // [token], in label_bytes

  std::string_view label(size_t token) const {
    const size_t begin = token ? label_end[token - 1] : 0;
    return std::string_view(label_bytes).substr(begin, label_end[token] - begin);
  }
};

// Returns the sentences of a block, which ends with the end of a line; none if it is malformed.
std::optional<Lines> read_lines(std::string_view block, const LineFormat& format);

// Appends the lines of a sentence with a label for each of its tokens, and a blank line. CoNLL-U has one pick.
void append_tagged(std::string& out, const Lines& lines, size_t sentence, const LineFormat& format,
                   std::span<const int32_t> labels, std::span<const std::string_view> names);

// Returns where the complete sentences of a block of whole lines end: behind its last blank line, or 0.
size_t complete_sentences(std::string_view block);

// Cuts a block between sentences into at least one piece, each of at least `bytes` bytes but for the last.
std::vector<std::string_view> cut_between_sentences(std::string_view block, size_t bytes);

// The lines of a sentence, without their ends.
struct SentenceLines {
  size_t first;  // the index of its first line in the block
  std::vector<std::string_view> lines;
};
std::vector<SentenceLines> split_sentences(std::string_view block);

// Sentences with labels, as training reads them from files: thirty times smaller than Python's lists of strings.
struct LabelledText {
  Text text;
  Index names;                 // of labels, in the order in which they first occur
  std::vector<int32_t> label;  // [token], as ids of names

  // Adds the sentences of a block; returns false and adds none if it is malformed.
  bool add(std::string_view block, const LineFormat& format);
  void append(const LabelledText& other);
  void add_sentences(const Text& text, const std::vector<std::vector<std::string>>& labels);
};

}  // namespace tagwright
