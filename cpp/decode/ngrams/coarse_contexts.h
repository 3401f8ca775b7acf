// The coarse lattice of one sentence where edges have ngrams, for decode/refine/refine.cpp.
//
// A node is a block of labels, a label with any past, or a context (lattice/contexts.h): a label with as much of its
// past as ngrams can see. So a label is a block, too: that of its contexts. What ngrams add between two nodes is
// the most that they add for any labels and pasts inside; between contexts it is known. A column starts with the most
// frequent label and a block of all others. A block splits into labels and a smaller block, as in coarse_chain.h, and a
// label into its contexts.
#pragma once

#include <span>
#include <vector>

#include "base/stop.h"
#include "decode/graph.h"
#include "lattice/chain.h"

namespace tagwright {

class CoarseContexts {
 public:
  CoarseContexts(const Lattice& lattice, Arena& arena);

  size_t T() const { return lattice_.T; }
  // Whether position q of column t is no context, and may be split.
  bool is_block(size_t t, int32_t q) const { return columns_[t].nodes[q].kind != Kind::kContext; }
  // Any such position of column t, for whoever splits one in every column: the block of labels if there is one; -1:
  // none.
  int32_t any_block(size_t t) const;
  int32_t label(size_t t, int32_t q) const { return columns_[t].nodes[q].id; }

  // As those of CoarseChain.
  bool pass(int direction, double floor, Work& work);
  double end_score(size_t q) const {
    const Node& end = at(T() - 1).nodes[q];
    return end.bound[direction_] + end.n;
  }
  size_t end_size() const { return at(T() - 1).size; }
  GraphPath trace(size_t q, Work& work);
  double dive(size_t q, Work& work);
  std::vector<size_t> best_ends(size_t n) const;
  Graph against_pass();
  // Splits the nodes in these positions of column t.
  void split(size_t t, std::span<const int32_t> positions, double floor);

 private:
  enum class Kind : uint8_t { kBlock, kLabel, kContext };
  struct Node {
    Kind kind;
    int32_t id;                     // of the block, or the label
    LabelNgrams::Node context = 0;  // of a context
    double n;                       // node score, with start and stop
    double bound[2];                // as in CoarseChain
    double out[2];                  // the best edge that leaves it forward and backward, with what ngrams add
  };
  struct Column {
    size_t size = 0, room = 0;
    Node* nodes = nullptr;
  };

  size_t column_of(size_t s) const { return direction_ == 0 ? s : T() - 1 - s; }
  Column& at(size_t s) { return columns_[column_of(s)]; }
  const Column& at(size_t s) const { return columns_[column_of(s)]; }
  size_t step_of(size_t s) const { return direction_ == 0 ? s - 1 : T() - 1 - s; }
  const Bounds& bounds(size_t t) const { return lattice_.edges.chain_bounds(t); }

  void add(Column& column, const Node& node);
  void add_labels(size_t t, Column& column, size_t first, size_t last, const double* inherited, double least);
  void add_block(size_t t, Column& column, size_t block, const double* inherited, double least);
  void add_contexts(Column& column, const Node& label);
  Node made(size_t t, Kind kind, int32_t id, LabelNgrams::Node context, const double* inherited) const;
  double best_edge(size_t t, int direction, Kind kind, int32_t id) const;

  // The edge of step t from node u to node v, with what ngrams add: known between contexts, or else a bound.
  double edge(size_t t, const Node& u, const Node& v) const;
  double edge_to_label(size_t t, const Node& u, const Node& v) const;
  double step(size_t s, const Node& from, const Node& to) const {
    return direction_ == 0 ? edge(step_of(s), from, to) : edge(step_of(s), to, from);
  }
  // The node of position s - 1 on the best path to a node of position s; among those that are no blocks of labels where
  // `labels`. -1 where there is none.
  int32_t before(size_t s, const Node& to, bool labels, Work& work) const;

  const Lattice& lattice_;
  const LabelNgrams& ngrams_;
  const NgramBounds& limits_;
  const Chain& chain_;
  Arena& arena_;
  std::vector<Column> columns_;    // [t]
  double* block_node_;             // [t][block]
  std::vector<double> corrected_;  // [t]: the best corrected edge of a step, where there are some
  std::vector<const double*> ahead_;
  std::vector<std::vector<int32_t>> dives_;  // since the last pass
  std::vector<double> reached_;
  std::vector<uint32_t> order_;
  int direction_ = 0;
  Meter meter_;
};

}  // namespace tagwright
