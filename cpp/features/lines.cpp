#include "features/lines.h"

#include <algorithm>

#include "base/need.h"
#include "features/unicode.h"

namespace tagwright {
namespace {

constexpr std::string_view kBlanks = " \t";

bool is_blank(std::string_view line) { return line.find_first_not_of(kBlanks) == std::string_view::npos; }

std::string_view stripped(std::string_view line) {
  const size_t first = line.find_first_not_of(kBlanks);
  return first == std::string_view::npos ? line.substr(0, 0)
                                         : line.substr(first, line.find_last_not_of(kBlanks) + 1 - first);
}

// Returns the line at `begin` without its end, and moves `begin` behind it.
std::string_view next_line(std::string_view block, size_t& begin) {
  const size_t end = std::min(block.find('\n', begin), block.size());
  std::string_view line = block.substr(begin, end - begin);
  if (end < block.size() && line.ends_with('\r')) line.remove_suffix(1);
  begin = std::min(end + 1, block.size());
  return line;
}

size_t leading_digits(std::string_view text) { return std::min(text.find_first_not_of("0123456789"), text.size()); }

// Whether an id of CoNLL-U is that of a token; none if it is neither that, nor a range, nor an empty node.
std::optional<bool> is_token(std::string_view id) {
  const size_t first = leading_digits(id);
  if (first == 0) return std::nullopt;
  if (first == id.size()) return true;
  if (id[first] != '-' && id[first] != '.') return std::nullopt;
  id.remove_prefix(first + 1);
  if (id.empty() || leading_digits(id) != id.size()) return std::nullopt;
  return false;
}

// Reads the lines of a block one by one.
class LineReader {
 public:
  LineReader(const LineFormat& format, Lines& out) : format_(format), out_(out) {}

  // Reads a line that is not blank; returns false if it is malformed.
  bool read(std::string_view line) {
    if (is_comment(line)) {
      out_.lines.push_back({line, false});
      return true;
    }
    split(line);
    if (cells_.size() != format_.width) return false;
    if (format_.conllu) {
      const std::optional<bool> token = is_token(cells_[0]);
      if (!token) return false;
      if (!*token) {
        out_.lines.push_back({line, false});
        return true;
      }
    }
    for (size_t c = format_.conllu; c < format_.columns + format_.conllu; ++c)
      out_.text.add_cell(format_.conllu && is_picked(c) ? "_" : cells_[c]);
    out_.text.end_token();
    out_.lines.push_back({format_.tab ? line : stripped(line), true});
    return !format_.labelled || read_label();
  }

  // Sentences without a token, such as comments only, are left out.
  void end_sentence() {
    if (out_.text.tokens() == first_token_) {
      out_.lines.resize(out_.sentence_end.empty() ? 0 : out_.sentence_end.back());
      return;
    }
    out_.text.end_sentence();
    out_.sentence_end.push_back(out_.lines.size());
    first_token_ = out_.text.tokens();
  }

 private:
  bool is_comment(std::string_view line) const {
    if (format_.conllu) return line.front() == '#';
    return format_.comments && (line == "#" || line.starts_with("# "));
  }

  bool is_picked(size_t column) const {
    return std::find(format_.picks.begin(), format_.picks.end(), column) != format_.picks.end();
  }

  void split(std::string_view line) {
    cells_.clear();
    if (format_.tab) {
      for (size_t begin = 0;;) {
        const size_t end = line.find('\t', begin);
        cells_.push_back(line.substr(begin, end - begin));
        if (end == std::string_view::npos) return;
        begin = end + 1;
      }
    }
    for (size_t begin = line.find_first_not_of(kBlanks); begin != std::string_view::npos;) {
      const size_t end = std::min(line.find_first_of(kBlanks, begin), line.size());
      cells_.push_back(line.substr(begin, end - begin));
      begin = line.find_first_not_of(kBlanks, end);
    }
  }

  // The pieces of a joint label are separated by |. In CoNLL-U only the rightmost field may itself contain |.
  bool read_label() {
    const size_t last = *std::max_element(format_.picks.begin(), format_.picks.end());
    for (size_t n = 0; n < format_.picks.size(); ++n) {
      const std::string_view piece = cells_[format_.picks[n]];
      const bool ambiguous = format_.conllu && format_.picks[n] != last && piece.find('|') != std::string_view::npos;
      if (piece.empty() || ambiguous) return false;
      if (n) out_.label_bytes.push_back('|');
      out_.label_bytes.append(piece);
    }
    out_.label_end.push_back(out_.label_bytes.size());
    return true;
  }

