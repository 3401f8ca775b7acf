"""Padded batches: lengths and masks, arrays of paths, sums of a whole batch."""

import os

import numpy as np
import pytest
from support.brute_force import Case, score
from support.lattices import PATTERNS, SCORES, draw_case, draw_scores, draw_shape, forbid
from support.sums import enumerated

import tagwright as tw

FORMS = ["dense", "sparse", "exceptions"]
# Batches of each form, kind of score and ngram.
EACH = max(1, int(os.environ.get("TAGWRIGHT_LATTICES", "150")) // 50)


def draw_batch(rng, form, kind, ngram):
    """Some sentences over the edges of one: cases, and the padded array. Padding is anything but scores."""
    T, L = draw_shape(rng)
    first = draw_case(rng, form, kind, ngram, T, L)
    matrix = first.steps[0] if T > 1 else np.zeros((L, L))
    if T < 2:
        first = first._replace(edges=tw.Edges(matrix, start=first.start, stop=first.stop))
    lengths = rng.integers(0, T + 1, size=int(rng.integers(1, 20)))
    nodes = draw_scores(rng, kind, (len(lengths), T, L)).astype(first.nodes.dtype)
    cases = []
    for own, length in zip(nodes, lengths, strict=True):
        forbid(rng, ngram, np.zeros((L, L)), own)
        steps = np.broadcast_to(matrix, (max(length - 1, 0), L, L))
        cases.append(Case(own[:length].copy(), first.edges, None, steps, first.start, first.stop))
        own[length:] = rng.choice([np.nan, np.inf, 7.0])
    return cases, nodes, lengths


def batches(form, kind, ngram, seed=0):
    rng = np.random.default_rng([seed, FORMS.index(form), SCORES.index(kind), PATTERNS.index(ngram)])
    for _ in range(EACH):
        yield rng, *draw_batch(rng, form, kind, ngram)


def with_path(cases):
    """The sums of each case, or None where one has no path."""
    truths = [enumerated(case) for case in cases]
    return None if any(truth is None for truth in truths) else truths


@pytest.mark.parametrize("ngram", PATTERNS)
@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("form", FORMS)
def test_sums_of_a_batch_are_those_of_its_sentences(form, kind, ngram):
    for rng, cases, nodes, lengths in batches(form, kind, ngram):
        B, T, L = nodes.shape
        # Where some scores are very large, sums of others are rounded by as much as these digits.
        observed = [part[np.isfinite(part)] for case in cases for part in (case.nodes, case.steps)]
        within = 1e-9 + 1e-14 * max(abs(part).max(initial=0) for part in observed)
        edges, threads = cases[0].edges, int(rng.integers(1, 4))
        if (truths := with_path(cases)) is None:
            with pytest.raises(ValueError, match="no path"):
                tw.marginals_batch(nodes, edges, lengths=lengths, edge_counts="sum", threads=threads)
            continue
        out = np.full((B, T, L), np.nan, dtype=rng.choice(["f4", "f8"]))
        found = tw.marginals_batch(nodes, edges, lengths=lengths, edge_counts="sum", out=out, threads=threads)
        assert found.nodes is out
        counts = sum(truth.edges.sum(axis=0) for truth in truths)
        for b, truth in enumerate(truths):
            close = within if out.dtype == np.float64 else within + 1e-6
            np.testing.assert_allclose(out[b, : lengths[b]], truth.nodes, rtol=0, atol=close)
            assert (out[b, lengths[b] :] == 0).all()
            assert found.log_z[b] == pytest.approx(truth.log_z, rel=1e-12, abs=1e-9)
        np.testing.assert_allclose(found.edge_counts, counts, rtol=0, atol=B * within)
        few = np.nonzero(rng.random((L, L)) < 0.4)
        some = tw.marginals_batch(nodes, edges, lengths=lengths, edge_counts=few, threads=threads)
        np.testing.assert_allclose(some.edge_counts, counts[few], rtol=0, atol=B * within)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["real", "float32"])
def test_derivatives_of_the_log_likelihood(form, kind):
    for rng, cases, nodes, lengths in batches(form, kind, "none", seed=1):
        B, T, L = nodes.shape
        if with_path(cases) is None:  # The default may forbid.
            continue
        labels = rng.integers(L, size=(B, T))
        labels[np.arange(T) >= lengths[:, None]] = -100
        plain = tw.marginals_batch(nodes, cases[0].edges, lengths=lengths, edge_counts="sum")
        found = tw.marginals_batch(nodes, cases[0].edges, lengths=lengths, edge_counts="sum", labels=labels)
        right, counts = np.zeros((B, T, L)), np.zeros((L, L))
        for b, (case, n) in enumerate(zip(cases, lengths, strict=True)):
            own = labels[b, :n]
            right[b, np.arange(n), own] = 1
            np.add.at(counts, (own[:-1], own[1:]), 1)
            assert found.log_likelihood[b] == pytest.approx(score(case, own) - plain.log_z[b], rel=1e-9)
        if not np.isfinite(found.log_likelihood).all():
            continue
        np.testing.assert_allclose(found.nodes, right - plain.nodes, atol=1e-12)
        np.testing.assert_allclose(found.edge_counts, counts - plain.edge_counts, atol=1e-11)
        np.testing.assert_allclose(found.log_z, plain.log_z, rtol=1e-12)


