#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "check.h"
#include "train/word_classes.h"

using namespace tagwright;

namespace {

uint64_t next_random(uint64_t& state) {
  state = state * 6364136223846793005U + 1442695040888963407U;
  return state >> 33;
}

// Sentences in which words of three kinds follow each other in a circle, with some noise.
std::shared_ptr<const WordBigrams> planted(size_t words_of_a_kind, size_t sentences, uint64_t seed) {
  BigramCounter counter(false);
  for (size_t s = 0; s < sentences; ++s) {
    size_t kind = next_random(seed) % 3;
    for (size_t t = 0; t < 12; ++t) {
      kind = next_random(seed) % 20 == 0 ? next_random(seed) % 3 : (kind + 1) % 3;
      counter.add_word(std::string(1, static_cast<char>('a' + kind)) + "x" +
                       std::string(1 + next_random(seed) % words_of_a_kind, 'z'));
    }
    counter.end_sentence();
  }
  return std::make_shared<const WordBigrams>(counter.bigrams(1));
}

// The objective, counted again bigram by bigram.
double objective_of(const WordBigrams& text, const std::vector<uint32_t>& class_of) {
  std::map<std::pair<uint32_t, uint32_t>, double> pairs;
  std::map<uint32_t, double> single;
  const Csr& words = text.next.words;
  for (size_t v = 0; v < words.rows(); ++v) {
    single[class_of[v]] += static_cast<double>(text.count[v]);
    for (size_t at = words.begin[v]; at < words.begin[v + 1]; ++at)
      pairs[{class_of[v], class_of[static_cast<size_t>(words.index[at])]}] += text.next.count[at];
  }
  double sum = 0;
  for (const auto& [pair, n] : pairs) sum += n * std::log(n);
  for (const auto& [c, n] : single)
    if (n > 0) sum -= 2 * n * std::log(n);
  return sum;
}

bool close(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)) + 1e-6; }

}  // namespace

TEST(bigrams_are_counted) {
  BigramCounter counter(false);
  counter.add_lines("The DOG 12\nthe  cat\r\n\n", *tokenizer_named("whitespace"), true);
  counter.add_word("the");
  CHECK(counter.tokens() == 6);
  const WordBigrams text = counter.bigrams(2);
  CHECK(text.words == std::vector<std::string>{"the"});
  CHECK((text.count == std::vector<uint64_t>{3, 3, 3}));  // the, three rare words, three sentences
  CHECK((text.next.words.index == std::vector<int32_t>{1, 2, 1, 2, 0}));
  CHECK((text.next.count == std::vector<uint32_t>{2, 1, 1, 2, 3}));
  CHECK((text.previous.words.begin == std::vector<size_t>{0, 1, 3, 5}));
  CHECK(counter.bigrams(1).words == (std::vector<std::string>{"the", "00", "cat", "dog"}));
}

TEST(moves_of_words_raise_the_objective) {
  const auto text = planted(30, 300, 1);
  for (const size_t n : {2, 3, 10, 95}) {
    WordClasses classes(text, n, 7);
    double before = classes.objective();
    CHECK(close(before, objective_of(*text, classes.class_of())));
    for (size_t k = 0; k < 6; ++k) {
      const size_t moved = classes.sweep(1);
      const double after = classes.objective();
      CHECK(moved ? after > before : after == before);
      CHECK(close(after, objective_of(*text, classes.class_of())));
      before = after;
    }
  }
}

TEST(planted_classes_are_found) {
  const auto text = planted(20, 2000, 3);
  WordClasses classes(text, 3, 0);
  for (size_t k = 0; k < 20 && classes.sweep(1); ++k) continue;
  std::map<char, std::set<uint32_t>> found;
  for (size_t word = 0; word < text->words.size(); ++word) found[text->words[word][0]].insert(classes.class_of()[word]);
  std::set<uint32_t> all;
  for (const auto& [kind, own] : found) {
    CHECK(own.size() == 1);
    all.insert(own.begin(), own.end());
  }
  CHECK(all.size() == 3);
}

TEST(classes_do_not_depend_on_threads) {
  const auto text = planted(200, 500, 5);
  const auto made = [&](size_t threads, uint64_t seed) {
    WordClasses classes(text, 40, seed);
    for (size_t k = 0; k < 3; ++k) classes.sweep(threads);
    return classes.paths({4, 12, 40}, threads);
  };
  const auto one = made(1, 0);
  CHECK(one == made(2, 0) && one == made(3, 0));
  CHECK(one != made(1, 1));
}

TEST(coarser_classes_are_unions_that_lose_least) {
  const auto text = planted(12, 200, 9);
  WordClasses classes(text, 8, 0);
  classes.sweep(1);
  // Each merge against all others, by the objective of what it makes.
  std::vector<uint32_t> group = classes.class_of();
  for (size_t left = 8; left > 3; --left) {
    std::vector<uint32_t> best;
    double most = -1e300;
    for (uint32_t a = 0; a < 8; ++a) {
      for (uint32_t b = a + 1; b < 8; ++b) {
        std::vector<uint32_t> merged = group;
        std::replace(merged.begin(), merged.end(), b, a);
        if (merged == group || std::count(group.begin(), group.end(), a) == 0) continue;
        if (const double own = objective_of(*text, merged); own > most + 1e-9) {
          most = own;
          best = merged;
        }
      }
    }
    group = best;
  }
  const std::vector<std::string> paths = classes.paths({3, 8}, 2);
  std::map<std::string, std::set<uint32_t>> coarse;
  std::set<std::string> fine(paths.begin(), paths.end());
  for (size_t word = 0; word < paths.size(); ++word)
    coarse[paths[word].substr(0, paths[word].find('.'))].insert(group[word]);
  CHECK(coarse.size() == 3 && fine.size() == 8);
  for (const auto& [name, own] : coarse) CHECK(own.size() == 1);
  // The most frequent class is 0.
  std::map<std::string, uint64_t> count;
  for (size_t word = 0; word < paths.size(); ++word) count[paths[word].substr(0, 1)] += text->count[word];
  CHECK(count["0"] >= count["1"] && count["1"] >= count["2"]);
}
