"""Labelled sentences that are read several times, in pieces: from files, or from an iterable of pairs."""

from __future__ import annotations

import abc
import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

from tagwright import _core, checks
from tagwright.data.corpus import CorpusLabels, CorpusRows
from tagwright.data.files import Input, digest_of, inputs_of
from tagwright.data.reading import labelled_texts
from tagwright.features.templates import Features
from tagwright.learners.labels import known_labels
from tagwright.learners.learner import check, one_type

_TOKENS = 1 << 15  # of a piece, about


class Piece(NamedTuple):
    """Some sentences and their labels: lists, or as the core read them from files, a thirtieth of the memory."""

    X: Sequence[Any]
    y: CorpusLabels


class Stream(abc.ABC):
    """Labelled sentences in pieces, which can be read several times."""

    name: str
    """The name in messages and of cache files."""
    partial: bool
    """Whether a label may be partly known."""
    is_files = False
    integers: bool | None = None
    """Whether labels are integers, once some were read."""
    blanks: int | None = None
    """The number of columns where blanks separate them, once a file was read."""

    @abc.abstractmethod
    def pieces(self) -> Iterator[Piece]:
        """Yield all sentences, about 33,000 tokens at a time."""

    def texts(self, features: Features | None, counted: bool = False) -> Iterator[Piece]:
        """Yield all sentences as these features see them; counted: only their labels are needed."""
        return self.pieces()

    @abc.abstractmethod
    def identity(self) -> object:
        """Return what identifies these sentences, for JSON; None where only reading them would."""


class Files(Stream):
    """The sentences of some files, one after the other."""

    is_files = True

    def __init__(self, files: Sequence[Input], options: dict[str, Any], partial: bool = False) -> None:
        """Take the arguments of `tagwright.data.reading.batches`: format, label, comments."""
        self.files, self.options, self.partial = files, options, partial
        self.name = os.path.abspath(files[0].path)

    def pieces(self) -> Iterator[Piece]:
        """Yield all sentences with all columns before the label."""
        return map(self._piece, self._read(None))

    def texts(self, features: Features | None, counted: bool = False) -> Iterator[Piece]:
        """Yield all sentences with the columns that templates read; as lists where tokens are ready-made features."""
        if features is None and not counted:
            return (Piece(list(piece.X), piece.y) for piece in self.pieces())
        columns, reader = (features.columns, features.reader) if features else (0, None)
        return map(self._piece, self._read(columns, reader))

    def held(self) -> tuple[Sequence[Any], Sequence[Any]]:
        """Return all sentences and labels, as the core holds them; as lists where files differ in their columns."""
        X, y = zip(*map(self._piece, self._read(None, most=math.inf)), strict=True)
        return (X[0], y[0]) if len(X) == 1 else ([*chain.from_iterable(X)], [*chain.from_iterable(y)])

    def _piece(self, read: _core.LabelledText) -> Piece:
        return Piece(CorpusRows(read.text), CorpusLabels.read(read, self.partial))

    def _read(
        self, columns: int | None, reader: Callable[[int], str] | None = None, most: float = _TOKENS
    ) -> Iterator[_core.LabelledText]:
        """Yield the files as the core reads them, in pieces of `most` tokens or a little more, each of one width."""
        read: _core.LabelledText | None = None
        self.blanks, done = None, 0
        for number, file in enumerate(self.files):
            for form, own in labelled_texts(file.path, columns, reader, done, **self.options):
                self.blanks = form.blanks if number == 0 else self.blanks
                done += own.text.sentences
                if read is not None and read.text.tokens < most and read.text.columns == own.text.columns:
                    read.append(own)
                    continue
                if read is not None:
                    yield read
                read = own
        if read is not None:
            yield read

    def identity(self) -> object:
        """Return a digest of each file as it is on the disk, and how it is read."""
        return {"files": [digest_of(file.path) for file in self.files], "partial": self.partial, **self.options}


class Pairs(Stream):
    """The pairs of a sentence and its labels that an iterable yields."""

    name = "sentences"
    partial = True

    def __init__(self, pairs: Iterable[tuple[Sequence[Any], Sequence[Any]]]) -> None:
        """Take an iterable that starts anew each time: a generator would be empty the second time."""
        if isinstance(pairs, Iterator):
            raise ValueError(
                f"a {type(pairs).__name__} can be read only once; give files, a list, or an object whose __iter__ "
                "starts anew"
            )
        self._pairs = pairs

    def pieces(self) -> Iterator[Piece]:
        """Yield what the iterable yields, after a check."""
        X: list[Any] = []
        y: list[Any] = []
        tokens = first = 0
        for number, pair in enumerate(self._pairs):
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise ValueError(f"sentence {number}: a pair of tokens and labels is needed, not {checks.shown(pair)}")
            X.append(pair[0])
            y.append(pair[1])
            tokens += len(pair[1]) if hasattr(pair[1], "__len__") else 0
            if tokens >= _TOKENS:
                yield self._checked(X, y, first)
                X, y, tokens, first = [], [], 0, number + 1
        if X:
            yield self._checked(X, y, first)

    def _checked(self, X: list[Any], y: list[Any], first: int) -> Piece:
        X, y = check(X, y, first)
        self.integers = one_type(self.integers, y, first)
        return Piece(X, known_labels(y, first))

    def identity(self) -> object:
        """Return None."""
        return None


class Column(Iterable[Any]):
    """The sentences of a stream, or their labels, read anew each time."""

    def __init__(self, stream: Stream, which: int) -> None:
        self._stream, self._which = stream, which

    def __iter__(self) -> Iterator[Any]:
        for piece in self._stream.pieces():
            yield from piece[self._which]


def stream_of(given: object, options: dict[str, Any], partial: bool) -> Stream:
    """Return what `fit_files` was given as a stream: a path, several, or an iterable of pairs."""
    if isinstance(given, str | os.PathLike):
        return Files(inputs_of(given), options, partial)
    if isinstance(given, list | tuple) and all(isinstance(path, str | os.PathLike) for path in given):
        return Files(inputs_of(given), options, partial)
    if not isinstance(given, Iterable):
        raise ValueError(f"a file, several, or an iterable of pairs is needed, not {checks.shown(given)}")
    return Pairs(given)
