// A state is a label and, for each active rule, how many units have begun. Units are counted along a path, so that
// every labelling is one path of states, and the k best paths are the k best labellings. The heuristic of A* is the
// best score from a label to the end, regardless of the rules: it is exact where these do not matter. Rules become
// active when a path violates them, and the search starts again (decremental state space relaxation: Righini and Salani
// 2008), so that the number of states follows from the rules that matter in the sentence.
#include "decode/rule_states.h"

#include <algorithm>
#include <chrono>
#include <queue>
#include <unordered_map>

#include "base/stop.h"

namespace tagwright {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kManyLabels = 512;              // beyond them, decoders that need not read all edges are faster
constexpr size_t kMostStates = size_t{1} << 21;  // in memory

// The counts of active rules, packed into one number.
class Counts {
 public:
  explicit Counts(const LabellingRules& rules) : rules_(rules), place_(rules.counts().size(), kNone) {}

  // Activates a rule; returns false where there is no room for its count.
  bool activate(size_t rule) {
    const CountRule& own = rules_.counts()[rule];
    // Beyond `least`, and where there is no upper limit, units need not be counted.
    const uint64_t cap = own.most == SIZE_MAX ? own.least : own.most;
    uint32_t bits = 1;
    while (bits < 32 && (cap >> bits)) ++bits;
    if ((cap >> bits) || used_ + bits > 64) return false;
    place_[rule] = active_.size();
    active_.push_back({rule, used_, (uint64_t{1} << bits) - 1, cap, own.most != SIZE_MAX, own.least});
    used_ += bits;
    return true;
  }
  bool is_active(size_t rule) const { return place_[rule] != kNone; }

  // The counts behind one more label; nothing where there are too many units. before: the label before it, or -1.
  std::optional<uint64_t> next(uint64_t counts, int32_t before, int32_t label) const {
    for (const Active& own : active_) {
      const uint8_t flags = rules_.flags(own.rule, label);
      if (!(flags & kMember)) continue;
      if (before >= 0 && (flags & kContinues) && (rules_.flags(own.rule, before) & kOpen)) continue;
      if (count(counts, own) < own.cap) {
        counts += uint64_t{1} << own.shift;
      } else if (own.limited) {
        return std::nullopt;
      }
    }
    return counts;
  }
  // Whether there are enough units.
  bool enough(uint64_t counts) const {
    return std::all_of(active_.begin(), active_.end(),
                       [&](const Active& own) { return count(counts, own) >= own.least; });
  }

 private:
  static constexpr size_t kNone = SIZE_MAX;
  struct Active {
    size_t rule;
    uint32_t shift;
    uint64_t mask, cap;
    bool limited;  // whether more than cap units are too many
    size_t least;
  };
  static uint64_t count(uint64_t counts, const Active& own) { return counts >> own.shift & own.mask; }

  const LabellingRules& rules_;
  std::vector<size_t> place_;  // [rule]
  std::vector<Active> active_;
  uint32_t used_ = 0;
};

struct State {
  double score;  // of the path up to its label
  uint64_t counts;
  int32_t t, label, parent;
  LabelNgrams::Node at;  // the context of n-grams that the path ends in, or its label
};

struct Key {
  uint64_t counts;
  int32_t t, context;
  bool operator==(const Key&) const = default;
};
struct HashKey {
  size_t operator()(const Key& key) const {
    const uint64_t place =
        static_cast<uint64_t>(static_cast<uint32_t>(key.t)) << 32 | static_cast<uint32_t>(key.context);
    return static_cast<size_t>((key.counts ^ place * 0x9E3779B97F4A7C15U) * 0xBF58476D1CE4E5B9U >> 7);
  }
};

class StateAStar {
 public:
  StateAStar(const Lattice& lattice, size_t k, double seconds)
      : lattice_(lattice),
        rules_(*lattice.edges.labelling_rules()),
        ngrams_(lattice.edges.ngrams()),
        k_(k),
        seconds_(seconds),
        begin_(Clock::now()),
        counts_(rules_),
        most_(rules_.limit() * lattice.T),
        row_(lattice.L) {
    look_back();
  }

