"""Deadlines and the gaps they leave, and `tw.paths`."""

import itertools

import numpy as np
import pytest
from support.max_sums import DECODERS, FORMS, NEVER, along, best_scores, check, draw_case, plain

import tagwright as tw
from tagwright.decoding.examples import model_like

# --- deadlines ---


@pytest.mark.parametrize("decoder", DECODERS)
def test_a_deadline_that_has_passed(decoder):
    rng = np.random.default_rng(11)
    for L, dtype in [(400, "f4"), (500, "f8"), (800, "f4")]:
        case = plain(rng.normal(size=(12, L)).astype(dtype), rng.normal(size=(L, L)).astype(dtype))
        best = best_scores(case, 1)[0]
        for k in (1, 5):
            found = tw.decode(case.nodes, case.edges, k, decoder, deadline=0)
            assert not found.exact
            assert 1 <= len(found.paths) <= k
            assert found.paths[0].score == pytest.approx(along(case, found.paths[0].labels).sum(), rel=1e-12)
            assert found.paths[0].score == tw.score(case.nodes, case.edges, found.paths[0].labels)
            assert 0 < best - found.paths[0].score <= found.gap + 1e-9  # random scores: it cannot be the best by luck
            assert found.gap < np.inf


def test_gaps_are_true_for_every_form():
    rng = np.random.default_rng(12)
    for form, kind, L in itertools.product(FORMS, ["peaked", "flat", "flat whole"], [9, 65, 129]):
        case = draw_case(rng, form, kind, int(rng.integers(1, 9)), L)
        if len(truth := best_scores(case, 1)) == 0:
            continue
        for k, decoder in itertools.product([1, 4], DECODERS):
            found = tw.decode(case.nodes, case.edges, k, decoder, active=case.active, deadline=0.0)
            assert found.exact == (found.gap == 0)
            assert -1e-9 <= truth[0] - found.paths[0].score <= found.gap + 1e-9
            assert along(case, found.paths[0].labels).sum() == pytest.approx(found.paths[0].score, abs=1e-9)


def test_deadlines_in_time():
    rng = np.random.default_rng(13)
    case = plain(rng.normal(size=(5, 300)), rng.normal(size=(300, 300)))
    for k, deadline in itertools.product([1, 5], [None, np.inf, 1e12, np.float32(1e9), 10**9]):
        check(case, k, deadline=deadline)
    for found in tw.decode_batch([case.nodes, case.nodes[:0]], case.edges, deadline=np.inf, threads=2):
        assert (found.exact, found.gap) == (True, 0.0)
    assert not tw.decode_batch([case.nodes], case.edges, deadline=0.0)[0].exact


def test_deadlines_that_are_none():
    nodes, matrix = np.zeros((3, 4)), np.zeros((4, 4))
    for bad in (-1, -0.001, np.nan, NEVER, "x", True, np.True_, [1]):
        with pytest.raises(ValueError, match="deadline must be a number of seconds"):
            tw.decode(nodes, matrix, deadline=bad)
        with pytest.raises(ValueError, match="deadline must be a number of seconds"):
            tw.decode_batch([nodes], matrix, deadline=bad)
    able = [row.name for row in tw.decoders() if row.deadline]
    assert set(able) >= set(DECODERS)
    for row in tw.decoders():
        if row.deadline:
            continue
        with pytest.raises(ValueError, match=f"'{row.name}' cannot stop at a deadline; {' and '.join(able)} can"):
            tw.decode(nodes, matrix, decoder=row.name, deadline=1.0)
        found = tw.decode(nodes, matrix, decoder=row.name)
        assert (found.exact, found.gap) == ((True, 0.0) if row.exact else (False, np.inf))


# --- paths, one by one ---


@pytest.mark.parametrize("form", FORMS)
def test_paths_are_the_best(form):
    rng = np.random.default_rng([14, FORMS.index(form)])
    for kind, decoder in [("peaked whole", "tree"), ("flat", "auto"), ("flat whole", "viterbi_astar")]:
        case = draw_case(rng, form, kind, 5, 70)
        truth = best_scores(case, 60)
        found = list(itertools.islice(tw.paths(case.nodes, case.edges, decoder, active=case.active), 60))
        scores = [path.score for path in found]
        assert len({path.labels.tobytes() for path in found}) == len(truth)
        np.testing.assert_allclose(scores, truth, rtol=0, atol=0 if "whole" in kind else 1e-9)
        for k in (1, 8, 9, 33):
            there = tw.decode(case.nodes, case.edges, k, decoder, active=case.active).paths
            np.testing.assert_allclose(scores[:k], [path.score for path in there], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("T", "L"), [(1, 1), (1, 8), (3, 2), (5, 2), (4, 3), (2, 65)])
def test_paths_come_to_an_end(T, L):
    rng = np.random.default_rng(15)
    for most in (0, 1, 50):
        case = plain(rng.integers(0, most + 1, (T, L)).astype("f4"), rng.integers(0, most + 1, (L, L)).astype("f4"))
        found = list(tw.paths(case.nodes, case.edges))
        assert len({tuple(path.labels) for path in found}) == len(found) == L**T
        scores = [path.score for path in found]
        assert scores == sorted(scores, reverse=True)
        assert scores == [along(case, path.labels).sum() for path in found]


def test_paths_are_found_on_request():
    nodes, matrix = model_like(200, 100)
    first, second, third = itertools.islice(tw.paths(nodes, matrix), 3)
    assert first.score >= second.score >= third.score
    assert [path.labels.tolist() for path in tw.paths(np.zeros((0, 3)), np.zeros((3, 3)))] == [[]]
    for bad in (np.full((2, 3), np.nan), np.full((2, 3), NEVER), np.zeros((2, 4))):
        found = tw.paths(bad, np.zeros((3, 3)))
        with pytest.raises(ValueError, match=r"NaN|no path|4 labels"):
            next(found)
    with pytest.raises(ValueError, match="beam"):
        next(tw.paths(nodes, matrix, "beams"))


def test_one_of_two_paths_is_not_exact():
    nodes = np.full((1, 130), NEVER)
    nodes[0, 3], nodes[0, 100] = 31, 30
    edges = tw.Edges(np.eye(130), stop=np.full(130, -1e9), sparse=False)
    found = tw.decode(nodes, edges, 2, "tree", deadline=0)
    assert found.exact == (len(found.paths) == 2)


# Of scores that are equal but for rounding, a later, larger round may find one that adds up to more.
def test_paths_rise_by_no_more_than_rounding():
    rng = np.random.default_rng(16)
    for _ in range(20):
        found = tw.paths(rng.integers(0, 10, (4, 3)) * 0.1, rng.integers(0, 10, (3, 3)) * 0.1)
        scores = [path.score for path in found]
        assert len(scores) == 3**4
        assert all(after <= before + 1e-13 for before, after in itertools.pairwise(scores))
