"""Random lattices of every form that tagwright takes, small enough to enumerate."""

import numpy as np

import tagwright as tw
from support.brute_force import Case

FORMS = ["dense", "sparse", "exceptions", "steps", "corrections", "sparse corrections"]
SCORES = ["ties", "real", "float32", "mixed"]
PATTERNS = ["none", "scattered", "bio", "banded", "diagonal", "hard"]
MOST_PATHS = 3000


def draw_scores(rng, kind, shape):
    if kind == "ties":
        return rng.integers(-2, 3, size=shape).astype(rng.choice(["f4", "f8"]))
    scores = rng.normal(scale=rng.choice([0.1, 1.0, 30.0]), size=shape)
    if kind == "mixed":  # a few scores so large that they swallow the others' digits
        scores *= np.where(rng.random(shape) < 0.1, 10.0 ** rng.integers(3, 15, size=shape), 1.0)
    return scores.astype("f4") if kind == "float32" else scores


def forbid(rng, ngram, edges, nodes):
    """Put -inf where a ngram wants it."""
    L = edges.shape[-1]
    i, j = np.indices((L, L))
    if ngram == "scattered":
        edges[rng.random(edges.shape) < 0.2] = -np.inf
        nodes[rng.random(nodes.shape) < 0.15] = -np.inf
    elif ngram == "bio":  # 0: O, odd: B-x, even: I-x, which may only follow its own B-x or itself
        inside = (j > 0) & (j % 2 == 0)
        edges[..., inside & (i != j) & (i != j - 1)] = -np.inf
    elif ngram == "banded":
        edges[..., abs(i - j) > 1] = -np.inf
    elif ngram == "diagonal":
        edges[..., i != j] = -np.inf
    elif ngram == "hard":
        edges[rng.random(edges.shape) < 0.6] = -np.inf
        nodes[rng.random(nodes.shape) < 0.5] = -np.inf


def draw_shape(rng, most_labels=9):
    L = int(rng.integers(1, most_labels + 1))
    longest = 6
    while longest > 1 and L**longest > MOST_PATHS:
        longest -= 1
    return int(rng.integers(0, longest + 1)), L


def draw_patterns(rng, kind, L, lengths=(3, 4), most=30):
    """Runs of labels that overlap and contradict each other, some of them forbidden."""
    runs = {}
    for _ in range(int(rng.integers(1, most + 1))):
        run = tuple(rng.integers(0, L, int(rng.choice(lengths))).tolist())
        if runs and rng.random() < 0.5:  # one that extends another, or shares its suffix
            other = list(runs)[int(rng.integers(len(runs)))]
            cut = int(rng.integers(1, 3))
            run = (*other[-cut:], *run)[: len(run)] if rng.random() < 0.5 else (*run, *other[-cut:])[-len(run) :]
        runs[run] = float(draw_scores(rng, kind, ()))
    if rng.random() < 0.3:
        runs[next(iter(runs))] = -np.inf
    return runs


def draw_case(rng, form, kind, ngram, T, L, ngrams=None):
    nodes = draw_scores(rng, kind, (T, L))
    matrix = draw_scores(rng, kind, (L, L))
    steps = np.zeros((max(T - 1, 0), L, L))
    start, stop, active = np.zeros(L), np.zeros(L), None
    options = {} if ngrams is None else {"ngrams": (list(ngrams), list(ngrams.values()))}
    ngrams = ngrams or {}
    if rng.random() < 0.4:
        options["start"] = start = draw_scores(rng, kind, L).astype(float)
        options["stop"] = stop = draw_scores(rng, kind, L).astype(float)
        if ngram in ("bio", "hard"):
            start[2::2] = -np.inf
        if ngram == "hard":
            stop[rng.random(L) < 0.3] = -np.inf
    if rng.random() < 0.5:
        options["order"] = rng.permutation(L)
    if form == "steps":
        given = draw_scores(rng, kind, steps.shape)
        forbid(rng, ngram, given, nodes)
        steps[:] = given
        return Case(nodes, tw.Edges(given, **options), None, steps, start, stop, ngrams)
    if "sparse" in form or form == "exceptions":
        default = rng.choice([0.0, 1.0, -1.0, -np.inf])
        matrix[rng.random((L, L)) < rng.choice([0.5, 0.8, 1.0])] = default
    forbid(rng, ngram, matrix, nodes)
    steps[:] = matrix
    if "corrections" in form:
        sets = int(rng.integers(0, 4))
        table = [(s, e) for s in range(sets) for e in rng.permutation(L * L)[: rng.integers(0, L * L // 2 + 2)]]
        s, e = np.array(table, dtype=int).reshape(-1, 2).T
        deltas = draw_scores(rng, kind, len(e)).astype(float)
        deltas[rng.random(len(e)) < 0.1] = -np.inf
        options["corrections"] = (s, e // L, e % L, deltas)
        have = int(s.max(initial=-1)) + 1
        active = [[int(q) for q in rng.permutation(have)[: rng.integers(0, have + 1)]] for _ in steps]
        for t, on in enumerate(active):
            for q in on:
                np.add.at(steps[t], (e[s == q] // L, e[s == q] % L), deltas[s == q])
    if form == "exceptions":
        i, j = np.nonzero(matrix != default)
        edges = tw.Edges.from_exceptions(L, default, i, j, matrix[i, j], **options)
    else:
        edges = tw.Edges(matrix, sparse=rng.choice([None, True]) if "sparse" in form else False, **options)
    return Case(nodes, edges, active, steps, start, stop, ngrams)


def draw_many(rng, form, dtype, L):
    """Sentences of several lengths that share their edges, and what is active in them."""
    matrix = rng.normal(scale=2, size=(L, L)).astype(dtype)
    if form != "dense":
        matrix[rng.random((L, L)) < 0.9] = 0
    table = np.unique(rng.integers(0, [5, L, L], (3 * L, 3)), axis=0).T
    options = {"corrections": (*table, rng.normal(size=table.shape[1]))} if form == "corrections" else {}
    edges = tw.Edges(matrix, start=rng.normal(size=L), stop=rng.normal(size=L), sparse=form != "dense", **options)
    nodes = [rng.normal(scale=2, size=(T, L)).astype(dtype) for T in (0, 1, 2, 5, 9, 3, 17, 4, 4, 30)]
    for own in nodes:
        own[:, 1:][rng.random((len(own), L - 1)) < 0.1] = -np.inf
    on = [[rng.permutation(5)[: rng.integers(0, 4)].tolist() for _ in own[1:]] for own in nodes]
    return nodes, edges, on if form == "corrections" and table.shape[1] and table[0].max() == 4 else None
