"""The arrays of a model's features and weights: what they must hold, and the core's scorer over them."""

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
    """Return the core's scorer of tokens; ValueError where the arrays do not fit together.

    first_only: whether a token's scores are the row of the first of its features that the model has, as in an HMM.
    """
    _check(labels, arrays)
    parts = arrays.get("parts", np.empty(0, np.uint16))
    return _core.Scorer.make(
        templates,
        len(labels),
        index_of(arrays, "names"),
        index_of(arrays, "edge_names"),
        arrays["rows.end"],
        arrays["rows.label"],
        arrays["rows.weight"],
        parts,
        int(parts.max(initial=0)) + 1 if parts.size else 0,
        first_only,
    )


def index_of(arrays: Arrays, name: str) -> Index:
    """Return the table of names called `name`; an empty one where the model has none."""
    if f"{name}.slots" not in arrays:
        return np.empty(0, np.uint64), np.empty(0, np.uint32), np.empty(0, np.uint8)
    return arrays[f"{name}.slots"], arrays[f"{name}.ends"], arrays[f"{name}.bytes"]


_DTYPES = {
    "names.slots": "u8",
    "names.ends": "u4",
    "names.bytes": "u1",
    "rows.end": "u8",
    "rows.label": "u2",
    "rows.weight": "f4",
    "edges.previous": "u2",
    "edges.current": "u2",
    "edges.score": "f4",
}
_DTYPES_OF_PARTS = {"parts": "u2"}
_DTYPES_OF_SETS = {
    "edge_names.slots": "u8",
    "edge_names.ends": "u4",
    "edge_names.bytes": "u1",
    "corrections.set": "i4",
    "corrections.previous": "u2",
    "corrections.current": "u2",
    "corrections.score": "f4",
}


def _check(labels: list[str], arrays: Arrays) -> None:
    """Raise ValueError if parts do not fit together; the core checks names and rows itself."""
    if not all(isinstance(name, str) for name in labels) or len(set(labels)) < len(labels):
        raise ValueError("label names must be strings that differ")
    wanted = dict(_DTYPES)
    for more in (_DTYPES_OF_PARTS, _DTYPES_OF_SETS):
        if any(name in arrays for name in more):
            wanted |= more
    for name, dtype in wanted.items():
        if arrays[name].dtype != np.dtype(dtype):
            raise ValueError(f"{name} holds {arrays[name].dtype}, not {np.dtype(dtype)}")
    _check_edges(arrays, "edges", len(labels), np.zeros(len(arrays["edges.score"]), np.int64))
    for end in ("start", "stop"):
        if end in arrays and (arrays[end].shape != (len(labels),) or not np.isfinite(arrays[end]).all()):
            raise ValueError(f"{end} must hold a finite score for each label")
    if "corrections.set" not in arrays:
        return
    sets = arrays["corrections.set"].astype(np.int64)
    if not sets.size or sets.min() != 0 or sets.max() + 1 != len(arrays["edge_names.ends"]):
        raise ValueError("the sets of corrections are not those that have names")
    _check_edges(arrays, "corrections", len(labels), sets)


def _check_edges(arrays: Arrays, kind: str, L: int, sets: npt.NDArray[np.int64]) -> None:
    previous, current, scores = (arrays[f"{kind}.{part}"] for part in ("previous", "current", "score"))
    if not len(previous) == len(current) == len(scores) == len(sets):
        raise ValueError(f"{kind}: arrays of unequal length")
    if len(scores) and max(previous.max(), current.max()) >= L:
        raise ValueError(f"{kind}: a label that is not there")
    if not np.isfinite(scores).all():
        raise ValueError(f"{kind}: a score that is not finite")
    if (np.diff((sets * L + previous) * L + current) <= 0).any():
        raise ValueError(f"{kind}: not in order, or given twice")
