// CarpeDiem (Esposito and Radicioni 2009): opens only the nodes that the best path may need, best node scores first.
//
// A node is open once the score of the best path that ends in it is known. The largest edge E* of a step limits
// what an unopened node can reach. What the description leaves open, and what is done here: E* is one number per
// step; the open nodes of a column stay sorted by what they reached; a node is opened only if its limit is above
// (not equal to) what is reached already; and columns already passed are opened by a stack, not by recursion,
// since a sentence may be long.
#include <algorithm>
#include <numeric>

#include "base/stop.h"
#include "decode/table.h"
#include "lattice/chain.h"

namespace tagwright {
namespace {

struct Open {
  double reached;
  int32_t label;
};

struct Column {
  std::vector<int32_t> sorted;  // labels, best node score first
  size_t next = 0;              // the first of them that is not open
  std::vector<Open> open;       // best first
};

// A node on its way to being opened, and its best predecessor so far.
struct Opening {
  size_t t;
  int32_t label;
  double best;
  int32_t before;
};

class CarpeDiem {
 public:
  CarpeDiem(const Lattice& lattice, Arena& arena)
      : lattice_(lattice), columns_(lattice.T), before_(arena.array<int32_t>(lattice.T * lattice.L)) {
    for (size_t t = 0; t + 1 < lattice.T; ++t) largest_.push_back(largest_edge(lattice, t));
    node_ = arena.array<double>(lattice.T * lattice.L);
    for (size_t t = 0; t < lattice.T; ++t) {
      meter_.count(64 * lattice.L);
      double* node = node_ + t * lattice.L;
      for (size_t y = 0; y < lattice.L; ++y) node[y] = lattice.end_node(t, y);
      std::vector<int32_t>& sorted = columns_[t].sorted;
      sorted.resize(lattice.L);
      std::iota(sorted.begin(), sorted.end(), 0);
      std::sort(sorted.begin(), sorted.end(),
                [&](int32_t a, int32_t b) { return node[a] != node[b] ? node[a] > node[b] : a < b; });
    }
  }

  Answer run() {
    work_.rounds = 1;
    for (size_t t = 0; t < lattice_.T; ++t) {
      Column& c = columns_[t];
      while (c.next < lattice_.L && limit(t) > (c.open.empty() ? kForbidden : c.open[0].reached)) open_next(t);
      if (c.open.empty() || c.open[0].reached == kForbidden) return {{}, work_};
    }
    std::vector<int32_t> labels(lattice_.T);
    int32_t y = columns_[lattice_.T - 1].open[0].label;
    for (size_t t = lattice_.T; t-- > 0;) {
      labels[t] = y;
      if (t > 0) y = before_[t * lattice_.L + static_cast<size_t>(y)];
    }
    Answer answer;
    answer.paths.push_back({std::move(labels)});
    answer.work = work_;
    return answer;
  }

 private:
  // What the first unopened node of column t can reach at most.
  double limit(size_t t) const {
    const double node = node_[t * lattice_.L + static_cast<size_t>(columns_[t].sorted[columns_[t].next])];
    return t == 0 ? node : columns_[t - 1].open[0].reached + largest_[t - 1] + node;
  }

  Opening begin(size_t t) {
    Column& c = columns_[t];
    Opening opening{t, c.sorted[c.next++], t == 0 ? 0.0 : kForbidden, -1};
    ++work_.nodes;
    meter_.count(16 + columns_[t].open.size());
    if (t == 0) return opening;
    for (const Open& o : columns_[t - 1].open) {
      if (o.reached + largest_[t - 1] <= opening.best) break;
      consider(opening, o);
    }
    return opening;
  }

  void consider(Opening& opening, const Open& o) {
    const double v =
        o.reached + lattice_.edge(opening.t - 1, static_cast<size_t>(o.label), static_cast<size_t>(opening.label));
    ++work_.edges;
    if (v > opening.best) {
      opening.best = v;
      opening.before = o.label;
    }
  }

  Open finish(const Opening& opening) {
    const size_t at = opening.t * lattice_.L + static_cast<size_t>(opening.label);
    before_[at] = opening.before;
    const Open made{opening.best + node_[at], opening.label};
    std::vector<Open>& open = columns_[opening.t].open;
    open.insert(std::upper_bound(open.begin(), open.end(), made,
                                 [](const Open& a, const Open& b) { return a.reached > b.reached; }),
                made);
    return made;
  }

  // Opens the first unopened node of column t, and whatever it needs of the columns before.
  void open_next(size_t t) {
    std::vector<Opening> stack = {begin(t)};
    while (true) {
      const Opening& top = stack.back();
      if (top.t > 0) {
        const Column& c = columns_[top.t - 1];
        if (c.next < lattice_.L && limit(top.t - 1) + largest_[top.t - 1] > top.best) {
          stack.push_back(begin(top.t - 1));
          continue;
        }
      }
      const Open made = finish(top);
      stack.pop_back();
      if (stack.empty()) return;
      consider(stack.back(), made);
    }
  }

  const Lattice& lattice_;
  std::vector<Column> columns_;
  std::vector<double> largest_;  // [t]: E* of the step from column t
  int32_t* before_;              // [t * L + y]: best predecessor of an open node
  double* node_;                 // [t * L + y]
  Work work_;
  Meter meter_;
};

}  // namespace

Answer carpediem(const Lattice& lattice, const Options&, Arena& arena) { return CarpeDiem(lattice, arena).run(); }

}  // namespace tagwright
