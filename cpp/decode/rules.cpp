// Where there are few labels, a search over counts of units (rule_states.h) finds the paths. Otherwise:
//
// Branch and bound (Land and Doig 1960) over lists of allowed labels. A node of the search is the lattice with fewer
// labels per column; the paths that a decoder finds there, regardless of the rules, bound what is in it. The node with
// the best path is next. If that path satisfies all rules, it is the best one that is left; if not, the node is split
// into nodes that together hold every labelling of it that satisfies the violated rule, each once. The k best
// labellings are the first k to be found; paths of a node beyond its first come from the decoder's own k best search.
#include "decode/rules.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/need.h"
#include "base/stop.h"
#include "decode/rule_states.h"
#include "sums/ngram_sums.h"

namespace tagwright {
namespace {

using Clock = std::chrono::steady_clock;

// Labels of columns begin .. end - 1 must be, or with `negated` must not be, to a rule what `want` says.
struct Restriction {
  size_t begin, end, rule;
  uint8_t mask, want;
  bool negated;

  bool allows(uint8_t flags) const { return ((flags & mask) == want) != negated; }
};

// The units of a rule that begin in columns begin .. end - 1 are between least and most. No unit crosses these ends.
struct Interval {
  size_t rule, begin, end, least, most;
};

struct Node {
  std::vector<Restriction> restrictions;
  std::vector<Interval> intervals;        // beside the rules themselves
  double bound = 0;                       // no labelling in it is better
  std::vector<Path> paths = {};           // best first, of the decoder
  size_t requested = 0;                   // how many paths the decoder was to find; 0: it was not called yet
  size_t at = 0;                          // the path that is next
  std::optional<Interval> violated = {};  // by that path
  size_t number = 0;

  const Path& path() const { return paths[at]; }
};

using Handle = std::unique_ptr<Node>;

// Of equal nodes, those whose path satisfies all rules are first: a tie needs no further search.
bool later(const Handle& a, const Handle& b) {
  if (a->bound != b->bound) return a->bound < b->bound;
  const auto rank = [](const Node& node) { return node.requested == 0 ? 2 : node.violated ? 1 : 0; };
  if (rank(*a) != rank(*b)) return rank(*a) > rank(*b);
  return a->number > b->number;
}

class RuleSearch {
 public:
  RuleSearch(const Decoder& decoder, const Lattice& lattice, const Options& options)
      : decoder_(decoder),
        lattice_(lattice),
        options_(options),
        rules_(*lattice.edges.labelling_rules()),
        begin_(Clock::now()) {}

  Answer run(const Answer& relaxed) {
    answer_.work = relaxed.work;
    Handle root = std::make_unique<Node>();
    take(*root, relaxed, options_.k);
    settle(std::move(root));
    while (!nodes_.empty()) {
      check_stop();
      if (stopped_ || effort_ > rules_.limit() || seconds_left() <= 0) {
        stop_early();
        return std::move(answer_);
      }
      if (!tried_states_ && nodes_.front()->violated) {
        if (by_states()) break;
        continue;
      }
      if (visit(pop())) return std::move(answer_);
    }
    if (answer_.paths.empty() && !decoder_.exact)
      throw std::invalid_argument("the decoder lost every labelling that satisfies the rules about whole labellings (" +
                                  rules_.names() + "); widen its beam, or use an exact decoder");
    if (answer_.paths.empty())
      throw std::invalid_argument(
          "no path: rules about whole labellings forbid every labelling; the best one without "
          "them violates: " +
          rules_.violated(relaxed.paths[0].labels));
    return std::move(answer_);
  }

 private:
  Handle pop() {
    std::pop_heap(nodes_.begin(), nodes_.end(), later);
    Handle node = std::move(nodes_.back());
    nodes_.pop_back();
    return node;
  }

  void push(Handle node) {
    node->number = ++pushed_;
    nodes_.push_back(std::move(node));
    std::push_heap(nodes_.begin(), nodes_.end(), later);
  }

  // Puts a node back with its next path; drops it where it has none.
  void settle(Handle node) {
    if (advance(*node)) push(std::move(node));
  }

  // Returns whether all requested paths are found.
  bool visit(Handle node) {
    if (node->requested == 0) {
      if (decode(*node, options_.k)) settle(std::move(node));
      return false;
    }
    if (node->violated) {
      for (Handle& child : split(*node)) push(std::move(child));
      return false;
    }
    if (accepts(node->path().labels)) answer_.paths.push_back(node->path());
    if (answer_.paths.size() == options_.k) return true;
    seen_.insert(node->path().labels);
    settle(std::move(node));
    return false;
  }

