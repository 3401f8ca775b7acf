#include "check.h"
#include "features/template_parser.h"

using namespace tagwright;

namespace {

const std::vector<NamedList> kLists = {{"city", {"New York", "Paris"}},
                                       {"cluster", {"word\tclass\tcount", "mara\t10.1\t7", "in\t0.1\t3"}},
                                       {"lexicon", {"word\tvalues", "new\tJJ,RB"}},
                                       {"name", {"Mara"}}};

ParsedTemplates parsed(std::string_view text) { return parse_templates(text, "t", kLists, true); }

std::string error_of(std::string_view text) {
  try {
    parsed(text);
  } catch (const TemplateError& error) {
    return error.what();
  }
  return "";
}

Text text_of(const std::vector<std::vector<std::string>>& rows) {
  Text text;
  text.columns = rows[0].size();
  for (const auto& row : rows) {
    for (const std::string& cell : row) text.add_cell(cell);
    text.end_token();
  }
  text.end_sentence();
  return text;
}

// The features of each token: of nodes, then of edges.
std::vector<std::vector<std::string>> expanded(const Templates& templates, const Text& text) {
  FeatureScratch scratch;
  std::vector<std::vector<std::string>> made;
  templates.start(text, 0, scratch);
  for (size_t t = 0; t < text.length(0); ++t) {
    templates.expand(text, 0, t, scratch);
    auto& own = made.emplace_back();
    for (const auto* features : {&scratch.node, &scratch.edge})
      for (const Feature& f : *features) own.emplace_back(scratch.text(f));
  }
  return made;
}

using Strings = std::vector<std::string>;

}  // namespace

TEST(templates_make_the_features_of_crfpp) {
  const auto found = parsed("# comment\n\nU0:%x[-1,0]/%x[0,1]\r\nB1:%lower[0,0]\nB\n");
  CHECK(found.edges && found.templates.columns() == 2 && found.templates.templates.size() == 2);
  const auto features = expanded(found.templates, text_of({{"The", "DT"}, {"Cat", "NN"}}));
  CHECK((features[0] == Strings{"U0:_B-1/DT"}));
  CHECK((features[1] == Strings{"U0:The/NN", "B1:cat"}));
}

TEST(macros_show_cells) {
  const auto found = parsed(
      "U%prefix[0,0,2]\nU%suffix[0,0,4]\nU%shape[0,0]\nU%digit[0,0]\nU%capital[0,0]\nU%punct[0,0]\nU%%%x[+1,0]\n");
  const auto features = expanded(found.templates, text_of({{"\xc3\x89"
                                                            "t\xc3\xa9"
                                                            "9"},
                                                           {"x"}}));
  CHECK((features[0] == Strings{"U\xc3\x89t",
                                "U\xc3\x89t\xc3\xa9"
                                "9",
                                "UXxd", "Usome", "Ufirst", "Unone", "U%x"}));
  CHECK((features[1] == Strings{"Ux", "Unone", "Unone", "Unone", "U%_B+1"}));
}

TEST(word_lists_mark_the_longest_entry) {
  const auto found = parsed("U:%in[0,0,city]\nU:%in[0,0,*]\n");
  CHECK((found.lists == Strings{"city", "name"}));
  const auto features = expanded(found.templates, text_of({{"in"}, {"new"}, {"York"}, {"MARA"}}));
  CHECK((features[0] == Strings{"U:O"}));
  CHECK((features[1] == Strings{"U:B", "U:B@city"}));
  CHECK((features[2] == Strings{"U:I", "U:I@city"}));
  CHECK((features[3] == Strings{"U:O", "U:B@name"}));
  const ParsedTemplates older = parse_templates("U:%in[0,0, * ]\n", "t", kLists, false);
  CHECK((expanded(older.templates, text_of({{"in"}}))[0] == Strings{"U:O@city", "U:O@name"}));
}

