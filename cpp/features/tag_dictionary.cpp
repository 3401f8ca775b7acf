#include "features/tag_dictionary.h"

#include <algorithm>
#include <functional>
#include <string>

#include "base/need.h"

namespace tagwright {
namespace {

constexpr const char* kMisfit = "constraints: words and lists do not fit together";

void check_list(std::span<const int32_t> labels, size_t L) {
  for (const int32_t label : labels)
    need(label >= 0 && static_cast<size_t>(label) < L, "constraints: a label that is not there");
  need(std::adjacent_find(labels.begin(), labels.end(), std::greater_equal<>()) == labels.end(),
       "constraints: labels out of order");
}

}  // namespace

TagDictionary::TagDictionary(size_t L, const Arrays& arrays)
    : L_(L), unknown_(arrays.unknown.begin(), arrays.unknown.end()) {
  check_list(unknown_, L);
  need(arrays.word_end.size() == arrays.list_end.size(), kMisfit);
  uint64_t word = 0, list = 0;
  for (size_t n = 0; n < arrays.word_end.size(); ++n) {
    const uint64_t next_word = arrays.word_end[n], next_list = arrays.list_end[n];
    need(next_word >= word && next_word <= arrays.bytes.size() && next_list >= list && next_list <= arrays.list.size(),
         kMisfit);
    need(words_.add(arrays.bytes.substr(word, next_word - word)) == static_cast<int32_t>(n),
         "constraints: a word that occurs twice");
    const auto labels = arrays.list.subspan(list, next_list - list);
    check_list(labels, L);
    lists_.add_row(labels);
    word = next_word;
    list = next_list;
  }
  need(word == arrays.bytes.size() && list == arrays.list.size(), kMisfit);
}

std::optional<std::span<const int32_t>> TagDictionary::labels_of(std::string_view word) const {
  if (const int32_t id = words_.find(word); id != kNoId) return lists_[static_cast<size_t>(id)];
  if (unknown_.empty()) return std::nullopt;
  return unknown_;
}

AllowedLists TagDictionary::allowed(const Text& text, const AllowedLists* given) const {
  need(!given || given->columns() == text.tokens(), "allowed: one list per token");
  AllowedLists made;
  for (size_t s = 0; s < text.sentences(); ++s) {
    for (size_t token = text.first_token(s); token < text.sentence_end[s]; ++token) {
      if (given)
        if (const std::span<const int32_t> own = given->view()[token]; !own.empty()) {
          made.add(own);
          continue;
        }
      need(text.first_cell(token) < text.token_end[token], "a tag dictionary needs tokens with a word");
      const std::string_view word = text.cell(text.first_cell(token));
      const auto labels = labels_of(word);
      if (!labels) {
        made.add_wide();
        continue;
      }
      if (labels->empty())
        throw std::invalid_argument("sentence " + std::to_string(s) +
                                    ": the tag dictionary leaves no label for token " +
                                    std::to_string(token - text.first_token(s)) + ", '" + std::string(word) + "'");
      made.add(*labels);
    }
  }
  return made;
}

}  // namespace tagwright
