"""Labelled sentences that are read several times, in pieces: from files, or from an iterable of pairs."""

from __future__ import annotations

import abc
import contextlib
import gc
import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

from tagwright import _core, checks
from tagwright.data.corpus import CorpusLabels, CorpusRows, allowed_labels
from tagwright.data.files import Input, inputs_of
from tagwright.data.reading import batches, labelled_texts
from tagwright.features.templates import Features
from tagwright.learners.labels import known_labels
from tagwright.learners.learner import check

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
    blanks: int | None = None
    """The number of columns where blanks separate them, once a file was read."""

    @abc.abstractmethod
    def pieces(self) -> Iterator[Piece]:
        """Yield all sentences as lists, about 33,000 tokens at a time."""

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
        """Yield the sentences of one file after the other."""
        pieces = self._pieces()
        while True:
            with _without_cycle_collection():
                piece = next(pieces, None)
            if piece is None:
                return
            yield piece

    def _pieces(self) -> Iterator[Piece]:
        X: list[Any] = []
        y: list[Any] = []
        tokens = 0
        self.blanks = None
        for number, file in enumerate(self.files):
            for batch in batches(file.path, **self.options):
                self.blanks = batch[0].form.blanks if number == 0 else self.blanks
                for sentence in batch:
                    labels = sentence.labels or []
                    X.append(sentence.rows)
                    y.append(list(map(allowed_labels, labels)) if self.partial else labels)
                    tokens += len(labels)
                if tokens >= _TOKENS:
                    yield Piece(X, known_labels(y))
                    X, y, tokens = [], [], 0
        if X:
            yield Piece(X, known_labels(y))

    def texts(self, features: Features | None, counted: bool = False) -> Iterator[Piece]:
        """Yield all sentences as the core reads them; as lists where tokens are ready-made features."""
        if features is None and not counted:
            yield from self.pieces()
            return
        columns, reader = (features.columns, features.reader) if features else (0, None)
        self.blanks = None
        read, done = _core.LabelledText(), 0
        for number, file in enumerate(self.files):
            for form, own in labelled_texts(file.path, columns, reader, done, **self.options):
                self.blanks = form.blanks if number == 0 else self.blanks
                read.append(own)
                done += own.text.sentences
                if read.text.tokens >= _TOKENS:
                    yield Piece(CorpusRows(read.text), CorpusLabels.read(read, self.partial))
                    read = _core.LabelledText()
        if read.text.sentences:
            yield Piece(CorpusRows(read.text), CorpusLabels.read(read, self.partial))

    def held(self) -> tuple[Sequence[Any], Sequence[Any]]:
        """Return all sentences and labels, as the core holds them; as lists where files differ in their columns."""
        reads: list[_core.LabelledText] = []
        self.blanks = None
        for number, file in enumerate(self.files):
            for form, own in labelled_texts(file.path, None, **self.options):
                self.blanks = form.blanks if number == 0 else self.blanks
                if reads and reads[-1].text.columns == own.text.columns:
                    reads[-1].append(own)
                else:
                    reads.append(own)
        X = [CorpusRows(read.text) for read in reads]
        y = [CorpusLabels.read(read, self.partial) for read in reads]
        return (X[0], y[0]) if len(reads) == 1 else ([*chain.from_iterable(X)], [*chain.from_iterable(y)])

    def identity(self) -> object:
        """Return a digest of each file as it is on the disk, and how it is read."""
        return {"files": [_digest(file) for file in self.files], "partial": self.partial, **self.options}


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

    @staticmethod
    def _checked(X: list[Any], y: list[Any], first: int) -> Piece:
        X, y = check(X, y, first)
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


@contextlib.contextmanager
def _without_cycle_collection() -> Iterator[None]:
    """Suspend the cyclic garbage collector, which takes longer than making the lists, none of which is in a cycle."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _digest(file: Input) -> str:
    with open(file.path, "rb") as opened:
        return hashlib.file_digest(opened, "blake2b").hexdigest()