def test_a_rule_keeps_labels_in_batches_too():
    rng = np.random.default_rng(3)
    nodes, edges = rng.normal(size=(5, 7, 9)) * 3, tw.Edges(rng.normal(size=(9, 9)))
    lengths = [7, 0, 3, 1, 7]
    keep = tw.KeepSize(4)
    found = tw.marginals_batch(nodes, edges, keep, lengths=lengths, edge_counts="sum")
    for b, n in enumerate(lengths):
        one = tw.marginals(nodes[b, :n], edges, keep, with_edges=True)
        np.testing.assert_array_equal(found.nodes[b, :n], one.nodes)
        assert found.log_z[b] == one.log_z
    sums = [tw.marginals(nodes[b, :n], edges, keep, with_edges=True) for b, n in enumerate(lengths)]
    total = sum(one.edges.sum(axis=0) for one in sums)
    np.testing.assert_allclose(found.edge_counts, total, atol=1e-12)


def test_strong_exceptions_lose_no_digits():
    """Where nearly all belief is on a label whose edge is far below the default, little is left of a large total."""
    rng = np.random.default_rng(4)
    L = 40
    edges = np.zeros((L, L))
    edges[rng.random((L, L)) < 0.1] = -25.0
    edges[3, :20] = -25.0
    nodes = rng.normal(size=(9, 6, L))
    nodes[:, :, 3] += 40
    nodes[:, 1::2, 5] += 60
    sparse = tw.marginals_batch(nodes, tw.Edges(edges, sparse=True), edge_counts="sum")
    dense = tw.marginals_batch(nodes, tw.Edges(edges, sparse=False), edge_counts="sum")
    np.testing.assert_allclose(sparse.nodes, dense.nodes, rtol=1e-8, atol=1e-30)
    np.testing.assert_allclose(sparse.edge_counts, dense.edge_counts, rtol=1e-8, atol=1e-30)
    np.testing.assert_allclose(sparse.log_z, dense.log_z, rtol=1e-12)


@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("form", FORMS)
def test_arrays_hold_the_paths_of_decode_batch(form, kind):
    for ngram in PATTERNS:
        for rng, cases, nodes, lengths in batches(form, kind, ngram, seed=2):
            T = nodes.shape[1]
            edges = cases[0].edges
            k, threads = int(rng.choice([1, 1, 2, 50])), int(rng.integers(1, 4))
            mask = np.arange(T) < lengths[:, None]
            if with_path(cases) is None:
                with pytest.raises(ValueError, match="no path"):
                    tw.decode_arrays(nodes, edges, k, mask=mask, threads=threads)
                continue
            expected = tw.decode_batch([case.nodes for case in cases], edges, k)
            found = tw.decode_arrays(nodes, edges, k, mask=mask, threads=threads)
            padded = tw.decode_batch(nodes, edges, k, lengths=lengths)
            for b, (case, own) in enumerate(zip(cases, expected, strict=True)):
                assert found.counts[b] == len(own.paths) == len(padded[b].paths)
                for q, path in enumerate(own.paths):
                    assert found.scores[b, q] == path.score == padded[b].paths[q].score
                    labels = found.labels[b, q, : lengths[b]]
                    assert score(case, labels) == path.score
                    if k > 1:
                        assert labels.tolist() == path.labels.tolist()
                assert (found.labels[b, found.counts[b] :] == -1).all()
                assert (found.labels[b, :, lengths[b] :] == -1).all()
                assert (found.scores[b, found.counts[b] :] == -np.inf).all()


def test_batches_with_any_number_of_threads_have_the_same_bits():
    rng = np.random.default_rng(5)
    for L, sparse in [(9, False), (70, False), (70, True)]:
        matrix = rng.normal(size=(L, L))
        matrix[rng.random((L, L)) < 0.9 * sparse] = 0
        edges = tw.Edges(matrix, sparse=sparse)
        nodes = rng.normal(size=(67, 11, L)).astype("f4")
        lengths = rng.integers(0, 12, size=67)
        one, *others = (
            tw.marginals_batch(nodes, edges, lengths=lengths, edge_counts="sum", threads=n) for n in (1, 2, 5)
        )
        paths, *more = (tw.decode_arrays(nodes, edges, lengths=lengths, threads=n) for n in (1, 2, 5))
        for other in others:
            for name in ("nodes", "log_z", "edge_counts"):
                np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
        for other in more:
            np.testing.assert_array_equal(paths.labels, other.labels)
            np.testing.assert_array_equal(paths.scores, other.scores)


