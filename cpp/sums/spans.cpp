#include "sums/spans.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "base/need.h"
#include "base/stop.h"
#include "kernels/elementary.h"

namespace tagwright {

SpanRules::SpanRules(std::span<const int32_t> type, std::span<const uint8_t> goes_on,
                     std::span<const uint8_t> continues)
    : type_(type.begin(), type.end()),
      goes_on_(goes_on.begin(), goes_on.end()),
      continues_(continues.begin(), continues.end()) {
  need(goes_on.size() == type.size() && continues.size() == type.size(), "span rules: one entry per label in each");
  for (size_t y = 0; y < type.size(); ++y) {
    need(type[y] >= -1 && (type[y] < 0 || static_cast<size_t>(type[y]) < type.size()), "span rules: no such type");
    if (type[y] < 0) continue;
    if (labels_.size() <= static_cast<size_t>(type[y])) labels_.resize(static_cast<size_t>(type[y]) + 1);
    labels_[static_cast<size_t>(type[y])].push_back(static_cast<int32_t>(y));
  }
}

namespace {

// A difference of probabilities below this share of them is summed anew, term by term: it may be nothing.
constexpr double kFewLeft = 1e-6;

// The labels of one type in one column, and what spans do behind it. Vectors are beside `places`.
struct Inside {
  std::vector<size_t> places;   // in the kept labels of the column
  std::vector<double> ends;     // the probability that a span ends here, given the label
  std::vector<double> goes_on;  // [a * next + b]: that it continues with place b of the next column
  size_t next = 0;
};

class SpanSums {
 public:
  SpanSums(const Lattice& lattice, const Sums& sums, const SpanRules& rules, Arena& arena)
      : lattice_(lattice),
        sums_(sums),
        rules_(rules),
        transitions_(sums, arena),
        scores_(arena.array<double>(lattice.L)) {}

  // [a]: the probability that token t has the label in place a of the type's, and that a span begins there.
  std::vector<double> begins(size_t t, size_t type) {
    const std::vector<size_t>& places = inside(t, type).places;
    const Sums::Column& column = sums_.columns[t];
    std::vector<double> made;
    for (const size_t q : places) made.push_back(column.node[q]);
    if (t == 0) return made;
    const Inside& before = inside(t - 1, type);
    for (size_t b = 0; b < places.size(); ++b) {
      if (!rules_.continues(column.labels[places[b]])) continue;
      const double here = made[b];
      for (size_t a = 0; a < before.places.size(); ++a)
        made[b] -= sums_.columns[t - 1].node[before.places[a]] * before.goes_on[a * before.next + b];
      if (!(made[b] > kFewLeft * here)) made[b] = here > 0 ? begins_after_all(t, places[b]) : 0;
    }
    return made;
  }

  // Calls visit(end, p(span), p(the span ends here or later)) for the spans of a type that begin at a token, shortest
  // first, while it returns true.
  template <class Visit>
  void from(size_t begin, size_t type, Visit&& visit) {
    std::vector<double> value = begins(begin, type), next;
    for (size_t t = begin; t < lattice_.T; ++t) {
      const Inside& here = inside(t, type);
      double ends = 0, left = 0;
      for (size_t a = 0; a < value.size(); ++a) {
        ends += value[a] * here.ends[a];
        left += value[a];
      }
      if (!(left > 0) || !visit(t + 1, std::min(ends, 1.0), left)) return;
      next.assign(here.next, 0.0);
      for (size_t a = 0; a < value.size(); ++a)
        for (size_t b = 0; b < here.next && value[a] > 0; ++b) next[b] += value[a] * here.goes_on[a * here.next + b];
      value.swap(next);
    }
  }

 private:
  // What it returns stays where it is.
  const Inside& inside(size_t t, size_t type) {
    const auto [found, is_new] = made_.try_emplace(t * rules_.types() + type);
    if (is_new) fill(found->second, t, type);
    return found->second;
  }

  std::vector<size_t> places_of(size_t t, size_t type) const {
    const std::span<const int32_t> kept = sums_.columns[t].labels;
    std::vector<size_t> places;
    for (const int32_t y : rules_.labels(type)) {
      if (kept.size() == lattice_.L) {
        places.push_back(static_cast<size_t>(y));
      } else if (const auto at = std::lower_bound(kept.begin(), kept.end(), y); at != kept.end() && *at == y) {
        places.push_back(static_cast<size_t>(at - kept.begin()));
      }
    }
    return places;
  }

  void fill(Inside& made, size_t t, size_t type) {
    const Sums::Column& column = sums_.columns[t];
    const auto label = [&](size_t a) { return column.labels[made.places[a]]; };
    made.places = places_of(t, type);
    const size_t n = made.places.size();
    made.ends.assign(n, 1.0);
    if (t + 1 == lattice_.T) return;
    const Sums::Column& behind = sums_.columns[t + 1];
    const std::vector<size_t> next = places_of(t + 1, type);
    made.next = next.size();
    made.goes_on.assign(n * made.next, 0.0);
    for (size_t a = 0; a < n; ++a) {
      if (!rules_.goes_on(label(a)) || !(column.node[made.places[a]] > 0)) continue;
      transitions_.from(t, made.places[a]);
      double all = 0;
      for (size_t b = 0; b < made.next; ++b)
        if (rules_.continues(behind.labels[next[b]])) all += made.goes_on[a * made.next + b] = transitions_.to(next[b]);
      made.ends[a] = all < 1 - kFewLeft ? 1 - all : ends_after_all(t, label(a));
    }
  }

