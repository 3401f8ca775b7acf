"""The sentences of a trainer, encoded as they are appended."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tagwright import _core


class Labelled(NamedTuple):
    """Some labelled sentences."""

    text: _core.Text
    labels: npt.NDArray[np.int32]
    """[token], numbers of labels."""


class _Group:
    def __init__(self) -> None:
        self.text = _core.empty_text()
        self.labels: list[int] = []


class Sequences:
    """Labelled sentences in groups; labels are numbered as they occur."""

    def __init__(self) -> None:
        """Begin without sentences."""
        self.labels: dict[str, int] = {}
        self._groups: dict[int, _Group] = {}

    def append(self, xseq: Iterable[Any], yseq: Iterable[str | bytes], group: int) -> None:
        """Add a sentence to a group; ValueError unless it has one label per item."""
        names = [_label(y) for y in yseq]
        items = xseq if isinstance(xseq, _core.Items) else _core.Items(xseq)
        if len(items) != len(names):
            raise ValueError(f"The numbers of items and labels differ: |x| = {len(items)}, |y| = {len(names)}")
        own = self._groups.setdefault(int(group), _Group())
        numbers = [self.labels.setdefault(name, len(self.labels)) for name in names]
        _core.append_items(own.text, items)
        own.labels += numbers

    def split(self, holdout: int) -> tuple[Labelled, Labelled | None]:
        """Return the sentences to train on, and those of the group that is held out, where there are some."""
        kept = [own for group, own in self._groups.items() if group != holdout]
        held = self._groups.get(holdout) if holdout >= 0 else None
        if len(kept) == 1:
            text = kept[0].text
        else:
            text = _core.empty_text()
            for own in kept:
                _core.append_text(text, own.text)
        labels = [number for own in kept for number in own.labels]
        return _labelled(text, labels), _labelled(held.text, held.labels) if held else None


def _labelled(text: _core.Text, labels: list[int]) -> Labelled:
    return Labelled(text, np.array(labels, np.int32))


def _label(name: str | bytes) -> str:
    if isinstance(name, bytes):
        return name.decode()
    if not isinstance(name, str):
        raise TypeError(f"labels must be str, not {type(name).__name__}")
    return name
