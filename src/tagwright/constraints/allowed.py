"""Which labels the tokens of sentences may have."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any, TypeAlias

import numpy as np

from tagwright import _core

__all__ = ["AllowedLabels", "at_most", "lists_of", "read_allowed"]

AllowedLabels: TypeAlias = Sequence[Any]
"""For each token the labels it may have, or None where it may have all."""


def read_allowed(
    allowed: Sequence[AllowedLabels | None] | None,
    lengths: list[int],
    sizes: list[int],
    names: dict[str, int] | None = None,
) -> _core.AllowedLists | None:
    """Return which labels tokens may have as the core takes them.

    Parameters
    ----------
    allowed
        For each sentence None or, for each token, labels or None.
    lengths
        Tokens per sentence.
    sizes
        Number of labels: one for all sentences, or one per sentence.
    names
        The numbers of labels, where labels are given by name.

    """
    if allowed is None:
        return None
    given = at_most(allowed, len(lengths))
    longest = max(lengths, default=0)
    lists = [own if own is None or type(own) is list else at_most(lists_of(own), longest) for own in given]
    return _core.AllowedLists.read(lists, lengths, sizes, names)


def at_most(values: Any, most: int) -> Any:
    """Return a sequence; an endless one is cut behind `most` + 1 items, so that it is refused by its length."""
    if isinstance(values, list | tuple | str | bytes | np.ndarray | Mapping | Set) or not isinstance(values, Iterable):
        return values
    return list(itertools.islice(values, most + 1))


def lists_of(allowed: AllowedLabels | None) -> AllowedLabels | None:
    """Return the labels of each token of a sentence as lists, also where they are a boolean array (T, L)."""
    if not isinstance(allowed, np.ndarray) or allowed.ndim != 2:
        return allowed
    if allowed.dtype != np.bool_:
        raise ValueError(f"allowed must hold lists of labels, or be an array of truth values, not of {allowed.dtype}")
    return [None if row.all() else np.flatnonzero(row).tolist() for row in allowed]
