"""Sums over paths: exact and sparse forward-backward, and beams that keep labels by the same rules."""

import math
import os

import numpy as np
import pytest
from support.brute_force import Case, all_paths, paths
from support.checks import check_paths
from support.lattices import FORMS, PATTERNS, SCORES, draw_case, draw_many, draw_shape
from support.refused import EDGES, NODES, REFUSED, bad
from support.sums import beam, bits, enumerated, exact, log_sum, sparse

import tagwright as tw

# Lattices of each form, kind of score and ngram: 144 * 15 = 2160.
EACH = max(1, int(os.environ.get("TAGWRIGHT_LATTICES", "150")) // 10)

RULES = [
    ("KeepDivergence", 0.5),
    ("KeepDivergence", 0.01, 3),
    ("KeepDivergence", 1e-4),
    ("KeepSize", 1),
    ("KeepSize", 2),
    ("KeepSize", 5),
    ("KeepRatio", 1.0),
    ("KeepRatio", 0.3),
    ("KeepRatio", 1e-3),
]


def make(rule):
    name, *options = rule
    return getattr(tw, name)(*options)


def marginals(case, keep=None, with_edges=True):
    return tw.marginals(case.nodes, case.edges, keep, with_edges=with_edges, active=case.active)


def plain(nodes, steps, edges=None, start=None, stop=None):
    """A case of one matrix or of one matrix a step."""
    nodes, steps = np.asarray(nodes, dtype=float), np.asarray(steps, dtype=float)
    T, L = nodes.shape
    start, stop = (np.zeros(L) if own is None else np.asarray(own, dtype=float) for own in (start, stop))
    given = tw.Edges(steps, start=start, stop=stop) if edges is None else edges
    return Case(nodes, given, None, np.broadcast_to(steps, (max(T - 1, 0), L, L)), start, stop)


def check(found, truth, within=1e-9):
    check_sound(found, *truth.nodes.shape)
    assert found.log_z == pytest.approx(truth.log_z, rel=1e-12, abs=within)
    np.testing.assert_allclose(found.nodes, truth.nodes, rtol=0, atol=within)
    np.testing.assert_allclose(found.edges, truth.edges, rtol=0, atol=within)
    # Each label's share is what comes in and what goes out.
    np.testing.assert_allclose(found.edges.sum(axis=2), found.nodes[:-1], rtol=0, atol=within)
    np.testing.assert_allclose(found.edges.sum(axis=1), found.nodes[1:], rtol=0, atol=within)
    assert found.kept.tolist() == truth.kept.tolist()


def check_sound(found, T, L):
    """What holds of any marginals with edges: shapes, and probabilities that sum to one."""
    assert math.isfinite(found.log_z)
    assert found.nodes.dtype == found.edges.dtype == np.float64
    assert (found.nodes.shape, found.edges.shape) == ((T, L), (max(T - 1, 0), L, L))
    assert found.kept.shape == (T,)
    assert np.issubdtype(found.kept.dtype, np.integer)
    for own, axes in ((found.nodes, 1), (found.edges, (1, 2))):
        assert (own >= 0).all()
        assert (own <= 1 + 1e-9).all()
        np.testing.assert_allclose(own.sum(axis=axes), 1, rtol=0, atol=1e-9)


# Exact sums


@pytest.mark.slow
@pytest.mark.parametrize("ngram", PATTERNS)
@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("form", FORMS)
def test_exact_sums_are_those_of_all_paths(form, kind, ngram):
    rng = np.random.default_rng([1, FORMS.index(form), SCORES.index(kind), PATTERNS.index(ngram)])
    for _ in range(EACH):
        case = draw_case(rng, form, kind, ngram, *draw_shape(rng))
        truth = enumerated(case)
        if truth is None:
            with pytest.raises(ValueError, match="no path"):
                marginals(case)
            continue
        found = marginals(case)
        labels, scores = paths(case)
        for t, y in enumerate(labels):  # a label on no path has exactly nothing
            assert (np.delete(found.nodes[t], y) == 0).all()
        if kind == "mixed":
            check_mixed(case, found, truth, labels, scores)
        else:
            check(found, truth)


def check_mixed(case, found, truth, labels, scores):
    """Scores to 1e16 leave the sum of a path, however it is added, wrong by about 1: what two such paths weigh against
    each other is rounding. log Z holds relative to that size, and a path far enough ahead has all the weight."""
    check_sound(found, *case.nodes.shape)
    parts = case.nodes.astype(float), case.steps, case.start, case.stop
    size = sum(abs(part[np.isfinite(part)]).max(initial=0) * max(len(case.nodes), 1) for part in parts)
    assert abs(found.log_z - truth.log_z) <= 1e-9 + 1e-13 * size
    best = scores.argmax()
    if (scores[best] - np.delete(scores, best) > 50 + 1e-12 * size).all():
        np.testing.assert_allclose(found.nodes, np.eye(case.nodes.shape[1])[labels[:, best]], rtol=0, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["real", "float32"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("L", [10, 63, 64, 65, 300])
def test_exact_sums_with_more_labels(L, form, kind):
    rng = np.random.default_rng([2, L, FORMS.index(form), SCORES.index(kind)])
    for ngram in ["none"] if L == 300 else ["none", "scattered", "bio"]:
        case = draw_case(rng, form, kind, ngram, int(rng.integers(2, 21)), L)
        truth = exact(case)
        if truth is None:
            with pytest.raises(ValueError, match="no path"):
                marginals(case)
        else:
            check(marginals(case), truth)


def uphill(rng, L, low):
    """A lattice where each column's heaviest label has exceptions, low ones, to just the labels the next column allows:
    subtracting the heavy label's share of a sum over all labels by subtracting it keeps no digit of the rest."""
    T, default = 9, float(rng.choice([0.0, -1.5, 2.0]))
    matrix = np.full((L, L), default)
    hot = rng.permutation(L)[: min(T, L // 2)][np.arange(T) % min(T, L // 2)]
    matrix[rng.random((L, L)) < 0.1] = default + 1.0
    nodes = rng.normal(size=(T, L))
    for t in range(T - 1):
        matrix[hot[t], rng.random(L) < 0.5] = default + low
        matrix[hot[t], hot[(t + 1) % T]] = default + low
    nodes[np.arange(T), hot] += min(-low, 45.0)  # the hot label weighs as much as the others, or far too much
    for t in range(1, T):
        nodes[t, matrix[hot[t - 1]] != default + low] = -np.inf
    return nodes, matrix, default


@pytest.mark.slow
@pytest.mark.parametrize("form", ["dense", "sparse", "exceptions", "corrections", "steps"])
@pytest.mark.parametrize("low", [-30.0, -60.0, -np.inf])
@pytest.mark.parametrize("L", [6, 10, 64, 300])
def test_exceptions_far_below_the_default(L, low, form):
    rng = np.random.default_rng([3, L, int(min(-low, 99))])
    for _ in range(4 if L < 300 else 1):
        nodes, matrix, default = uphill(rng, L, low)
        for turned in (False, True):  # the same from right to left
            own = nodes[::-1] if turned else nodes
            scores = matrix.T if turned else matrix
            i, j = np.nonzero(scores != default)
            on = None
            if form == "exceptions":
                edges = tw.Edges.from_exceptions(L, default, i, j, scores[i, j])
            elif form == "corrections":
                i, j = np.nonzero(scores == default + low)
                table = np.zeros_like(i), i, j, np.full(len(i), low)
                base = np.where(scores == default + low, default, scores)
                edges = tw.Edges(base, sparse=True, corrections=table)
                on = [[0]] * (len(own) - 1)
            elif form == "steps":
                edges = tw.Edges(np.stack([scores] * (len(own) - 1)))
            else:
                edges = tw.Edges(scores, sparse=form == "sparse")
            case = plain(own, scores, edges)._replace(active=on)
            truth = exact(case)
            if truth is None:
                with pytest.raises(ValueError, match="no path"):
                    marginals(case)
            else:
                check(marginals(case), truth)


@pytest.mark.parametrize("seed", range(20))
def test_all_paths_together_are_one(seed):
    rng = np.random.default_rng([4, seed])
    for _ in range(5):
        T, L = draw_shape(rng, most_labels=5)
        case = draw_case(rng, FORMS[seed % 6], SCORES[seed % 3], "scattered", T, L)
        count = len(all_paths(case))
        if not count:
            continue
        found = marginals(case)
        best = tw.decode(case.nodes, case.edges, count + 3, "viterbi", active=case.active).paths
        assert len(best) == count
        assert best[0].score <= found.log_z + 1e-9
        weights = [math.exp(path.score - found.log_z) for path in best]
        assert math.fsum(weights) == pytest.approx(1, abs=1e-9)
        nodes = np.zeros((T, L))
        for path, weight in zip(best, weights, strict=True):
            nodes[np.arange(T), path.labels] += weight
        np.testing.assert_allclose(found.nodes, nodes, rtol=0, atol=1e-9)


def test_edges_come_on_request():
    assert tw.marginals(NODES, EDGES).edges is None
    found = tw.marginals(NODES, EDGES, with_edges=True)
    assert found.edges.shape == (2, 3, 3)
    np.testing.assert_allclose(found.nodes, tw.marginals(NODES, EDGES).nodes, rtol=0, atol=1e-12)
    assert found.log_z == pytest.approx(tw.marginals(NODES, EDGES).log_z, abs=1e-12)


def test_arrays_lists_and_prepared_edges_give_the_same():
    truth = exact(plain(NODES, EDGES))
    for nodes in (NODES, NODES.tolist(), NODES.astype("f4"), np.asfortranarray(NODES), NODES.repeat(2, axis=0)[::2]):
        for edges in (EDGES, EDGES.tolist(), EDGES.astype("f4"), np.stack([EDGES, EDGES]), tw.Edges(EDGES)):
            check(tw.marginals(nodes, edges, with_edges=True), truth)


@pytest.mark.parametrize("keep", [None, *RULES])
@pytest.mark.parametrize("L", [1, 2, 64])
def test_no_tokens(keep, L):
    edges = tw.Edges(np.zeros((L, L)), start=np.full(L, -np.inf), stop=np.ones(L))
    found = tw.marginals(np.zeros((0, L)), edges, keep and make(keep), with_edges=True)
    assert found.log_z == 0.0
    assert (found.nodes.shape, found.edges.shape, found.kept.shape) == ((0, L), (0, L, L), (0,))


def test_one_token():
    start, stop = np.array([0.5, -1.0, 2.0]), np.array([1.0, 4.0, -np.inf])
    found = tw.marginals(NODES[:1], tw.Edges(EDGES, start=start, stop=stop), with_edges=True)
    weights = np.exp(NODES[0] + start + stop)
    assert found.log_z == pytest.approx(math.log(weights.sum()), abs=1e-12)
    np.testing.assert_allclose(found.nodes, weights[None] / weights.sum(), rtol=0, atol=1e-12)
    assert found.edges.shape == (0, 3, 3)


@pytest.mark.parametrize("keep", [None, *RULES])
def test_one_label(keep):
    nodes = np.arange(5.0)[:, None] * 1000
    found = tw.marginals(nodes, tw.Edges([[-7.0]], start=[1.0], stop=[2.0]), keep and make(keep), with_edges=True)
    assert found.log_z == pytest.approx(10_000 - 4 * 7 + 3, abs=1e-9)
    np.testing.assert_allclose(found.nodes, 1, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.edges, 1, rtol=0, atol=1e-12)
    assert found.kept.tolist() == [1] * 5


# Extremes


def draw_extreme(rng, shape):
    """Scores about 1e4 and -1e4 and 0: exp() of their differences is nothing or too much."""
    return rng.choice([-1e4, 0.0, 0.0, 1e4], size=shape) + rng.normal(size=shape)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["dense", "sparse", "steps"])
@pytest.mark.parametrize("L", [2, 5, 33, 70])
@pytest.mark.parametrize("where", ["nodes", "edges", "both", "range"])
def test_scores_far_apart(where, L, form):
    rng = np.random.default_rng([5, L, len(where), len(form)])
    for _ in range(10):
        T = int(rng.integers(1, 12))
        shape = (T - 1, L, L) if form == "steps" else (L, L)
        nodes = draw_extreme(rng, (T, L)) if where in ("nodes", "both") else rng.normal(size=(T, L))
        scores = draw_extreme(rng, shape) if where in ("edges", "both") else rng.normal(size=shape)
        if where == "range":
            scores = rng.uniform(-1e4, 1e4, size=shape)
        start, stop = draw_extreme(rng, (2, L))
        if form == "sparse":
            scores[rng.random(shape) < 0.7] = -1e4
        options = {} if form == "steps" else {"sparse": form == "sparse"}
        case = plain(nodes, scores, tw.Edges(scores, start=start, stop=stop, **options), start, stop)
        # Path scores to 3e5 are rounded in their eleventh place behind the point, here and there.
        check(marginals(case), exact(case), within=1e-8)
        rule = RULES[int(rng.integers(len(RULES)))]
        truth = sparse(case, rule, close=1e-7)
        if not truth.close:
            check(marginals(case, make(rule)), truth, within=1e-8)


@pytest.mark.parametrize("form", ["dense", "sparse", "exceptions", "steps"])
@pytest.mark.parametrize("depth", [30.0, 700.0, 740.0, 750.0, 5000.0, 1e6])
@pytest.mark.parametrize("L", [3, 8, 50])
def test_the_only_way_may_start_far_below(L, depth, form):
    """Label 1 starts e^-depth below all others, and only 1 -> 1 -> ... -> 1 reaches the last but one column."""
    T = 8
    rng = np.random.default_rng([6, L])
    nodes, matrix = rng.normal(size=(T, L)), np.full((L, L), -np.inf)
    matrix[1, 1] = 0.25
    others = np.arange(L) != 1
    matrix[np.ix_(others, others)] = 1.0
    nodes[1, 1] -= depth
    nodes[5, others] = -np.inf
    nodes[6:, 0] += depth  # what comes after the narrow place is as far above: but there is no way there
    i, j = np.nonzero(matrix > -np.inf)
    edges = {
        "dense": lambda: tw.Edges(matrix, sparse=False),
        "sparse": lambda: tw.Edges(matrix, sparse=True),
        "exceptions": lambda: tw.Edges.from_exceptions(L, -np.inf, i, j, matrix[i, j]),
        "steps": lambda: tw.Edges(np.stack([matrix] * (T - 1))),
    }[form]()
    case = plain(nodes, matrix, edges)
    found = marginals(case)
    check(found, exact(case))
    np.testing.assert_allclose(found.nodes[:, 1], 1, rtol=0, atol=1e-9)
    assert found.log_z == pytest.approx(nodes[:, 1].sum() + 0.25 * (T - 1), rel=1e-12)
    check(marginals(case, tw.KeepSize(L)), sparse(case, ("KeepSize", L)))
    if depth > 100:
        with pytest.raises(ValueError, match="keep"):
            marginals(case, tw.KeepDivergence(1e-6))


@pytest.mark.parametrize("depth", [700.0, 750.0, 5000.0])
def test_two_ways_far_below_keep_their_proportions(depth):
    """Labels 1 and 2 continue where label 0, far above them both at first, does not."""
    nodes = np.array([[0.0, -depth, -depth + 1], [0.0, 0.0, 0.0], [-np.inf, 0.0, 0.0]])
    edges = np.where(np.eye(3) > 0, 0.0, -np.inf)
    case = plain(nodes, edges)
    found = marginals(case)
    check(found, exact(case))
    share = 1 / (1 + math.e)
    np.testing.assert_allclose(found.nodes, [[0, share, 1 - share]] * 3, rtol=0, atol=1e-9)


def test_columns_that_shift_by_any_amount():
    """A constant added to a column moves log Z by it and nothing else."""
    rng = np.random.default_rng(7)
    nodes, edges = rng.normal(size=(30, 20)), rng.normal(size=(20, 20))
    still = tw.marginals(nodes, edges, with_edges=True)
    moves = rng.choice([-3e4, -1000.0, 1000.0, 3e4], size=30)
    moved = tw.marginals(nodes + moves[:, None], edges, with_edges=True)
    assert moved.log_z == pytest.approx(still.log_z + moves.sum(), abs=1e-8)
    np.testing.assert_allclose(moved.nodes, still.nodes, rtol=0, atol=1e-8)
    np.testing.assert_allclose(moved.edges, still.edges, rtol=0, atol=1e-8)


def test_long_sentences_neither_overflow_nor_underflow():
    rng = np.random.default_rng(8)
    case = plain(rng.normal(scale=5, size=(3000, 4)), rng.normal(scale=5, size=(4, 4)))
    check(marginals(case), exact(case), within=1e-8)


def test_the_largest_scores():
    huge = NODES.copy()
    huge[1, 2] = 9e289
    found = tw.marginals(huge, EDGES, with_edges=True)
    check_sound(found, 3, 3)
    assert found.log_z == pytest.approx(9e289, rel=1e-12)
    np.testing.assert_allclose(found.nodes[1], [0, 0, 1], rtol=0, atol=1e-12)
    huge[1, 2] = -9e289
    forbidden = np.where(huge == -9e289, -np.inf, NODES)
    check(tw.marginals(huge, EDGES, with_edges=True), exact(plain(forbidden, EDGES)))


# Rules


def test_rules_on_one_column():
    """Beliefs are .5, .3, .15 and .05, in another order, and one label is forbidden."""
    weights = np.array([0.15, 0.5, 0.0, 0.05, 0.3])
    with np.errstate(divide="ignore"):
        nodes = np.log(weights)[None] + 3
    for rule, kept in [
        (tw.KeepSize(1), 1),
        (tw.KeepSize(3), 3),
        (tw.KeepSize(99), 4),
        (tw.KeepRatio(1.0), 1),
        (tw.KeepRatio(0.61), 1),
        (tw.KeepRatio(0.59), 2),
        (tw.KeepRatio(0.29), 3),
        (tw.KeepRatio(1e-300), 4),
        (tw.KeepDivergence(9.0), 1),
        (tw.KeepDivergence(-math.log(0.49)), 1),
        (tw.KeepDivergence(-math.log(0.51)), 2),
        (tw.KeepDivergence(-math.log(0.79)), 2),
        (tw.KeepDivergence(-math.log(0.81)), 3),
        (tw.KeepDivergence(-math.log(0.96)), 4),
        (tw.KeepDivergence(0.0), 4),
        (tw.KeepDivergence(9.0, at_least=3), 3),
        (tw.KeepDivergence(-math.log(0.96), at_least=2), 4),
        (tw.KeepDivergence(9.0, at_least=99), 4),
    ]:
        found = tw.marginals(nodes, np.zeros((5, 5)), rule)
        expected = np.where(weights >= np.sort(weights)[-kept], weights, 0)
        assert found.kept.tolist() == [kept]
        assert found.log_z == pytest.approx(math.log(expected.sum()) + 3, abs=1e-12)
        np.testing.assert_allclose(found.nodes[0], expected / expected.sum(), rtol=0, atol=1e-12)


@pytest.mark.parametrize("edges", [np.zeros((8, 8)), tw.Edges(np.zeros((8, 8)), sparse=False), np.zeros((4, 8, 8))])
def test_the_lower_of_equal_labels_is_kept(edges):
    kept = [(tw.KeepSize(n), n) for n in range(1, 9)]
    kept += [(tw.KeepDivergence(math.log(2) + 1e-6), 4), (tw.KeepDivergence(9.0, at_least=3), 3)]
    for rule, n in kept:
        found = tw.marginals(np.zeros((5, 8)), edges, rule, with_edges=True)
        assert found.kept.tolist() == [n] * 5
        assert found.log_z == pytest.approx(5 * math.log(n), abs=1e-9)
        np.testing.assert_allclose(found.nodes, [np.repeat([1 / n, 0], [n, 8 - n])] * 5, rtol=0, atol=1e-12)


def test_a_label_comes_back_in_on_the_way_back():
    """From the left label 0 looks best, but label 1 has the better edges: the way back finds it."""
    nodes, edges = [[1.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [5.0, 5.0]]
    found = tw.marginals(nodes, edges, tw.KeepSize(1), with_edges=True)
    assert found.log_z == pytest.approx(5.0, abs=1e-12)
    assert found.kept.tolist() == [1, 1]
    np.testing.assert_allclose(found.nodes, [[0, 1], [1, 0]], rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.edges, [[[0, 0], [1, 0]]], rtol=0, atol=1e-12)


def test_the_stop_scores_count_in_the_last_column():
    edges = tw.Edges(np.zeros((3, 3)), start=[0, 5, 0], stop=[9, 0, 0])
    found = tw.marginals(NODES, edges, tw.KeepSize(1))
    np.testing.assert_allclose(found.nodes, [[0, 1, 0], [0, 1, 0], [1, 0, 0]], rtol=0, atol=1e-12)


def compare_rule(case, rule):
    """Compare with the reference; whether it was left out because rounding may decide."""
    truth = sparse(case, rule)
    if truth is None:
        # Whoever forbids everything, the scores or what was kept of them, is named.
        with pytest.raises(ValueError, match=r"keep|no path" if exact(case) is None else "keep"):
            marginals(case, make(rule))
        return False
    if truth.close:
        return True
    found = marginals(case, make(rule))
    check(found, truth)
    assert ((found.nodes > 0).sum(axis=1) <= found.kept).all()
    return False


@pytest.mark.slow
@pytest.mark.parametrize("ngram", PATTERNS)
@pytest.mark.parametrize("kind", ["real", "float32"])
@pytest.mark.parametrize("form", FORMS)
def test_rules_keep_what_the_reference_keeps(form, kind, ngram):
    rng = np.random.default_rng([9, FORMS.index(form), SCORES.index(kind), PATTERNS.index(ngram)])
    left_out = total = 0
    for _ in range(max(1, EACH // 2)):
        case = draw_case(rng, form, kind, ngram, *draw_shape(rng))
        for rule in RULES:
            left_out += compare_rule(case, rule)
            total += 1
    assert left_out < 0.05 * total


@pytest.mark.slow
@pytest.mark.parametrize("ngram", PATTERNS)
@pytest.mark.parametrize("form", FORMS)
def test_rules_keep_what_the_reference_keeps_of_more_labels(form, ngram):
    rng = np.random.default_rng([10, FORMS.index(form), PATTERNS.index(ngram)])
    left_out = total = 0
    for most in (20, 70, 100):
        case = draw_case(rng, form, "real", ngram, int(rng.integers(1, 12)), int(rng.integers(10, most + 1)))
        for rule in [*RULES, ("KeepSize", 12), ("KeepDivergence", 0.05, 8)]:
            left_out += compare_rule(case, rule)
            total += 1
    assert left_out < 0.1 * total


@pytest.mark.parametrize("form", FORMS)
def test_what_is_kept_never_sums_to_more_than_all(form):
    rng = np.random.default_rng([11, FORMS.index(form)])
    for _ in range(30):
        L = int(rng.integers(1, 40))
        case = draw_case(rng, form, SCORES[int(rng.integers(3))], "scattered", int(rng.integers(0, 10)), L)
        truth = exact(case)
        if truth is None:
            continue
        whole = marginals(case)
        for n in (1, 2, 3, 5, 8, 13, 21, 34):
            try:
                found = marginals(case, tw.KeepSize(n))
            except ValueError as error:
                assert "keep" in str(error)  # noqa: PT017 - only some lattices are lost
                continue
            assert found.log_z <= whole.log_z + 1e-9
            assert (found.kept <= n).all()
            check_sound(found, *case.nodes.shape)
        everything = marginals(case, tw.KeepSize(L))
        check(everything, truth._replace(kept=everything.kept))
        for t, kept in enumerate(everything.kept):  # those on some path
            assert (truth.nodes[t] > 1e-300).sum() <= kept <= (case.nodes[t] > -np.inf).sum()


def test_rules_that_keep_everything_are_exact():
    rng = np.random.default_rng(12)
    for _ in range(50):
        case = plain(rng.normal(size=(6, 9)), rng.normal(size=(9, 9)))
        for rule in (tw.KeepDivergence(0.0), tw.KeepRatio(1e-300), tw.KeepSize(9), tw.KeepDivergence(1.0, at_least=9)):
            check(marginals(case, rule), exact(case))


def test_a_rule_that_loses_every_path_is_an_error():
    nodes, edges = [[1.0, 0.0], [0.0, 0.0]], [[-np.inf, -np.inf], [0.0, 0.0]]
    for rule in (tw.KeepSize(1), tw.KeepRatio(0.5), tw.KeepDivergence(1.0)):
        with pytest.raises(ValueError, match="keep"):
            tw.marginals(nodes, edges, rule)
    for rule in (None, tw.KeepSize(2), tw.KeepRatio(0.3), tw.KeepDivergence(0.1), tw.KeepDivergence(1.0, at_least=2)):
        found = tw.marginals(nodes, edges, rule)
        assert found.log_z == pytest.approx(math.log(2), abs=1e-12)
        np.testing.assert_allclose(found.nodes, [[0, 1], [0.5, 0.5]], rtol=0, atol=1e-12)


def test_rules_are_values():
    assert tw.KeepDivergence(0.1) == tw.KeepDivergence(0.1, at_least=1)
    assert len({tw.KeepSize(3), tw.KeepSize(3), tw.KeepSize(4), tw.KeepRatio(0.5)}) == 3
    with pytest.raises(AttributeError):
        tw.KeepSize(3).n = 4


@pytest.mark.parametrize(
    "make_rule",
    [
        lambda: tw.KeepDivergence(-1e-9),
        lambda: tw.KeepDivergence(math.nan),
        lambda: tw.KeepDivergence(0.1, at_least=0),
        lambda: tw.KeepDivergence(0.1, at_least=-3),
        lambda: tw.KeepSize(0),
        lambda: tw.KeepSize(-1),
        lambda: tw.KeepRatio(0.0),
        lambda: tw.KeepRatio(-0.5),
        lambda: tw.KeepRatio(1.0001),
        lambda: tw.KeepRatio(math.nan),
        lambda: tw.KeepRatio(math.inf),
        lambda: tw.KeepRatio(np.complex128(1)),
        lambda: tw.KeepDivergence(np.timedelta64(1, "s")),
    ],
)
def test_rules_with_bad_options_are_refused(make_rule):
    with pytest.raises(ValueError, match=r"must|not"):
        make_rule()


# What is refused


@pytest.mark.parametrize(
    ("nodes", "edges", "options", "message"),
    [
        *REFUSED,
        (NODES[0], EDGES, {}, r"must have shape \(T, L\), not \(3,\)"),
        (NODES, np.full((3, 3), -np.inf), {}, "no path"),
        (np.full((3, 3), -np.inf), EDGES, {}, "no path"),
        (NODES, tw.Edges(EDGES, start=[-np.inf] * 3), {}, "no path"),
        (NODES, tw.Edges(EDGES, stop=[-np.inf] * 3), {}, r"path|stop"),
        (NODES, EDGES, {"pruning": 3}, "KeepDivergence"),
        (NODES, EDGES, {"pruning": 0}, "KeepDivergence"),
        (NODES, EDGES, {"pruning": "size:3"}, "KeepDivergence"),
        (NODES, EDGES, {"pruning": tw.Beam(width=3)}, "KeepDivergence"),
        ([["a", "b", "c"]], EDGES, {}, "must hold numbers"),
    ],
)
def test_bad_input_is_refused(nodes, edges, options, message):
    with pytest.raises(ValueError, match=message):
        tw.marginals(nodes, edges, **options)
    batch = {key: [own] if key == "active" else own for key, own in options.items()}
    with pytest.raises(ValueError, match=message):
        tw.marginals_batch([nodes], edges, **batch)


def test_a_batch_names_the_sentence_in_trouble():
    with pytest.raises(ValueError, match=r"sentence 1: .* token 0, label 1"):
        tw.marginals_batch([NODES, bad(NODES, (0, 1), np.nan)], EDGES)
    with pytest.raises(ValueError, match="sentence 1: no path"):
        tw.marginals_batch([NODES, np.full((2, 3), -np.inf), NODES, np.full((5, 3), -np.inf)], EDGES)
    with pytest.raises(ValueError, match="threads must be"):
        tw.marginals_batch([NODES], EDGES, threads=0)
    with pytest.raises(ValueError, match="active for 0"):
        tw.marginals_batch([NODES], EDGES, active=[])


# The same answer everywhere


@pytest.mark.parametrize("keep", [None, ("KeepDivergence", 0.01, 2), ("KeepSize", 4), ("KeepRatio", 0.01)])
@pytest.mark.parametrize("form", ["dense", "sparse", "corrections"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_batches_and_threads_change_no_bit(dtype, form, keep):
    rng = np.random.default_rng(14)
    keep = keep and make(keep)
    for L in (7, 130):
        nodes, edges, on = draw_many(rng, form, dtype, L)
        alone = [tw.marginals(own, edges, keep, active=None if on is None else on[s]) for s, own in enumerate(nodes)]
        for threads in (1, 2, 5):
            together = tw.marginals_batch(nodes, edges, keep, threads=threads, active=on)
            assert all(found.edges is None for found in together)
            assert [bits(found) for found in together] == [bits(found) for found in alone]


def test_an_empty_batch():
    assert tw.marginals_batch([], EDGES) == []
    assert tw.marginals_batch([], EDGES, tw.KeepSize(2), threads=3) == []


def test_sentences_of_both_precisions_in_a_batch():
    batch = tw.marginals_batch([NODES, NODES.astype("f4")], EDGES)
    assert batch[0].log_z == pytest.approx(batch[1].log_z, abs=1e-12)
    np.testing.assert_allclose(batch[0].nodes, batch[1].nodes, rtol=0, atol=1e-12)


def test_the_same_call_gives_the_same_bits():
    rng = np.random.default_rng(16)
    nodes, edges = rng.normal(size=(9, 40)), tw.Edges(rng.normal(size=(40, 40)))
    for keep in (None, tw.KeepDivergence(0.01), tw.KeepSize(6)):
        first = tw.marginals(nodes, edges, keep, with_edges=True)
        tw.marginals(nodes[:4], edges)
        assert bits(tw.marginals(nodes, edges, keep, with_edges=True)) == bits(first)


# Beams that keep labels by a rule


def decode(case, k, decoder):
    return tw.decode(case.nodes, case.edges, k, decoder, active=case.active)


def check_beam(case, rule, k, close):
    """Compare a beam with the reference; whether it was left out because rounding may decide."""
    truth, near = beam(case, rule, k, close)
    if near:
        return True
    decoder = tw.Beam(pruning=make(rule))
    if not truth:
        with pytest.raises(ValueError, match="path"):
            decode(case, k, decoder)
        return False
    found = decode(case, k, decoder)
    assert not found.exact
    check_paths(case, found, k)
    assert [path.score for path in found.paths] == pytest.approx(truth, rel=1e-12, abs=1e-9)
    return False


@pytest.mark.slow
@pytest.mark.parametrize("ngram", PATTERNS)
@pytest.mark.parametrize("kind", ["real", "ties"])
@pytest.mark.parametrize("form", FORMS)
def test_beams_find_what_the_reference_finds(form, kind, ngram):
    rng = np.random.default_rng([17, FORMS.index(form), SCORES.index(kind), PATTERNS.index(ngram)])
    left_out = total = 0
    for draw in range(max(1, EACH // 2)):
        shape = draw_shape(rng) if draw % 3 else (int(rng.integers(1, 9)), int(rng.integers(10, 60)))
        case = draw_case(rng, form, kind, ngram, *shape)
        for rule in RULES:
            # Whole scores are summed without rounding: equal ones are equal, and the lower label goes first.
            left_out += check_beam(case, rule, int(rng.choice([1, 1, 2, 5])), 1e-9 if kind == "real" else 0.0)
            total += 1
    assert left_out < 0.05 * total


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["real", "ties"])
def test_a_beam_of_n_labels_is_a_beam_of_width_n(kind, form):
    rng = np.random.default_rng([18, FORMS.index(form), SCORES.index(kind)])
    for draw in range(40):
        case = draw_case(rng, form, kind, "none", int(rng.integers(0, 9)), int(rng.integers(1, 30)))
        for n in (1, 2, 3, 8, 40):
            try:
                wide = decode(case, 1, tw.Beam(width=n))
            except ValueError:  # edges of -inf
                with pytest.raises(ValueError, match="path"):
                    decode(case, 1, tw.Beam(pruning=tw.KeepSize(n)))
                continue
            found = decode(case, 1, tw.Beam(pruning=tw.KeepSize(n)))
            assert [path.score for path in found.paths] == [path.score for path in wide.paths], (draw, n)
            assert not found.exact


@pytest.mark.parametrize("form", FORMS)
def test_a_beam_that_keeps_everything_finds_the_best(form):
    rng = np.random.default_rng([19, FORMS.index(form)])
    for _ in range(30):
        T, L = int(rng.integers(0, 7)), int(rng.integers(1, 20))
        case = draw_case(rng, form, "ties", "scattered", T, L)
        try:
            best = decode(case, 3, "viterbi")
        except ValueError:
            continue
        for rule in (tw.KeepDivergence(0.0), tw.KeepRatio(1e-300), tw.KeepSize(L), tw.KeepDivergence(9.0, at_least=L)):
            for k in (1, 3):
                found = decode(case, k, tw.Beam(pruning=rule))
                assert [path.score for path in found.paths] == [path.score for path in best.paths[:k]]
                assert not found.exact
                check_paths(case, found, k)


def test_a_beam_chooses_without_the_stop_scores():
    """Label 0 is ahead until the stop scores, which a beam that has dropped label 1 cannot use."""
    edges = tw.Edges(np.zeros((2, 2)), stop=[0.0, 9.0])
    nodes = [[1.0, 0.0], [1.0, 0.0]]
    assert tw.decode(nodes, edges, decoder=tw.Beam(pruning=tw.KeepSize(1))).paths[0].score == 2.0
    assert tw.decode(nodes, edges, decoder=tw.Beam(pruning=tw.KeepRatio(0.5))).paths[0].score == 2.0
    assert tw.decode(nodes, edges, decoder=tw.Beam(pruning=tw.KeepRatio(0.3))).paths[0].score == 10.0
    # e / (e + 1) is 0.731, and -log of it 0.313.
    assert tw.decode(nodes, edges, decoder=tw.Beam(pruning=tw.KeepDivergence(0.32))).paths[0].score == 2.0
    assert tw.decode(nodes, edges, decoder=tw.Beam(pruning=tw.KeepDivergence(0.31))).paths[0].score == 10.0
    assert tw.decode(nodes, edges, decoder=tw.Beam(pruning=tw.KeepDivergence(0.32, at_least=2))).paths[0].score == 10.0


def test_beams_of_far_scores_stay_right():
    rng = np.random.default_rng(20)
    left_out = 0
    for _ in range(100):
        T, L = int(rng.integers(1, 9)), int(rng.integers(1, 12))
        case = plain(draw_extreme(rng, (T, L)), draw_extreme(rng, (L, L)))
        left_out += sum(check_beam(case, rule, 2, 1e-7) for rule in RULES)
    assert left_out < 0.3 * 100 * len(RULES)  # labels out of sight


@pytest.mark.parametrize("kind", ["real", "ties"])
def test_k_best_of_a_beam_with_a_rule_are_distinct_and_in_order(kind):
    rng = np.random.default_rng([21, SCORES.index(kind)])
    for _ in range(30):
        case = draw_case(rng, "dense", kind, "none", 6, 12)
        for rule in (tw.KeepSize(4), tw.KeepDivergence(0.1, at_least=2), tw.KeepRatio(0.05)):
            found = decode(case, 10, tw.Beam(pruning=rule))
            check_paths(case, found, 10)
            # The columns' ways of two labels each are more than ten.
            assert len(found.paths) == 10 or rule == tw.KeepRatio(0.05)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("beam:divergence:0.001:4", ("KeepDivergence", 0.001, 4)),
        ("beam:divergence:0.5", ("KeepDivergence", 0.5)),
        ("beam:divergence:0", ("KeepDivergence", 0.0)),
        ("beam:size:8", ("KeepSize", 8)),
        ("beam:size:1", ("KeepSize", 1)),
        ("beam:ratio:0.001", ("KeepRatio", 0.001)),
        ("beam:ratio:1e-3", ("KeepRatio", 1e-3)),
        ("beam:ratio:1", ("KeepRatio", 1.0)),
    ],
)
def test_beams_as_text(text, rule):
    rng = np.random.default_rng(22)
    for _ in range(20):
        nodes, edges = rng.normal(size=(7, 30)), rng.normal(size=(30, 30))
        by_text = tw.decode(nodes, edges, 3, text)
        by_object = tw.decode(nodes, edges, 3, tw.Beam(pruning=make(rule)))
        assert by_text.work == by_object.work
        assert [path.score for path in by_text.paths] == [path.score for path in by_object.paths]
        assert not by_text.exact


@pytest.mark.parametrize(
    "text",
    [
        "beam:divergence",
        "beam:divergence:",
        "beam:divergence:x",
        "beam:divergence:-1",
        "beam:divergence:nan",
        "beam:divergence:0.1:0",
        "beam:divergence:0.1:x",
        "beam:divergence:0.1:2:3",
        "beam:size",
        "beam:size:0",
        "beam:size:1.5",
        "beam:size:8:8",
        "beam:ratio:0",
        "beam:ratio:2",
        "beam:ratio:x",
        "beam:nonsense:1",
    ],
)
def test_bad_beams_as_text_are_refused(text):
    with pytest.raises(ValueError, match=r"\w"):
        tw.decode(NODES, EDGES, decoder=text)


def test_a_beam_keeps_by_a_rule_and_nothing_else():
    for keep in (3, "size:3", 0.5):
        with pytest.raises(ValueError, match="KeepDivergence"):
            tw.decode(NODES, EDGES, decoder=tw.Beam(pruning=keep))


def test_a_beam_with_a_rule_that_loses_its_way_is_an_error():
    nodes, edges = [[1.0, 0.0], [0.0, 0.0]], [[-np.inf, -np.inf], [0.0, 0.0]]
    for rule in (tw.KeepSize(1), tw.KeepRatio(0.5), tw.KeepDivergence(1.0)):
        with pytest.raises(ValueError, match="lost every path"):
            tw.decode(nodes, edges, decoder=tw.Beam(pruning=rule))
    assert tw.decode(nodes, edges, decoder=tw.Beam(pruning=tw.KeepSize(2))).paths[0].score == 0.0
    with pytest.raises(ValueError, match="no path"):
        tw.decode(NODES, np.full((3, 3), -np.inf), decoder=tw.Beam(pruning=tw.KeepSize(2)))


def test_batches_of_beams_with_a_rule():
    rng = np.random.default_rng(23)
    nodes, edges, _ = draw_many(rng, "sparse", "f8", 90)
    for rule in (tw.KeepDivergence(0.01, at_least=3), tw.KeepSize(5), tw.KeepRatio(0.01)):
        alone = [tw.decode(own, edges, 4, tw.Beam(pruning=rule)) for own in nodes]
        for threads in (1, 3):
            together = tw.decode_batch(nodes, edges, 4, tw.Beam(pruning=rule), threads=threads)
            for a, b in zip(alone, together, strict=True):
                assert a.work == b.work
                assert [path.score for path in a.paths] == [path.score for path in b.paths]
                assert all((p.labels == q.labels).all() for p, q in zip(a.paths, b.paths, strict=True))


# The reference itself


@pytest.mark.parametrize("form", FORMS)
def test_the_reference_sums_what_it_keeps(form):
    rng = np.random.default_rng([24, FORMS.index(form)])
    for _ in range(20):
        case = draw_case(rng, form, "real", PATTERNS[int(rng.integers(6))], *draw_shape(rng))
        whole, by_paths = exact(case), enumerated(case)
        assert (whole is None) == (by_paths is None) == (not all_paths(case))
        if whole is None:
            continue
        assert whole.log_z == pytest.approx(by_paths.log_z, abs=1e-9)
        assert float(log_sum(np.array([s for s, _ in all_paths(case)]))) == pytest.approx(by_paths.log_z, abs=1e-9)
        np.testing.assert_allclose(whole.nodes, by_paths.nodes, rtol=0, atol=1e-9)
        np.testing.assert_allclose(whole.edges, by_paths.edges, rtol=0, atol=1e-9)
        for rule in RULES:
            some = sparse(case, rule)
            if some is not None:
                restricted = np.where(some.nodes > 0, case.nodes.astype(float), -np.inf)
                truth = enumerated(case._replace(nodes=restricted))
                assert some.log_z == pytest.approx(truth.log_z, abs=1e-9)
                np.testing.assert_allclose(some.nodes, truth.nodes, rtol=0, atol=1e-9)
                np.testing.assert_allclose(some.edges, truth.edges, rtol=0, atol=1e-9)


def test_edges_of_huge_scores_are_finite():
    for seed in range(60):
        rng = np.random.default_rng(seed)
        scale = 10.0 ** rng.integers(15, 280)
        nodes, edges = scale * rng.normal(size=(12, 5)), scale * rng.normal(size=(5, 5))
        found = tw.marginals(nodes, edges, with_edges=True)
        assert np.isfinite(found.edges).all()
        np.testing.assert_allclose(found.edges.sum(axis=(1, 2)), 1, atol=1e-9)


def test_a_divergence_so_large_that_rounding_decides():
    for L in (1, 2, 29, 36, 44, 100):
        found = tw.marginals(np.zeros((3, L)), np.zeros((L, L)), tw.KeepDivergence(40.0))
        assert found.kept.tolist() == [1, 1, 1]


def banded(L, width, rng, default):
    """Edges between labels that are at most `width` apart."""
    previous = np.repeat(np.arange(L), 2 * width + 1)
    current = previous + np.tile(np.arange(-width, width + 1), L)
    inside = (current >= 0) & (current < L)
    previous, current = previous[inside], current[inside]
    scores = np.log(rng.uniform(0.1, 1, size=len(previous)))
    return previous, current, scores, tw.Edges.from_exceptions(L, default, previous, current, scores)


def test_sums_where_most_edges_are_forbidden_and_emissions_are_peaked():
    """Scaled factors underflow there; sums in the log domain are those of every path."""
    rng = np.random.default_rng(31)
    for _ in range(10):
        T, L = 5, 5
        previous, current, scores, edges = banded(L, 1, rng, -np.inf)
        matrix = np.full((L, L), -np.inf)
        matrix[previous, current] = scores
        for given in (edges, tw.Edges(matrix)):
            case = plain(-np.abs(rng.normal(scale=600, size=(T, L))), matrix, given)
            found = marginals(case)
            truth = exact(case)
            assert found.log_z == pytest.approx(truth.log_z, rel=1e-12)
            np.testing.assert_allclose(found.nodes, truth.nodes, atol=1e-9)
            np.testing.assert_allclose(found.edges, truth.edges, atol=1e-9)
            assert found.entropy == pytest.approx(entropy_of(case), abs=1e-8)


def entropy_of(case):
    scores = paths(case)[1]
    p = np.exp(scores - log_sum(scores))
    return float(-(p[p > 0] * np.log(p[p > 0])).sum())


def test_sums_where_most_edges_are_forbidden_visit_only_the_edges_that_exist():
    """Against a recursion over the bands. With 100,000 labels, visiting all pairs would take hours."""
    rng = np.random.default_rng(32)
    T, L, width = 6, 100_000, 2
    previous, current, scores, edges = banded(L, width, rng, -np.inf)
    nodes = -0.5 * (np.arange(L)[None, :] - np.cumsum(rng.integers(-1, 2, size=T))[:, None] - L / 2) ** 2
    band = np.full((2 * width + 1, L + 2 * width), -np.inf)  # [current - previous + width, previous + width]
    band[current - previous + width, previous + width] = scores
    columns = [nodes[0]]
    for t in range(1, T):
        before = np.pad(columns[-1], width, constant_values=-np.inf)
        reached = [np.roll(before + band[d], d - width)[width : L + width] for d in range(2 * width + 1)]
        columns.append(np.logaddexp.reduce(reached, axis=0) + nodes[t])
    found = tw.marginals(nodes, edges)
    log_z = np.logaddexp.reduce(columns[-1])
    assert found.log_z == pytest.approx(log_z, rel=1e-12)
    np.testing.assert_allclose(found.nodes[-1], np.exp(columns[-1] - log_z), atol=1e-9)
    np.testing.assert_allclose(found.nodes.sum(axis=1), 1, rtol=1e-9)


def test_keep_is_the_former_name_of_pruning():
    rule = tw.KeepSize(1)
    right = tw.marginals(NODES, EDGES, pruning=rule)
    with pytest.warns(DeprecationWarning, match="use pruning"):
        assert tw.marginals(NODES, EDGES, keep=rule).log_z == right.log_z
    with pytest.warns(DeprecationWarning, match="use pruning"):
        assert tw.marginals_batch([NODES], EDGES, keep=rule)[0].log_z == right.log_z
    with pytest.warns(DeprecationWarning, match="use pruning"):
        assert tw.Beam(keep=rule) == tw.Beam(pruning=rule)
