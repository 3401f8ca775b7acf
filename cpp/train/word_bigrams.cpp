#include "train/word_bigrams.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "base/need.h"
#include "base/stop.h"
#include "features/macros.h"
#include "features/unicode.h"
#include "features/word_table.h"

namespace tagwright {
namespace {

// Sums equal pairs, which are sorted by their first symbol, then by the second one.
WordCounts counted(const std::vector<uint64_t>& pairs, size_t symbols) {
  WordCounts made;
  made.words.begin.assign(1, 0);
  for (size_t at = 0, row = 0; row < symbols; ++row) {
    while (at < pairs.size() && pairs[at] >> 32 == row) {
      const uint64_t pair = pairs[at];
      uint32_t n = 0;
      for (; at < pairs.size() && pairs[at] == pair; ++at) ++n;
      made.words.index.push_back(static_cast<int32_t>(pair & 0xffffffffU));
      made.count.push_back(n);
    }
    made.words.begin.push_back(made.words.index.size());
    check_stop();
  }
  return made;
}

WordCounts sorted_counts(std::vector<uint64_t>& pairs, size_t symbols) {
  std::sort(pairs.begin(), pairs.end());
  return counted(pairs, symbols);
}

}  // namespace

void BigramCounter::add_word(std::string_view word) {
  lowered_.clear();
  folded_.clear();
  if (!keep_case_) append_lower(lowered_, word);
  append_folded(folded_, keep_case_ ? word : lowered_);
  const int32_t id = words_.add(folded_);
  if (static_cast<size_t>(id) == count_.size()) count_.push_back(0);
  ++count_[static_cast<size_t>(id)];
  ++tokens_;
  text_.push_back(id);
}

void BigramCounter::end_sentence() {
  if (!text_.empty() && text_.back() != kEnd) text_.push_back(kEnd);
}

void BigramCounter::add_lines(std::string_view lines, const Tokenizer& tokenizer, bool white_space) {
  for (size_t begin = 0; begin < lines.size();) {
    const size_t end = std::min(lines.find('\n', begin), lines.size());
    std::string_view line = lines.substr(begin, end - begin);
    if (line.ends_with('\r')) line.remove_suffix(1);
    begin = end + 1;
    if (white_space)
      add_words(line);
    else
      add_line(line, tokenizer);
    end_sentence();
    check_stop();
  }
}

void BigramCounter::add_words(std::string_view line) {
  const char *at = line.data(), *word = at, *const stop = at + line.size();
  for (const char* next = at;; at = next) {
    const bool ends = at == stop || is_space(next_char(next, stop));
    if (ends && at > word) add_word({word, static_cast<size_t>(at - word)});
    if (at == stop) return;
    if (ends) word = next;
  }
}

void BigramCounter::add_line(std::string_view line, const Tokenizer& tokenizer) {
  std::u32string text;
  std::vector<size_t> place;  // [character], in bytes
  const char *at = line.data(), *const stop = at + line.size();
  while (at < stop) {
    place.push_back(static_cast<size_t>(at - line.data()));
    text.push_back(next_char(at, stop));
  }
  place.push_back(line.size());
  const std::vector<TokenSpan> spans = tokenizer.spans(text);
  const std::vector<size_t> starts = tokenizer.starts ? tokenizer.starts(text, spans) : std::vector<size_t>();
  size_t next = 0;
  for (size_t n = 0; n < spans.size(); ++n) {
    for (; next < starts.size() && starts[next] <= n; ++next) end_sentence();
    add_word(line.substr(place[spans[n].begin], place[spans[n].end] - place[spans[n].begin]));
  }
}

WordBigrams BigramCounter::bigrams(size_t min_count) const {
  WordBigrams made;
  made.tokens = tokens_;
  std::vector<size_t> order(words_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::erase_if(order, [&](size_t id) { return count_[id] < min_count; });
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return count_[a] != count_[b] ? count_[a] > count_[b] : words_.text(a) < words_.text(b);
  });
  need(!order.empty(), "no word occurs " + std::to_string(min_count) + " times in the text; lower min_count");
  const size_t rare = order.size();
  std::vector<uint32_t> symbol(words_.size(), static_cast<uint32_t>(rare));
  for (size_t n = 0; n < order.size(); ++n) {
    symbol[order[n]] = static_cast<uint32_t>(n);
    made.words.emplace_back(words_.text(order[n]));
  }
  made.count.assign(made.symbols(), 0);
  const uint64_t boundary = made.boundary();
  std::vector<uint64_t> pairs;
  pairs.reserve(text_.size() + 1);
  uint64_t before = boundary;
  for (const int32_t id : text_) {
    const uint64_t own = id == kEnd ? boundary : symbol[static_cast<size_t>(id)];
    ++made.count[own];
    pairs.push_back(before << 32 | own);
    before = own;
  }
  if (before != boundary) {
    ++made.count[boundary];
    pairs.push_back(before << 32 | boundary);
  }
  made.next = sorted_counts(pairs, made.symbols());
  for (uint64_t& pair : pairs) pair = pair << 32 | pair >> 32;
  made.previous = sorted_counts(pairs, made.symbols());
  return made;
}

}  // namespace tagwright
