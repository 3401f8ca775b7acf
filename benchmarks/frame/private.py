"""The only place that reaches options which exist for comparisons alone, and are no part of the public interface.

An instance attribute that is set after construction does not survive scikit-learn's `clone`: make learners here, and
fit the ones that are returned.
"""

from __future__ import annotations

from typing import Any

import tagwright as tw


def crf(features: str | None, *, dense_edges: bool = False, lanes: bool = True, **options: Any) -> tw.CRF:
    """Return a CRF learner.

    Args:
        features: as of tw.CRF.
        dense_edges: True sums over the whole matrix of edges, False over those that have weights.
        lanes: False sums exactly one sentence at a time, True eight side by side.
        options: the public ones of tw.CRF.
    """
    return tw.CRF(features, dense_edges=dense_edges, lanes=lanes, **options)


def perceptron(features: str | None, *, dense_edges: bool | None = None, **options: Any) -> tw.Perceptron:
    """Return a perceptron learner.

    Args:
        features: as of tw.Perceptron.
        dense_edges: True holds edges as a matrix only; None where most pairs of labels were met.
        options: the public ones of tw.Perceptron.
    """
    return tw.Perceptron(features, dense_edges=dense_edges, **options)


def unpruned() -> Any:
    """Return staggered decoding that drops no node below a score already reached."""
    return tw.Staggered(prune=False)