  bool accepts(const std::vector<int32_t>& labels) {
    for (const LabellingRules::Accept& accept : rules_.accept())
      if (!accept(labels)) {
        ++effort_;
        return false;
      }
    return true;
  }

  // Moves to the next path of a node that was not seen; returns whether there is one.
  bool advance(Node& node) {
    for (;;) {
      while (node.at < node.paths.size() && seen_.contains(node.path().labels)) ++node.at;
      if (node.at < node.paths.size()) break;
      if (node.paths.size() < node.requested || !decode(node, 4 * node.requested)) return false;
    }
    node.bound = node.path().score;
    node.violated = violation(node, node.path().labels);
    return true;
  }

  // The first rule or interval of a node that a path violates.
  std::optional<Interval> violation(const Node& node, const std::vector<int32_t>& labels) const {
    for (const Interval& own : node.intervals) {
      const size_t found = rules_.begins(own.rule, labels, own.begin, own.end).size();
      if (found < own.least || found > own.most) return own;
    }
    const std::vector<size_t> units = rules_.units(labels);
    for (size_t r = 0; r < units.size(); ++r)
      if (const CountRule& rule = rules_.counts()[r]; units[r] < rule.least || units[r] > rule.most)
        return Interval{r, 0, lattice_.T, rule.least, rule.most};
    return std::nullopt;
  }

  // Tries a search over counts, which is faster where there are few labels; returns whether it found all paths.
  bool by_states() {
    tried_states_ = true;
    std::optional<StateSearch> found = search_states(lattice_, options_.k, seconds_left());
    if (!found) return false;
    answer_.work += found->work;
    answer_.paths = std::move(found->paths);  // those that were found before among them
    if (found->complete) return true;
    effort_ = rules_.limit() + 1;
    other_ = std::move(found->other);
    nodes_.front()->bound = std::min(nodes_.front()->bound, found->bound);
    return false;
  }

  // Ends the search at the limit or the deadline: with the paths that are proven, or else with the best one at hand.
  void stop_early() {
    if (options_.proven && options_.deadline == std::numeric_limits<double>::infinity())
      throw std::invalid_argument("the best labelling under the rules (" + rules_.names() + ") is not proven after " +
                                  std::to_string(rules_.limit()) +
                                  " searches; raise limit of the constraints, or use a function that returns a gap");
    answer_.exact = false;
    if (!answer_.paths.empty()) return;
    const double bound = std::max(held_bound_, nodes_.front()->bound);
    std::optional<Path> found = best_at_hand();
    if (other_ && (!found || found->score < other_->score)) found = other_;
    if (!found) found = dive();
    if (!found)
      throw std::invalid_argument("no labelling that satisfies the rules about whole labellings (" + rules_.names() +
                                  ") was found within " + std::to_string(rules_.limit()) +
                                  " searches; raise limit of the constraints, or relax them");
    answer_.gap = std::max(0.0, bound - found->score);
    answer_.paths.push_back(*std::move(found));
  }

  // Returns the best path of all nodes that satisfies the rules.
  std::optional<Path> best_at_hand() {
    std::vector<const Path*> paths;
    for (const Handle& node : nodes_)
      for (size_t q = node->at; q < node->paths.size(); ++q)
        if (!violation(*node, node->paths[q].labels)) paths.push_back(&node->paths[q]);
    std::stable_sort(paths.begin(), paths.end(), [](const Path* a, const Path* b) { return a->score > b->score; });
    for (const Path* path : paths)
      if (!seen_.contains(path->labels) && accepts(path->labels)) return *path;
    return std::nullopt;
  }

  // Returns a path that satisfies the rules, from a depth-first search below the best node.
  std::optional<Path> dive() {
    constexpr size_t kFew = 3, kLeastDive = 200;
    const size_t most = effort_ + std::max<size_t>(rules_.limit(), kLeastDive);
    std::vector<Handle> stack;
    stack.push_back(pop());
    while (!stack.empty() && effort_ <= most) {
      check_stop();
      Handle node = std::move(stack.back());
      stack.pop_back();
      if ((node->requested == 0 && !decode(*node, 1)) || !advance(*node)) continue;
      if (!node->violated) {
        if (accepts(node->path().labels)) return node->path();
        seen_.insert(node->path().labels);
        stack.push_back(std::move(node));
        continue;
      }
      std::vector<Handle> children = split(*node);
      if (children.size() <= kFew) std::erase_if(children, [&](Handle& child) { return !decode(*child, 1); });
      std::stable_sort(children.begin(), children.end(),
                       [](const Handle& a, const Handle& b) { return a->bound < b->bound; });
      std::move(children.begin(), children.end(), std::back_inserter(stack));
    }
    return std::nullopt;
  }

