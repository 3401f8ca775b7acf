"""The decoder `tree`. The other sweeps have small label sets, where nothing is pruned; here most labels are."""

import itertools

import numpy as np
import pytest
from support.brute_force import Case
from support.comparing import comparing
from support.corpora import many_labels, same_arrays
from support.lattices import PATTERNS
from support.max_sums import DECODERS, FORMS, NEVER, best_scores, check, draw_case, draw_nodes, plain

import tagwright as tw
from tagwright.decoding.examples import model_like

BOUNDARIES = [7, 8, 9, 63, 64, 65, 127, 128, 129, 511, 513]  # of blocks and groups of labels
FOREVER = 1e12  # with a deadline far away tree never hands over before all labels are hot: every round is gone through


@pytest.mark.slow
@pytest.mark.parametrize("L", BOUNDARIES)
@pytest.mark.parametrize("form", FORMS)
def test_every_form(form, L):
    rng = np.random.default_rng([7, FORMS.index(form), L])
    kinds = rng.permutation(["peaked", "flat", "peaked whole", "flat whole", "peaked"])
    for T, kind in zip([1, 2, 3, 8, 25 if L < 500 else 5], kinds, strict=True):
        case = draw_case(rng, form, kind, T, L)
        for k in (1, 2 if "flat" in kind and L > 500 else int(rng.choice([2, 5, 50]))):
            check(case, k, truth=(truth := best_scores(case, k)))
            check(case, k, ["tree"], truth, deadline=FOREVER)


@pytest.mark.parametrize("sparse", [False, True])
def test_like_models(sparse):
    for T, L in [(30, 130), (12, 513), (6, 1100)]:
        nodes, scores = model_like(T, L, seed=L)
        case = plain(nodes, scores, tw.Edges(scores, sparse=sparse))
        for k in (1, 5, 50):
            check(case, k)
    # Enough labels for several rounds over a matrix, in all of which nothing is pruned.
    rng = np.random.default_rng(1)
    check(plain(rng.normal(size=(4, 1100)), rng.normal(size=(1100, 1100))), 1)


# --- adversaries ---


@pytest.mark.parametrize("ngram", PATTERNS)
def test_forbidden(ngram):
    rng = np.random.default_rng([8, PATTERNS.index(ngram)])
    for form, L in itertools.product(FORMS, [65, 130]):
        case = draw_case(rng, form, rng.choice(["peaked", "flat", "peaked whole"]), int(rng.integers(2, 7)), L, ngram)
        for k in (1, 4):
            check(case, k)
            check(case, k, ["tree"], deadline=FOREVER)


def test_no_path_and_one_path():
    L, rng = 130, np.random.default_rng(2)
    nodes, matrix = rng.normal(size=(6, L)), rng.normal(size=(L, L))
    closed = nodes.copy()
    closed[3] = NEVER
    barred = np.full((L, L), NEVER)
    cases = [plain(closed, matrix), plain(nodes, barred), plain(nodes, matrix, stop=barred[0])]
    cases.append(plain(nodes, barred, tw.Edges.from_exceptions(L, NEVER, [], [], [])))
    cases.append(plain(nodes[:1], matrix, start=barred[0]))
    for case, k in itertools.product(cases, [1, 3]):
        check(case, k, truth=[])
        check(case, k, truth=[], deadline=0.0)
    for y in (0, 64, 129):  # the only way leads through the first or last label of a group
        barred = np.full((L, L), NEVER)
        barred[y, y] = -7.0
        check(plain(nodes, barred), 5, truth=[nodes[:, y].sum() - 35])
        check(plain(nodes, barred, tw.Edges.from_exceptions(L, NEVER, [y], [y], [-7.0])), 1)


@pytest.mark.parametrize("L", [65, 130, 513])
def test_all_scores_equal(L):
    for T, value in itertools.product([1, 9], [0.0, 1.0, -3.0]):
        nodes, matrix = np.full((T, L), value, "f4"), np.full((L, L), value)
        for edges in (None, tw.Edges(matrix), tw.Edges.from_exceptions(L, value, [], [], [])):
            for k in (1, 5, 60):
                check(plain(nodes, matrix, edges), k, truth=np.full(k, value * (2 * T - 1)))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("L", [65, 128, 300])
