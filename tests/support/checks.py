"""What must hold of an answer, whoever gave it."""

import numpy as np
import pytest

import tagwright as tw
from support.brute_force import Case, all_paths, score, tolerance

EXACT = [row for row in tw.decoders() if row.exact]
# Every row of the table with its defaults, and the options worth a row of their own.
OPTIONS = ["staggered:all", "staggered:unpruned", "astar:none", "astar:0", "astar:3", "iterative_viterbi_astar:1"]
DECODERS = [row.name for row in EXACT] + OPTIONS


def gives_k(name: str) -> bool:
    return next(row.kbest for row in EXACT if row.name == name.partition(":")[0])


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
    whole = all((part[np.isfinite(part)] % 1 == 0).all() for part in (case.nodes, case.steps, case.start, case.stop))
    for path, (best, labels) in zip(found.paths, truth, strict=False):
        assert abs(path.score - best) <= (0.0 if whole else tolerance(case, labels))


def check_paths(case: Case, found: tw.Decoding, k: int) -> None:
    """Distinct paths, best first, with the scores they have."""
    T, L = case.nodes.shape
    assert 1 <= len(found.paths) <= k
    assert len({tuple(path.labels) for path in found.paths}) == len(found.paths)
    scores = [path.score for path in found.paths]
    assert scores == sorted(scores, reverse=True)
    for path in found.paths:
        assert path.labels.shape == (T,)
        assert ((path.labels >= 0) & (path.labels < L)).all()
        assert path.score == pytest.approx(score(case, path.labels), rel=1e-12, abs=1e-6 * tolerance(case, path.labels))
        assert path.score > -np.inf
