"""Lattices of every form with 10 to 200 labels: too many paths to enumerate, few enough for k-best in NumPy."""

import numpy as np
import pytest
from support.brute_force import Case, tolerance
from support.checks import DECODERS, check_paths, gives_k
from support.lattices import FORMS, PATTERNS, SCORES, draw_case

import tagwright as tw

SLOW = {"astar:none", "astar:0", "astar:3", "iterative_astar", "carpediem"}


def k_best(case: Case, k: int) -> list[tuple[float, tuple[int, ...]]]:
    """The k best paths by keeping the k best of every node; sums in the order in which tagwright sums."""
    T, L = case.nodes.shape
    kept = [[(case.start[y] + float(case.nodes[0, y]), (y,))] for y in range(L)]
    for t in range(1, T):
        scores = np.array([s for paths in kept for s, _ in paths])
        paths = [path for node in kept for _, path in node]
        last = np.array([path[-1] for path in paths])
        kept = []
        for y in range(L):
            reached = scores + case.steps[t - 1, last, y]
            best = np.argsort(-reached, kind="stable")[:k]
            kept.append([(reached[b] + float(case.nodes[t, y]), (*paths[b], y)) for b in best])
    ends = [(s + case.stop[path[-1]], path) for node in kept for s, path in node]
    return sorted((end for end in ends if end[0] > -np.inf), reverse=True)[:k]


@pytest.mark.slow
@pytest.mark.parametrize("ngram", PATTERNS)
@pytest.mark.parametrize("form", FORMS)
def test_sweep(form, ngram):
    rng = np.random.default_rng([3, FORMS.index(form), PATTERNS.index(ngram)])
    for kind in SCORES * 6:
        T, L, k = int(rng.integers(1, 7)), int(rng.integers(10, 90)), int(rng.integers(1, 5))
        case = draw_case(rng, form, kind, ngram, T, L)
        truth = k_best(case, k)
        for decoder in DECODERS:
            if decoder in SLOW and L > 50:
                continue
            own = k if gives_k(decoder) else 1
            if not truth:
                with pytest.raises(ValueError, match="no path"):
                    tw.decode(case.nodes, case.edges, own, decoder, active=case.active)
                continue
            found = tw.decode(case.nodes, case.edges, own, decoder, active=case.active)
            check_paths(case, found, own)
            assert len(found.paths) == min(own, len(truth))
            for path, (best, labels) in zip(found.paths, truth, strict=False):
                assert abs(path.score - best) <= tolerance(case, labels), (decoder, kind, T, L, k)


def test_one_large_lattice_of_each_form():
    rng = np.random.default_rng(4)
    for form in FORMS:
        case = draw_case(rng, form, "real", "bio", 4, 200)
        best, labels = k_best(case, 1)[0]
        for decoder in set(DECODERS) - SLOW:
            found = tw.decode(case.nodes, case.edges, decoder=decoder, active=case.active)
            assert abs(found.paths[0].score - best) <= tolerance(case, labels), (form, decoder)
