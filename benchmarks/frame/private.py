"""The only place that reaches options which exist for comparisons alone, and are no part of the public interface.

An instance attribute that is set after construction does not survive scikit-learn's `clone`: make learners here, and
fit the ones that are returned.
"""

from __future__ import annotations

from typing import Any

import tagwright as tw
from tagwright.decoding.decoders import Decoder, _StaggeredUnpruned
from tagwright.learners.options import set_flat


def crf(features: str | None, *, dense_edges: bool = False, **options: Any) -> tw.CRF:
    """Return a CRF; dense_edges: it sums over the whole matrix of edges, one sentence at a time."""
    learner = set_flat(tw.CRF(features), **options)
    learner._dense_edges = dense_edges
    return learner


def perceptron(features: str | None, *, dense_edges: bool | None = None, **options: Any) -> tw.Perceptron:
    """Return a perceptron that holds edges as a matrix only (dense_edges), or (None) if most pairs were observed."""
    learner = tw.Perceptron(features, **options)
    learner._dense_edges = dense_edges
    return learner


def unpruned() -> Decoder:
    """Return staggered decoding that drops no node below a score already reached."""
    return _StaggeredUnpruned()
