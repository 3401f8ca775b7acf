// The coarse lattice of one sentence over a chain of blocks: the labels of a column so far and, last, one block of all
// other labels, or none where all are there; the bounds of these nodes, and how they change as passes go over them and
// blocks are split. What to search for, and when to stop, is decided in refine.cpp.
//
// Differs from the papers in ways that change no answer. A label that comes out of a block takes over the block's
// bounds, tightened by its own node score and the largest edges into and out of it, which are known. Within a step, a
// node is skipped when its score plus its largest edge brings nothing above what is reached or needed so far
// (CarpeDiem's limit), so that few of the edges are read. All comparisons with the floor leave room for rounding.
#pragma once

#include <span>
#include <vector>

#include "base/stop.h"
#include "decode/graph.h"
#include "lattice/chain.h"

namespace tagwright {

class CoarseChain {
 public:
  // The live nodes of one column: labels, then the block.
  struct Column {
    size_t size = 0, labels = 0, room = 0;
    int32_t* id = nullptr;
    double* n = nullptr;  // node score, with start and stop
    // [0]: of the best path to the node, [1]: of the best path on from it; without the node itself.
    double* bound[2] = {};
  };

  // Every column starts with the labels ranked before 2^level and the block of the rest.
  CoarseChain(const Lattice& lattice, size_t level, Arena& arena);

  size_t T() const { return lattice_.T; }
  const Column& column(size_t t) const { return columns_[t]; }
  bool has_block(size_t t) const { return columns_[t].labels < columns_[t].size; }
  // Whether position q of column t holds the block.
  bool is_block(size_t t, int32_t q) const { return static_cast<size_t>(q) >= columns_[t].labels; }

  // The position of the block of column t, or -1.
  int32_t any_block(size_t t) const { return has_block(t) ? static_cast<int32_t>(columns_[t].labels) : -1; }
  int32_t label(size_t t, int32_t q) const { return columns_[t].id[q]; }

  // Recomputes bound[direction] of every node from the columns before it in that direction (0: forward, Huang's
  // equation 6; 1: backward, equation 7), dropping nodes on the way. False where a column loses all its nodes:
  // there is no path.
  bool pass(int direction, double floor, Work& work);

  // Score of the best coarse path to position q of the last column of the last pass.
  double end_score(size_t q) const {
    const Column& c = at(T() - 1);
    return c.bound[direction_][q] + c.n[q];
  }
  size_t end_size() const { return at(T() - 1).size; }

  // That path as positions in columns 0 .. T-1.
  GraphPath trace(size_t q, Work& work);

  // Score of a path of labels that ends in label q of the last column: back along the best path, and where that passes
  // through a block, through the best label instead. -inf where a column has no label to take.
  double dive(size_t q, Work& work);

  // The n best labels of the last column, by the bound of the paths to them.
  std::vector<size_t> best_ends(size_t n) const;

  // The coarse lattice for A*, walked against the last pass, whose scores are what is ahead.
  Graph against_pass();

  // The coarse lattice for A* walked forward with Huang's equation 9 ahead.
  Graph forward();

  // Replaces the block of column t by what it splits into, without what the floor rules out at once.
  void split(size_t t, double floor);
  // The same: there is one position only.
  void split(size_t t, std::span<const int32_t>, double floor) { split(t, floor); }

 private:
  // Edge scores or bounds from one node to all nodes of the neighbouring column.
  struct Row {
    const double* label = nullptr;  // [y * stride] of a block; nullptr for a label, whose edges are the lattice's
    size_t stride = 1;
    const double* block = nullptr;  // [b * block_stride]
    size_t block_stride = 1;
  };

  // Whether start or stop scores belong to the nodes of column t.
  bool has_ends(size_t t) const {
    return (t == 0 && !lattice_.edges.start().empty()) || (t + 1 == T() && !lattice_.edges.stop().empty());
  }
  size_t column_of(size_t s) const { return direction_ == 0 ? s : T() - 1 - s; }
  Column& at(size_t s) { return columns_[column_of(s)]; }
  const Column& at(size_t s) const { return columns_[column_of(s)]; }
  // The step between positions s - 1 and s.
  size_t step_of(size_t s) const { return direction_ == 0 ? s - 1 : T() - 1 - s; }
  double block_node(size_t t, size_t b) const { return block_node_[t * chain_.B + b]; }

  void reserve(Column& c, size_t room);
  static void add(Column& c, int32_t id, double n, double in, double out);
  Column make_column(size_t t, size_t level);

  // [id]: the best shared edge of step t that leaves `id` in a direction.
  const double* best_edges(size_t t, int direction) const {
    return (direction == 0 ? bounds_[t]->out : bounds_[t]->in).data();
  }

  // The edges of step t that leave `id` in a direction.
  Row row(size_t t, int direction, int32_t id) const;

  std::span<const Override> overrides(size_t t, int direction, int32_t id) const {
    if (patches_[t].empty()) return {};
    return direction == 0 ? patches_[t].row(id) : patches_[t].column(id);
  }

  // The best corrected edge of step t.
  double corrected(size_t t) const { return corrected_[t]; }

  // out[q]: the edge that leaves `id` for node q of column c.
  void gather(size_t t, int direction, int32_t id, const Column& c, double* out) const;

  // bound[q] = max(bound[q], score + edge from `id` to q); returns the least of them.
  double raise(size_t t, double score, int32_t id, const Column& c, double* bound);

  // Keeps the nodes of a column that may still reach `least`, given what each can be reached with in the direction
  // of this pass, and computes what each needs to stay. Without branches, since which nodes go cannot be predicted.
  template <class ReachedWith>
  void drop_below(Column& c, double least, ReachedWith&& reached_with);

  // One step of a pass: the bounds of position s from those of position s - 1, without the nodes that these leave
  // below the floor.
  void step(size_t s, double floor, Work& work);

  // Drops the nodes whose bound no edge has brought above what is needed.
  void drop_unraised(Column& c, double* bound);

  // The node of position s - 1, among the first ones, on the best path to node q of position s. Leaves in scratch_[u]
  // the score of the best path to node u of position s - 1, plus the edge to q.
  size_t before(size_t s, size_t q, size_t among, Work& work);

  const Lattice& lattice_;
  const Chain& chain_;
  Arena& arena_;
  std::vector<Column> columns_;        // [t]
  std::vector<const double*> ahead_;   // [t] or [position]: for A*, what is ahead of each node
  double* block_node_;                 // [t][block]
  std::vector<const Bounds*> bounds_;  // [t]
  std::vector<Patch> patches_;         // [t]
  std::vector<double> corrected_;      // [t]: the best score in a patch
  int direction_ = 0;                  // of the last pass
  std::vector<double> reach_[2];       // [direction][t]: best score of a path to column t in the last pass that way
  std::vector<double> reached_, most_, needed_;
  std::vector<double> scratch_;
  std::vector<int32_t> found_;
  Meter meter_;
};

// A bound on what is still to come behind each label: backward scores of the coarse chain with 2^level labels and one
// block per column. ahead: [t * L + y].
double* coarse_ahead(const Lattice& lattice, size_t level, Arena& arena, Work& work);

}  // namespace tagwright
