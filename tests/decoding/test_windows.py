"""Very long sentences, decoded a window of columns at a time: the same answers, in little memory."""

import numpy as np
import pytest
from support.brute_force import all_paths
from support.lattices import FORMS, PATTERNS, SCORES, draw_case, draw_many, draw_shape
from support.memory import measurable, megabytes

import tagwright as tw
from tagwright.decoding.decoders import _ViterbiInWindows

SHARED = [form for form in FORMS if form != "steps"]


@pytest.mark.parametrize("ngram", PATTERNS)
@pytest.mark.parametrize("form", SHARED)
def test_every_window_finds_the_best_path(form, ngram):
    rng = np.random.default_rng([14, FORMS.index(form), PATTERNS.index(ngram)])
    for kind in SCORES * 6:
        case = draw_case(rng, form, kind, ngram, *draw_shape(rng))
        truth = all_paths(case)
        for window in (1, 2, 3, 5, 9):
            decoder = _ViterbiInWindows(window=window)
            if not truth:
                with pytest.raises(ValueError, match="no path"):
                    tw.decode(case.nodes, case.edges, 1, decoder, active=case.active)
                continue
            path = tw.decode(case.nodes, case.edges, 1, decoder, active=case.active).paths[0]
            # Sums from left to right are compared, so rounding takes nothing away.
            assert path.score == truth[0][0]
            assert (path.score, tuple(path.labels.tolist())) in truth


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("form", ["dense", "sparse", "corrections"])
def test_longer_sentences_have_the_same_labels(form, dtype):
    rng = np.random.default_rng(len(form))
    nodes, edges, on = draw_many(rng, form, dtype, 40)
    whole = tw.decode_batch(nodes, edges, decoder="viterbi", active=on)
    for window in (1, 4, 7, 100):
        found = tw.decode_batch(nodes, edges, decoder=_ViterbiInWindows(window=window), active=on, threads=2)
        for one, other in zip(whole, found, strict=True):
            assert one.paths[0].labels.tolist() == other.paths[0].labels.tolist()
            assert one.paths[0].score == other.paths[0].score


def test_errors_name_the_token_of_the_sentence():
    nodes = np.zeros((50, 3))
    nodes[33, 1] = np.nan
    with pytest.raises(ValueError, match="token 33, label 1 is NaN"):
        tw.decode(nodes, np.zeros((3, 3)), decoder=_ViterbiInWindows(window=4))
    nodes[33] = -np.inf
    with pytest.raises(ValueError, match="token 33 is the first that none reaches"):
        tw.decode(nodes, np.zeros((3, 3)), decoder=_ViterbiInWindows(window=4))
    edges = tw.Edges(np.zeros((3, 3)), stop=np.full(3, -np.inf))
    with pytest.raises(ValueError, match="stop score of -inf"):
        tw.decode(np.zeros((50, 3)), edges, decoder=_ViterbiInWindows(window=4))


@measurable
@pytest.mark.slow
def test_a_million_tokens_take_little_beside_their_scores():
    used = megabytes("""
import numpy as np, tagwright as tw
rng = np.random.default_rng(0)
nodes = rng.random((1_000_000, 69), dtype=np.float32)
edges = tw.Edges(rng.random((69, 69), dtype=np.float32))
tw.decode(nodes[:9], edges)
begin()
found = tw.decode(nodes, edges).paths[0]
assert len(found.labels) == 1_000_000 and found.score == tw.score(nodes[:], edges, found.labels)
""")
    assert used < 100
