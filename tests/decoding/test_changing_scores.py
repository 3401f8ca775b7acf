"""Scores that change while they are read or decoded: an answer or an error, no crash, and no more memory than else."""

import numpy as np
import pytest
from support.limited import run_limited

import tagwright as tw

CHANGING = """
    import sys, threading
    import numpy as np
    import tagwright as tw
    from tagwright.decoding.examples import model_like

    decoder, k, rounds = sys.argv[1], 1000, 30
    good, scores = model_like(T=60, L=150, seed=1)
    edges, nodes, done = tw.Edges(scores, sparse=False), good.copy(), threading.Event()

    def change():
        rng = np.random.default_rng(0)
        while not done.is_set():
            t = int(rng.integers(0, 55))
            nodes[t : t + 5] = -np.inf
            nodes[t : t + 5] = rng.permutation(good[t : t + 5].T).T
            nodes[t : t + 5] = good[t : t + 5]

    other = threading.Thread(target=change)
    other.start()
    try:
        for _ in range(rounds):
            try:
                found = tw.decode(nodes, edges, k, decoder)
                assert len({path.labels.tobytes() for path in found.paths}) == len(found.paths) <= k
            except (ValueError, RuntimeError) as error:
                assert "no path" in str(error) or "the scores changed while they were decoded" in str(error), error
    finally:
        done.set()
        other.join()
    assert len(tw.decode(good, edges, k, decoder).paths) == k
"""


@pytest.mark.slow
@pytest.mark.parametrize("decoder", ["tree", "viterbi_astar"])
def test_changing_scores(decoder):
    done = run_limited(CHANGING, decoder)
    assert done.returncode == 0, done.stderr[-2000:]


class Row:
    """Two scores that do something when NumPy asks for them."""

    def __init__(self, act):
        self.act = act

    def __array__(self, *_, **__):
        self.act()
        return np.zeros(2)


@pytest.mark.parametrize("read", [tw.Edges, lambda scores: tw.decode(scores, np.zeros((2, 2)))], ids=["edges", "nodes"])
@pytest.mark.parametrize("depth", [1, 2])
def test_lists_that_lose_their_scores_while_they_are_read(read, depth):
    rows = []
    rows += [Row(rows.clear), *([f"{n} of a list", float(n)] for n in range(50))]
    with pytest.raises(ValueError, match="must hold numbers"):
        read(rows if depth == 1 else (rows, [[0.0, 0.0]] * len(rows)))


def test_lists_within_too_many_lists_are_refused():
    endless = []
    endless.append(endless)
    for scores in (endless, [[[[0.0]]]]):
        with pytest.raises(ValueError, match="edges cannot be read as an array of numbers: lists are nested"):
            tw.Edges(scores)
    assert tw.decode(([0, 1], (2, 0)), [(0, 0), [0, 0]]).paths[0].labels.tolist() == [1, 0]
