#include "check.h"
#include "features/word_table.h"

using namespace tagwright;

namespace {

using Strings = std::vector<std::string>;

std::string error_of(const Strings& entries, ListKind kind) {
  try {
    WordTable(entries, kind);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST(word_tables_find_other_forms_of_a_word) {
  const WordTable table({"the\t0.1\t9", "IBM\t1.0", "0th\t1.1", "00-X\t0.0", "the\t1.1"}, ListKind::classes);
  CHECK(table.class_of("the", 0) == "0.1" && table.class_of("THE", 0) == "0.1");
  CHECK(table.class_of("IBM", 0) == "1.0" && table.class_of("ibm", 0).data() == nullptr);
  CHECK(table.class_of("7TH", 0) == "1.1" && table.class_of("19-X", 0) == "0.0");
  CHECK(table.class_of("", 0).data() == nullptr);
}

TEST(word_tables_cut_paths) {
  const WordTable table({"a\t10.0.111", "b\t0101"}, ListKind::classes);
  CHECK(table.class_of("a", 1) == "10" && table.class_of("a", 2) == "10.0");
  CHECK(table.class_of("a", 3) == "10.0.111" && table.class_of("a", 9) == "10.0.111");
  CHECK(table.class_of("b", 2) == "01" && table.class_of("b", 4) == "0101" && table.class_of("b", 9) == "0101");
}

TEST(suffixes_stand_for_unknown_words) {
  // Three of five are in the class 0, most of these in 0.1; 1.0 is the class with most words.
  const WordTable table({"acing\t0.0", "bcing\t0.1", "ccing\t0.1", "dcing\t1.0", "ecing\t1.0", "xaling\t1.1"},
                        ListKind::classes);
  CHECK(table.class_of("zcing", 0) == "0.1" && table.class_of("Z7CING", 1) == "0");
  CHECK(table.class_of("thing", 0) == "0.1");           // by -ing
  CHECK(table.class_of("cing", 0) == "0.1");            // a suffix is shorter than the word
  CHECK(table.class_of("ng", 0).data() == nullptr);     // and so is it here
  CHECK(table.class_of("ealed", 0).data() == nullptr);  // no suffix of three words
  const WordTable lexicon({"acing\tV", "bcing\tV", "ccing\tV"}, ListKind::lexicon);
  CHECK(lexicon.value_of("zcing", 0).data() == nullptr);
}

TEST(lexicons_have_several_values) {
  const WordTable table({"run\tVB,NN", "run\tVB\tVBP", ",\t,", "x\t\t,a"}, ListKind::lexicon);
  CHECK(table.value_of("Run", 0) == "NN|VB|VBP");
  CHECK(table.value_of("run", 1) == "VB" && table.value_of("run", 2) == "NN" && table.value_of("run", 3) == "VBP");
  CHECK(table.value_of("run", 4).data() == nullptr);
  CHECK(table.value_of(",", 0) == "," && table.value_of("x", 0) == ",a");
}

TEST(entries_of_word_tables_are_canonical) {
  const Strings given = {"word\tclass\tcount", "a\t0.1\t7", "b\t1", "c\t0.1\t2", "d e\t0.1\t3"};
  const WordTable table(given, ListKind::classes);
  const Strings made = table.entries();
  CHECK((made == Strings{"word\tclass", "\t0.1\ta c", "d e\t0.1", "\t1\tb"}));
  const WordTable again(made, ListKind::classes);
  CHECK(again.entries() == made);
  CHECK(again.class_of("c", 0) == "0.1" && again.class_of("d e", 0) == "0.1" && again.class_of("b", 0) == "1");
  CHECK(declared_kind(given) == ListKind::classes && declared_kind(made) == ListKind::classes);
  CHECK(declared_kind({"word\tvalues"}) == ListKind::lexicon && declared_kind({"word\tclasses"}) == ListKind::entries);
  CHECK(declared_kind({}) == ListKind::entries);
}

TEST(entries_without_a_value_are_refused) {
  CHECK(error_of({"a\tb", "word"}, ListKind::classes) ==
        "entry 1, counted from 0, has no class; an entry is a word, a TAB and its class");
  for (const char* one : {"", "\t", "\t\t", "\tx", "\t\ta", "a\t", "a\t\t"})
    for (const ListKind kind : {ListKind::classes, ListKind::lexicon}) CHECK(!error_of({one}, kind).empty());
}
