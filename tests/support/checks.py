"""What must hold of an answer, whoever gave it."""

import numpy as np
import pytest

import tagwright as tw
from support.brute_force import Case, all_paths, scores, tolerance, tolerances

EXACT = [row for row in tw.decoders() if row.exact]
# Every row of the table with its defaults, and the options worth a row of their own.
OPTIONS = ["staggered:all", "staggered:unpruned", "astar:none", "astar:0", "astar:3", "iterative_viterbi_astar:1"]
DECODERS = [row.name for row in EXACT] + OPTIONS


def gives_k(name: str) -> bool:
    return next(row.kbest for row in EXACT if row.name == name.partition(":")[0])


def is_whole(case: Case) -> bool:
    """Whether every sum is exact."""
    return all((part[np.isfinite(part)] % 1 == 0).all() for part in (case.nodes, case.steps, case.start, case.stop))


def check_exact(case: Case, decoder: str, k: int, truth=None) -> None:
    """Compare one decoder with every labelling of a lattice."""
    truth = all_paths(case) if truth is None else truth
    if not truth:
        with pytest.raises(ValueError, match="no path"):
            tw.decode(case.nodes, case.edges, k, decoder, switched_on=case.switched_on)
        return
    found = tw.decode(case.nodes, case.edges, k, decoder, switched_on=case.switched_on)
    assert found.exact == (not decoder.startswith("beam"))
    check_paths(case, found, k)
    assert len(found.paths) == min(k, len(truth))
    best = truth[: len(found.paths)]
    if [path.score for path in found.paths] == [score for score, _ in best]:
        return
    assert not is_whole(case)
    for path, (right, labels) in zip(found.paths, best, strict=True):
        assert abs(path.score - right) <= tolerance(case, labels)


def check_paths(case: Case, found: tw.Decoding, k: int) -> None:
    """Distinct paths, best first, with the scores they have."""
    T, L = case.nodes.shape
    assert 1 <= len(found.paths) <= k
    assert len({tuple(path.labels) for path in found.paths}) == len(found.paths)
    got = [path.score for path in found.paths]
    assert got == sorted(got, reverse=True)
    assert got[-1] > -np.inf
    for path in found.paths:
        assert path.labels.shape == (T,)
    labels = np.array([path.labels for path in found.paths], dtype=int).T
    assert ((labels >= 0) & (labels < L)).all()
    right = scores(case, labels)
    if (got == right).all():
        return
    assert (abs(got - right) <= np.maximum(1e-12 * abs(right), 1e-6 * tolerances(case, labels))).all()
