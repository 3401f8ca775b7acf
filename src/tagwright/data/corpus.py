"""A corpus as the core holds it: sentences become lists one at a time, when they are used; and labels in cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tagwright import _core

ANY, BETWEEN = "_", ","


def allowed_labels(cell: str) -> str | frozenset[str] | None:
    """Return the label that a cell holds, the labels it holds with commas between them, or None for any.

    A cell with nothing before, between or behind its commas is a label itself: ``,`` is the tag of a comma.

    Example:
        >>> from tagwright.data.corpus import allowed_labels
        >>> allowed_labels("NN"), sorted(allowed_labels("NN,VB")), allowed_labels("_"), allowed_labels(",")
        ('NN', ['NN', 'VB'], None, ',')

    """
    if cell == ANY:
        return None
    labels = cell.split(BETWEEN)
    return frozenset(labels) if len(labels) > 1 and all(labels) else cell


class _Lazy(Sequence[Any]):
    """A sequence whose items are made when they are used."""

    def _item(self, s: int) -> list[Any]:
        raise NotImplementedError

    def __getitem__(self, s: Any) -> Any:
        if isinstance(s, slice):
            return [self._item(n) for n in range(*s.indices(len(self)))]
        n = s + len(self) if s < 0 else s
        if not 0 <= n < len(self):
            raise IndexError(f"sentence {s} of {len(self)}")
        return self._item(n)

    def __iter__(self) -> Iterator[Any]:
        return map(self._item, range(len(self)))

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)


class CorpusRows(_Lazy):
    """The sentences of a corpus: a list of rows of columns each."""

    def __init__(self, text: _core.Text) -> None:
        self.text = text

    def __len__(self) -> int:
        return self.text.sentences

    def _item(self, s: int) -> list[list[str]]:
        return self.text.rows(s)


class CorpusLabels(_Lazy):
    """The labels of the sentences of a corpus: a list of labels each.

    Parameters
    ----------
    known : list
        The distinct labels: a name; a set of names, one of which is right; or None where nothing is known.
    ids : int32 array
        The label of every token, by its place in `known`.
    lengths : list of int
        Tokens of each sentence.
    """

    def __init__(self, known: list[Any], ids: npt.NDArray[np.int32], lengths: list[int]) -> None:
        self.known, self.ids, self.lengths = known, ids, lengths
        self._ends = np.cumsum(lengths, dtype=np.int64)

    @classmethod
    def read(cls, read: _core.LabelledText, partial: bool = False) -> CorpusLabels:
        """Return what the core read; partial: whether ``NN,VB`` stands for one of the two, and ``_`` for any."""
        known = [_label(name) if partial else name for name in read.names]
        return cls(known, read.ids, read.text.lengths().tolist())

    @property
    def partial(self) -> bool:
        """Whether a label is partly known."""
        return any(known is None or isinstance(known, frozenset) for known in self.known)

    def __len__(self) -> int:
        return len(self.lengths)

    def _item(self, s: int) -> list[Any]:
        end = int(self._ends[s])
        return [self.known[y] for y in self.ids[end - self.lengths[s] : end].tolist()]


def _label(cell: str) -> str | frozenset[str] | None:
    found = allowed_labels(cell)
    return next(iter(found)) if isinstance(found, frozenset) and len(found) == 1 else found
