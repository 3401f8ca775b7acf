"""Which labels the tokens of sentences may have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tagwright import _core

__all__ = ["AllowedLabels", "read_allowed"]

AllowedLabels: TypeAlias = Sequence[Any]
"""For each token the labels it may have, or None where it may have all."""


def read_allowed(
    allowed: Sequence[AllowedLabels | None] | None,
    lengths: list[int],
    sizes: list[int],
    names: dict[str, int] | None = None,
) -> _core.AllowedLists | None:
    """Return which labels tokens may have as the core takes them; names: the numbers of labels by name, if by name.

    Args:
        allowed: for each sentence None or, for each token, labels or None.
        lengths: tokens per sentence.
        sizes: how many labels there are: one for all, or one per sentence.
        names: the numbers of labels where they are given by their names.

    """
    if allowed is None:
        return None
    given = [_lists(own) if isinstance(own, np.ndarray) and own.ndim == 2 else own for own in allowed]
    return _core.AllowedLists.read(given, lengths, sizes, names)


def _lists(mask: npt.NDArray[Any]) -> list[list[int] | None]:
    if mask.dtype != np.bool_:
        raise ValueError(f"allowed must hold lists of labels, or be an array of truth values, not of {mask.dtype}")
    return [None if row.all() else np.flatnonzero(row).tolist() for row in mask]