def test_one_score_higher_in_the_last_bit(dtype, L):
    """Everything else is 0, so that no sum hides the bit."""
    for low in (0.0, 1.0, -1.0, 1e4):
        high = float(np.nextafter(np.array(low, dtype), np.array(np.inf, dtype)))
        for y, other in [(L - 1, 0), (0, L - 1), (8, 7)]:
            nodes, flat = np.zeros((5, L), dtype), np.zeros((L, L), dtype)
            nodes[2], nodes[2, y] = low, high
            edge = flat.copy()
            edge[:], edge[other, y] = low, high
            ends = np.full(L, low)
            ends[y] = high
            for case in (plain(nodes, flat), plain(nodes, flat, tw.Edges(flat)), plain(nodes[2:3], flat)):
                check(case, 1, truth=[high], exactly=True)
            check(plain(np.zeros((2, L), dtype), edge), 1, truth=[high], exactly=True)
            check(plain(np.zeros((2, L), dtype), edge, tw.Edges(edge)), 1, truth=[high], exactly=True)
            for end in ("start", "stop"):
                check(plain(np.zeros((3, L), dtype), flat, **{end: ends}), 1, truth=[high], exactly=True)


@pytest.mark.parametrize("powers", [(-30, 30), (-3, 12), (-30, -20), (20, 30.3), (-30, 100), (-300, 289)], ids=str)
def test_huge_and_tiny_scores(powers):
    rng = np.random.default_rng(3)
    for L, dtype, form in itertools.product([65, 129], ["f4", "f8"], ["dense", "sparse", "steps"]):
        if dtype == "f4" and powers[1] > 38:
            continue
        shape = (3, L, L) if form == "steps" else (L, L)
        nodes, matrix = (
            (rng.choice([-1.0, 1.0], size) * 10.0 ** rng.uniform(*powers, size)).astype(dtype)
            for size in [(4, L), shape]
        )
        if form == "sparse":
            matrix[rng.random((L, L)) < 0.9] = matrix[0, 0]
        steps = np.broadcast_to(matrix, (3, L, L)).astype(float)
        case = Case(nodes, tw.Edges(matrix, sparse=form == "sparse" or None), None, steps, np.zeros(L), np.zeros(L))
        for k in (1, 5):
            check(case, k)


# Sums below the smallest float32 are lost from the bounds, and a fraction of the largest score would be lost with them.
def test_scores_below_the_smallest_float32():
    L, tiny = 65, 2.0**-149
    nodes, matrix = np.full((2, L), NEVER), np.full((L, L), NEVER)
    nodes[0, 0], matrix[0, 1], nodes[1, 1] = tiny, 0, 0
    nodes[0, 2], matrix[2, 3], nodes[1, 3] = 0.49 * tiny, 0.49 * tiny, 0.49 * tiny
    check(plain(nodes, matrix), 1)


@pytest.mark.parametrize("where", ["nodes", "edges", "both", "nearly all", "stop", "start"])
@pytest.mark.parametrize("mask", [-1e4, -1e9, -1e12])
def test_soft_masks(mask, where):
    """Scores that all but forbid must not leave so much room for rounding that nothing is pruned."""
    rng = np.random.default_rng(17)
    nodes, matrix = (np.round(8 * scores.astype(float)) for scores in model_like(20, 300))
    top, ends = np.argmax(nodes, axis=1), {}
    if where == "nearly all":
        nodes[rng.random(nodes.shape) < 0.9] = mask
        nodes[np.arange(20), top] = 1
    if where in ("nodes", "both"):
        nodes[np.arange(20), rng.integers(0, 300, 20)] = mask
    if where in ("edges", "both"):
        matrix[rng.random(matrix.shape) < 0.1] = mask
    if where in ("stop", "start"):
        ends = {where: np.where(rng.random(300) < 0.9, mask, 0.0)}
    case = plain(nodes, matrix, **ends)
    truth = best_scores(case, 5)
    check(case, 1, truth=truth[:1])
    check(case, 5, truth=truth)
    assert tw.decode(nodes, case.edges, decoder="tree").work.edges < 20 * 300 * 300 / 4


