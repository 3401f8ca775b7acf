"""Lattices too large to enumerate: the exact decoders against each other and against a NumPy reference."""

import numpy as np
import pytest
from support.checks import DECODERS, gives_k

import tagwright as tw
from tagwright.decoding.examples import model_like

K = 5
ONE_BEST = [name for name in DECODERS if name != "auto"]
K_BEST = [name for name in DECODERS if gives_k(name)]


def reference(nodes, edges) -> float:
    """Viterbi in NumPy, in double precision."""
    alpha = nodes[0].astype(float)
    for column in nodes[1:]:
        alpha = (alpha[:, None] + edges).max(0) + column
    return alpha.max()


def lattice(kind, T, L, rng):
    """Node and edge scores of one of the kinds that decoders are good or bad at."""
    if kind == "model":
        return model_like(T, L, seed=int(rng.integers(1 << 30)))
    if kind == "hmm":  # Pal et al. 2006, section 4.1: sharp random transitions, flat label frequencies
        edges = np.log(rng.dirichlet(np.full(L, 0.1), size=L) + 1e-12)
        return np.log(rng.dirichlet(np.full(L, 0.1), size=T) + 1e-12), edges
    if kind == "ties":
        return rng.integers(0, 3, (T, L)).astype("f4"), rng.integers(0, 3, (L, L)).astype("f4")
    if kind == "equal":
        return np.ones((T, L), "f4"), np.ones((L, L), "f4")
    if kind == "huge and tiny":
        return rng.normal(size=(T, L)) * 10.0 ** rng.integers(-12, 12, (T, L)), rng.normal(size=(L, L)) * 1e-9
    return rng.normal(size=(T, L)).astype("f4"), rng.normal(size=(L, L)).astype("f4")


@pytest.mark.parametrize("kind", ["model", "hmm", "ties", "equal", "huge and tiny", "random"])
@pytest.mark.parametrize("L", [7, 8, 9, 63, 64, 65, 300])
def test_all_decoders_agree(kind, L):
    rng = np.random.default_rng([L, len(kind)])
    nodes, scores = lattice(kind, 9, L, rng)
    best = reference(nodes, scores)
    allowed = 1e-6 * (np.abs(nodes).max(1).sum() + 8 * np.abs(scores).max())
    lists = {}
    for sparse in (False, True):
        edges = tw.Edges(scores, sparse=sparse)
        for name in ONE_BEST:
            found = tw.decode(nodes, edges, decoder=name)
            assert abs(found.paths[0].score - best) <= allowed, name
            assert tw.score(nodes, edges, found.paths[0].labels) == found.paths[0].score
        for name in K_BEST:
            lists[name, sparse] = [path.score for path in tw.decode(nodes, edges, K, name).paths]
    for name, scores_found in lists.items():
        assert len(scores_found) == K
        np.testing.assert_allclose(scores_found, lists["viterbi", False], rtol=0, atol=allowed, err_msg=str(name))


@pytest.mark.parametrize("L", [511, 700])
def test_several_hundred_labels(L):
    rng = np.random.default_rng(L)
    for kind in ("model", "random"):
        nodes, scores = lattice(kind, 5, L, rng)
        best = reference(nodes, scores)
        for name in ONE_BEST:
            assert tw.decode(nodes, scores, decoder=name).paths[0].score == pytest.approx(best, abs=1e-4), name


def test_one_score_higher_in_the_last_bit():
    """float32 cannot distinguish the sums; double can, and every decoder does."""
    T, L = 12, 65
    nodes = np.full((T, L), 1000.0, "f4")
    nodes[5, 41] = np.nextafter(np.float32(1000.0), np.float32(np.inf))
    for name in ONE_BEST:
        found = tw.decode(nodes, np.zeros((L, L), "f4"), decoder=name)
        assert found.paths[0].labels[5] == 41, name