  const LineFormat& format_;
  Lines& out_;
  std::vector<std::string_view> cells_;  // of the current line
  size_t first_token_ = 0;               // of the current sentence
};

}  // namespace

std::optional<Lines> read_lines(std::string_view block, const LineFormat& format) {
  if (!is_utf8(block)) return std::nullopt;
  Lines out;
  out.text.columns = format.columns;
  out.text.bytes.reserve(block.size());
  LineReader reader(format, out);
  for (size_t begin = 0; begin < block.size();) {
    const std::string_view line = next_line(block, begin);
    if (is_blank(line)) {
      reader.end_sentence();
    } else if (!reader.read(line)) {
      return std::nullopt;
    }
  }
  reader.end_sentence();
  return out;
}

void append_tagged(std::string& out, const Lines& lines, size_t sentence, const LineFormat& format,
                   std::span<const int32_t> labels, std::span<const std::string_view> names) {
  const size_t first = sentence ? lines.sentence_end[sentence - 1] : 0;
  size_t t = 0;
  for (size_t n = first; n < lines.sentence_end[sentence]; ++n) {
    const auto& [line, token] = lines.lines[n];
    if (!token) {
      out.append(line);
    } else if (!format.conllu) {
      out.append(line).append(1, format.separator).append(names[static_cast<size_t>(labels[t++])]);
    } else {
      size_t begin = 0;
      for (size_t c = 0; c < format.picks[0]; ++c) begin = line.find('\t', begin) + 1;
      out.append(line.substr(0, begin)).append(names[static_cast<size_t>(labels[t++])]);
      out.append(line.substr(line.find('\t', begin)));
    }
    out.push_back('\n');
  }
  out.push_back('\n');
}

size_t complete_sentences(std::string_view block) {
  // Lines from the last to the first.
  for (size_t end = block.size(); end > 0;) {
    const size_t before = end > 1 ? block.rfind('\n', end - 2) : std::string_view::npos;
    size_t begin = before == std::string_view::npos ? 0 : before + 1;
    const size_t line = begin;
    if (is_blank(next_line(block.substr(0, end), begin))) return end;
    end = line;
  }
  return 0;
}

std::vector<std::string_view> cut_between_sentences(std::string_view block, size_t bytes) {
  std::vector<std::string_view> pieces;
  while (block.size() > bytes) {
    const size_t inside = bytes ? block.find('\n', bytes - 1) : std::string_view::npos;
    size_t begin = inside == std::string_view::npos ? block.size() : inside + 1;
    while (begin < block.size() && !is_blank(next_line(block, begin))) continue;
    pieces.push_back(block.substr(0, begin));
    block.remove_prefix(begin);
  }
  if (!block.empty() || pieces.empty()) pieces.push_back(block);
  return pieces;
}

std::vector<SentenceLines> split_sentences(std::string_view block) {
  std::vector<SentenceLines> made;
  bool open = false;
  for (size_t begin = 0, number = 0; begin < block.size(); ++number) {
    const std::string_view line = next_line(block, begin);
    const bool blank = is_blank(line);
    if (!blank && !open) made.push_back({number, {}});
    if (!blank) made.back().lines.push_back(line);
    open = !blank;
  }
  return made;
}

void LineFormat::check() const {
  need(columns + conllu <= width && (!labelled || !picks.empty()), "a format of fewer columns than are read");
  for (const size_t pick : picks) need(pick < width, "a label in a column that is not there");
}

bool LabelledText::add(std::string_view block, const LineFormat& format) {
  const std::optional<Lines> lines = read_lines(block, format);
  if (!lines) return false;
  text.append(lines->text);
  for (size_t token = 0; token < lines->label_end.size(); ++token) label.push_back(names.add(lines->label(token)));
  return true;
}

void LabelledText::add_sentences(const Text& more, const std::vector<std::vector<std::string>>& labels) {
  need(labels.size() == more.sentences(), "one list of labels per sentence");
  for (size_t s = 0; s < labels.size(); ++s) need(labels[s].size() == more.length(s), "one label per token");
  text.append(more);
  for (const std::vector<std::string>& own : labels)
    for (const std::string& name : own) label.push_back(names.add(name));
}

void LabelledText::append(const LabelledText& other) {
  text.append(other.text);
  std::vector<int32_t> renamed(other.names.size());
  for (size_t id = 0; id < renamed.size(); ++id) renamed[id] = names.add(other.names.text(id));
  for (const int32_t id : other.label) label.push_back(renamed[static_cast<size_t>(id)]);
}

}  // namespace tagwright
