#include <algorithm>

#include "check.h"
#include "features/lines.h"

using namespace tagwright;

namespace {

std::vector<std::vector<std::string>> split(std::string_view block) {
  std::vector<std::vector<std::string>> made;
  for (const SentenceLines& one : split_sentences(block)) made.emplace_back(one.lines.begin(), one.lines.end());
  return made;
}

std::vector<std::string> cells(const Lines& lines) {
  std::vector<std::string> made;
  for (size_t at = 0; at < lines.text.cell_end.size(); ++at) made.emplace_back(lines.text.cell(at));
  return made;
}

LineFormat columns(size_t width, std::vector<size_t> picks = {}) {
  LineFormat format;
  format.width = width;
  format.columns = picks.empty() ? width : *std::min_element(picks.begin(), picks.end());
  format.labelled = !picks.empty();
  format.picks = std::move(picks);
  return format;
}

constexpr std::string_view kToken = "\tthe\tthe\tDET\tDT\t_\t2\tdet\t_\t_\n";

// A file of short lines over the characters that matter to a splitter.
std::string drawn_lines(test::Draw& draw) {
  constexpr std::string_view kChars = "ab \t\r#";
  std::string made;
  for (size_t line = draw.below(12); line > 0; --line) {
    for (size_t n = draw.below(4); n > 0; --n) made.push_back(kChars[draw.below(kChars.size())]);
    made.append(draw.chance(0.2) ? "\r\n" : "\n");
  }
  return made;
}

}  // namespace

TEST(sentences_end_at_lines_of_blanks_and_tabs) {
  using Split = std::vector<std::vector<std::string>>;
  CHECK(split("a\tb\n\nc\n \t \ne\n").size() == 3);
  CHECK(split("a\r\nb\r\n\r\nc\r\n") == Split{{"a", "b"}, {"c"}});
  CHECK(split("a\r\r\n\r\r\nb\n") == Split{{"a\r", "\r", "b"}});
  CHECK(split("g\rx\th\n\n") == Split{{"g\rx\th"}});
  CHECK(split("\n \n\t\n").empty());
  CHECK(split("").empty());
  const auto found = split_sentences("\n\na\n\nb\n");
  CHECK(found.size() == 2 && found[0].first == 2 && found[1].first == 4);
}

TEST(complete_sentences_end_behind_the_last_blank_line) {
  CHECK(complete_sentences("a\n\nb\n") == 3);
  CHECK(complete_sentences("a\n \t\r\nb\n") == 6);
  CHECK(complete_sentences("a\nb\n") == 0);
  CHECK(complete_sentences("\n") == 1);
  CHECK(complete_sentences("") == 0);
  CHECK(complete_sentences("a\n\r\r\n") == 0);
}

TEST(a_file_cut_between_any_two_lines_has_the_same_sentences) {
  for (size_t seed = 0; seed < 500; ++seed) {
    test::Draw draw(seed);
    const std::string file = drawn_lines(draw) + "\n\n";
    test::doing("seed " + std::to_string(seed));
    for (size_t cut = 0; cut < file.size(); ++cut) {
      if (cut && file[cut - 1] != '\n') continue;
      std::vector<std::vector<std::string>> joined;
      std::string held;
      for (const std::string_view block : {std::string_view(file).substr(0, cut), std::string_view(file).substr(cut)}) {
        const size_t end = complete_sentences(block);
        for (auto& one : split(held + std::string(block.substr(0, end)))) joined.push_back(std::move(one));
        held = end ? std::string(block.substr(end)) : held + std::string(block);
      }
      CHECK(joined == split(file));
    }
    for (size_t bytes = 1; bytes < 9; ++bytes) {
      std::vector<std::vector<std::string>> joined;
      std::string all;
      for (const std::string_view piece : cut_between_sentences(file, bytes)) {
        all.append(piece);
        for (auto& one : split(piece)) joined.push_back(std::move(one));
      }
      CHECK(all == file && joined == split(file));
    }
  }
}

TEST(columns_are_cells_before_the_label) {
  const auto found = read_lines("a\tX\t1\nb\tY\t2\n\nc\tZ\t3\n", columns(3, {2, 1}));
  CHECK(found.has_value());
  CHECK((cells(*found) == std::vector<std::string>{"a", "b", "c"}));
  CHECK((found->text.sentence_end == std::vector<size_t>{2, 3}));
  CHECK(found->label(0) == "1|X" && found->label(1) == "2|Y" && found->label(2) == "3|Z");
  LineFormat blanks = columns(2, {1});
  blanks.tab = false;
  blanks.comments = true;
  const auto other = read_lines("# one\n  a  \t X \n#\n\n# alone\n\nb Y\r\n", blanks);
  CHECK(other && (cells(*other) == std::vector<std::string>{"a", "b"}) && other->label(1) == "Y");
}

TEST(malformed_blocks_are_rejected) {
  CHECK(!read_lines("a\tb\nc\n", columns(2)));
  CHECK(!read_lines("a\tb\tc\n", columns(2)));
  CHECK(!read_lines("a\t\n", columns(2, {1})));
  CHECK(!read_lines("a\xff\tb\n", columns(2)));
  LineFormat conllu{true, true, true, 10, 5, {3}, true, ' '};
  CHECK(read_lines("1" + std::string(kToken), conllu));
  CHECK(!read_lines("x" + std::string(kToken), conllu));
  CHECK(!read_lines("1-" + std::string(kToken), conllu));
  conllu.picks = {3, 5};
  CHECK(!read_lines("1\tthe\tthe\tA|B\tDT\t_\t2\tdet\t_\t_\n", conllu));
  CHECK(read_lines("1\tthe\tthe\tA\tDT\tB|C\t2\tdet\t_\t_\n", conllu)->label(0) == "A|B|C");
}

TEST(conllu_has_the_label_replaced) {
  const LineFormat format{true, true, true, 10, 5, {4}, false, ' '};
  const std::string block =
      "# text = the\n1-2" + std::string(kToken) + "1" + std::string(kToken) + "1.1" + std::string(kToken);
  const auto found = read_lines(block, format);
  CHECK(found && (cells(*found) == std::vector<std::string>{"the", "the", "DET", "_", "_"}));
  std::string out;
  const std::string_view names[] = {"XX"};
  const int32_t labels[] = {0};
  append_tagged(out, *found, 0, format, labels, names);
  CHECK(out == "# text = the\n1-2" + std::string(kToken) + "1\tthe\tthe\tDET\tXX\t_\t2\tdet\t_\t_\n1.1" +
                   std::string(kToken) + "\n");
}

TEST(labelled_text_grows_block_by_block) {
  LabelledText all;
  CHECK(all.add("a\tX\nb\tY\n\n", columns(2, {1})));
  CHECK(!all.add("c\tZ\nbad\n", columns(2, {1})));
  CHECK(all.text.tokens() == 2 && all.label.size() == 2);
  CHECK(all.add("d\tY\n", columns(2, {1})));
  CHECK((all.label == std::vector<int32_t>{0, 1, 1}));
  CHECK(all.names.text(1) == "Y" && all.names.size() == 2);
  LabelledText more;
  CHECK(more.add("e\tW\nf\tY\n", columns(2, {1})));
  all.append(more);
  CHECK((all.label == std::vector<int32_t>{0, 1, 1, 2, 1}));
  CHECK((all.text.sentence_end == std::vector<size_t>{2, 3, 5}));
  CHECK(all.text.cell(4) == "f");
}