TEST(word_tables_show_words) {
  const auto found = parsed(
      "U:%class[0,0,cluster]/%class[-1,0,cluster,1]\nU:%class[0,0, * ,1]%class[0,0,*]\nU:%lexicon[0,0,lexicon]\n"
      "U:%lexicon[0,0,lexicon,1]\nU:%lexicon[0,0,lexicon,2]\nU:%lexicon[+1,0,*,2]\nU:%in[0,0,*]\n");
  CHECK((found.lists == Strings{"cluster", "lexicon", "city", "name"}));
  CHECK(found.tables[0] && found.tables[1] && !found.tables[2] && found.templates.lists.size() == 2);
  const auto features = expanded(found.templates, text_of({{"in"}, {"New"}, {"MARA"}}));
  CHECK((features[0] == Strings{"U:0.1/_B-1", "U:00.1@cluster", "U:RB@lexicon"}));
  CHECK((features[1] == Strings{"U:JJ|RB", "U:JJ", "U:RB"}));
  CHECK((features[2] == Strings{"U:1010.1@cluster", "U:_B+1@lexicon", "U:B@name"}));
  // Without tables, the line is ignored.
  const auto none = parse_templates("U:%class[0,0,*]\nB\n", "t", {}, true);
  CHECK(none.templates.templates.empty() && none.edges);
}

TEST(errors_in_word_tables) {
  CHECK(error_of("U:%class[0,0]\n") ==
        "t:1:3: %class is written %class[row,column,list,parts], possibly without the last argument, not %class[0,0]");
  CHECK(error_of("U:%class[0,0,cluster,0]\n").find("parts must be a whole number from 1 to 1000") != std::string::npos);
  CHECK(error_of("U:%class[0,0,city]\n").starts_with("t:1:3: list 'city': entry 0, counted from 0, has no class"));
  CHECK(error_of("U:%class[0,0,none]\n").starts_with("t:1:3: no word list named 'none'"));
  CHECK(error_of("U:%class[0,0,cluster]%lexicon[0,0,cluster]\n").find("give it under two names") != std::string::npos);
  CHECK(error_of("U:%class[0,0,*]%in[0,0,*]\n").find("* stands for lists of one kind") != std::string::npos);
}

TEST(errors_name_line_and_column) {
  CHECK(error_of("U:%x[0,0]\n\xc3\xa9\n") ==
        "t:2:1: a template begins with U (for labels) or B (for edges), not '\xc3\xa9'");
  CHECK(error_of("U\xc3\xa9:%q[0]\n").starts_with("t:1:4: no macro %q; there are %x, %lower"));
  CHECK(error_of("U:%x[0]\n") == "t:1:3: %x is written %x[row,column], not %x[0]");
  CHECK(error_of("U:%x[0, 10001]\n") == "t:1:3: column must be a whole number from 0 to 10000, not '10001'");
  CHECK(error_of("U:%x[0x,0]\n").find("row must be a whole number from -1000 to 1000, not '0x'") != std::string::npos);
  CHECK(error_of("U:%suffix[0,0,0]\n").find("length must be") != std::string::npos);
  CHECK(error_of("U:100%\n").starts_with("t:1:6: % begins a macro"));
  CHECK(error_of("U:%x[0,0\n").starts_with("t:1:3: % begins a macro"));
  CHECK(error_of("U:%in[0,0,country]\n") ==
        "t:1:3: no word list named 'country'; there are city, cluster, lexicon, name");
  CHECK(error_of("B:%y[-1]\n").starts_with("t:1:1: %y is for U templates"));
  CHECK(error_of("U:%y[-5]\n").find("back must be") != std::string::npos);
  CHECK(error_of("# only\n\n").starts_with("t: no template in it"));
}

