#include "features/word_table.h"

#include <algorithm>
#include <stdexcept>

#include "features/macros.h"
#include "features/unicode.h"

namespace tagwright {
namespace {

constexpr std::string_view kDeclared[] = {"", "word\tclass", "word\tvalues"};  // [kind]

bool declares(std::string_view entry, ListKind kind) {
  const std::string_view own = kDeclared[static_cast<size_t>(kind)];
  return entry.starts_with(own) && (entry.size() == own.size() || entry[own.size()] == '\t');
}

// Cuts the text before the next separator off.
std::string_view next_piece(std::string_view& rest, char separator) {
  const size_t end = std::min(rest.find(separator), rest.size());
  const std::string_view piece = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return piece;
}

std::vector<std::string_view> pieces(std::string_view text, char separator) {
  std::vector<std::string_view> made;
  while (!text.empty()) made.push_back(next_piece(text, separator));
  return made;
}

constexpr size_t kMostValues = 1000;

// Adds a value to a row unless it is there.
void add_value(std::string& row, std::string_view value) {
  const std::vector<std::string_view> present = pieces(row, '\t');
  if (value.empty() || std::find(present.begin(), present.end(), value) != present.end()) return;
  if (present.size() == kMostValues) throw std::invalid_argument("a word has more than 1,000 values");
  if (!row.empty()) row.push_back('\t');
  row.append(value);
}

std::string joined_of(std::string_view row) {
  std::vector<std::string_view> values = pieces(row, '\t');
  std::sort(values.begin(), values.end());
  std::string made;
  for (const std::string_view value : values) made.append(made.empty() ? "" : "|").append(value);
  return made;
}

std::string folded(std::string_view text) {
  std::string made;
  append_folded(made, text);
  return made;
}

std::string lowered(std::string_view text) {
  std::string made;
  append_lower(made, text);
  return made;
}

// Where part number `depth` of a path ends, its dot included.
size_t part_end(std::string_view path, size_t depth) {
  size_t end = 0;
  for (; depth > 0 && end < path.size(); --depth) end = std::min(path.find('.', end), path.size() - 1) + 1;
  return end;
}

}  // namespace

ListKind declared_kind(const std::vector<std::string>& entries) {
  for (const ListKind kind : {ListKind::classes, ListKind::lexicon})
    if (!entries.empty() && declares(entries[0], kind)) return kind;
  return ListKind::entries;
}

WordTable::WordTable(const std::vector<std::string>& entries, ListKind kind)
    : kind_(kind), declared_(!entries.empty() && declares(entries[0], kind)) {
  std::vector<std::string> values;  // [word]
  for (size_t n = declared_; n < entries.size(); ++n) add(entries[n], n, values);
  for (const std::string& row : values) {
    row_of_word_.push_back(rows_.add(row));
    if (rows_.size() > joined_.size()) joined_.push_back(joined_of(row));
  }
}

void WordTable::add(std::string_view entry, size_t number, std::vector<std::string>& values) {
  std::string_view words, cells = entry;
  if (entry.starts_with('\t')) {
    const size_t last = entry.rfind('\t');
    words = entry.substr(last + 1);
    cells = entry.substr(1, last ? last - 1 : 0);
  } else {
    words = next_piece(cells, '\t');
  }
  // Of a class, the first cell counts.
  if (kind_ == ListKind::classes) cells = cells.substr(0, cells.find('\t'));
  if (entry.find('\n') != entry.npos)
    throw std::invalid_argument("entry " + std::to_string(number) + ", counted from 0, has a line break");
  const bool listed = entry.starts_with('\t');
  if (words.empty() || (listed && words.find_first_not_of(' ') == words.npos) ||
      cells.find_first_not_of('\t') == cells.npos) {
    const std::string what = kind_ == ListKind::classes ? "class" : "value";
    throw std::invalid_argument("entry " + std::to_string(number) + ", counted from 0, has no " + what +
                                "; an entry is a word, a TAB and its " + what);
  }
  if (!listed) return add(words, cells, values);
  for (const std::string_view word : pieces(words, ' '))
    if (!word.empty()) add(word, cells, values);
}

void WordTable::add(std::string_view word, std::string_view cells, std::vector<std::string>& values) {
  const auto id = static_cast<size_t>(words_.add(word));
  if (id == values.size()) values.emplace_back();
  std::string& row = values[id];
  if (kind_ == ListKind::classes) {
    if (row.empty()) row = cells;
    return;
  }
  for (const std::string_view cell : pieces(cells, '\t')) {
    // The cell of a comma is the comma.
    const bool list = !cell.starts_with(',') && !cell.ends_with(',') && cell.find(",,") == cell.npos;
    for (const std::string_view value : list ? pieces(cell, ',') : std::vector{cell}) add_value(row, value);
  }
}

WordTable::Row WordTable::find_exact(std::string_view word) const {
  const int32_t id = words_.find(word);
  return id == kNoId ? kNoId : row_of_word_[static_cast<size_t>(id)];
}

WordTable::Row WordTable::find(std::string_view word) const {
  if (const Row row = find_exact(word); row != kNoId) return row;
  if (const Row row = find_exact(folded(word)); row != kNoId) return row;
  const std::string low = lowered(word), low_folded = folded(low);
  if (const Row row = find_exact(low); row != kNoId) return row;
  if (const Row row = find_exact(low_folded); row != kNoId) return row;
  return kind_ == ListKind::classes ? find_suffix(low_folded) : kNoId;
}

WordTable::Row WordTable::find_suffix(std::string_view word) const {
  const Suffixes& known = suffixes_.get([this] { return make_suffixes(); });
  for (size_t n = kLongestSuffix; n >= kShortestSuffix; --n) {
    const char* const end = word.data() + word.size();
    const char* const begin = suffix_begin(word.data(), end, n);
    if (!begin || begin == word.data()) continue;
    const int32_t id = known.text.find({begin, static_cast<size_t>(end - begin)});
    if (id != kNoId && known.row[static_cast<size_t>(id)] != kNoId) return known.row[static_cast<size_t>(id)];
  }
  return kNoId;
}

WordTable::Suffixes WordTable::make_suffixes() const {
  Suffixes made;
  std::vector<std::pair<int32_t, Row>> votes;
  for (size_t id = 0; id < words_.size(); ++id) {
    const std::string word = folded(lowered(words_.text(id)));
    const char* const end = word.data() + word.size();
    for (size_t n = kShortestSuffix; n <= kLongestSuffix; ++n) {
      const char* const begin = suffix_begin(word.data(), end, n);
      if (!begin || begin == word.data()) break;
      votes.emplace_back(made.text.add({begin, static_cast<size_t>(end - begin)}), row_of_word_[id]);
    }
  }
  std::sort(votes.begin(), votes.end());
  made.row.assign(made.text.size(), kNoId);
  std::vector<std::string_view> paths;
  for (size_t first = 0, last = 0; first < votes.size(); first = last) {
    while (last < votes.size() && votes[last].first == votes[first].first) ++last;
    if (last - first < kVotes) continue;
    paths.clear();
    for (size_t n = first; n < last; ++n) paths.push_back(rows_.text(static_cast<size_t>(votes[n].second)));
    made.row[static_cast<size_t>(votes[first].first)] = elected(paths);
  }
  return made;
}

// The path of most votes, part by part: first the coarsest class, then the finer one within it. Of two with as many,
// the first in the order of their bytes.
WordTable::Row WordTable::elected(std::vector<std::string_view>& votes) const {
  std::sort(votes.begin(), votes.end());
  size_t first = 0, last = votes.size();
  while (votes[first] != votes[last - 1]) {
    // The paths between are sorted, so that all share the parts that these two share.
    const std::string_view a = votes[first], b = votes[last - 1];
    const auto same = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
    const size_t depth = 1 + static_cast<size_t>(std::count(a.begin(), same, '.'));
    size_t best = first, most = 0;
    for (size_t from = first, to = first; from < last; from = to) {
      const std::string_view part = votes[from].substr(0, part_end(votes[from], depth));
      while (to < last && votes[to].substr(0, part_end(votes[to], depth)) == part) ++to;
      if (to - from > most) {
        best = from;
        most = to - from;
      }
    }
    first = best;
    last = best + most;
  }
  return rows_.find(votes[first]);
}

std::string_view WordTable::class_of(std::string_view word, size_t parts) const {
  const Row row = find(word);
  if (row == kNoId) return {};
  const std::string_view path = rows_.text(static_cast<size_t>(row));
  if (parts == 0) return path;
  if (path.find('.') == path.npos) {
    const char* const end = prefix_end(path.data(), path.data() + path.size(), parts);
    return end ? path.substr(0, static_cast<size_t>(end - path.data())) : path;
  }
  const size_t end = part_end(path, parts);
  return path.substr(0, end - (end > 0 && end < path.size()));
}

std::string_view WordTable::value_of(std::string_view word, size_t n) const {
  const Row row = find(word);
  if (row == kNoId) return {};
  if (n == 0) return joined_[static_cast<size_t>(row)];
  const std::vector<std::string_view> values = pieces(rows_.text(static_cast<size_t>(row)), '\t');
  return n <= values.size() ? values[n - 1] : std::string_view();
}

std::vector<std::string> WordTable::entries() const {
  std::vector<std::string> made(rows_.size()), apart(rows_.size());
  for (size_t id = 0; id < words_.size(); ++id) {
    const auto row = static_cast<size_t>(row_of_word_[id]);
    const std::string_view word = words_.text(id), values = rows_.text(row);
    if (word.find(' ') != word.npos) {
      apart[row].append(apart[row].empty() ? "" : "\n").append(word).append("\t").append(values);
    } else if (made[row].empty()) {
      made[row].append("\t").append(values).append("\t").append(word);
    } else {
      made[row].append(" ").append(word);
    }
  }
  std::vector<std::string> all;
  if (declared_) all.emplace_back(kDeclared[static_cast<size_t>(kind_)]);
  for (size_t row = 0; row < rows_.size(); ++row) {
    if (!made[row].empty()) all.push_back(std::move(made[row]));
    for (const std::string_view entry : pieces(apart[row], '\n')) all.emplace_back(entry);
  }
  return all;
}

void append_folded(std::string& out, std::string_view text) {
  for (const char *at = text.data(), *const end = at + text.size(); at < end;) {
    const char* const begin = at;
    if (kind_of(next_char(at, end)) == Kind::digit)
      out.push_back('0');
    else
      out.append(begin, at);
  }
}

}  // namespace tagwright
