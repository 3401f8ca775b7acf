// Sums over label n-grams against enumeration of all labellings.
#include <cmath>
#include <limits>

#include "check.h"
#include "sums/ngram_sums.h"
#include "sums/posterior.h"

namespace tagwright {
namespace {

struct Problem {
  size_t T, L;
  std::vector<double> nodes, edges;  // [t * L + y], [i * L + j]
  std::vector<int32_t> runs;
  std::vector<double> scores;
};

Problem drawn(test::Draw& draw, double offset, double scale) {
  Problem made{static_cast<size_t>(draw.whole(1, 6)), static_cast<size_t>(draw.whole(2, 4)), {}, {}, {}, {}};
  for (size_t q = 0; q < made.T * made.L; ++q) made.nodes.push_back(draw.normal(scale));
  for (size_t q = 0; q < made.L * made.L; ++q) made.edges.push_back(offset + draw.normal(scale));
  const auto L = static_cast<int32_t>(made.L);
  for (int32_t a = 0; a < L; ++a)
    for (int32_t b = 0; b < L; ++b)
      for (int32_t c = 0; c < L; ++c)
        for (int32_t d = -1; d < L; ++d) {
          if (!draw.chance(d < 0 ? 0.4 : 0.15)) continue;
          made.runs.insert(made.runs.end(), {a, b, c, d});
          made.scores.push_back(draw.normal(1.5));
        }
  return made;
}

double score_of(const Problem& problem, const std::vector<int32_t>& path) {
  double sum = 0;
  for (size_t t = 0; t < path.size(); ++t) {
    sum += problem.nodes[t * problem.L + static_cast<size_t>(path[t])];
    if (t) sum += problem.edges[static_cast<size_t>(path[t - 1]) * problem.L + static_cast<size_t>(path[t])];
    for (size_t q = 0; q < problem.scores.size(); ++q) {
      const int32_t* const run = problem.runs.data() + 4 * q;
      const size_t length = run[3] < 0 ? 3 : 4;
      if (t + 1 >= length && std::equal(run, run + length, path.begin() + static_cast<ptrdiff_t>(t + 1 - length)))
        sum += problem.scores[q];
    }
  }
  return sum;
}

// Calls visit(path) for all paths over some labels of each column.
template <class Visit>
void for_each_path(const std::vector<std::vector<int32_t>>& labels, Visit&& visit) {
  std::vector<size_t> at(labels.size(), 0);
  std::vector<int32_t> path(labels.size());
  for (;;) {
    for (size_t t = 0; t < at.size(); ++t) path[t] = labels[t][at[t]];
    visit(path);
    size_t t = 0;
    while (t < at.size() && ++at[t] == labels[t].size()) at[t++] = 0;
    if (t == at.size()) return;
  }
}

double log_sum_of(const std::vector<double>& terms) {
  const double best = *std::max_element(terms.begin(), terms.end());
  double sum = 0;
  for (const double term : terms) sum += std::exp(term - best);
  return best + std::log(sum);
}

double log_z_of(const Problem& problem, const std::vector<std::vector<int32_t>>& labels) {
  std::vector<double> scores;
  for_each_path(labels, [&](const auto& path) { scores.push_back(score_of(problem, path)); });
  return log_sum_of(scores);
}

void compare(const Problem& problem, const std::vector<std::vector<int32_t>>& labels) {
  const LabelNgrams ngrams(problem.L, {.labels = problem.runs, .score = problem.scores});
  const std::vector<std::span<const int32_t>> views(labels.begin(), labels.end());
  NgramSums sums;
  sums.sum({.ngrams = ngrams,
            .labels = views,
            .nodes =
                [&](size_t t, double* out) {
                  for (const int32_t y : labels[t]) *out++ = problem.nodes[t * problem.L + static_cast<size_t>(y)];
                },
            .edges =
                [&](size_t t, double* out) {
                  for (const int32_t i : labels[t - 1])
                    for (const int32_t j : labels[t])
                      *out++ = problem.edges[static_cast<size_t>(i) * problem.L + static_cast<size_t>(j)];
                }});
  const double log_z = log_z_of(problem, labels);
  const double tolerance = 1e-11 * std::max(1.0, std::fabs(log_z));
  CHECK(std::fabs(sums.log_z() - log_z) < tolerance);
  std::vector<std::vector<double>> nodes(problem.T, std::vector<double>(problem.L, 0.0));
  double entropy_of_paths = 0;
  for_each_path(labels, [&](const auto& path) {
    const double log_p = score_of(problem, path) - log_z;
    entropy_of_paths -= std::exp(log_p) * log_p;
    for (size_t t = 0; t < problem.T; ++t) nodes[t][static_cast<size_t>(path[t])] += std::exp(log_p);
  });
  for (size_t t = 0; t < problem.T; ++t)
    for (size_t q = 0; q < labels[t].size(); ++q)
      CHECK(std::fabs(sums.nodes(t)[q] - nodes[t][static_cast<size_t>(labels[t][q])]) < 100 * tolerance);
  Arena arena;
  CHECK(std::fabs(entropy(sums.sums(nullptr), arena) - entropy_of_paths) < 1000 * tolerance);
}

TEST(ngram_sums_are_those_of_all_labellings_whatever_the_size_of_edge_scores) {
  for (const double offset : {0.0, 5.0, 300.0, 800.0, -300.0, -800.0, 1e6, -1e6})
    for (const double scale : {1.0, 60.0, 400.0})
      for (size_t seed = 0; seed < 12; ++seed) {
        test::Draw draw(seed);
        test::doing("offset " + std::to_string(offset) + ", scale " + std::to_string(scale));
        const Problem problem = drawn(draw, offset, scale);
        std::vector<int32_t> everyone;
        for (size_t y = 0; y < problem.L; ++y) everyone.push_back(static_cast<int32_t>(y));
        compare(problem, std::vector<std::vector<int32_t>>(problem.T, everyone));
        std::vector<std::vector<int32_t>> some(problem.T);
        for (std::vector<int32_t>& own : some) {
          for (const int32_t y : everyone)
            if (draw.chance(0.6)) own.push_back(y);
          if (own.empty()) own.push_back(static_cast<int32_t>(draw.below(problem.L)));
        }
        compare(problem, some);
      }
}

}  // namespace
}  // namespace tagwright
