"""The truth by other means: every labelling, scored one by one."""

import itertools
from typing import NamedTuple

import numpy as np


class Case(NamedTuple):
    """A lattice with everything that can be part of one. steps: (T-1, L, L), whatever form `edges` has."""

    nodes: np.ndarray
    edges: object  # what tagwright is given
    switched_on: list[list[int]] | None
    steps: np.ndarray
    start: np.ndarray
    stop: np.ndarray


def score(case: Case, labels) -> float:
    total = 0.0
    for t, y in enumerate(labels):
        total += case.start[y] if t == 0 else case.steps[t - 1, labels[t - 1], y]
        total += float(case.nodes[t, y])
    return total + case.stop[labels[-1]] if len(labels) else total


def all_paths(case: Case) -> list[tuple[float, tuple[int, ...]]]:
    """Every path that -inf does not forbid, best first."""
    T, L = case.nodes.shape
    scored = ((score(case, labels), labels) for labels in itertools.product(range(L), repeat=T))
    return sorted(((s, labels) for s, labels in scored if s > -np.inf), reverse=True)


def tolerance(case: Case, labels) -> float:
    """The promise: 1e-6 of the sum of absolute scores along a path."""
    absolute = Case(abs(case.nodes), None, None, abs(case.steps), abs(case.start), abs(case.stop))
    return 1e-6 * score(absolute, labels)