  // Finds paths of a node; returns whether there are any.
  bool decode(Node& node, size_t k) {
    if (!make_lists(node)) return false;
    ++effort_;
    Options options = options_;
    options.k = k;
    options.deadline = std::max(0.0, seconds_left());
    const Decoder& own = k == 1 || decoder_.kbest ? decoder_ : fallback_decoder(options);
    Arena& arena = search_arena();
    arena.reset();
    const Answer found = own.run_without_rules(Lattice(lattice_, lists_.view()), options, arena);
    answer_.work += found.work;
    return take(node, found, k);
  }

  bool take(Node& node, const Answer& found, size_t k) {
    node.paths = found.paths;
    node.requested = k;
    node.at = 0;
    if (found.paths.empty()) return false;
    node.bound = found.paths[0].score + found.gap;
    if (!found.exact && decoder_.exact) {
      stopped_ = true;  // at the deadline: what is left is bounded by this node
      held_bound_ = std::max(held_bound_, node.bound);
    }
    return true;
  }

  double seconds_left() const {
    return options_.deadline - std::chrono::duration<double>(Clock::now() - begin_).count();
  }

  // [label]: what it is to a rule.
  const std::vector<uint8_t>& table(size_t rule) {
    if (tables_.empty()) tables_.resize(rules_.counts().size());
    std::vector<uint8_t>& own = tables_[rule];
    if (own.empty()) {
      own.assign(lattice_.L, 0);
      const CountRule& from = rules_.counts()[rule];
      for (size_t q = 0; q < from.label.size(); ++q) own[static_cast<size_t>(from.label[q])] = from.flags[q];
    }
    return own;
  }

  // The lists of a node; returns whether every column has a label left.
  bool make_lists(const Node& node) {
    lists_.clear();
    std::vector<const Restriction*> here;
    for (size_t t = 0; t < lattice_.T; ++t) {
      here.clear();
      for (const Restriction& own : node.restrictions)
        if (own.begin <= t && t < own.end) here.push_back(&own);
      const std::span<const int32_t> given = lattice_.allowed[t];
      if (here.empty()) {
        given.empty() ? lists_.add_wide() : lists_.add(given);
        continue;
      }
      column_.clear();
      const auto add = [&](int32_t y) {
        for (const Restriction* own : here)
          if (!own->allows(table(own->rule)[static_cast<size_t>(y)])) return;
        column_.push_back(y);
      };
      for (const int32_t y : given) add(y);
      for (size_t y = 0; given.empty() && y < lattice_.L; ++y) add(static_cast<int32_t>(y));
      if (column_.empty()) return false;
      lists_.add(column_);
    }
    return true;
  }

  Handle child(const Node& parent) const {
    Handle made = std::make_unique<Node>();
    made->restrictions = parent.restrictions;
    made->intervals = parent.intervals;
    made->bound = parent.bound;
    return made;
  }

  std::vector<Handle> split(const Node& node) {
    const Interval& own = *node.violated;
    const std::vector<size_t> begins = rules_.begins(own.rule, node.path().labels, own.begin, own.end);
    return begins.size() > own.most ? split_many(node, own, begins) : split_few(node, own);
  }

  // Limits the units in columns begin .. end - 1.
  static void limit(Node& node, const Interval& units) {
    if (units.most == 0) {
      node.restrictions.push_back({units.begin, units.end, units.rule, kMember, kMember, true});
    } else {
      node.intervals.push_back(units);
    }
  }

