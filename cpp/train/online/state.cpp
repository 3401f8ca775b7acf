// How the weights of an online CRF become a model or a checkpoint, and come from one.
#include <cmath>

#include "base/need.h"
#include "train/online/online_crf.h"

namespace tagwright {
namespace {

template <class Rows>
SteppedArrays<Owned> arrays_of(const Rows& rows) {
  SteppedArrays<Owned> out;
  for (size_t r = 0; r < rows.rows(); ++r) {
    const auto keys = rows.keys(r);
    const auto weights = rows.values(r);
    out.row.insert(out.row.end(), keys.size(), static_cast<uint32_t>(r));
    out.key.insert(out.key.end(), keys.begin(), keys.end());
    out.weight.insert(out.weight.end(), weights.begin(), weights.end());
    for (const OptimizerState& past : rows.pasts(r)) {
      out.squares.push_back(past.squares);
      out.late.push_back(past.late);
    }
  }
  return out;
}

}  // namespace

Weights OnlineCrf::weights(bool averaged) const {
  struct Held {
    WeightKeys<Owned> keys;
    std::vector<uint16_t> parts;
  };
  const auto all = std::make_shared<Held>();
  all->parts = part_of_;
  WeightKeys<Owned>* const held = &all->keys;
  std::vector<float> values;
  values.reserve(size());
  held->row_label.reserve(nodes_.entries());
  const auto take = [&](const auto& rows, size_t r) {
    const auto weight = rows.values(r);
    const auto past = rows.pasts(r);
    for (size_t q = 0; q < weight.size(); ++q)
      values.push_back(averaged && seen_ > 0 ? static_cast<float>(weight[q] - past[q].late / seen_) : weight[q]);
  };
  for (size_t f = 0; f < nodes_.rows(); ++f) {
    held->row_label.insert(held->row_label.end(), nodes_.keys(f).begin(), nodes_.keys(f).end());
    held->row_end.push_back(held->row_label.size());
    take(nodes_, f);
  }
  for (size_t i = 0; i < edges_.rows(); ++i) {
    held->previous.insert(held->previous.end(), edges_.size(i), static_cast<uint16_t>(i));
    held->current.insert(held->current.end(), edges_.keys(i).begin(), edges_.keys(i).end());
    take(edges_, i);
  }
  for (size_t set = 0; set < sets_.rows(); ++set) {
    held->set.insert(held->set.end(), sets_.size(set), static_cast<int32_t>(set));
    for (const uint64_t pair : sets_.keys(set)) {
      held->set_previous.push_back(static_cast<uint16_t>(Corrections::previous(pair)));
      held->set_current.push_back(static_cast<uint16_t>(Corrections::current(pair)));
    }
    take(sets_, set);
  }
  held->runs = runs_.keys();
  for (size_t q = 0; q < runs_.size(); ++q)
    values.push_back(averaged && seen_ > 0 ? static_cast<float>(run_weight_[q] - run_past_[q].late / seen_)
                                           : run_weight_[q]);
  return corpus_.weights(held->view(), std::move(values), all->parts, all);
}

void OnlineCrf::start_from(const Weights& old, std::span<const int32_t> label) {
  corpus_.check_known(old);
  const auto put = [](auto& rows, size_t row, auto key, float w) { rows.weight(row, rows.find_or_add(row, key)) = w; };
  const std::vector<uint16_t> renamed = old.renamed_keys(label, parts_);
  runs_.add(old, renamed);
  hold_runs();
  old.for_each_ngram(renamed, [&](const auto& run, float w) { set_run(runs_.find(run), w); });
  old.each(
      renamed,
      [&](size_t f, uint16_t y, float w) {
        put(nodes_, f, y, w);
        note_node(f, y, w);
      },
      [&](uint16_t i, uint16_t j, float w) { put(edges_, i, j, w); },
      [&](size_t set, uint16_t i, uint16_t j, float w) { put(sets_, set, Corrections::pair(i, j), w); });
  find_bounds();
}

SteppedState<Owned> OnlineCrf::state() const {
  SteppedArrays<Owned> runs;
  runs.weight = run_weight_;
  for (size_t q = 0; q < runs_.size(); ++q) {
    runs.row.push_back(0);
    runs.key.push_back(runs_.packed(q));
    runs.squares.push_back(run_past_[q].squares);
    runs.late.push_back(run_past_[q].late);
  }
  return {arrays_of(nodes_), arrays_of(edges_), arrays_of(sets_), std::move(runs)};
}

void OnlineCrf::restore(double seen, const SteppedState<Borrowed>& state) {
  need(std::isfinite(seen) && seen >= 0, "state: sentences seen must be a number");
  const auto check = [](const SteppedArrays<Borrowed>& a) {
    const size_t n = a.row.size();
    need(a.key.size() == n && a.weight.size() == n && a.squares.size() == n && a.late.size() == n,
         "state: arrays of unequal length");
    for (size_t q = 0; q < n; ++q)
      need(std::isfinite(a.weight[q]) && std::isfinite(a.late[q]) && std::isfinite(a.squares[q]) && a.squares[q] >= 0,
           "state: a weight that is not finite");
  };
  const auto each = [&](const SteppedArrays<Borrowed>& a, auto& rows, auto&& known) {
    check(a);
    for (size_t q = 0; q < a.row.size(); ++q) {
      need(a.row[q] < rows.rows() && known(a.key[q]), "state: a weight for what is not there");
      using Key = std::remove_cvref_t<decltype(rows.keys(0)[0])>;
      const size_t entry = rows.find_or_add(a.row[q], static_cast<Key>(a.key[q]));
      rows.weight(a.row[q], entry) = a.weight[q];
      rows.past(a.row[q], entry) = {a.squares[q], a.late[q]};
    }
  };
  const size_t L = corpus_.L;
  const auto label = [&](uint64_t y) { return y < L; };
  each(state[0], nodes_, [&](uint64_t key) { return key < parts_.keys(); });
  each(state[1], edges_, label);
  each(state[2], sets_, [&](uint64_t pair) { return pair >> 32 < L && (pair & 0xffffffffU) < L; });
  check(state[3]);
  for (size_t at = 0; at < state[3].key.size(); ++at) {
    const size_t q = runs_.find_packed(state[3].key[at]);
    need(q != kNoPlace, "state: a ngram that is not there");
    set_run(q, state[3].weight[at]);
    run_past_[q] = {state[3].squares[at], state[3].late[at]};
  }
  for (auto& rows : whole_) rows.clear();
  seen_ = seen;
  find_bounds();
}

}  // namespace tagwright
