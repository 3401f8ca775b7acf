// Classes of words from text without labels: the exchange algorithm (Martin, Liermann and Ney 1998), and merging by
// mutual information (Brown et al. 1992), which makes a hierarchy of the classes.
//
// Both maximise the likelihood of a bigram model of classes, p(w | v) = p(w | its class) p(its class | class of v), and
// with it the mutual information of the classes of neighbouring words. Up to a constant, its logarithm is the sum over
// all c, d of f(N(c, d)) less twice the sum of f(N(c)), where f(n) = n log n; N counts bigrams of classes and classes.
//
// Differs from Martin et al. in that some words are examined at a time, against the same counts, and are then moved one
// after the other, each only if that still raises the objective. So the work is shared by threads, and the classes do
// not depend on their number.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "train/word_bigrams.h"

namespace tagwright {

// How often a class follows another one. The two last classes hold one symbol each: all rare words, and what is between
// two sentences.
class ClassCounts {
 public:
  ClassCounts(const WordBigrams& text, const std::vector<uint32_t>& class_of, size_t classes);

  size_t size() const { return size_; }
  const uint32_t* after(size_t c) const { return after_.data() + c * size_; }    // [d]: N(c, d)
  const uint32_t* before(size_t c) const { return before_.data() + c * size_; }  // [d]: N(d, c)
  uint64_t total(size_t c) const { return total_[c]; }

  void add(size_t c, size_t d, int64_t n) {
    after_[c * size_ + d] += static_cast<uint32_t>(n);
    before_[d * size_ + c] += static_cast<uint32_t>(n);
  }
  void add_total(size_t c, int64_t n) { total_[c] += static_cast<uint64_t>(n); }
  double objective() const;

 private:
  size_t size_;
  std::vector<uint32_t> after_, before_;  // transposed, so that both are read along rows
  std::vector<uint64_t> total_;
};

class WordClasses {
 public:
  // The most frequent words begin in a class each, the others in one that is drawn by the seed.
  WordClasses(std::shared_ptr<const WordBigrams> text, size_t classes, uint64_t seed);

  // Examines each word once, and moves it to the class that raises the objective most; returns how many were moved.
  size_t sweep(size_t threads);
  double objective() const { return counts_.objective(); }
  const std::vector<uint32_t>& class_of() const { return class_of_; }
  size_t classes() const { return classes_; }

  // Returns the path of each word: for each number of classes in rising order, the number of its class among those that
  // its coarser class consists of, with dots between them; the most frequent class is 0.
  std::vector<std::string> paths(const std::vector<size_t>& sizes, size_t threads) const;

 private:
  struct Contexts;
  struct Move {
    uint32_t to = 0;
    bool better = false;
  };

  void find_contexts(size_t word, Contexts& found) const;
  // What removing a word from its class, and adding it to another one, adds to the objective.
  double removed(const Contexts& word) const;
  double added(const Contexts& word, size_t to) const;
  Move best_move(size_t word, Contexts& own) const;
  void add_to_all(const Contexts& word, std::vector<double>& gain) const;
  void move(const Contexts& word, size_t to);

  std::shared_ptr<const WordBigrams> text_;
  size_t classes_;
  std::vector<uint32_t> class_of_;  // [symbol]
  ClassCounts counts_;
};

// Merges classes, always the two whose union loses least, until the smallest of some sizes is reached. Returns for each
// size, in falling order, the group of each class, which is named by its lowest class. Empty classes are in no group of
// others.
std::vector<std::vector<uint32_t>> merged_classes(ClassCounts counts, size_t classes, std::vector<size_t> sizes,
                                                  ThreadPool& pool);

}  // namespace tagwright
