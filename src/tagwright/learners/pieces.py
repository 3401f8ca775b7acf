"""Pieces of a corpus: sentences and labels as Python's lists, or as the core reads them from files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tagwright import _core
from tagwright.data.allowed import allowed_labels
from tagwright.features.templates import Features
from tagwright.learners.learner import numbers
from tagwright.learners.partial import Known, Marks, Numbers, label_counts, marks
from tagwright.models.native import core_text

__all__ = ["ListPiece", "TextPiece"]


class ListPiece:
    """Sentences and labels as lists; labels as `known_labels` returns them."""

    def __init__(self, X: Sequence[Any], y: Sequence[Any]) -> None:
        """Take sentences and their labels."""
        self._X, self._y = X, y
        self.sentences, self.tokens = len(X), sum(map(len, y))

    def text(self, features: Features | None, first: int) -> _core.Text:
        """Return the sentences for the core; first: the number of the first one, for messages."""
        return core_text(self._X, features, first)

    def is_partial(self) -> bool:
        """Return whether a label is partly known."""
        return not all(type(label) is str for own in self._y for label in own)

    def count(self, counts: Counter[Any]) -> None:
        """Add how often each label is given, as `label_counts` counts."""
        label_counts(self._y, None, counts)

    def ids(self, labels: Sequence[str]) -> npt.NDArray[np.int32]:
        """Return the labels of all tokens as numbers."""
        return numbers(self._y, labels)

    def marks(self, labels: Sequence[str]) -> Marks:
        """Return the labels of all tokens, some of which are partly known."""
        return marks(self._y, labels)

    def lengths(self) -> list[int]:
        """Return how many tokens each sentence has."""
        return [len(own) for own in self._y]


class TextPiece:
    """Sentences and labels as the core read them from a file: a thirtieth of the memory of lists.

    Parameters
    ----------
    read
        What the core read.
    partial
        Whether a label such as ``NN,VB`` stands for one of several, and ``_`` for any.

    """

    def __init__(self, read: _core.LabelledText, partial: bool) -> None:
        """Interpret each label once."""
        self._read, self._ids = read, read.ids
        self._known: list[Known] = [allowed_labels(name) if partial else name for name in read.names]
        self.sentences, self.tokens = read.text.sentences, read.text.tokens

    def text(self, features: Features | None, first: int) -> _core.Text:
        """Return the sentences for the core; first: the number of the first one, for messages."""
        return self._read.text

    def is_partial(self) -> bool:
        """Return whether a label is partly known."""
        return not all(isinstance(known, str) for known in self._known)

    def count(self, counts: Counter[Any]) -> None:
        """Add how often each label is given, in the order of the tokens: sums of shares have the same bits."""
        sets = [(known,) if isinstance(known, str) else tuple(known or ()) for known in self._known]
        names = list(dict.fromkeys(name for own in sets for name in own))
        number = Numbers(names)
        which, ends = _gathered([[number[name] for name in own] for own in sets], self._ids)
        lengths = np.diff(ends, prepend=0)
        sums = np.array([counts[name] for name in names], np.float64)
        np.add.at(sums, which, np.repeat(1 / np.maximum(lengths, 1), lengths))
        for name, total in zip(names, sums.tolist(), strict=True):
            counts[name] = int(total) if total.is_integer() else total

    def ids(self, labels: Sequence[str]) -> npt.NDArray[np.int32]:
        """Return the labels of all tokens as numbers, -1 where one is partly known."""
        number = Numbers(labels)
        own = [number[known] if isinstance(known, str) else -1 for known in self._known]
        return np.array(own, np.int32)[self._ids]

    def marks(self, labels: Sequence[str]) -> Marks:
        """Return the labels of all tokens, some of which are partly known."""
        number = Numbers(labels)
        lists = [
            [] if isinstance(known, str) else sorted(number[name] for name in known or ()) for known in self._known
        ]
        allowed, ends = _gathered(lists, self._ids)
        return Marks(self.ids(labels), ends.astype(np.uint64), allowed.astype(np.int32))

    def lengths(self) -> list[int]:
        """Return how many tokens each sentence has."""
        return list(self._read.text.lengths().tolist())


def _gathered(
    lists: Sequence[Sequence[int]], which: npt.NDArray[np.int32]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the lists of these numbers one behind the other, and where each ends."""
    sizes = np.array([len(own) for own in lists], np.int64)
    flat = np.array([item for own in lists for item in own], np.int64)
    begins = np.cumsum(sizes) - sizes
    lengths = sizes[which]
    ends = np.cumsum(lengths)
    at = np.arange(lengths.sum()) - np.repeat(ends - lengths, lengths) + np.repeat(begins[which], lengths)
    return flat[at], ends
