#include "features/lines.h"

#include <algorithm>
#include <cstring>

#include "features/unicode.h"

namespace tagwright {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }

std::string_view stripped(std::string_view line) {
  while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
  while (!line.empty() && is_blank(line.back())) line.remove_suffix(1);
  return line;
}

// Whether the bytes are UTF-8 without carriage returns.
bool is_plain(std::string_view bytes) {
  const char* at = bytes.data();
  const char* const end = at + bytes.size();
  while (at < end) {
    uint64_t word = 0;
    if (end - at >= 8) {
      std::memcpy(&word, at, sizeof word);
      const uint64_t returns = word ^ 0x0d0d0d0d0d0d0d0dU;
      // The usual test for a byte of zero, exact where no byte is above 127.
      if (!((word | (returns - 0x0101010101010101U)) & 0x8080808080808080U)) {
        at += 8;
        continue;
      }
    }
    const char32_t c = next_char(at, end);
    if (c == U'\r' || (c >= 0xDC80 && c <= 0xDCFF)) return false;
  }
  return true;
}

// Calls each(cell) for the cells of a line; returns how many there are.
template <class Each>
size_t for_each_cell(std::string_view line, bool tab, Each&& each) {
  size_t count = 0;
  if (tab) {
    for (size_t begin = 0;; ++count) {
      const size_t end = line.find('\t', begin);
      each(line.substr(begin, end - begin), count);
      if (end == std::string_view::npos) return count + 1;
      begin = end + 1;
    }
  }
  for (size_t begin = 0; begin < line.size();) {
    while (begin < line.size() && is_blank(line[begin])) ++begin;
    size_t end = begin;
    while (end < line.size() && !is_blank(line[end])) ++end;
    if (end > begin) each(line.substr(begin, end - begin), count++);
    begin = end;
  }
  return count;
}

size_t digits(std::string_view text) {
  const auto none = std::find_if(text.begin(), text.end(), [](char c) { return c < '0' || c > '9'; });
  return static_cast<size_t>(none - text.begin());
}

// Whether an id of CoNLL-U is that of a token; none where it is neither that, nor a range, nor an empty node.
std::optional<bool> is_token(std::string_view id) {
  const size_t first = digits(id);
  if (first == 0) return std::nullopt;
  if (first == id.size()) return true;
  if (id[first] != '-' && id[first] != '.') return std::nullopt;
  id.remove_prefix(first + 1);
  if (id.empty() || digits(id) != id.size()) return std::nullopt;
  return false;
}

// Takes in a line that is not blank; false where it is not of this form.
bool take(std::string_view line, const LineForm& form, Lines& out) {
  if (form.conllu && line.front() == '#') {
    out.lines.push_back({line, false});
    return true;
  }
  std::string_view id;
  const size_t skipped = form.conllu;
  const size_t before = out.text.cell_end.size(), bytes = out.text.bytes.size();
  const size_t width = for_each_cell(line, form.tab, [&](std::string_view cell, size_t c) {
    if (form.conllu && c == 0) id = cell;
    if (c < skipped || c >= skipped + form.columns) return;
    out.text.add_cell(form.conllu && c == form.pick ? "_" : cell);
  });
  if (width != form.width) return false;
  bool token = true;
  if (form.conllu) {
    const std::optional<bool> said = is_token(id);
    if (!said) return false;
    token = *said;
  }
  if (token) {
    out.text.end_token();
  } else {
    out.text.cell_end.resize(before);
    out.text.bytes.resize(bytes);
  }
  out.lines.push_back({form.tab ? line : stripped(line), token});
  return true;
}

}  // namespace

std::optional<Lines> read_lines(std::string_view block, const LineForm& form) {
  if (!is_plain(block) || (!block.empty() && block.back() != '\n')) return std::nullopt;
  Lines out;
  out.text.columns = form.columns;
  out.text.bytes.reserve(block.size());
  size_t first = 0;  // line of the sentence
  const auto end_sentence = [&] {
    const size_t tokens = out.text.tokens(), before = out.text.sentences() ? out.text.sentence_end.back() : 0;
    // Comments without a token after them are left out.
    if (tokens == before) out.lines.resize(first);
    if (tokens > before) {
      out.text.end_sentence();
      out.sentence_end.push_back(out.lines.size());
    }
    first = out.lines.size();
  };
  for (size_t begin = 0; begin < block.size();) {
    const size_t end = block.find('\n', begin);
    const std::string_view line = block.substr(begin, end - begin);
    begin = end + 1;
    if (stripped(line).empty()) {
      end_sentence();
    } else if (!take(line, form, out)) {
      return std::nullopt;
    }
  }
  end_sentence();
  return out;
}

void append_tagged(std::string& out, const Lines& lines, size_t sentence, const LineForm& form,
                   std::span<const int32_t> labels, std::span<const std::string_view> names) {
  const size_t first = sentence ? lines.sentence_end[sentence - 1] : 0;
  size_t t = 0;
  for (size_t n = first; n < lines.sentence_end[sentence]; ++n) {
    const auto& [line, token] = lines.lines[n];
    if (!token) {
      out.append(line);
    } else if (!form.conllu) {
      out.append(line).append(1, form.separator).append(names[static_cast<size_t>(labels[t++])]);
    } else {
      size_t begin = 0;
      for (size_t c = 0; c < form.pick; ++c) begin = line.find('\t', begin) + 1;
      out.append(line.substr(0, begin)).append(names[static_cast<size_t>(labels[t++])]);
      out.append(line.substr(line.find('\t', begin)));
    }
    out.push_back('\n');
  }
  out.push_back('\n');
}

std::vector<std::string_view> cut_between_sentences(std::string_view block, size_t bytes) {
  std::vector<std::string_view> pieces;
  while (block.size() > bytes) {
    const size_t blank = block.find("\n\n", bytes);
    if (blank == std::string_view::npos) break;
    pieces.push_back(block.substr(0, blank + 2));
    block.remove_prefix(blank + 2);
  }
  if (!block.empty() || pieces.empty()) pieces.push_back(block);
  return pieces;
}

}  // namespace tagwright
