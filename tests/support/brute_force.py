"""The truth by other means: every labelling, scored."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np


class Case(NamedTuple):
    """A lattice with everything that can be part of one. steps: (T-1, L, L), whatever form `edges` has.

    ngrams: label n-grams and their scores.
    """

    nodes: np.ndarray
    edges: object  # what tagwright is given
    active: list[list[int]] | None
    steps: np.ndarray
    start: np.ndarray
    stop: np.ndarray
    ngrams: Mapping[tuple[int, ...], float] = MappingProxyType({})


def score(case: Case, labels) -> float:
    total = 0.0
    for t, y in enumerate(labels):
        total += case.start[y] if t == 0 else case.steps[t - 1, labels[t - 1], y]
        total += sum(more for run, more in case.ngrams.items() if tuple(labels[: t + 1][-len(run) :]) == run)
        total += float(case.nodes[t, y])
    return total + case.stop[labels[-1]] if len(labels) else total


def scores(case: Case, labels: np.ndarray) -> np.ndarray:
    """The scores of N labellings, (T, N), by the sums of `score` in the same order."""
    total = np.zeros(labels.shape[1])
    for t, y in enumerate(labels):
        total += case.start[y] if t == 0 else case.steps[t - 1][labels[t - 1], y]
        total += ending(case, labels[: t + 1])
        total += case.nodes[t].astype(float)[y]
    return total + case.stop[labels[-1]] if len(labels) else total


def ending(case: Case, labels: np.ndarray) -> np.ndarray | float:
    """What ngrams add that N labellings, (t, N), end with."""
    if not case.ngrams:
        return 0.0
    total = np.zeros(labels.shape[1])
    for run, more in case.ngrams.items():
        if len(run) <= len(labels):
            total[(labels[-len(run) :] == np.array(run)[:, None]).all(0)] += more
    return total


def paths(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """Every path that -inf does not forbid, in the order of its labels: labels (T, N) and scores (N,)."""
    T, L = case.nodes.shape
    labels = np.indices((L,) * T).reshape(T, L**T)
    found = scores(case, labels)
    return labels[:, found > -np.inf], found[found > -np.inf]


def all_paths(case: Case) -> list[tuple[float, tuple[int, ...]]]:
    """The same, best first; of equal scores the higher labels."""
    labels, found = (part[..., ::-1] for part in paths(case))
    order = np.argsort(-found, kind="stable")
    return list(zip(found[order].tolist(), map(tuple, labels[:, order].T.tolist()), strict=True))


def tolerances(case: Case, labels: np.ndarray) -> np.ndarray:
    """The promise for N paths, (T, N): 1e-6 of the sum of absolute scores along each."""
    runs = {run: abs(more) for run, more in case.ngrams.items()}
    absolute = Case(abs(case.nodes), None, None, abs(case.steps), abs(case.start), abs(case.stop), runs)
    return 1e-6 * scores(absolute, labels)


def tolerance(case: Case, labels) -> float:
    """The same for one path."""
    return float(tolerances(case, np.asarray(labels, dtype=int)[:, None])[0])