def test_long_sentences_keep_the_promise():
    """Sums that float32 gets wrong by more than 1e-6 of their size come out right."""
    rng = np.random.default_rng(3)
    nodes = rng.normal(100, 1, (3000, 20)).astype("f4")
    edges = rng.normal(0, 1, (20, 20)).astype("f4")
    best = reference(nodes, edges)
    for name in ("viterbi", "staggered", "viterbi_astar", "iterative_viterbi_astar"):
        assert tw.decode(nodes, edges, decoder=name).paths[0].score == pytest.approx(best, rel=1e-12)


def test_permuted_labels_do_not_change_the_score():
    rng = np.random.default_rng(5)
    nodes, scores = model_like(10, 200, seed=1)
    order = rng.permutation(200)
    for name in ONE_BEST:
        found = tw.decode(nodes, scores, decoder=name).paths[0].score
        assert tw.decode(nodes[:, order], scores[np.ix_(order, order)], decoder=name).paths[0].score == found
        assert tw.decode(nodes, tw.Edges(scores, order=order), decoder=name).paths[0].score == found


@pytest.mark.slow
def test_real_models(real_lattices):
    scores, nodes = real_lattices
    dense, sparse = tw.Edges(scores, sparse=False), tw.Edges(scores)
    assert sparse.sparse
    truth = tw.decode_batch(nodes, dense, decoder="viterbi")
    slow = {"carpediem", "astar:none", "astar:0", "iterative_astar"}
    for name in ONE_BEST:
        if name in slow and len(scores) > 1000:
            continue
        few = 2 if name in slow else len(nodes)
        for edges in (dense, sparse):
            for found, best in zip(tw.decode_batch(nodes[:few], edges, decoder=name), truth, strict=False):
                assert found.paths[0].score == pytest.approx(best.paths[0].score, rel=1e-12), name
    five = tw.decode_batch(nodes[:3], dense, K, "viterbi_astar")
    for name in ("iterative_viterbi_astar", "auto"):
        for found, best in zip(tw.decode_batch(nodes[:3], sparse, K, name), five, strict=True):
            assert [p.score for p in found.paths] == pytest.approx([p.score for p in best.paths], rel=1e-12)


def test_sparse_and_dense_viterbi_are_bit_equal(real_lattices):
    scores, nodes = real_lattices
    dense = tw.decode_batch(nodes, tw.Edges(scores, sparse=False), decoder="viterbi")
    sparse = tw.decode_batch(nodes, tw.Edges(scores, sparse=True), decoder="viterbi")
    i, j = np.nonzero(scores)
    triples = tw.Edges.from_exceptions(len(scores), 0.0, i, j, scores[i, j])
    for one, two, three in zip(dense, sparse, tw.decode_batch(nodes, triples, decoder="viterbi"), strict=True):
        assert one.paths[0].score == two.paths[0].score == three.paths[0].score


def test_thousands_of_labels_without_a_matrix():
    """100,000 labels would need 80 GB as a matrix."""
    rng = np.random.default_rng(0)
    L, T, n = 100_000, 4, 300_000
    pairs = np.unique(rng.integers(0, L, (2, n)), axis=1)
    values = rng.exponential(size=pairs.shape[1]) - 1.0  # none below the default, so that a plain maximum is right
    edges = tw.Edges.from_exceptions(L, -1.0, *pairs, values)
    nodes = rng.normal(size=(T, L))
    found = tw.decode(nodes, edges, decoder="viterbi").paths[0]
    alpha = nodes[0]
    for column in nodes[1:]:
        reached = np.full(L, -np.inf)
        np.maximum.at(reached, pairs[1], alpha[pairs[0]] + values)
        alpha = np.maximum(reached, alpha.max() - 1.0) + column
    assert found.score == alpha.max()
    assert tw.decode(nodes, edges, 3, "viterbi_astar").paths[0].score == found.score
    nodes[:, 0] += 20  # a lattice that refinement gets through in few rounds
    assert tw.decode(nodes, edges, decoder="staggered").paths[0].score == tw.decode(nodes, edges).paths[0].score