@pytest.mark.parametrize("form", [{"sparse": False}, {"sparse": True}])
def test_every_end_is_masked(form):
    """Sums with a mask are rounded by more than what the labels differ by."""
    L = 130
    matrix = np.zeros((L, L))
    matrix[0, 1] = 1
    nodes = np.zeros((1, L))
    nodes[0, 5], nodes[0, 77] = 31, 33
    stop = np.full(L, -1e9)
    stop[77] -= 32
    for dtype in ("f4", "f8"):
        for T in (1, 3):
            lattice = np.concatenate([np.zeros((T - 1, L)), nodes]).astype(dtype)
            check(plain(lattice, matrix, tw.Edges(matrix, stop=stop, **form), stop=stop), 1)
    f = tw.decode(nodes, tw.Edges(matrix, stop=np.full(L, -1e9)), decoder="tree", deadline=0)
    assert 33 - 1e9 - f.paths[0].score <= f.gap


def test_every_way_on_is_masked():
    L = 9
    matrix = np.zeros((L, L))
    matrix[0, 1], matrix[5], matrix[7, 0] = 1, -1e9, 1
    nodes = np.full((2, L), -1e9)
    nodes[0, 5], nodes[1], nodes[1, 0] = 31, -50, 0
    check(plain(nodes, matrix), 1)
    check(plain(nodes, matrix), 1, deadline=100)


def test_masks_at_random():
    rng = np.random.default_rng(18)
    for _ in range(150):
        T, L = int(rng.integers(1, 6)), int(rng.choice([70, 130]))
        nodes, matrix = rng.integers(-20, 40, (T, L)).astype(float), rng.integers(-9, 10, (L, L)).astype(float)
        ends = {end: rng.integers(-5, 6, L).astype(float) for end in ("start", "stop")}
        for scores in (nodes, matrix, *ends.values()):
            scores[rng.random(scores.shape) < rng.choice([0, 0.2, 0.9, 1.0])] += rng.choice([-1e6, -1e9, -1e11])
        case = plain(nodes, matrix, **ends)
        k = int(rng.choice([1, 3, 20]))
        check(case, k)
        check(case, k, ["tree"], deadline=1e12)


def test_a_default_that_forbids_is_pruned():
    rng = np.random.default_rng(19)
    L, T = 400, 30
    previous, current = np.repeat(np.arange(L), 40), rng.integers(0, L, 40 * L)
    pairs = np.unique(np.stack([previous, current]), axis=1)
    edges = tw.Edges.from_exceptions(L, -np.inf, *pairs, rng.normal(size=pairs.shape[1]))
    nodes = rng.normal(size=(T, L))
    at = 0
    for column in nodes:
        column[at] += 25
        at = rng.choice(pairs[1][pairs[0] == at])
    found, dense = (tw.decode(nodes, edges, decoder=name) for name in ("tree", "viterbi"))
    assert found.paths[0].score == pytest.approx(dense.paths[0].score, rel=1e-12)
    assert found.work.edges < dense.work.edges / 4


def every_score(case):
    """Scores of all paths of up to three tokens, best first."""
    total = case.start + case.nodes[0]
    for column, step in zip(case.nodes[1:], case.steps, strict=True):
        total = total[..., None] + (step + column)
    return np.sort((total + case.stop).ravel())[::-1]


@pytest.mark.slow
@pytest.mark.parametrize(("T", "L"), [(1, 130), (2, 65), (2, 130), (3, 65)])
def test_ties_everywhere(T, L):
    rng = np.random.default_rng([4, T, L])
    for form, most in itertools.product(["dense", "found", "negative", "steps"], [1, 3]):
        case = draw_case(rng, form, "whole", T, L)
        case = case._replace(nodes=np.clip(case.nodes, -most, most))
        truth = every_score(case)
        truth = truth[truth > NEVER]
        for k in (1, 7, 100, 1000):
            check(case, k, truth=truth[:k])
            check(case, k, ["tree"], truth[:k], deadline=FOREVER)