  std::optional<StateSearch> run() {
    for (;;) {
      const Outcome outcome = search();
      if (outcome == kNoRoom) return std::nullopt;
      if (outcome == kRestart) continue;
      if (!found_.complete && found_.paths.empty()) found_.other = beam();
      return std::move(found_);
    }
  }

 private:
  enum Outcome { kDone, kRestart, kNoRoom };

  template <class Use>
  void for_each_label(size_t t, Use&& use) const {
    const std::span<const int32_t> list = lattice_.allowed[t];
    for (const int32_t y : list) use(static_cast<size_t>(y));
    for (size_t y = 0; list.empty() && y < lattice_.L; ++y) use(y);
  }

  // ahead_[t * L + y]: the best score from label y of column t to the end, without its node.
  void look_back() {
    const size_t T = lattice_.T, L = lattice_.L;
    ahead_.assign(T * L, kForbidden);
    Meter meter;
    for (size_t t = T; t-- > 0;) {
      for_each_label(t, [&](size_t i) {
        double& best = ahead_[t * L + i];
        if (t + 1 == T) return void(best = lattice_.edges.stop(i));
        lattice_.bound_row(t, i, row_.data());
        for_each_label(t + 1, [&](size_t j) {
          best = std::max(best, row_[j] + (lattice_.node(t + 1, j) + ahead_[(t + 1) * L + j]));
        });
      });
      meter.count(L * L);
      found_.work.edges += L * L;
    }
    ++found_.work.rounds;
  }

  Key key_of(const State& state) const { return {state.counts, state.t, state.at}; }

  bool out_of_time() const {
    return seconds_ < std::numeric_limits<double>::infinity() &&
           std::chrono::duration<double>(Clock::now() - begin_).count() > seconds_;
  }

  Outcome search() {
    states_.clear();
    heap_ = {};
    visits_.clear();
    deferred_.clear();
    rejected_ = 0;
    found_.paths.clear();
    push_first();
    Meter meter;
    while (!heap_.empty()) {
      const auto [bound, number] = heap_.top();
      if (done_ > most_ || states_.size() > kMostStates || (done_ % 256 == 0 && out_of_time())) {
        found_.bound = bound;
        return kDone;
      }
      heap_.pop();
      const State state = states_[static_cast<size_t>(number)];
      if (static_cast<size_t>(state.t) + 1 == lattice_.T) {
        const Outcome outcome = finish(number);
        if (outcome != kDone) return outcome;
        if (found_.paths.size() == k_) break;
        continue;
      }
      // Of the paths up to a state, no more than are requested can be part of an answer, and those that are rejected.
      if (size_t& visits = visits_[key_of(state)]; visits < k_ + rejected_) {
        ++visits;
      } else {
        deferred_.emplace_back(bound, number);
        continue;
      }
      ++done_;
      ++found_.work.nodes;
      meter.count(lattice_.L);
      extend(number, state);
    }
    found_.complete = true;
    return kDone;
  }

  // A path that satisfies all rules, where a beam over the states of all of them finds one.
  std::optional<Path> beam() {
    constexpr size_t kWide = 256, kNarrow = 4;
    for (size_t r = 0; r < rules_.counts().size(); ++r)
      if (!counts_.is_active(r) && !counts_.activate(r)) return std::nullopt;
    const size_t T = lattice_.T, width = std::clamp(kMostStates / (T * lattice_.L), kNarrow, kWide);
    states_.clear();
    heap_ = {};
    push_first();
    std::vector<int32_t> column;
    for (size_t t = 0; t < T; ++t) {
      check_stop();
      column.clear();
      visits_.clear();
      for (; !heap_.empty() && column.size() < width; heap_.pop()) {
        const State& state = states_[static_cast<size_t>(heap_.top().second)];
        if (visits_.insert({key_of(state), 1}).second) column.push_back(heap_.top().second);
      }
      heap_ = {};
      if (t + 1 == T) break;
      for (const int32_t number : column) extend(number, State(states_[static_cast<size_t>(number)]));
    }
    for (const int32_t number : column) {
      finish(number);
      if (!found_.paths.empty()) {
        Path path = std::move(found_.paths.back());
        found_.paths.clear();
        return path;
      }
    }
    return std::nullopt;
  }

