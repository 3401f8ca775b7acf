#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "check.h"
#include "features/tag_dictionary.h"

using namespace tagwright;

namespace {

using Lists = std::map<std::string, std::vector<int32_t>>;

TagDictionary made(size_t L, const Lists& lists, const std::vector<int32_t>& unknown = {}) {
  std::string bytes;
  std::vector<uint64_t> word_end, list_end;
  std::vector<int32_t> list;
  for (const auto& [word, labels] : lists) {
    bytes += word;
    list.insert(list.end(), labels.begin(), labels.end());
    word_end.push_back(bytes.size());
    list_end.push_back(list.size());
  }
  return {L, {bytes, word_end, list_end, list, unknown}};
}

Text text_of(const std::vector<std::vector<std::string>>& sentences) {
  Text text;
  text.columns = 1;
  for (const auto& sentence : sentences) {
    for (const std::string& word : sentence) {
      text.add_cell(word);
      text.end_token();
    }
    text.end_sentence();
  }
  return text;
}

}  // namespace

TEST(tokens_have_the_labels_of_their_words) {
  const Lists lists{{"", {2}}, {"a", {0, 2}}, {"bc", {1}}};
  for (const std::vector<int32_t>& unknown : {std::vector<int32_t>{}, std::vector<int32_t>{1, 2}}) {
    const TagDictionary dictionary = made(3, lists, unknown);
    const std::vector<std::string> words{"a", "b", "bc", "", "a"};
    const AllowedLists found = dictionary.allowed(text_of({{"a", "b"}, {}, {"bc", "", "a"}}));
    CHECK(found.columns() == words.size());
    for (size_t t = 0; t < words.size(); ++t) {
      const auto own = lists.find(words[t]);
      const std::vector<int32_t>& expected = own == lists.end() ? unknown : own->second;
      const auto labels = found.view()[t];
      CHECK(std::vector<int32_t>(labels.begin(), labels.end()) == expected);
    }
  }
}

TEST(given_lists_replace_those_of_the_dictionary) {
  const TagDictionary dictionary = made(3, {{"a", {0}}, {"none", {}}});
  const Text text = text_of({{"a", "none"}});
  CHECK_THROWS(std::invalid_argument, dictionary.allowed(text));
  AllowedLists given;
  given.add_wide();
  CHECK_THROWS(std::invalid_argument, dictionary.allowed(text, &given));
  given.add(std::vector<int32_t>{1, 2});
  const AllowedLists found = dictionary.allowed(text, &given);
  CHECK(found.view()[0].size() == 1 && found.view()[0][0] == 0);
  CHECK(found.view()[1].size() == 2 && found.view()[1][1] == 2);
}

TEST(a_damaged_dictionary_is_refused) {
  CHECK_THROWS(std::invalid_argument, made(2, {{"a", {2}}}));
  CHECK_THROWS(std::invalid_argument, made(2, {{"a", {-1}}}));
  CHECK_THROWS(std::invalid_argument, made(2, {{"a", {1, 0}}}));
  CHECK_THROWS(std::invalid_argument, made(2, {{"a", {1, 1}}}));
  CHECK_THROWS(std::invalid_argument, made(2, {{"a", {1}}}, {2}));
  const std::vector<uint64_t> ends{1, 2}, too_far{1, 3}, falling{2, 1};
  const std::vector<int32_t> list{0, 1};
  const auto of = [&](std::string_view bytes, std::span<const uint64_t> words, std::span<const uint64_t> lists) {
    return TagDictionary(2, {bytes, words, lists, list, {}});
  };
  CHECK(of("ab", ends, ends).labels_of("b").value()[0] == 1);
  CHECK_THROWS(std::invalid_argument, of("aa", ends, ends));
  CHECK_THROWS(std::invalid_argument, of("ab", too_far, ends));
  CHECK_THROWS(std::invalid_argument, of("ab", ends, too_far));
  CHECK_THROWS(std::invalid_argument, of("ab", falling, ends));
  CHECK_THROWS(std::invalid_argument, of("abc", ends, ends));
  CHECK_THROWS(std::invalid_argument, of("ab", std::span(ends).first(1), ends));
}
