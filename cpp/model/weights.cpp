#include "model/weights.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/need.h"
#include "features/encode.h"

namespace tagwright {
namespace {

bool all_finite(Borrowed<float> values) {
  bool finite = true;
  for (const float value : values) finite &= std::fabs(value) <= std::numeric_limits<float>::max();
  return finite;
}

// set_of(q): the set of the q-th pair.
void check_pairs(const std::string& kind, size_t L, Borrowed<uint16_t> previous, Borrowed<uint16_t> current,
                 auto&& set_of) {
  need(previous.size() == current.size(), kind + ": arrays of unequal length");
  bool inside = true, rising = true;
  for (size_t q = 0; q < previous.size(); ++q) {
    inside &= previous[q] < L && current[q] < L;
    if (q == 0 || set_of(q - 1) < set_of(q)) continue;
    const bool same = set_of(q - 1) == set_of(q);
    rising &=
        same && (previous[q - 1] < previous[q] || (previous[q - 1] == previous[q] && current[q - 1] < current[q]));
  }
  need(inside, kind + ": a label that is not there");
  need(rising, kind + ": not in order, or given twice");
}

void check_ngrams(size_t L, Borrowed<uint16_t> runs) {
  constexpr size_t kLongest = NgramList::kLongest;
  need(runs.size() % kLongest == 0, "ngrams: arrays of unequal length");
  bool inside = true, rising = true;
  for (size_t at = 0; at < runs.size(); at += kLongest) {
    const uint16_t* const run = runs.data() + at;
    for (size_t n = 0; n + 1 < kLongest; ++n) inside &= run[n] < L;
    inside &= run[kLongest - 1] < L || run[kLongest - 1] == kNoLabel;
    rising &= at == 0 || std::lexicographical_compare(run - kLongest, run, run, run + kLongest);
  }
  need(inside, "ngrams: a label that is not there");
  need(rising, "ngrams: not in order, or given twice");
}

}  // namespace

void check_keys(const WeightKeys<Borrowed>& a, size_t L, size_t keys) {
  uint64_t before = 0;
  for (const uint64_t end : a.row_end) {
    need(end >= before, "the ends of weight rows do not rise");
    before = end;
  }
  need(before == a.nodes(), "the weight rows end elsewhere than the weights");
  bool inside = true, rising = true;
  for (size_t f = 0, begin = 0; f < a.row_end.size(); begin = a.row_end[f++]) {
    for (size_t q = begin + 1; q < a.row_end[f]; ++q) rising &= a.row_label[q - 1] < a.row_label[q];
    if (a.row_end[f] > begin) inside &= a.row_label[a.row_end[f] - 1] < keys;
  }
  need(rising, "the labels of a weight row do not rise");
  need(inside, "a weight is for a label that is not there");
  check_pairs("edges", L, a.previous, a.current, [](size_t) { return 0; });
  need(a.set.size() == a.set_previous.size(), "corrections: arrays of unequal length");
  check_pairs("corrections", L, a.set_previous, a.set_current, [&](size_t q) { return a.set[q]; });
  check_ngrams(L, a.runs);
}

std::vector<int32_t> wide_labels(Borrowed<uint16_t> labels) {
  std::vector<int32_t> made(labels.begin(), labels.end());
  std::replace(made.begin(), made.end(), static_cast<int32_t>(kNoLabel), -1);
  return made;
}

EdgeScores edges_of(size_t L, const WeightKeys<Borrowed>& keys, size_t sets, const EdgeWeights& weights,
                    std::optional<EdgeForm> form, EdgeExtras extras) {
  const auto previous = wide_labels(keys.previous), current = wide_labels(keys.current),
             set_previous = wide_labels(keys.set_previous), set_current = wide_labels(keys.set_current),
             runs = wide_labels(keys.runs);
  extras.correction_sets = sets;
  extras.correction_set = keys.set;
  extras.corrections = {set_previous, set_current, weights.corrections};
  if (!runs.empty()) extras.ngrams = NgramList{runs, weights.ngrams, weights.keep_all};
  return EdgeScores::from_triples(L, 0.0, {previous, current, weights.edges}, form, extras);
}

size_t find_pair(Borrowed<uint16_t> previous, Borrowed<uint16_t> current, size_t begin, size_t end, int32_t i,
                 int32_t j) {
  const auto rows = previous.subspan(begin, end - begin);
  const auto [first, last] = std::equal_range(rows.begin(), rows.end(), static_cast<uint16_t>(i));
  const auto row =
      current.subspan(begin + static_cast<size_t>(first - rows.begin()), static_cast<size_t>(last - first));
  const auto found = std::lower_bound(row.begin(), row.end(), static_cast<uint16_t>(j));
  if (found == row.end() || *found != j) return kNoPlace;
  return begin + static_cast<size_t>(first - rows.begin()) + static_cast<size_t>(found - row.begin());
}

Weights::Weights(size_t L, const WeightArrays<Borrowed>& arrays, bool first_only, std::shared_ptr<const void> owner)
    : arrays_(arrays), parts_(Parts::of_array(arrays.parts, L)), first_only_(first_only), owner_(std::move(owner)) {}

void Weights::check() const {
  const WeightArrays<Borrowed>& a = arrays_;
  need(L() > 0 && L() <= kMostLabels, "a model has between 1 and 65,535 labels");
  need(parts_.count + L() <= kMostLabels, "parts: too many");
  parts_.check();
  check_index(names());
  check_index(edge_names());
  need(a.row_end.size() == names().size(), "there must be one row of weights per feature");
  need(a.row_label.size() == a.row_weight.size(), "there must be one label per weight");
  check_keys(a, L(), parts_.keys());
  need(a.edges() == a.edge_score.size(), "edges: arrays of unequal length");
  need(a.corrections() == a.correction_score.size(), "corrections: arrays of unequal length");
  need(a.ngrams() == a.ngram_score.size(), "ngrams: arrays of unequal length");
  need(all_finite(a.row_weight), "a weight is NaN or infinite");
  need(all_finite(a.edge_score), "edges: a score that is not finite");
  need(all_finite(a.correction_score), "corrections: a score that is not finite");
  need(all_finite(a.ngram_score), "ngrams: a score that is not finite");
  // In order by now.
  const size_t sets = a.set.empty() ? 0 : static_cast<size_t>(a.set.back()) + 1;
  need((a.set.empty() || a.set.front() == 0) && sets == edge_names().size(),
       "the sets of corrections are not those that have names");
}

WeightArrays<Owned> Weights::dropped(double least, std::string_view word) const {
  const WeightArrays<Borrowed>& a = arrays_;
  WeightArrays<Owned> out;
  std::vector<bool> used(names().size(), false), used_set(edge_names().size(), false);
  for (size_t f = 0, q = 0; f < a.row_end.size(); ++f) {
    const size_t before = out.row_label.size();
    for (; q < a.row_end[f]; ++q) {
      if (a.row_weight[q] == 0 || std::fabs(a.row_weight[q]) < least) continue;
      out.row_label.push_back(a.row_label[q]);
      out.row_weight.push_back(a.row_weight[q]);
    }
    used[f] = out.row_label.size() > before || (!word.empty() && names().text(f).starts_with(word));
    if (used[f]) out.row_end.push_back(out.row_label.size());
  }
  for (size_t q = 0; q < a.edges(); ++q) {
    if (a.edge_score[q] == 0) continue;
    out.previous.push_back(a.previous[q]);
    out.current.push_back(a.current[q]);
    out.edge_score.push_back(a.edge_score[q]);
  }
  int32_t number = -1;
  for (size_t q = 0, last = kNoPlace; q < a.corrections(); ++q) {
    if (a.correction_score[q] == 0) continue;
    const auto set = static_cast<size_t>(a.set[q]);
    number += set != last;
    last = set;
    used_set[set] = true;
    out.set.push_back(number);
    out.set_previous.push_back(a.set_previous[q]);
    out.set_current.push_back(a.set_current[q]);
    out.correction_score.push_back(a.correction_score[q]);
  }
  for (size_t q = 0; q < a.ngrams(); ++q) {
    if (a.ngram_score[q] == 0) continue;
    const Borrowed<uint16_t> run = a.runs.subspan(q * NgramList::kLongest, NgramList::kLongest);
    out.runs.insert(out.runs.end(), run.begin(), run.end());
    out.ngram_score.push_back(a.ngram_score[q]);
  }
  out.names = select(names(), used).arrays();
  out.edge_names = select(edge_names(), used_set).arrays();
  out.parts.assign(a.parts.begin(), a.parts.end());
  return out;
}

std::vector<uint16_t> Weights::renamed_keys(std::span<const int32_t> label, const Parts& parts) const {
  need(label.size() == L(), "there must be one new number per label");
  need(parts_.each <= parts.each, "labels have fewer parts than before");
  std::vector<uint16_t> renamed(parts_.keys(), 0);
  for (size_t y = 0; y < L(); ++y) {
    const auto to = static_cast<size_t>(label[y]);
    need(label[y] >= 0 && to < parts.L, "no such label");
    renamed[y] = static_cast<uint16_t>(to);
    for (size_t k = 0; k < parts_.each; ++k)
      renamed[L() + parts_.of[k * L() + y]] = static_cast<uint16_t>(parts.L + parts.of[k * parts.L + to]);
  }
  return renamed;
}

}  // namespace tagwright
