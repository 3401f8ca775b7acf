#include "check.h"
#include "features/word_list.h"

using namespace tagwright;

TEST(marking_finds_the_longest_entry_from_left_to_right) {
  for (size_t seed = 0; seed < 300; ++seed) {
    test::Draw draw(seed);
    test::doing("seed " + std::to_string(seed));
    const auto drawn = [&](size_t most) {
      std::vector<std::string> words(1 + draw.below(most));
      for (std::string& word : words) word = std::string(1, static_cast<char>('a' + draw.below(3)));
      return words;
    };
    std::vector<std::vector<std::string>> entries(draw.below(6));
    std::vector<std::string> texts;
    for (auto& entry : entries) {
      entry = drawn(5);
      std::string& text = texts.emplace_back();
      for (const std::string& word : entry) text += (text.empty() ? "" : " ") + word;
    }
    const std::vector<std::string> sentence = drawn(15);
    std::vector<std::string_view> marks;
    WordList(texts).mark({sentence.begin(), sentence.end()}, marks);
    for (size_t t = 0; t < sentence.size();) {
      size_t longest = 0;
      for (const auto& entry : entries)
        if (t + entry.size() <= sentence.size() &&
            std::equal(entry.begin(), entry.end(), sentence.begin() + static_cast<ptrdiff_t>(t)))
          longest = std::max(longest, entry.size());
      if (!longest) CHECK(marks[t] == "O");
      for (size_t q = 0; q < longest; ++q) CHECK(marks[t + q] == (q ? "I" : "B"));
      t += std::max<size_t>(longest, 1);
    }
  }
}
