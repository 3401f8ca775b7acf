"""Probabilities of the spans of a labelling, for lattices of every order."""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

from tagwright import _core
from tagwright.decoding.decode import one_lattice
from tagwright.decoding.spans import Span, SpanReader
from tagwright.models.model import Model
from tagwright.models.tagging import Lattice
from tagwright.schemes import CONTINUES, OPEN, span_parts

Flags = npt.NDArray[np.bool_]


def spans_in(lattice: Lattice, model: Model, labels: list[int]) -> list[Span]:
    """Return the spans of a labelling with their probabilities over all labellings of a lattice."""
    reader = SpanReader(model.labels)
    if not lattice.edges.ngrams:
        given = one_lattice(lattice.nodes, lattice.edges, lattice.active, None, lattice.allowed)
        return reader.named(_core.spans(*given, reader.core, np.array(labels, np.int32), 0))
    return _NgramSpans(lattice, model).of(labels)


class _NgramSpans:
    """Spans of lattices with label n-grams: differences of sums over labellings that some tokens are restricted to.

    A span of a type from token a to token b - 1 is where each of these labels continues the one before, and neither the
    first continues what is before it nor b what ends here. The probability of the first condition is that of a lattice
    with fewer labels; the other two are subtracted by inclusion and exclusion.
    """

    def __init__(self, lattice: Lattice, model: Model) -> None:
        read = span_parts(model.labels)
        assert read is not None
        self.lattice, self.parts = lattice, read[1]
        self.goes_on = np.array([prefix in OPEN for prefix, _ in self.parts])
        self.continues = np.array([prefix in CONTINUES for prefix, _ in self.parts])
        self.log_z = lattice.marginals().log_z

    def of(self, labels: list[int]) -> list[Span]:
        """Return the spans of a labelling."""
        made, start, T = [], 0, len(labels)
        for t in range(T):
            if t + 1 < T and self._joined(labels[t], labels[t + 1]):
                continue
            name = self.parts[labels[t]][1]
            if self.parts[labels[t]][0] != "O":
                made.append(Span(name, start, t + 1, self._probability(name, start, t + 1)))
            start = t + 1
        return made

    def _joined(self, i: int, j: int) -> bool:
        same = self.parts[i][1] == self.parts[j][1]
        return bool(same and self.goes_on[i] and self.continues[j])

    def _probability(self, name: str, start: int, end: int) -> float:
        T = len(self.lattice.nodes)
        typed = np.array([own == name and prefix != "O" for prefix, own in self.parts])
        total = 0.0
        for before, after in itertools.product((False, True), repeat=2):
            if (before and not start) or (after and end == T):
                continue
            allowed = {t: typed.copy() for t in range(start, end)}
            for t in range(start, end - 1):
                allowed[t] &= self.goes_on
                allowed[t + 1] &= self.continues
            if before:
                allowed[start - 1] = typed & self.goes_on
                allowed[start] &= self.continues
            if after:
                allowed[end - 1] &= self.goes_on
                allowed[end] = typed & self.continues
            total += (-1) ** (before + after) * self._share(allowed)
        return min(1.0, max(0.0, total))

    def _share(self, allowed: dict[int, Flags]) -> float:
        """Return the probability that tokens have labels of these."""
        try:
            restricted = self.lattice.forbidding({t: np.flatnonzero(~own).tolist() for t, own in allowed.items()})
            return _core.exp(min(0.0, restricted.marginals().log_z - self.log_z))
        except ValueError:  # no labelling has such labels
            return 0.0