  // The probability that no label continues the span of label i, term by term; transitions_ is turned to that label.
  double ends_after_all(size_t t, int32_t i) {
    const Sums::Column& behind = sums_.columns[t + 1];
    lattice_.row(t, static_cast<size_t>(i), scores_);
    double sum = 0;
    for (size_t q = 0; q < behind.labels.size(); ++q) {
      const int32_t j = behind.labels[q];
      if (!rules_.joined(i, j) && scores_[j] != kForbidden) sum += transitions_.to(q);
    }
    return std::min(sum, 1.0);
  }

  // The probability of the label in place q of column t after one that it does not continue, term by term.
  double begins_after_all(size_t t, size_t q) {
    const Sums::Column &before = sums_.columns[t - 1], &column = sums_.columns[t];
    const int32_t j = column.labels[q];
    lattice_.column(t - 1, static_cast<size_t>(j), scores_);
    double sum = 0;
    for (size_t p = 0; p < before.labels.size(); ++p) {
      const int32_t i = before.labels[p];
      if (rules_.joined(i, j) || scores_[i] == kForbidden) continue;
      sum += sums_.logs ? portable_exp(before.from[p] + scores_[i] + column.to[q])
                        : before.from[p] * portable_exp(scores_[i] - before.shift) * column.to[q];
    }
    return std::min(sum, column.node[q]);
  }

  const Lattice& lattice_;
  const Sums& sums_;
  const SpanRules& rules_;
  Transitions transitions_;
  double* scores_;
  std::unordered_map<size_t, Inside> made_;  // [t * types + type]
};

bool more_probable(const Span& a, const Span& b) {
  if (a.probability != b.probability) return a.probability > b.probability;
  if (a.begin != b.begin) return a.begin < b.begin;
  return a.end != b.end ? a.end < b.end : a.type < b.type;
}

std::vector<Span> spans_of(const Lattice& lattice, const Sums& sums, const SpanRules& rules,
                           std::span<const int32_t> labels, Arena& arena) {
  SpanSums in(lattice, sums, rules, arena);
  std::vector<Span> found;
  for (size_t begin = 0, end; begin < labels.size(); begin = end) {
    end = begin + 1;
    if (rules.type(labels[begin]) < 0) continue;
    while (end < labels.size() && rules.joined(labels[end - 1], labels[end])) ++end;
    found.push_back({rules.type(labels[begin]), begin, end, 0});
    in.from(begin, static_cast<size_t>(found.back().type), [&](size_t stop, double p, double) {
      if (stop == end) found.back().probability = p;
      return stop < end;
    });
  }
  return found;
}

std::vector<Span> best_spans(const Lattice& lattice, const Sums& sums, const SpanRules& rules, size_t k, Arena& arena) {
  SpanSums in(lattice, sums, rules, arena);
  std::vector<Span> starts;  // their probability: that a span of the type begins there
  Meter meter;
  for (size_t t = 0; t < lattice.T; ++t) {
    for (size_t type = 0; type < rules.types(); ++type) {
      double sum = 0;
      for (const double p : in.begins(t, type)) sum += p;
      meter.count(8 * rules.labels(type).size() * rules.labels(type).size());
      if (sum > 0) starts.push_back({static_cast<int32_t>(type), t, t, sum});
    }
  }
  std::sort(starts.begin(), starts.end(), more_probable);
  std::vector<Span> found;  // a heap, the least probable on top
  const auto floor = [&] { return found.size() < k ? 0.0 : found[0].probability; };
  for (const Span& start : starts) {
    if (k == 0 || start.probability < floor()) break;
    in.from(start.begin, static_cast<size_t>(start.type), [&](size_t end, double p, double left) {
      meter.count(64);
      if (left < floor()) return false;
      const Span span{start.type, start.begin, end, p};
      if (p > 0 && (found.size() < k || more_probable(span, found[0]))) {
        found.push_back(span);
        std::push_heap(found.begin(), found.end(), more_probable);
        if (found.size() > k) {
          std::pop_heap(found.begin(), found.end(), more_probable);
          found.pop_back();
        }
      }
      return true;
    });
  }
  std::sort(found.begin(), found.end(), more_probable);
  return found;
}

}  // namespace

std::vector<Span> SpanQuery::answer(const Lattice& lattice, const Sums& sums, std::span<const int32_t> labels,
                                    Arena& arena) const {
  need(rules.L() == lattice.L, "the span rules are for another number of labels");
  need(!sums.ngrams,
       "probabilities of spans know no ngrams of labels, but the edges have some; take "
       "the probabilities of labels, or a model of order 1");
  return k ? best_spans(lattice, sums, rules, k, arena) : spans_of(lattice, sums, rules, labels, arena);
}

}  // namespace tagwright
