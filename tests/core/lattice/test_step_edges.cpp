// Every kind of edges against a plain matrix: scores, rows, columns, max steps, sum steps and bounds.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "check.h"
#include "lattice/edges.h"
#include "lattice/lattice.h"
#include "lattice/sum_steps.h"

namespace tagwright {
namespace {

using test::Draw;

// Edges, and the matrix that they stand for: [i * L + j].
struct Kind {
  std::string name;
  std::shared_ptr<const Edges> edges;
  std::vector<double> matrix;
};

std::shared_ptr<const Edges> made(EdgeScores scores) { return std::make_shared<const Edges>(std::move(scores)); }

std::shared_ptr<const PairRules> draw_rules(Draw& draw, size_t L) {
  PairRule rule{"rule", {}, {}};
  for (size_t y = 0; y < L; ++y) {
    rule.entry.push_back(draw.whole(-1, 2));
    rule.exit.push_back(draw.whole(0, 2));
  }
  PairRules::Pairs forbidden;
  for (size_t q = 0; q < L / 2; ++q)
    forbidden.emplace_back(static_cast<int32_t>(draw.below(L)), static_cast<int32_t>(draw.below(L)));
  return std::make_shared<const PairRules>(L, std::vector{rule}, forbidden, std::vector<bool>(), std::vector<bool>());
}

void forbid(std::vector<double>& matrix, size_t L, const PairRules& rules) {
  for (size_t i = 0; i < L; ++i)
    for (size_t j = 0; j < L; ++j)
      if (!rules.may_follow(i, j)) matrix[i * L + j] = kForbidden;
}

// Whole numbers, so that sums are exact in any order; share: of edges that differ from the default.
std::vector<double> draw_matrix(Draw& draw, size_t L, double share, double fallback) {
  std::vector<double> matrix(L * L, fallback);
  for (double& score : matrix)
    if (draw.chance(share)) score = draw.chance(0.1) ? kForbidden : draw.whole(-9, 9);
  return matrix;
}

std::vector<Kind> draw_kinds(Draw& draw, size_t L) {
  std::vector<Kind> kinds;
  const std::vector<double> full = draw_matrix(draw, L, 1, 0);
  const std::vector<float> single(full.begin(), full.end());
  kinds.push_back({"dense", made(EdgeScores::from_matrix(L, {nullptr, full.data()}, EdgeForm::kDense)), full});
  kinds.push_back({"dense float", made(EdgeScores::from_matrix(L, {single.data(), nullptr}, EdgeForm::kDense)), full});
  for (const double fallback : {0.0, 3.0, kForbidden}) {
    const std::vector<double> few = draw_matrix(draw, L, 0.2, fallback);
    std::vector<int32_t> previous, current;
    std::vector<double> score;
    for (size_t q = 0; q < few.size(); ++q) {
      if (few[q] == fallback) continue;
      previous.push_back(static_cast<int32_t>(q / L));
      current.push_back(static_cast<int32_t>(q % L));
      score.push_back(few[q]);
    }
    const EdgeTriples triples{previous, current, {nullptr, score.data()}};
    const std::string name = "default " + std::to_string(fallback);
    kinds.push_back({name, made(EdgeScores::from_triples(L, fallback, triples, EdgeForm::kSparse)), few});
    kinds.push_back({name + " and table", made(EdgeScores::from_triples(L, fallback, triples, EdgeForm::kBoth)), few});
    kinds.push_back({name + ", any form", made(EdgeScores::from_matrix(L, {nullptr, few.data()}, {})), few});
  }
  const size_t plain = kinds.size();
  for (size_t q = 0; q < plain; ++q) {
    Kind kind = kinds[q];
    for (const char* times : {" constrained", " again"}) {
      const std::shared_ptr<const PairRules> rules = draw_rules(draw, L);
      kind.name += times;
      kind.edges = made(kind.edges->constrained(rules));
      forbid(kind.matrix, L, *rules);
      kinds.push_back(kind);
    }
  }
  return kinds;
}

// visit(kind, draw) for many of each.
template <class Visit>
void for_each_kind(Visit&& visit) {
  Draw draw(7);
  for (const size_t L : {1, 2, 7, 30, 70}) {
    for (int tries = 0; tries < 3; ++tries) {
      for (const Kind& kind : draw_kinds(draw, L)) {
        test::doing(kind.name + ", " + std::to_string(L) + " labels");
        visit(kind, kind.edges->step(0), draw);
      }
    }
  }
}

std::vector<double> draw_scores(Draw& draw, size_t n) {
  std::vector<double> scores(n);
  for (double& score : scores) score = draw.chance(0.2) ? kForbidden : draw.whole(-20, 20);
  return scores;
}

TEST(scores_rows_and_columns_are_those_of_the_matrix) {
  for_each_kind([](const Kind& kind, const StepEdges& step, Draw&) {
    const size_t L = step.L();
    std::vector<double> row(L), column(L);
    bool same = true;
    for (size_t i = 0; i < L; ++i) {
      step.row(i, row.data());
      step.column(i, column.data());
      for (size_t j = 0; j < L; ++j) {
        const double score = kind.matrix[i * L + j];
        same = same && step.score(i, j) == score && step.score_into(i, j) == score && row[j] == score;
        same = same && column[j] == kind.matrix[j * L + i];
      }
    }
    CHECK(same);
  });
}

TEST(gathered_raised_and_extended_scores_are_those_of_the_matrix) {
  for_each_kind([](const Kind& kind, const StepEdges& step, Draw& draw) {
    const size_t L = step.L(), i = draw.below(L);
    std::vector<int32_t> labels;
    for (size_t y = 0; y < L; ++y)
      if (draw.chance(0.6)) labels.push_back(static_cast<int32_t>(y));
    std::vector<double> out(L), room(L);
    for (const size_t side : {0, 1}) {
      const auto edge = [&](int32_t y) {
        const auto j = static_cast<size_t>(y);
        return side ? kind.matrix[j * L + i] : kind.matrix[i * L + j];
      };
      step.gather(side, i, labels, out.data());
      for (size_t q = 0; q < labels.size(); ++q) CHECK(out[q] == edge(labels[q]));
      std::vector<double> bound = draw_scores(draw, labels.size()), right = bound;
      double least = std::numeric_limits<double>::infinity();
      for (size_t q = 0; q < labels.size(); ++q) {
        right[q] = std::max(right[q], 5 + edge(labels[q]));
        least = std::min(least, right[q]);
      }
      CHECK(step.raise(side, 5, i, labels, bound.data(), room.data()) == least);
      CHECK(bound == right);
    }
    const std::vector<double> nodes = draw_scores(draw, L);
    const std::vector<float> single(nodes.begin(), nodes.end());
    for (const Scores given : {Scores{nullptr, nodes.data()}, Scores{single.data(), nullptr}}) {
      step.extend(2, i, given, out.data());
      double best = kForbidden;
      for (size_t j = 0; j < L; ++j) {
        CHECK(out[j] == 2 + kind.matrix[i * L + j] + nodes[j]);
        best = std::max(best, out[j]);
      }
      const size_t found = step.best_extension(2, i, given, room.data());
      CHECK(2 + kind.matrix[i * L + found] + nodes[found] == best);
    }
  });
}

TEST(max_steps_find_the_best_predecessors) {
  for_each_kind([](const Kind& kind, const StepEdges& step, Draw& draw) {
    const size_t L = step.L();
    Arena arena;
    Work work;
    std::vector<std::vector<double>> previous, best;
    std::vector<MaxStep<double>> runs;
    for (size_t s = 0; s < 3; ++s) {
      previous.push_back(draw_scores(draw, L));
      best.emplace_back(step.stride());
    }
    for (size_t s = 0; s < 3; ++s) runs.push_back({previous[s].data(), best[s].data(), &work});
    step.max_step(runs, arena);
    std::vector<float> single(previous[0].begin(), previous[0].end()), found(step.stride());
    const MaxStep<float> one{single.data(), found.data(), &work};
    step.max_step({&one, 1}, arena);
    CHECK(work.edges > 0);
    for (size_t j = 0; j < L; ++j) {
      for (size_t s = 0; s < 3; ++s) {
        double right = kForbidden;
        for (size_t i = 0; i < L; ++i) right = std::max(right, previous[s][i] + kind.matrix[i * L + j]);
        CHECK(best[s][j] == right);
        if (s == 0) CHECK(static_cast<double>(found[j]) == right);
      }
    }
  });
}

TEST(factors_are_exponentials_of_scores) {
  for_each_kind([](const Kind& kind, const StepEdges& step, Draw&) {
    const size_t L = step.L();
    const Factors factors = step.factors();
    bool forbids = false;
    for (size_t q = 0; q < L * L; ++q) {
      const double right = std::exp(kind.matrix[q] - factors.shift);
      CHECK(std::fabs(factors.at(q / L, q % L) - right) <= 1e-12 * right);
      forbids = forbids || kind.matrix[q] == kForbidden;
    }
    CHECK(factors.forbids || !forbids);
  });
}

TEST(sum_steps_are_sums_of_exponentials) {
  for_each_kind([](const Kind& kind, const StepEdges& step, Draw& draw) {
    const size_t L = step.L();
    const std::vector<double> nodes(2 * L, 0.0);
    const Lattice lattice(*kind.edges, 2, {nullptr, nodes.data()}, nullptr);
    Arena arena;
    FactorSteps factors(lattice, arena);
    LogSteps logs(lattice, arena);
    std::vector<int32_t> labels[2];
    std::vector<double> value[2], score[2];
    for (const size_t column : {0, 1}) {
      for (size_t y = 0; y < L; ++y)
        if (column == 1 ? L < 30 || draw.chance(0.5) : draw.chance(0.7))
          labels[column].push_back(static_cast<int32_t>(y));
      for (size_t q = 0; q < labels[column].size(); ++q) {
        value[column].push_back(0.125 * draw.whole(1, 8));
        score[column].push_back(draw.whole(-3, 3));
      }
    }
    const auto edge = [&](size_t p, size_t q) {
      return kind.matrix[static_cast<size_t>(labels[0][p]) * L + static_cast<size_t>(labels[1][q])];
    };
    const double shift = factors.shift(0);
    double expected = 0;
    for (size_t p = 0; p < labels[0].size(); ++p)
      for (size_t q = 0; q < labels[1].size(); ++q)
        if (edge(p, q) != kForbidden)
          expected += value[0][p] * std::exp(edge(p, q) - shift) * value[1][q] * (edge(p, q) - shift);
    // Probabilities sum to 1: the default has what exceptions leave.
    double total = 0;
    for (size_t p = 0; p < labels[0].size(); ++p)
      for (size_t q = 0; q < labels[1].size(); ++q) total += value[0][p] * std::exp(edge(p, q) - shift) * value[1][q];
    for (double& one : value[0]) one /= total > 0 ? total : 1;
    if (total > 0) {
      const double found = factors.expected(0, shift, {labels[0], value[0].data()}, {labels[1], value[1].data()});
      CHECK(std::fabs(found - expected / total) <= 1e-9);
    }
    std::vector<double> out(factors.room()), terms(L);
    for (const size_t side : {0, 1}) {
      const size_t from = side, to = 1 - side;
      const auto score_of = [&](size_t p, size_t q) { return side ? edge(q, p) : edge(p, q); };
      factors.send(0, side, {labels[from], value[from].data()}, labels[to], out.data());
      for (size_t q = 0; q < labels[to].size(); ++q) {
        double right = 0;
        for (size_t p = 0; p < labels[from].size(); ++p) right += value[from][p] * std::exp(score_of(p, q) - shift);
        CHECK(std::fabs(out[q] - right) <= 1e-9 * right);
      }
      logs.with(0, side, {labels[from], score[from].data()}, [&](auto&& terms_of) {
        for (size_t q = 0; q < labels[to].size(); ++q) {
          double right = 0, found = 0;
          for (size_t p = 0; p < labels[from].size(); ++p) right += std::exp(score[from][p] + score_of(p, q));
          const size_t n = terms_of(static_cast<size_t>(labels[to][q]), terms.data());
          for (size_t term = 0; term < n; ++term) found += std::exp(terms[term]);
          CHECK(std::fabs(found - right) <= 1e-12 * right);
        }
      });
    }
  });
}

TEST(bounds_are_never_too_low) {
  for_each_kind([](const Kind& kind, const StepEdges& step, Draw& draw) {
    const size_t L = step.L();
    std::vector<double> in(L);
    step.best_in(in.data());
    const Chain chain = make_chain(L, {});
    const Bounds bounds = edge_bounds(step, chain);
    for (size_t i = 0; i < L; ++i) {
      for (size_t j = 0; j < L; ++j) {
        const double score = kind.matrix[i * L + j];
        CHECK(score <= static_cast<double>(step.best_out(i)) && score <= in[j]);
        CHECK(score <= bounds.out[i] && score <= bounds.in[j] && score <= bounds.largest);
        for (size_t m = 0; m < chain.inside[i]; ++m)
          CHECK(score <= bounds.from[m * L + j] && score <= bounds.out[L + m]);
        for (size_t c = 0; c < chain.inside[j]; ++c)
          CHECK(score <= bounds.to[i * chain.B + c] && score <= bounds.in[L + c]);
      }
    }
    // Some labels are hot; the others are bounded by the largest sum of bound and best edge out.
    std::vector<float> sum(L), out(L), hot_sum, hot_key, before(L), room(L);
    std::vector<int32_t> hot;
    BoundStep bound{};
    bound.top = bound.rest = -std::numeric_limits<float>::infinity();
    for (size_t i = 0; i < L; ++i) {
      sum[i] = static_cast<float>(draw.whole(-20, 20));
      out[i] = step.best_out(i);
      bound.top = std::max(bound.top, sum[i]);
      if (draw.chance(0.3)) {
        hot.push_back(static_cast<int32_t>(i));
        hot_sum.push_back(sum[i]);
        hot_key.push_back(sum[i] + out[i]);
      } else {
        bound.rest = std::max(bound.rest, sum[i] + out[i]);
      }
    }
    bound.hot = hot;
    bound.hot_sum = hot_sum.data();
    bound.hot_key = hot_key.data();
    bound.sum = sum.data();
    bound.out = out.data();
    Work work;
    step.bound_step(bound, before.data(), room.data(), work);
    for (size_t j = 0; j < L; ++j)
      for (size_t i = 0; i < L; ++i)
        CHECK(static_cast<double>(sum[i]) + kind.matrix[i * L + j] <= static_cast<double>(before[j] + bound.top));
  });
}

TEST(lattices_add_corrections_to_whatever_edges_they_have) {
  Draw draw(11);
  for (int tries = 0; tries < 40; ++tries) {
    const size_t L = 1 + draw.below(12), T = 4;
    const std::vector<double> matrix = draw_matrix(draw, L, draw.chance(0.5) ? 1 : 0.2, 0);
    std::vector<int32_t> set, previous, current;
    std::vector<double> score;
    for (size_t q = 0; q < L * L; ++q) {
      if (!draw.chance(0.3)) continue;
      set.push_back(static_cast<int32_t>(q % 2));
      previous.push_back(static_cast<int32_t>(q / L));
      current.push_back(static_cast<int32_t>(q % L));
      score.push_back(draw.whole(-9, 9));
    }
    EdgeExtras extras;
    extras.correction_sets = 2;
    extras.correction_set = set;
    extras.corrections = {previous, current, {nullptr, score.data()}};
    const Edges edges(EdgeScores::from_matrix(L, {nullptr, matrix.data()}, {}, extras));
    const std::vector<std::vector<int32_t>> active = {{0}, {}, {1, 0}};
    const std::vector<double> nodes = [&] {
      std::vector<double> drawn = draw_scores(draw, T * L);
      return drawn;
    }();
    const Lattice lattice(edges, T, {nullptr, nodes.data()}, &active);
    Arena arena;
    Work work;
    for (size_t t = 0; t + 1 < T; ++t) {
      std::vector<double> right = matrix, row(L), column(L), best(edges.stride());
      for (size_t q = 0; q < set.size(); ++q)
        if (std::find(active[t].begin(), active[t].end(), set[q]) != active[t].end())
          right[static_cast<size_t>(previous[q]) * L + static_cast<size_t>(current[q])] += score[q];
      const std::vector<double> reached = draw_scores(draw, L);
      const LatticeStep<double> one{&lattice, reached.data(), best.data(), &work};
      max_step<double>(t, {&one, 1}, arena);
      const float* const outs = lattice.best_outs(t, {}, edges.reach(), arena);
      for (size_t i = 0; i < L; ++i) {
        lattice.row(t, i, row.data());
        lattice.column(t, i, column.data());
        double most = kForbidden;
        for (size_t j = 0; j < L; ++j) {
          CHECK(lattice.edge(t, i, j) == right[i * L + j] && row[j] == right[i * L + j]);
          CHECK(column[j] == right[j * L + i]);
          CHECK(static_cast<double>(outs[i]) >= right[i * L + j]);
          most = std::max(most, reached[j] + right[j * L + i]);
        }
        CHECK(best[i] == most);
      }
    }
  }
}

}  // namespace
}  // namespace tagwright
