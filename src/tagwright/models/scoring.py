"""The arrays of a model's features and weights, and the core's scorer over them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tagwright import _core
from tagwright.models.file import Arrays

__all__ = ["index_of", "make_scorer"]

Index = tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[Any]]
"""Slots, ends and bytes of a table of names, as the core takes them."""


def make_scorer(
    labels: list[str], templates: _core.Templates, arrays: Arrays, first_only: bool = False
) -> _core.Scorer:
    """Return the core's scorer of tokens; ValueError where labels and arrays do not fit together.

    first_only: whether a token's scores are the row of the first of its features that the model has, as in an HMM.
    """
    if not all(isinstance(name, str) for name in labels) or len(set(labels)) < len(labels):
        raise ValueError("label names must be strings that differ")
    for end in ("start", "stop"):
        if end in arrays and (arrays[end].shape != (len(labels),) or not np.isfinite(arrays[end]).all()):
            raise ValueError(f"{end} must hold a finite score for each label")
    return _core.Scorer(templates, _core.Weights.from_arrays(len(labels), arrays, first_only))


def index_of(arrays: Arrays, name: str) -> Index:
    """Return the table of names called `name`; an empty one where the model has none."""
    if f"{name}.slots" not in arrays:
        return np.empty(0, np.uint64), np.empty(0, np.uint32), np.empty(0, np.uint8)
    return arrays[f"{name}.slots"], arrays[f"{name}.ends"], arrays[f"{name}.bytes"]