def test_no_sentence_and_no_token():
    edges = np.zeros((3, 3))
    for shape in [(0, 4, 3), (2, 0, 3), (0, 0, 3)]:
        B, T, _ = shape
        paths = tw.decode_arrays(np.zeros(shape), edges, 2)
        assert paths.labels.shape == (B, 2, T)
        assert paths.scores.tolist() == [[0.0, -np.inf]] * B
        assert paths.counts.tolist() == [1] * B
        sums = tw.marginals_batch(np.zeros(shape), edges, edge_counts="sum", labels=np.zeros((B, T), dtype=int))
        assert sums.nodes.shape == shape
        assert sums.log_z.tolist() == [0.0] * B
        assert (sums.edge_counts == 0).all()
        assert [len(found.paths) for found in tw.decode_batch(np.zeros(shape), edges, lengths=[0] * B)] == [1] * B


MASKS = [
    ([[1, 0, 1], [1, 1, 1]], "sentence 0 token 1 is masked and token 2 is not"),
    ([[1, 1, 0], [0, 0, 1]], "sentence 1 token 0 is masked and token 2 is not"),
    ([[1, 2, 0], [1, 0, 0]], "True and False"),
    ([[1.0, 0.5, 0.0], [1, 0, 0]], "True and False"),
    ([[True, True], [True, True]], r"shape \(B, T\) = \(2, 3\), not \(2, 2\)"),
    (np.ma.masked_array(np.ones((2, 3), dtype=bool)), "masked array"),
]


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8])
def test_masks_of_ones_and_zeros(dtype):
    nodes, edges = np.arange(24.0).reshape(2, 3, 4), np.eye(4)
    mask = np.array([[True, True, False], [True, False, False]])
    found, right = (tw.decode_arrays(nodes, edges, mask=given) for given in (mask.astype(dtype), mask))
    assert found.labels.tolist() == right.labels.tolist()


@pytest.mark.parametrize(("mask", "words"), MASKS)
def test_masks_that_are_refused(mask, words):
    nodes, edges = np.zeros((2, 3, 4)), np.zeros((4, 4))
    for call in (tw.decode_arrays, tw.decode_batch, tw.marginals_batch):
        with pytest.raises(ValueError, match=words):
            call(nodes, edges, mask=mask)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"lengths": [3, 4]}, "sentence 1 has length 4, but the array has room for 0 to 3"),
        ({"lengths": [-1, 2]}, "sentence 0 has length -1"),
        ({"lengths": [1.0, 2.0]}, "whole numbers"),
        ({"lengths": [1]}, "one per sentence"),
        ({"lengths": [1, 1], "mask": np.ones((2, 3), dtype=bool)}, "not both"),
    ],
)
def test_lengths_that_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        tw.decode_arrays(np.zeros((2, 3, 4)), np.zeros((4, 4)), **options)
    with pytest.raises(ValueError, match=words):
        tw.marginals_batch(np.zeros((2, 3, 4)), np.zeros((4, 4)), **options, edge_counts="sum")


def test_other_arguments_that_are_refused():
    nodes, edges = np.zeros((2, 3, 4)), np.zeros((4, 4))
    bad = nodes.copy()
    bad[1, 2, 3] = np.nan
    sums = {"edge_counts": "sum"}
    for words, call in [
        ("sentence 1: the node score of token 2, label 3 is NaN", lambda: tw.decode_arrays(bad, edges)),
        ("sentence 1: the node score of token 2, label 3 is NaN", lambda: tw.marginals_batch(bad, edges, **sums)),
        (r"shape \(B, T, L\)", lambda: tw.decode_arrays(nodes[0], edges)),
        ("for 4 labels, but the edges are for 5", lambda: tw.decode_arrays(nodes, np.zeros((5, 5)))),
        ("for 4 labels, but the edges are for 5", lambda: tw.marginals_batch(nodes, np.zeros((5, 5)), **sums)),
        ("'sum'", lambda: tw.marginals_batch(nodes, edges, edge_counts="mean")),
        ("given twice", lambda: tw.marginals_batch(nodes, edges, edge_counts=([1, 1], [2, 2]))),
        ("names label 4", lambda: tw.marginals_batch(nodes, edges, edge_counts=([1, 1], [2, 4]))),
        ("one per step", lambda: tw.marginals_batch(nodes, np.zeros((2, 4, 4)), **sums)),
        ("token 1 has label 4", lambda: tw.marginals_batch(nodes, edges, labels=[[0, 4, 0]] * 2, **sums)),
        ("labels and out need", lambda: tw.marginals_batch(nodes, edges, labels=[[0, 4, 0]] * 2)),
        ("out must be", lambda: tw.marginals_batch(nodes, edges, out=np.zeros((2, 3, 4), dtype=int), **sums)),
        ("out must be", lambda: tw.marginals_batch(nodes, edges, out=np.zeros((2, 4, 3)), **sums)),
        ("contiguous", lambda: tw.marginals_batch(nodes, edges, out=np.zeros((4, 3, 2)).T, **sums)),
        ("gives one path only", lambda: tw.decode_arrays(nodes, edges, 2, "carpediem")),
        ("k must be", lambda: tw.decode_arrays(nodes, edges, 0)),
    ]:
        with pytest.raises(ValueError, match=words):
            call()
