// The backward search over n-grams: sums in double precision for everything that reaches the floor.
//
// What is left of a column are runs: a label and those behind it, as far as an n-gram that began before it can see. So
// all that lies behind a run's first label has its score, and what n-grams add that begin further left is visited
// when the label before is known; until then it is bounded.
#pragma once

#include <utility>
#include <vector>

#include "base/stop.h"
#include "decode/table.h"
#include "decode/tree/bounds.h"

namespace tagwright {

class BackwardSearch {
 public:
  BackwardSearch(const Lattice& lattice, TreeBounds& bounds, size_t k, Arena& arena);

  // Finds every run that lies on a path of at least this score; false where that takes more than so many sums.
  bool find(double least, size_t budget, Work& work);
  // Whether there is one. If so:
  bool any() const { return surviving_[0].size > 0; }
  // The best path; or for k > 1, up to k of them that reach the floor, best first.
  Path best() const;
  std::vector<Path> enumerate(Work& work);

  // The score of continuing from label i of column t with labels next, after and last, and with n-grams that begin with
  // i; its stop score where next is -1.
  double step(size_t t, int32_t i, int32_t next, int32_t after, int32_t last) const;

 private:
  struct Run {
    int32_t label, next = -1, after = -1;  // of its column, of the next and of the one behind that
    int32_t best = 0;                      // the run of the next column that the best path continues with
    double behind;                         // score of the best path behind the label, its own node not counted
    double node = 0;                       // its node score, with the start score in the first column
    double from = 0;                       // both
    double most = 0;            // from, and the most that n-grams add that begin before the label and end behind it
    size_t begin = 0, end = 0;  // runs of the next column that it may continue with
    double* edges = nullptr;    // the steps to these, [run - begin]; for k > 1
  };
  struct Surviving {
    size_t size = 0;
    Run* runs = nullptr;
  };
  // A label of a column that may be on such a path.
  struct Candidate {
    int32_t label, hot;  // hot: its place among the hot labels, or -1
    double sum, reach;   // bounds of a path that ends in it; with its best edge out and what n-grams add to it
  };
  // Sequences of the next column that no n-gram which begins in this column can tell apart.
  struct Group {
    size_t begin, end;
    int32_t label;
    double most;
  };

  void find_candidates(size_t t, double least);
  void find_groups(const Surviving& next);
  size_t find_pairs(double needed, size_t budget);
  void extend(size_t t, const Candidate& candidate, const Group& group, double needed);
  void add(size_t t, const Candidate& candidate, Run run, double needed);

  const Lattice& lattice_;
  const LabelNgrams& ngrams_;
  const NgramBounds& limits_;
  TreeBounds& bounds_;
  const size_t k_;
  const bool long_;  // whether runs have a third label
  Arena& arena_;
  Surviving* surviving_;
  std::vector<Candidate> candidates_;
  std::vector<Group> groups_;
  std::vector<std::pair<uint32_t, uint32_t>> pairs_;  // a candidate and a group that it may continue with
  Meter meter_;
};

}  // namespace tagwright
