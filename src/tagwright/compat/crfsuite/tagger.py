"""Tagging with the interface of python-crfsuite."""

from __future__ import annotations

import contextlib
import mmap
import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tagwright import _core
from tagwright.compat.crfsuite._dumpparser import ParsedDump

if TYPE_CHECKING:
    from typing import Self

_MAPPED = 1 << 17
"""Bytes of a file above which it is mapped."""


class Tagger:
    """Tags sentences of attributes with a model of tagwright or of CRFsuite.

    An item of a sentence has any of the forms of `ItemSequence`. `tag`, `probability` and `marginal` may be called by
    several threads, but the last two refer to the sentence that was set last by any of them.

    Examples
    --------
    >>> tagger = Tagger()
    >>> tagger.tag([["walk"]])
    Traceback (most recent call last):
    ...
    ValueError: The tagger is not opened
    """

    _native: _core.AttributeTagger | None = None
    _size = 0
    _magic = ""

    def open(self, name: str | os.PathLike[str]) -> contextlib.closing[Self]:
        """Open a model file; return a context manager that closes it.

        A file of more than 128 kB is mapped, not copied: it must not be truncated or overwritten in place while it is
        open. `Trainer.train` and `tagwright train` put a new file in the place of the old one.

        Raises
        ------
        ValueError
            If the file is damaged, or not a model of tagwright or CRFsuite over ready-made attributes.
        OSError
            If it cannot be read.
        """
        with open(name, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size > _MAPPED else file.read()
        try:
            return self._opened(content)
        except ValueError as error:
            raise ValueError(f"{os.fspath(name)}: {error}") from None

    def open_inmemory(self, value: bytes) -> contextlib.closing[Self]:
        """Open the bytes of a model file; return a context manager that closes it."""
        if not isinstance(value, bytes):
            raise TypeError(f"value must be bytes, not {type(value).__name__}")
        return self._opened(value)

    def _opened(self, content: Any) -> contextlib.closing[Self]:
        self._native = _core.AttributeTagger.open(content)
        self._size, self._magic = len(content), "lCRF" if content[:4] == b"lCRF" else "safetensors"
        return contextlib.closing(self)

    def close(self) -> None:
        """Close the model."""
        self._native = None

    def labels(self) -> list[str]:
        """Return the labels of the model."""
        return self._open_model().labels()

    def tag(self, xseq: Iterable[Any] | None = None) -> list[str]:
        """Return the best labels of a sentence, which becomes the current one; None: of the current one."""
        native = self._native
        if native is None:
            raise ValueError("The tagger is not opened")
        return native.tag(xseq)  # type: ignore[return-value]

    def tag_batch(self, X: Iterable[Iterable[Any]]) -> list[list[str]]:
        """Return the best labels of many sentences; the current one stays. python-crfsuite does not have this."""
        return self._open_model().tag_all(X)

    def set(self, xseq: Iterable[Any]) -> None:
        """Set the current sentence, for `tag`, `probability` and `marginal`."""
        self._open_model().set(xseq)

    def probability(self, yseq: Sequence[str | bytes]) -> float:
        """Return the probability of a labelling of the current sentence; 0 if the sentence is empty."""
        return self._open_model().probability([_text(y) for y in yseq])

    def marginal(self, y: str | bytes, pos: int) -> float:
        """Return the probability of a label at a position of the current sentence."""
        return self._open_model().marginal(_text(y), pos)

    def marginals(self) -> list[dict[str, float]]:
        """Return the probability of every label at each position of the current sentence. Not in python-crfsuite."""
        return self._open_model().marginals()

    def dump(self, filename: str | os.PathLike[str] | None = None) -> None:
        """Write the model as text to a file, or to standard output."""
        text = self.info().text()
        if filename is None:
            sys.stdout.write(text)
        else:
            with open(filename, "w", encoding="utf-8") as file:
                file.write(text)

    def info(self) -> ParsedDump:
        """Return labels, attributes and weights of the model."""
        native = self._native
        if native is None:
            raise RuntimeError("Tagger is closed")
        attributes, states, transitions = native.weights()
        made = ParsedDump()
        made.labels = {name: str(n) for n, name in enumerate(native.labels())}
        made.attributes = {name: str(n) for n, name in enumerate(attributes)}
        made.transitions, made.state_features = transitions, states
        sizes = {
            "size": self._size,
            "type": "FOMC",
            "version": 100,
            "num_features": len(states) + len(transitions),
            "num_labels": len(made.labels),
            "num_attrs": len(made.attributes),
        }
        made.header = {"magic": self._magic, **{name: str(value) for name, value in sizes.items()}}
        return made

    def _open_model(self) -> _core.AttributeTagger:
        if self._native is None:
            raise ValueError("The tagger is not opened")
        return self._native


def _text(label: str | bytes) -> str:
    return label.decode() if isinstance(label, bytes) else label
