"""What must hold for every answer."""

import numpy as np
import pytest

import tagwright as tw
from support.brute_force import Case, all_paths, scores, tolerance, tolerances
from tagwright.decoding.decode import Decoding
from tagwright.decoding.decoders import Decoder, DecoderRow, _StaggeredUnpruned, plan

EXACT = [row for row in tw.decoders() if row.exact and row.maximises == "score"]


def text_forms(row: DecoderRow) -> list[str]:
    """A decoder with its defaults, with each word of its options, with the smallest number and with none."""
    forms = [row.name]
    for option in row.options:
        values = option.values if option.type == "str" else option.values[:1]
        forms += [f"{row.name}:{value}" for value in values if value != option.default]
        forms += [f"{row.name}:none"] * (option.type == "int | None")
    return forms


# Every exact row of the table and its options, what is reached by the private door, and levels between.
DECODERS: list[str | Decoder] = [form for row in EXACT for form in text_forms(row)]
DECODERS += ["astar:3", _StaggeredUnpruned()]


def knows_patterns(decoder: str | Decoder) -> bool:
    return plan(decoder).row.ngrams


def gives_k(decoder: str | Decoder) -> bool:
    return plan(decoder).row.kbest


def is_whole(case: Case) -> bool:
    """Whether every sum is exact."""
    parts = (case.nodes, case.steps, case.start, case.stop, np.array(list(case.ngrams.values()), float))
    return all((part[np.isfinite(part)] % 1 == 0).all() for part in parts)


def check_exact(case: Case, decoder: str | Decoder, k: int, truth=None) -> None:
    """Compare one decoder with every labelling of a lattice."""
    truth = all_paths(case) if truth is None else truth
    if not truth:
        with pytest.raises(ValueError, match="no path"):
            tw.decode(case.nodes, case.edges, k, decoder, active=case.active)
        return
    found = tw.decode(case.nodes, case.edges, k, decoder, active=case.active)
    assert found.exact == plan(decoder).row.exact
    check_paths(case, found, k)
    assert len(found.paths) == min(k, len(truth))
    best = truth[: len(found.paths)]
    if [path.score for path in found.paths] == [score for score, _ in best]:
        return
    assert not is_whole(case)
    for path, (right, labels) in zip(found.paths, best, strict=True):
        assert abs(path.score - right) <= tolerance(case, labels)


def check_paths(case: Case, found: Decoding, k: int) -> None:
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