def test_two_best_labels_of_which_one_is_held_back():
    """Label 20 is worse to reach from one of the two, but not from the other; label 21 is what is left without both."""
    for L, first in itertools.product([25, 70, 130], [3, 24]):
        nodes, matrix = np.zeros((2, L)), np.zeros((L, L))
        nodes[0, [3, 24]], nodes[1, 20], nodes[1, 21] = 10, 10, 9.75
        matrix[first, 20] = -8
        check(plain(nodes, matrix, tw.Edges.from_exceptions(L, 0.0, [first], [20], [-8.0])), 1, truth=[20.0])
        check(plain(nodes, matrix), 3)


def test_more_paths_requested_than_there_are():
    rng = np.random.default_rng(5)
    for L, alive in [(7, 7), (130, 4)]:
        nodes, matrix = np.full((3, L), NEVER), rng.normal(size=(L, L))
        nodes[:, rng.permutation(L)[:alive]] = rng.normal(size=(3, alive))
        case = plain(nodes, matrix)
        for k in (alive**3 - 1, alive**3, alive**3 + 1, 1000):
            check(case, k, truth=every_score(case)[: min(k, alive**3)])


def test_permuted_labels():
    rng = np.random.default_rng(6)
    for L, form in itertools.product([65, 130], ["dense", "found"]):
        case = draw_case(rng, form, "peaked whole", 8, L)
        truth = [path.score for path in tw.decode(case.nodes, case.edges, 50, "tree").paths]
        order = rng.permutation(L)
        matrix = case.steps[0][np.ix_(order, order)]
        edges = tw.Edges(matrix, case.start[order], case.stop[order], sparse=form == "found")
        for decoder in DECODERS:
            found = tw.decode(case.nodes[:, order], edges, 50, decoder)
            assert [path.score for path in found.paths] == truth


def test_layouts_of_input():
    rng = np.random.default_rng(7)
    nodes, matrix = draw_nodes(rng, "peaked whole", 9, 130), rng.integers(-3, 4, (130, 130)).astype("f4")
    truth = best_scores(plain(nodes, matrix), 5)
    wide = np.zeros((18, 390), "f4")
    wide[::2, ::3] = nodes
    for given in (nodes.astype("f2"), wide[::2, ::3], np.asfortranarray(nodes), nodes.astype(int)):
        for scores in (matrix, matrix.astype("f2"), np.asfortranarray(matrix)):
            for decoder in DECODERS:
                found = tw.decode(given, scores, 5, decoder)
                assert [path.score for path in found.paths] == truth.tolist()


# --- rounding: bounds are in float32, and must know what they lose; every sum below is exact in double precision ---


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("sparse", [False, True])
def test_bounds_that_always_lose(dtype, sparse):
    """Label 9 gains a little less than float32 rounds up at every token; label 40 is ahead in what float32 sees."""
    T, L, lost = 300, 70, 61 / 1024
    nodes, matrix = np.full((T, L), NEVER, dtype), np.full((L, L), NEVER)
    nodes[:, [9, 40]] = 2.0**20 + 1024
    matrix[9, 9], matrix[40, 40] = lost, 0
    nodes[0, 40] += 10
    if dtype == "f8":  # twice: in the edge and in the node
        nodes[:, 9] += lost
        nodes[0, 40] += 20
    case = plain(nodes, matrix, tw.Edges(matrix, sparse=sparse))
    truth = best_scores(case, 1)
    assert truth > case.nodes[:, 40].sum()
    check(case, 1, truth=truth, exactly=True)
    check(case, 2, exactly=True)
    found = tw.decode(nodes, case.edges, decoder="tree", deadline=0.0)
    assert truth[0] - found.paths[0].score <= found.gap


