#include "decode/ngrams/bounds.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/kernels.h"

namespace tagwright {

using Node = LabelNgrams::Node;

namespace {

constexpr size_t kMostStates = 24;  // of a label; those beyond are merged

// HotState::source: none, the rest of column t, or the states that were merged in column t.
constexpr int32_t kOfPath = -1;
int32_t rest_of(size_t t) { return static_cast<int32_t>(t); }
int32_t merged_in(int32_t t) { return kOfPath - 1 - t; }  // its own inverse

constexpr float kNothing = -std::numeric_limits<float>::infinity();

}  // namespace

NgramTreeBounds::NgramTreeBounds(const Lattice& lattice, Arena& arena)
    : TreeBounds(lattice, lattice.edges.ngram_bounds().reach().data(), arena),
      ngrams_(*lattice.edges.ngrams()),
      limits_(lattice.edges.ngram_bounds()),
      states_(arena.array<StateColumn>(lattice.T)),
      far_counts_(!std::isfinite(limits_.spread())),
      found_states_(arena.array<HotState>(kMostStates)) {
  std::fill(states_, states_ + T_, StateColumn{});
  const double far = far_counts_ ? 4 * (lattice.ngram_magnitude() + lattice.edge_magnitude()) : limits_.spread();
  far_ = static_cast<float>(far);
  state_size_ = far + 2 * lattice.ngram_magnitude();
  hot_factor_ = 1;  // every hot label has states
}

// The best sum + out of the labels of column t that have less than `least`.
float NgramTreeBounds::rest_below(size_t t, float least) const {
  const TreeColumn& c = columns_[t];
  float best = kNothing;
  const auto visit = [&](float key) { best = key < least ? std::max(best, key) : best; };
  if (!c.blocks) {
    for (size_t q = 0; q < lattice_.allowed[t].size(); ++q) visit(c.sum[q] + c.out[q]);
    return best;
  }
  for (size_t b = 0; b < width_ / kTreeLanes; ++b) {
    visit(c.blocks[b]);
    if (c.blocks[b] < least) continue;
    const size_t first = b / kTreeLanes * kGroup + b % kTreeLanes;
    for (size_t y = first; y < first + kGroup; y += kTreeLanes) visit(c.sum[y] + c.out[y]);
  }
  return best;
}

void NgramTreeBounds::add(const HotState& state) {
  best_ = std::max(best_, state.value);
  if (state.source == kOfPath) of_path_ = std::max(of_path_, state.value);
  for (size_t s = 0; s < count_; ++s) {
    if (found_states_[s].at != state.at || found_states_[s].open != state.open) continue;
    if (state.value > found_states_[s].value) found_states_[s] = state;
    return;
  }
  if (count_ < kMostStates) {
    found_states_[count_++] = state;
    return;
  }
  HotState least = state;
  for (size_t s = 1; s < count_; ++s)
    if (found_states_[s].value < least.value) std::swap(found_states_[s], least);
  HotState& others = found_states_[0];
  if (!(least.value > others.value)) return;
  others.value = least.value;
  others.before = least.before;
  others.source = least.source == kOfPath ? merged_in(here_) : least.source;
}

// Adds the states of label k of column t + 1 that the hot labels of column t lead to; values exclude k's node score and
// are relative to the top of column t. States worse than the best by more than `near` are merged.
void NgramTreeBounds::add_transitions(size_t t, int32_t k, float near, Work& work) {
  const TreeColumn& c = columns_[t];
  const StateColumn& own = states_[t];
  const StepEdges& edges = edges_.step(t);
  HotState& others = found_states_[0];
  for (size_t o = 0; o < c.hots; ++o) {
    const auto r = static_cast<size_t>(own.order[o]);
    const int32_t j = c.hot[r];
    const HotState *from = own.states + own.begin[r], *const end = own.states + own.begin[r + 1];
    const auto place = [&] { return static_cast<int32_t>(from - own.states); };
    ++work.edges;
    float step = -c.top;
    // Whether a state of at most this value is merged.
    const auto merges = [&](float most) {
      if (!(most < best_ - near)) return false;
      if (from->source == kOfPath) of_path_ = std::max(of_path_, from->value + step);  // about
      if (most > others.value) {
        others.value = most;
        others.before = place();
        others.source = from->source == kOfPath ? merged_in(here_) : from->source;
      }
      return true;
    };
    if (merges(from->value + step + limits_.into(k))) break;  // the other labels have less
    if (merges(c.key[r] + step)) continue;
    const Node pair = ngrams_.pair(j, k);
    // Several j are looked up for one k.
    step += static_cast<float>(pair == LabelNgrams::kNoNode
                                   ? edges.score_into(static_cast<size_t>(j), static_cast<size_t>(k))
                                   : limits_.edge(pair));
    if (static_cast<double>(step) == kForbidden) continue;
    if (pair == LabelNgrams::kNoNode) {
      add({k, false, from->value + step, place(), k, from->source});
      continue;
    }
    const auto longer = static_cast<float>(limits_.most_longer(pair));
    for (; from < end; ++from) {
      if (merges(from->value + step + longer)) break;  // the other states have less
      const Node to = from->at == j ? pair : ngrams_.next(from->at, k, pair);
      HotState made{ngrams_.context(to), false, 0, place(), k, from->source};
      double more = ngrams_.more(to);
      if (from->open && ngrams_.parent(to) == from->at) {
        more += limits_.most_longer(to);
        made.open = made.at == to && limits_.is_open(to);
      }
      made.value = from->value + step + static_cast<float>(more);
      if (static_cast<double>(made.value) != kForbidden) add(made);
      ++work.edges;
    }
  }
}

// Writes the states of hot label q of column t > 0, best first, and updates its sum and key; returns their number.
size_t NgramTreeBounds::find_states(size_t t, size_t q, HotState* out, Work& work) {
  // Merged states gain what n-grams can add for any history. They seldom exceed the best of a label if they are worse
  // by more than that; found by trying.
  constexpr float kNear = 1.5F;
  TreeColumn& c = columns_[t];
  const TreeColumn& before = columns_[t - 1];
  const int32_t k = c.hot[q];
  here_ = static_cast<int32_t>(t);
  best_ = before.rest - before.top;
  of_path_ = kNothing;
  found_states_[0] = {k, limits_.is_open(k), best_, -1, k, rest_of(t - 1)};
  count_ = 1;
  add_transitions(t - 1, k, states_[t].near + kNear * limits_.most_longer_after(k), work);
  for (size_t s = 1; s < count_; ++s) {
    const HotState own = found_states_[s];
    size_t place = s;
    for (; place > 0 && found_states_[place - 1].value < own.value; --place)
      found_states_[place] = found_states_[place - 1];
    found_states_[place] = own;
  }
  const auto node = static_cast<float>(lattice_.node(t, static_cast<size_t>(k)));
  const float best = found_states_[0].value;
  size_t size = 0;
  for (size_t s = 0; s < count_; ++s) {
    out[size] = found_states_[s];
    if (out[size].value < best - far_) {
      if (!far_counts_ || static_cast<double>(out[size].value) == kForbidden) break;
      out[size].value = best - far_;
    }
    out[size++].value += node;
  }
  const float sum = best + node;
  c.key[q] = static_cast<double>(sum) == kForbidden ? sum : c.key[q] + (sum - c.hot_sum[q]);
  c.hot_sum[q] = sum;
  states_[t].of_path = std::max(states_[t].of_path, of_path_ + node);
  return size;
}

void NgramTreeBounds::enter(size_t t, Work& work) {
  const TreeColumn& c = columns_[t];
  StateColumn& own = states_[t];
  own.begin = arena_.array<uint32_t>(c.hots + 1);
  own.states = arena_.array<HotState>(t ? c.hots * kMostStates : c.hots);
  own.order = arena_.array<int32_t>(c.hots);
  own.of_path = kNothing;
  size_t size = 0;
  for (size_t q = 0; q < c.hots; ++q) {
    own.begin[q] = static_cast<uint32_t>(size);
    if (t) {
      size += find_states(t, q, own.states + size, work);
    } else {
      own.states[size++] = {c.hot[q], false, c.hot_sum[q], -1, c.hot[q], kOfPath};
      own.of_path = std::max(own.of_path, c.hot_sum[q]);
    }
    size_t place = q;
    for (; place > 0 && c.hot_sum[own.order[place - 1]] < c.hot_sum[q]; --place)
      own.order[place] = own.order[place - 1];
    own.order[place] = static_cast<int32_t>(q);
  }
  own.begin[c.hots] = static_cast<uint32_t>(size);
}

BoundGap NgramTreeBounds::gap(size_t t, float wide) const {
  const StateColumn& own = states_[t];
  BoundGap worst{0, 0, false};
  for (const HotState* state = own.states; state < own.states + own.begin[columns_[t].hots]; ++state) {
    if (state->source == kOfPath) continue;
    const bool merged = state->source < kOfPath;
    const float size = state->value - own.of_path + (merged ? 0 : wide);
    if (size > worst.size)
      worst = {size, static_cast<size_t>(merged ? merged_in(state->source) : state->source), merged};
  }
  return worst;
}

bool NgramTreeBounds::add_hot_labels(size_t t, float gap, size_t most, Work& work) {
  TreeColumn& c = columns_[t];
  const size_t before = c.hots;
  const float margin = c.top - (c.rest - gap);
  if (!(margin <= std::numeric_limits<float>::max())) return false;
  c.hot_margin = std::max(c.hot_margin, margin);
  choose(t, most, true);
  enter(t, work);
  work.nodes += c.hots;
  return c.hots > before && c.hots < most;
}

bool NgramTreeBounds::split_states(size_t t, float gap, Work& work) {
  constexpr float kMost = 8;
  StateColumn& own = states_[t];
  if (own.near > kMost * static_cast<float>(scale_)) return false;
  own.near += gap + static_cast<float>(scale_) / kMost;
  enter(t, work);
  return true;
}

void NgramTreeBounds::accept(size_t t) {
  for (size_t s = 0; s < states_[t].begin[columns_[t].hots]; ++s) states_[t].states[s].source = kOfPath;
}

void NgramTreeBounds::scatter(size_t t, float least, Work& work) {
  const TreeColumn& c = columns_[t];
  const StateColumn& own = states_[t];
  for (size_t q = 0; q < c.hots; ++q) {
    if (!(c.key[q] - c.top > least)) continue;
    for (size_t s = own.begin[q]; s < own.begin[q + 1]; ++s) {
      const HotState& state = own.states[s];
      const float value = state.value - c.top;
      for (Node from = ngrams_.context(state.at);; from = ngrams_.suffix(from)) {
        const bool any = state.open && from == state.at;
        if (!any && ngrams_.is_label(from)) break;  // n-grams have three labels and more
        const double best = any ? limits_.best_any(from) : limits_.best_known(from);
        if (static_cast<double>(value) + best > static_cast<double>(least)) {
          const auto [first, last] = ngrams_.children(from);
          const auto n = static_cast<size_t>(last - first);
          const double* const scores = any ? limits_.any(first) : limits_.known(first);
          kernels().scatter_f(value, ngrams_.labels(first), scores, n, before_);
          work.edges += n;
        }
        if (ngrams_.is_label(from)) break;
      }
    }
  }
}

float NgramTreeBounds::into(size_t t, int32_t k, float rest, Work& work) {
  best_ = of_path_ = kNothing;
  found_states_[0] = {k, true, best_, -1, k, kOfPath};
  count_ = 1;
  add_transitions(t, k, 0, work);
  return std::max({rest, best_, found_states_[0].value});
}

bool NgramTreeBounds::reaches(size_t t, size_t q, int32_t next, int32_t after, double required) const {
  const TreeColumn& c = columns_[t];
  const StateColumn& own = states_[t];
  const int32_t i = c.hot[q];
  const Node pair = next < 0 ? LabelNgrams::kNoNode : ngrams_.child(i, next);
  if (pair == LabelNgrams::kNoNode) return static_cast<double>(c.hot_sum[q]) >= required;
  for (size_t s = own.begin[q]; s < own.begin[q + 1]; ++s) {
    const HotState& from = own.states[s];
    const Node to = from.at == i ? pair : ngrams_.next(from.at, next, pair);
    double more = ngrams_.more(to);
    bool open = from.open && ngrams_.parent(to) == from.at;
    if (open) more += limits_.most_longer(to);
    if (after >= 0 && ngrams_.order() > 2) {
      const Node last = ngrams_.next(to, after);
      // 4-grams begin before label i, trigrams with it.
      if (ngrams_.depth(last) == NgramList::kLongest) more += ngrams_.score(last);
      open = open && ngrams_.parent(last) == to;
      if (open) more += limits_.most_longer(last);
    }
    if (static_cast<double>(from.value) + more >= required) return true;
  }
  return false;
}

double NgramTreeBounds::most_across(int32_t i, int32_t next, int32_t after) const {
  const Node pair = next < 0 ? LabelNgrams::kNoNode : ngrams_.child(i, next);
  if (pair == LabelNgrams::kNoNode) return 0;
  const Node three = after < 0 ? LabelNgrams::kNoNode : ngrams_.child(pair, after);
  return limits_.most_longer(pair) + (three == LabelNgrams::kNoNode ? 0 : limits_.most_longer(three));
}

}  // namespace tagwright
