"""Lattices with more labels than `tree` follows, and their truth: max-sums in NumPy, in double precision."""

import numpy as np
import pytest

import tagwright as tw
from support.brute_force import Case
from support.lattices import forbid

NEVER = -np.inf
DECODERS = ["tree", "auto"]
FORMS = ["dense", "dense f8", "found", "zero", "negative", "forbidden", "steps", "corrections", "sparse corrections"]


def forward(case):
    """[t][y]: the best score of a path up to a label."""
    alpha = [case.start + case.nodes[0]]
    for column, step in zip(case.nodes[1:].astype(float), case.steps, strict=True):
        alpha.append((alpha[-1][:, None] + step).max(0) + column)
    return np.array(alpha)


def backward(case):
    """[t][y]: the best score of what comes behind a label."""
    beta = [case.stop]
    for column, step in zip(case.nodes[:0:-1].astype(float), case.steps[::-1], strict=True):
        beta.append((step + (column + beta[-1])).max(1))
    return np.array(beta[::-1])


def best_scores(case, k):
    """Scores of the k best paths.

    The best paths through the labels of one column are all different, so the k-th best of them is a floor for the k-th
    best path, and labels without a path that reaches it need not be examined.
    """
    nodes = case.nodes.astype(float)
    through = forward(case) + backward(case)
    if k == 1:
        return through[-1][through[-1].argmax()][None] if through.max() > NEVER else np.array([])
    floor = np.sort(through)[:, -k].max() if k <= through.shape[1] else NEVER
    floor -= 1e-9 * abs(floor) if floor > NEVER else 0
    kept = [np.flatnonzero((column >= floor) & (column > NEVER)) for column in through]
    scores = (case.start + nodes[0])[kept[0], None]
    for t in range(1, len(nodes)):
        step = case.steps[t - 1][np.ix_(kept[t - 1], kept[t])]
        reached = (scores[:, :, None] + step[:, None, :]).reshape(-1, len(kept[t]))
        best = reached if len(reached) <= k else np.partition(reached, len(reached) - k, axis=0)[-k:]
        scores = best.T + nodes[t, kept[t], None]
    scores = np.sort((scores + case.stop[kept[-1], None]).ravel())[::-1][:k]
    return scores[scores > NEVER]


def along(case, labels):
    """The scores along a path, one by one."""
    labels = np.asarray(labels)
    nodes = case.nodes[np.arange(len(labels)), labels].astype(float)
    edges = case.steps[np.arange(len(labels) - 1), labels[:-1], labels[1:]]
    return np.concatenate([[case.start[labels[0]]], nodes, edges, [case.stop[labels[-1]]]])


def check(case, k, decoders=DECODERS, truth=None, exactly=False, **options):
    """Compare an answer with the truth: exactly, where every sum is, else within the promise."""
    truth = best_scores(case, k) if truth is None else truth
    for decoder in decoders:
        if len(truth) == 0:
            with pytest.raises(ValueError, match="no path"):
                tw.decode(case.nodes, case.edges, k, decoder, active=case.active, **options)
            continue
        found = tw.decode(case.nodes, case.edges, k, decoder, active=case.active, **options)
        assert found.exact
        assert found.gap == 0
        assert len(found.paths) == len(truth), decoder
        assert len({path.labels.tobytes() for path in found.paths}) == len(truth), decoder
        scores = np.array([path.score for path in found.paths])
        assert (np.diff(scores) <= 0).all()
        parts = [along(case, path.labels) for path in found.paths]
        sums = [abs(part).sum() for part in parts]
        np.testing.assert_allclose(scores, [part.sum() for part in parts], rtol=0, atol=1e-12 * max(sums))
        whole = exactly or all((part % 1 == 0).all() for part in parts)
        # Far less than the promise of 1e-6: every score is exact in double precision, only sums are rounded.
        assert (abs(scores - truth) <= (0.0 if whole else 1e-12 * np.array(sums))).all(), (decoder, scores - truth)