  // Too many units. The path has a unit that begins at s since a label there, or before it, does not join the two. In
  // the first node, labels may be joined there. In the others, no unit crosses s, and the left side has fewer units
  // than it has in the path, or else the right side has room for fewer.
  std::vector<Handle> split_many(const Node& node, const Interval& own, const std::vector<size_t>& begins) {
    std::vector<Handle> made;
    if (own.most == 0) {
      limit(*made.emplace_back(child(node)), own);
      return made;
    }
    const size_t middle = begins.size() / 2, s = begins[middle];
    const uint8_t open = kMember | kOpen, continues = kMember | kContinues;
    const bool before = (rules_.flags(own.rule, node.path().labels[s - 1]) & open) != open;
    const size_t t = before ? s - 1 : s;
    const uint8_t mask = before ? open : continues;
    made.push_back(child(node));
    made.back()->restrictions.push_back({t, t + 1, own.rule, mask, mask, false});
    for (const bool fewer : {true, false}) {
      if (!fewer && middle > own.most) continue;
      Node& apart = *made.emplace_back(child(node));
      apart.restrictions.push_back({t, t + 1, own.rule, mask, mask, true});
      if (fewer) {
        limit(apart, {own.rule, own.begin, s, 0, middle - 1});
      } else {
        apart.intervals.push_back({own.rule, own.begin, s, middle, own.most});
        limit(apart, {own.rule, s, own.end, 0, own.most - middle});
      }
    }
    return made;
  }

  // Too few units. Labellings whose labels are to the rule what those of the path are have as many: one node for each
  // column in which a labelling differs first. They are bounded by the best paths that differ there, which are found in
  // one pass, and searched in that order.
  std::vector<Handle> split_few(const Node& node, const Interval& own) {
    if (!make_lists(node)) return {};
    Arena& arena = search_arena();
    arena.reset();
    const Lattice lattice(lattice_, lists_.view());
    NgramSums ngrams;
    const Sums best = max_marginals(lattice, arena, ngrams);
    const std::vector<uint8_t>& flags = table(own.rule);
    const std::vector<int32_t>& labels = node.path().labels;
    const auto kind = [&](size_t t) { return flags[static_cast<size_t>(labels[t])]; };
    constexpr uint8_t kAll = kMember | kOpen | kContinues;
    std::vector<Restriction> same;  // before the column
    std::vector<Handle> made;
    for (size_t t = own.begin; t < own.end; ++t) {
      double bound = kForbidden;
      for (size_t q = 0; q < best.columns[t].labels.size(); ++q)
        if (flags[static_cast<size_t>(best.columns[t].labels[q])] != kind(t))
          bound = std::max(bound, best.columns[t].node[q]);
      if (bound != kForbidden) {
        Node& differs = *made.emplace_back(child(node));
        differs.restrictions.insert(differs.restrictions.end(), same.begin(), same.end());
        differs.restrictions.push_back({t, t + 1, own.rule, kAll, kind(t), true});
        differs.bound = std::min(node.bound, best.log_z + bound + 2 * lattice_.slack());
      }
      if (!same.empty() && same.back().want == kind(t)) {
        same.back().end = t + 1;
      } else {
        same.push_back({t, t + 1, own.rule, kAll, kind(t), false});
      }
    }
    effort_ += 1 + made.size() / kNodesPerSearch;
    return made;
  }

  static constexpr size_t kNodesPerSearch = 32;  // that count as a search: they take memory

  static Arena& search_arena() {
    thread_local Arena arena;  // the thread's own holds the node scores
    return arena;
  }

  const Decoder& decoder_;
  const Lattice& lattice_;
  const Options& options_;
  const LabellingRules& rules_;
  const Clock::time_point begin_;
  Answer answer_;
  std::vector<Handle> nodes_;            // a heap
  std::set<std::vector<int32_t>> seen_;  // labellings that were returned or rejected
  size_t pushed_ = 0, effort_ = 0;       // effort: searches and rejected labellings
  bool tried_states_ = false;
  std::optional<Path> other_;       // of the search over counts
  bool stopped_ = false;            // whether a search ended at the deadline
  double held_bound_ = kForbidden;  // of the node where it did
  AllowedLists lists_;              // of the node that was made last
  std::vector<int32_t> column_;
  std::vector<std::vector<uint8_t>> tables_;  // [rule], made when needed
};

}  // namespace

Answer under_rules(const Decoder& decoder, const Lattice& lattice, const Options& options, const Answer& relaxed) {
  if (relaxed.paths.empty()) return relaxed;
  try {
    return RuleSearch(decoder, lattice, options).run(relaxed);
  } catch (...) {
    Answer failed;
    failed.work = relaxed.work;
    failed.error = std::current_exception();
    return failed;
  }
}

}  // namespace tagwright
