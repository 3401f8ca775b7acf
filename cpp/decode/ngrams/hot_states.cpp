#include "decode/ngrams/hot_states.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "decode/tree/bounds.h"
#include "kernels/kernels.h"

namespace tagwright {

using Node = LabelNgrams::Node;

namespace {

constexpr size_t kMostStates = 24;  // of a label; those beyond are merged

// HotState::blame: nothing, the rest of column t, or the states that were merged in column t.
constexpr int32_t kOfPath = -1;
int32_t rest_of(size_t t) { return static_cast<int32_t>(t); }
int32_t merged_in(int32_t t) { return kOfPath - 1 - t; }  // and back

constexpr float kNothing = -std::numeric_limits<float>::infinity();

}  // namespace

HotStates::HotStates(const Lattice& lattice, Arena& arena)
    : lattice_(lattice),
      ngrams_(*lattice.edges.ngrams()),
      bounds_(lattice.edges.ngram_bounds()),
      arena_(arena),
      far_counts_(!std::isfinite(bounds_.spread())),
      found_(arena.array<HotState>(kMostStates)) {
  const double far = far_counts_ ? 4 * (lattice.ngram_magnitude() + lattice.edge_magnitude()) : bounds_.spread();
  far_ = static_cast<float>(far);
  size_ = far + 2 * lattice.ngram_magnitude();
}

void HotStates::add(const HotState& state) {
  best_ = std::max(best_, state.value);
  if (state.blame == kOfPath) of_path_ = std::max(of_path_, state.value);
  for (size_t s = 0; s < count_; ++s) {
    if (found_[s].at != state.at || found_[s].open != state.open) continue;
    if (state.value > found_[s].value) found_[s] = state;
    return;
  }
  if (count_ < kMostStates) {
    found_[count_++] = state;
    return;
  }
  HotState least = state;
  for (size_t s = 1; s < count_; ++s)
    if (found_[s].value < least.value) std::swap(found_[s], least);
  if (!(least.value > found_[0].value)) return;
  found_[0].value = least.value;
  found_[0].before = least.before;
  found_[0].blame = least.blame == kOfPath ? merged_in(here_) : least.blame;
}

double HotStates::edge(size_t t, size_t j, size_t k) const {
  // Several j are looked up beside one k. Only uniform lattices are searched with states.
  return lattice_.edges.step(t).score_into(j, k);
}

// Adds the states of label k of column t + 1 that the hot labels of column t lead to; values are without k's node, and
// counted from the column's top. What is worse than the best by more than `near` is merged.
void HotStates::add_transitions(size_t t, const TreeColumn& c, int32_t k, float near, Work& work) {
  HotState& others = found_[0];
  for (size_t o = 0; o < c.hots; ++o) {
    const auto r = static_cast<size_t>(c.order[o]);
    const int32_t j = c.hot[r];
    const HotState *from = c.states + c.state_begin[r], *const end = c.states + c.state_begin[r + 1];
    const auto place = [&] { return static_cast<int32_t>(from - c.states); };
    ++work.edges;
    float step = -c.top;
    // Whether what has at most this value is merged.
    const auto merges = [&](float most) {
      if (!(most < best_ - near)) return false;
      if (from->blame == kOfPath) of_path_ = std::max(of_path_, from->value + step);  // about
      if (most > others.value) {
        others.value = most;
        others.before = place();
        others.blame = from->blame == kOfPath ? merged_in(here_) : from->blame;
      }
      return true;
    };
    if (merges(from->value + step + bounds_.into(k))) break;  // the other labels have less
    if (merges(c.key[r] + step)) continue;
    const Node pair = ngrams_.pair(j, k);
    step += static_cast<float>(pair == LabelNgrams::kNoNode ? edge(t, static_cast<size_t>(j), static_cast<size_t>(k))
                                                            : bounds_.edge(pair));
    if (static_cast<double>(step) == kForbidden) continue;
    if (pair == LabelNgrams::kNoNode) {
      add({k, false, from->value + step, place(), k, from->blame});
      continue;
    }
    const auto left = static_cast<float>(bounds_.left(pair));
    for (; from < end; ++from) {
      if (merges(from->value + step + left)) break;  // the other states have less
      const Node to = from->at == j ? pair : ngrams_.next(from->at, k, pair);
      HotState made{ngrams_.context(to), false, 0, place(), k, from->blame};
      double more = ngrams_.more(to);
      if (from->open && ngrams_.parent(to) == from->at) {
        more += bounds_.left(to);
        made.open = made.at == to && bounds_.is_open(to);
      }
      made.value = from->value + step + static_cast<float>(more);
      if (static_cast<double>(made.value) != kForbidden) add(made);
      ++work.edges;
    }
  }
}

void HotStates::enter(size_t t, TreeColumn* columns, Work& work) {
  // Merged states gain what n-grams can add for any history. They seldom outdo the best of a label if they are worse by
  // more than that; found by trying.
  constexpr float kNear = 1.5F;
  TreeColumn& c = columns[t];
  c.state_begin = arena_.array<uint32_t>(c.hots + 1);
  c.states = arena_.array<HotState>(t ? c.hots * kMostStates : c.hots);
  c.order = arena_.array<int32_t>(c.hots);
  c.of_path = kNothing;
  uint32_t size = 0;
  for (size_t q = 0; q < c.hots; ++q) {
    const int32_t k = c.hot[q];
    c.state_begin[q] = size;
    if (t == 0) {
      c.states[size++] = {k, false, c.hot_sum[q], -1, k, kOfPath};
      c.of_path = std::max(c.of_path, c.hot_sum[q]);
    } else {
      const TreeColumn& before = columns[t - 1];
      here_ = static_cast<int32_t>(t);
      best_ = before.rest - before.top;
      of_path_ = kNothing;
      found_[0] = {k, bounds_.is_open(k), best_, -1, k, rest_of(t - 1)};
      count_ = 1;
      add_transitions(t - 1, before, k, c.near + kNear * bounds_.most_left(k), work);
      // The best first.
      for (size_t s = 1; s < count_; ++s) {
        const HotState own = found_[s];
        size_t place = s;
        for (; place > 0 && found_[place - 1].value < own.value; --place) found_[place] = found_[place - 1];
        found_[place] = own;
      }
      const auto node = static_cast<float>(lattice_.node(t, static_cast<size_t>(k)));
      for (size_t s = 0; s < count_; ++s) {
        if (found_[s].value < found_[0].value - far_) {
          if (!far_counts_ || static_cast<double>(found_[s].value) == kForbidden) break;
          found_[s].value = found_[0].value - far_;
        }
        c.states[size] = found_[s];
        c.states[size++].value += node;
      }
      const float sum = found_[0].value + node;
      c.key[q] = static_cast<double>(sum) == kForbidden ? sum : c.key[q] + (sum - c.hot_sum[q]);
      c.hot_sum[q] = sum;
      c.of_path = std::max(c.of_path, of_path_ + node);
    }
    size_t place = q;
    for (; place > 0 && c.hot_sum[c.order[place - 1]] < c.hot_sum[q]; --place) c.order[place] = c.order[place - 1];
    c.order[place] = static_cast<int32_t>(q);
  }
  c.state_begin[c.hots] = size;
}

Leak HotStates::leak(const TreeColumn& c, float wide) const {
  Leak worst{0, 0, false};
  for (const HotState* state = c.states; state < c.states + c.state_begin[c.hots]; ++state) {
    if (state->blame == kOfPath) continue;
    const bool merged = state->blame < kOfPath;
    const float size = state->value - c.of_path + (merged ? 0 : wide);
    if (size > worst.size) worst = {size, static_cast<size_t>(merged ? merged_in(state->blame) : state->blame), merged};
  }
  return worst;
}

void HotStates::accept(TreeColumn& c) const {
  for (size_t s = 0; s < c.state_begin[c.hots]; ++s) c.states[s].blame = kOfPath;
}

void HotStates::scatter(const TreeColumn& c, float least, float* before, Work& work) const {
  for (size_t q = 0; q < c.hots; ++q) {
    if (!(c.key[q] - c.top > least)) continue;
    for (size_t s = c.state_begin[q]; s < c.state_begin[q + 1]; ++s) {
      const HotState& state = c.states[s];
      const float value = state.value - c.top;
      for (Node from = ngrams_.context(state.at);; from = ngrams_.suffix(from)) {
        const bool any = state.open && from == state.at;
        if (!any && ngrams_.is_label(from)) break;  // LabelNgrams have three labels and more.
        const double best = any ? bounds_.best_any(from) : bounds_.best_known(from);
        if (static_cast<double>(value) + best > static_cast<double>(least)) {
          const auto [first, last] = ngrams_.children(from);
          const auto n = static_cast<size_t>(last - first);
          kernels().scatter_f(value, ngrams_.labels(first), any ? bounds_.any(first) : bounds_.known(first), n, before);
          work.edges += n;
        }
        if (ngrams_.is_label(from)) break;
      }
    }
  }
}

float HotStates::into(size_t t, const TreeColumn& c, int32_t k, Work& work) {
  best_ = of_path_ = kNothing;
  found_[0] = {k, true, best_, -1, k, kOfPath};
  count_ = 1;
  add_transitions(t, c, k, 0, work);
  return std::max(best_, found_[0].value);
}

bool HotStates::reaches(const TreeColumn& c, size_t q, int32_t next, int32_t after, double required) const {
  const int32_t i = c.hot[q];
  const Node pair = next < 0 ? LabelNgrams::kNoNode : ngrams_.child(i, next);
  if (pair == LabelNgrams::kNoNode) return static_cast<double>(c.hot_sum[q]) >= required;
  for (size_t s = c.state_begin[q]; s < c.state_begin[q + 1]; ++s) {
    const HotState& from = c.states[s];
    const Node to = from.at == i ? pair : ngrams_.next(from.at, next, pair);
    double more = ngrams_.more(to);
    bool open = from.open && ngrams_.parent(to) == from.at;
    if (open) more += bounds_.left(to);
    if (after >= 0 && ngrams_.order() > 2) {
      const Node last = ngrams_.next(to, after);
      // 4-grams begin before label i, trigrams with it.
      if (ngrams_.depth(last) == NgramList::kLongest) more += ngrams_.score(last);
      open = open && ngrams_.parent(last) == to;
      if (open) more += bounds_.left(last);
    }
    if (static_cast<double>(from.value) + more >= required) return true;
  }
  return false;
}

double HotStates::most_across(int32_t i, int32_t next, int32_t after) const {
  const Node pair = next < 0 ? LabelNgrams::kNoNode : ngrams_.child(i, next);
  if (pair == LabelNgrams::kNoNode) return 0;
  const Node three = after < 0 ? LabelNgrams::kNoNode : ngrams_.child(pair, after);
  return bounds_.left(pair) + (three == LabelNgrams::kNoNode ? 0 : bounds_.left(three));
}

}  // namespace tagwright