def test_bounds_that_lose_far_behind():
    """Label 9 is far behind until the last token, too far for float32 to see what it gains at each."""
    T, L = 300, 70
    nodes, matrix = np.full((T, L), NEVER, "f4"), np.full((L, L), NEVER)
    nodes[:, 9], nodes[:, 40] = 61 / 1024, 0
    nodes[0, 40], nodes[-1, 40] = 2**20 + 1034, -(2**20) - 1024
    matrix[9, 9] = matrix[40, 40] = 0
    for sparse, k in itertools.product([False, True], [1, 2]):
        check(plain(nodes, matrix, tw.Edges(matrix, sparse=sparse)), k, exactly=True)


@pytest.mark.parametrize("size", [1e4, 1e5, 1e6])
def test_long_sentences_of_close_scores(size):
    rng = np.random.default_rng(int(size))
    T, L = 300, 70
    for apart, seed in itertools.product([True, False], range(6)):
        nodes = (size + rng.integers(-64, 65, (T, L)) / 16).astype("f4")
        matrix = np.full((L, L), NEVER) if apart else rng.integers(-1024, 1, (L, L)) / 256
        np.fill_diagonal(matrix, rng.integers(-256, 257, L) / 1024)
        if apart:  # a handful of chains, with sums as close to each other as nodes of float32 can make them
            alive = np.sort(rng.permutation(L)[:12])
            sums = nodes.sum(0, dtype=float) + (T - 1) * matrix.diagonal()
            nodes[0, alive] -= (sums[alive] - T * size).astype("f4")
            nodes[:, np.delete(np.arange(L), alive)] = NEVER
        edges = tw.Edges(matrix.astype("f4") if seed % 2 else matrix, sparse=apart and seed % 3 == 0)
        check(plain(nodes, matrix, edges), 1, exactly=True)


# --- the same answers, whatever works on them ---


def test_threads_and_repetition():
    rng = np.random.default_rng(10)
    for sparse, k in itertools.product([False, True], [1, 5]):
        _, scores = model_like(2, 200)
        lattices = [model_like(int(rng.integers(1, 20)), 200, seed)[0] for seed in range(30)]
        edges = tw.Edges(scores, sparse=sparse)
        alone = [tw.decode(nodes, tw.Edges(scores, sparse=sparse), k, "tree") for nodes in lattices]
        for decoder, threads in itertools.product(DECODERS, [1, 2, 3]):
            for one, other in zip(alone, tw.decode_batch(lattices, edges, k, decoder, threads=threads), strict=True):
                assert [path.score for path in one.paths] == [path.score for path in other.paths]
                assert [path.labels.tolist() for path in one.paths] == [path.labels.tolist() for path in other.paths]
                assert one.work == other.work


# --- training, which changes edges under the decoder ---


@pytest.mark.parametrize("options", [{}, {"margin": 1, "parts": ""}, {"pairs": "observed"}], ids=str)
def test_training(options):
    X, y = many_labels(sentences=60, labels=150)
    options = {"features": "U:%x[0,0]\nU1:%x[-1,0]\nB\nB1:%x[0,0]\n", "epochs": 3, **options}
    first = comparing(tw.Perceptron, decoder="viterbi", dense_edges=True, **options).fit(X, y).model_
    assert len(first.labels) > 100
    for decoder, dense in itertools.product(DECODERS, [True, False]):
        model = comparing(tw.Perceptron, decoder=decoder, dense_edges=dense, **options).fit(X, y).model_
        assert same_arrays(model.arrays, first.arrays), (decoder, dense)
    for words in X[:20]:
        nodes, edges, on = first.lattice(words)
        tree, viterbi = (tw.decode(nodes, edges, decoder=name, active=on).paths for name in ("tree", "viterbi"))
        assert tree[0].score == viterbi[0].score


def test_edges_that_matter_by_less_than_the_least_number():
    """Half of the largest edge score is 0 here: a limit that is multiplied would never grow."""
    nodes, stop = np.linspace(-1, 0, 9, dtype=np.float32)[None, :], np.zeros(9)
    stop[4] = 5e-324
    for k in (5, 30):
        found = tw.decode(nodes, tw.Edges(np.zeros((9, 9)), stop=stop), k, "tree")
        assert [path.labels[0] for path in found.paths] == list(range(8, -1, -1))[:k]