TEST(patterns_of_wapiti_make_its_features) {
  const auto found = parsed(
      "U:%X[ -1,0]  # the word before\n   # "
      "nothing\nB\n*:%m[0,0,\".?\\\"]\"]/%t[1,0,\"^\\u\"]\nu%T[-1,0,\"\\d\"]%x[-5,0]%x[5,0]\n"
      "u%x[@1,0]%x[@-1,0]%x[@0,0]%x[@4,0]%M[@-2,0,\"^.\"]\nu%suffix[-1,0,4]%prefix[@2,0,3]\n");
  CHECK(found.edges && found.templates.templates.size() == 6);
  const auto features = expanded(found.templates, text_of({{"A1\xc3\x89"}, {"b\"]"}}));
  CHECK((features[0] == Strings{"u:_x-1", "*:/false", "utrue_x-#_x+4",
                                "uA1\xc3\x89"
                                "b\"]_x-1_x+2a",
                                "u_x-1b\"]"}));
  CHECK((features[1] == Strings{"u:a1\xc3\x89", "*:b\"]/false", "utrue_x-4_x+#",
                                "uA1\xc3\x89"
                                "b\"]_x-1_x+2a",
                                "*:b\"]/false"}));
  // What reads beyond the end of a cell ends the feature.
  const auto odd = parsed("u:%m[0,0,\"b?b\"]/%x[0,0]\n*\n").templates;
  CHECK((expanded(odd, text_of({{"bcd"}, {"b"}}))[0] == Strings{"u:bc/bcd", "*"}));
  CHECK((expanded(odd, text_of({{"bcd"}, {"b"}}))[1] == Strings{"u:b", "*"}));
}

TEST(files_without_anything_of_wapiti_are_those_of_crfpp) {
  const auto found = parsed("U:%x[-1,0]#%%t[0\nB:%x[-6,0]\n").templates;
  CHECK((expanded(found, text_of({{"a"}, {"b"}}))[1] == Strings{"U:a#%t[0", "B:_B-5"}));
  for (const char* one : {"u:%x[-1,0]\n", "U:%x[-1,0]\nB\n*\n", "U:%x[-1,0]%X[@1,0]\n", "U:%x[-1,0]%x[ @1,0]\n"})
    CHECK(expanded(parsed(one).templates, text_of({{"a"}}))[0][0].starts_with("u:_x-1"));
}

TEST(errors_in_patterns_of_wapiti) {
  CHECK(error_of("u:%t[0,0]\n") == "t:1:3: %t is written %t[row,column,regex], not %t[0,0]");
  CHECK(error_of("u:%t[0,0,x]\n") == "t:1:3: the regular expression must be in double quotes, not 'x'");
  CHECK(error_of("u:%t[0,0,\"*x\"]\n").starts_with("t:1:3: * follows no character in the regular expression"));
  CHECK(error_of("u:%t[0,0,\"x#\"]\n").starts_with("t:1:3: % begins a macro"));
  CHECK(error_of("u:%x[010,0]\n").find("octal") != std::string::npos);
  CHECK(error_of("u:%y[@-1]\n").find("back must be") != std::string::npos);
  CHECK(error_of("u\nx\n").find("also with * (for both), not 'x'") != std::string::npos);
  CHECK(error_of("*:%y[-1]\n").find("%y is for U templates") != std::string::npos);
}

TEST(columns_are_traced_to_the_macro_that_reads_them) {
  const auto found = parsed("U0:%x[0,0]\nU1:%x[0,0]/%suffix[0,2,3]\n");
  CHECK(found.missing_column(1) == "t:2:12 (%suffix[0,2,3]) reads column 2, counted from 0");
  CHECK(found.word_prefix() == "U0:");
  CHECK(!parsed("U0:%x[1,0]\n").word_prefix());
}

TEST(histories_are_recognised) {
  const auto found = parsed("U0:%y[-2]\nU1:%y[-1]/%x[0,0]\nU2:%x[0,0]\n").templates;
  CHECK(found.history() == 2);
  CHECK(found.templates[0].history && found.templates[0].pure);
  CHECK(found.templates[1].history && !found.templates[1].pure);
  CHECK(!found.templates[2].history);
}