  void extend(int32_t number, const State& state) {
    const auto t = static_cast<size_t>(state.t);
    lattice_.row(t, static_cast<size_t>(state.label), row_.data());
    found_.work.edges += lattice_.L;
    for_each_label(t + 1, [&](size_t j) {
      double score = state.score + row_[j];
      LabelNgrams::Node at = static_cast<LabelNgrams::Node>(j);
      // Edge kind: n-grams need the labels before the last one, which are no part of an edge.
      if (ngrams_) {
        at = ngrams_->next(state.at, at);
        score += ngrams_->more(at);
        at = ngrams_->context(at);
      }
      push(number, t + 1, j, score + lattice_.node(t + 1, j), at);
    });
  }

  void push_first() {
    for_each_label(0, [&](size_t y) {
      push(-1, 0, y, lattice_.edges.start(y) + lattice_.node(0, y), static_cast<LabelNgrams::Node>(y));
    });
  }

  void push(int32_t parent, size_t t, size_t label, double score, LabelNgrams::Node at) {
    const double bound = score + ahead_[t * lattice_.L + label];
    if (!(bound > kForbidden)) return;
    const State* const from = parent < 0 ? nullptr : &states_[static_cast<size_t>(parent)];
    const std::optional<uint64_t> counts =
        counts_.next(from ? from->counts : 0, from ? from->label : -1, static_cast<int32_t>(label));
    if (!counts || (t + 1 == lattice_.T && !counts_.enough(*counts))) return;
    states_.push_back({score, *counts, static_cast<int32_t>(t), static_cast<int32_t>(label), parent, at});
    heap_.emplace(bound, static_cast<int32_t>(states_.size() - 1));
  }

  // Takes a whole path, unless it violates a rule: that becomes active, and the search starts again.
  Outcome finish(int32_t number) {
    std::vector<int32_t> labels(lattice_.T);
    for (size_t t = lattice_.T; t-- > 0; number = states_[static_cast<size_t>(number)].parent)
      labels[t] = states_[static_cast<size_t>(number)].label;
    const std::vector<size_t> units = rules_.units(labels);
    bool satisfied = true;
    for (size_t r = 0; r < units.size(); ++r) {
      const CountRule& rule = rules_.counts()[r];
      if (counts_.is_active(r) || (units[r] >= rule.least && units[r] <= rule.most)) continue;
      if (!counts_.activate(r)) return kNoRoom;
      satisfied = false;
    }
    if (!satisfied) return kRestart;
    for (const LabellingRules::Accept& accept : rules_.accept())
      if (!accept(labels)) {
        done_ += lattice_.T;  // as much as a search
        ++rejected_;
        for (const auto& [bound, other] : deferred_) heap_.emplace(bound, other);
        deferred_.clear();
        return kDone;
      }
    found_.paths.push_back(scored(lattice_, std::move(labels)));
    return kDone;
  }

  const Lattice& lattice_;
  const LabellingRules& rules_;
  const LabelNgrams* const ngrams_;
  const size_t k_;
  const double seconds_;
  const Clock::time_point begin_;
  Counts counts_;
  const size_t most_;               // states that may be extended
  size_t done_ = 0, rejected_ = 0;  // rejected: by predicates
  std::vector<double> row_, ahead_;
  std::vector<State> states_;
  std::priority_queue<std::pair<double, int32_t>> heap_;
  std::unordered_map<Key, size_t, HashKey> visits_;
  std::vector<std::pair<double, int32_t>> deferred_;  // that are one path too many to their state
  StateSearch found_;
};

}  // namespace

std::optional<StateSearch> search_states(const Lattice& lattice, size_t k, double seconds) {
  if (lattice.L > kManyLabels) return std::nullopt;
  return StateAStar(lattice, k, seconds).run();
}

}  // namespace tagwright
