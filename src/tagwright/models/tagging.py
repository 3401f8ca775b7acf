"""What models answer: one labelling of a sentence, and the scores of a sentence before it is labelled."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tagwright.decoding.edges import Edges
from tagwright.models.summary import tagging_table

__all__ = ["Lattice", "Tagging"]


class Tagging(NamedTuple):
    """One labelling of a sentence."""

    labels: list[str]
    """The name of each token's label."""
    score: float
    """Its score under the model; higher is better."""
    probability: float | None = None
    """Probability of the whole labelling, exp(score - log Z); None unless it was asked for."""
    marginals: list[float] | None = None
    """Probability of each token's label, whatever the labels of the others; None unless they were asked for."""
    log_probability: float | None = None
    """score - log Z, which says more where the probability of a long sentence is next to 0."""

    def _repr_html_(self) -> str:
        """Return a table of the tokens' labels for a notebook."""
        return tagging_table(self)


class Lattice(NamedTuple):
    """A sentence's scores, to be decoded by any means, as in ``tw.decode(lattice.nodes, lattice.edges, k=5)``.

    A model with token-dependent edges needs ``active=lattice.active`` there too.
    """

    nodes: npt.NDArray[np.floating[Any]]
    """(T, L); label y is ``model.labels[y]``."""
    edges: Edges
    """The model's edges, shared by all sentences; for a MEMM those of the sentence."""
    active: list[list[int]] | None
    """For each step the correction sets that count there; None for a model without token-dependent edges."""