def plain(nodes, matrix, edges=None, **ends):
    """A lattice with one matrix for all steps."""
    L = len(matrix)
    start, stop = (np.asarray(ends.get(end, np.zeros(L)), dtype=float) for end in ("start", "stop"))
    steps = np.broadcast_to(np.asarray(matrix, dtype=float), (max(len(nodes) - 1, 0), L, L))
    return Case(nodes, tw.Edges(matrix, sparse=False, **ends) if edges is None else edges, None, steps, start, stop)


def draw_nodes(rng, kind, T, L):
    """Scores of which a few per column stand out, or none; whole numbers have many ties."""
    if "whole" in kind:
        nodes = rng.integers(-3, 4, (T, L)).astype("f4")
        strong = 6
    else:
        nodes = rng.normal(size=(T, L)).astype(rng.choice(["f4", "f8"]))
        strong = 8.5
    if "peaked" in kind:
        for column in nodes:
            column[rng.permutation(L)[: rng.integers(1, 7)]] += strong
    return nodes - rng.choice([0, 20]).astype(nodes.dtype)  # below zero, as logarithms of probabilities are


def draw_case(rng, form, kind, T, L, ngram="none"):
    nodes = draw_nodes(rng, kind, T, L)
    matrix = rng.integers(-3, 4, (L, L)).astype("f8") if "whole" in kind else rng.normal(scale=2, size=(L, L))
    start, stop, options = np.zeros(L), np.zeros(L), {}
    if rng.random() < 0.4:
        options["start"] = start = draw_nodes(rng, kind, 1, L)[0].astype(float)
        options["stop"] = stop = draw_nodes(rng, kind, 1, L)[0].astype(float)
    if form == "steps":
        steps = np.stack([rng.permuted(matrix, axis=int(rng.integers(2))) for _ in range(T - 1)] or [matrix])[: T - 1]
        steps = steps.astype(rng.choice(["f4", "f8"]))
        forbid(rng, ngram, steps, nodes)
        return Case(nodes, tw.Edges(steps, **options), None, steps.astype(float), start, stop)
    if form not in ("dense", "dense f8", "corrections"):
        default = {"negative": -2.0, "forbidden": NEVER, "found": 1.0}.get(form, 0.0)
        matrix[rng.random((L, L)) < rng.choice([0.75, 0.95])] = default
        # Some labels are worse than the default to almost everything, as where a model has learned a lot about one.
        matrix[rng.integers(0, L, 3)] = -4.0
    if form == "dense":
        matrix = matrix.astype("f4")
    forbid(rng, ngram, matrix, nodes)
    steps = np.repeat(matrix[None].astype(float), T - 1, 0)
    active = None
    if "corrections" in form:
        sets, previous, current = rng.integers(0, 3, 6 * L), rng.integers(0, L, 6 * L), rng.integers(0, L, 6 * L)
        once = np.unique((sets * L + previous) * L + current, return_index=True)[1]
        sets, previous, current = sets[once], previous[once], current[once]
        deltas = rng.integers(-8, 9, len(once)).astype(float)
        deltas[rng.random(len(once)) < 0.1] = NEVER
        options["corrections"] = (sets, previous, current, deltas)
        active = [[int(s) for s in rng.permutation(sets.max() + 1)[: rng.integers(0, 3)]] for _ in steps]
        for step, on in zip(steps, active, strict=True):
            for s in on:
                np.add.at(step, (previous[sets == s], current[sets == s]), deltas[sets == s])
    if form in ("zero", "negative", "forbidden"):
        i, j = np.nonzero(matrix != default)
        edges = tw.Edges.from_exceptions(L, default, i, j, matrix[i, j], **options)
    else:
        edges = tw.Edges(matrix, sparse="dense" not in form and form != "corrections", **options)
    return Case(nodes, edges, active, steps, start, stop)
