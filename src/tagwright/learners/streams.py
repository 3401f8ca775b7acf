"""Labelled sentences that are read several times, in pieces: from files, or from an iterable of pairs."""

from __future__ import annotations

import abc
import contextlib
import gc
import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from tagwright import _core, checks
from tagwright.data.allowed import allowed_labels
from tagwright.data.corpus import CorpusLabels, CorpusRows
from tagwright.data.inputs import Input, inputs_of
from tagwright.data.reading import batches, labelled_texts
from tagwright.features.templates import Features
from tagwright.learners.labels import Marks, Numbers, Weights, known_labels, label_counts, marks, numbers
from tagwright.learners.learner import check
from tagwright.models.native import core_text

Piece = tuple[list[Any], list[Any]]
"""Sentences and their labels; labels as `known_labels` returns them."""

_TOKENS = 1 << 15  # of a piece, about


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
        """Yield all sentences, about 33,000 tokens at a time."""

    def texts(self, features: Features | None, counted: bool = False) -> Iterator[ListPiece | TextPiece]:
        """Yield all sentences as these features see them; counted: only their labels are needed."""
        for X, y in self.pieces():
            yield ListPiece(X, y)

    @abc.abstractmethod
    def identity(self) -> object:
        """Return what identifies these sentences, for JSON; None where only reading them would."""


class Files(Stream):
    """The sentences of some files, one behind the other."""

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
                    yield X, y
                    X, y, tokens = [], [], 0
        if X:
            yield X, y

    def texts(self, features: Features | None, counted: bool = False) -> Iterator[ListPiece | TextPiece]:
        """Yield all sentences as the core reads them; as lists where tokens are ready-made features."""
        if features is None and not counted:
            yield from super().texts(features)
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
                    yield TextPiece.of(read, self.partial)
                    read = _core.LabelledText()
        if read.text.sentences:
            yield TextPiece.of(read, self.partial)

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
        y = [CorpusLabels(read, self.partial) for read in reads]
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
        return X, list(known_labels(y, first)[0])

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


class ListPiece:
    """Sentences and labels as lists; labels as `known_labels` returns them."""

    def __init__(self, X: Sequence[Any], y: Sequence[Any], weights: Weights | None = None) -> None:
        """Take sentences and their labels; weights: of the sentences."""
        self._X, self._y, self._weights = X, y, weights
        self.sentences, self.tokens = len(X), sum(map(len, y))

    def text(self, features: Features | None, first: int) -> _core.Text:
        """Return the sentences for the core; first: the number of the first one, for messages."""
        return core_text(self._X, features, first)

    def is_partial(self) -> bool:
        """Return whether a label is partly known."""
        return not all(type(label) is str for own in self._y for label in own)

    def count(self, counts: Counter[Any]) -> None:
        """Add how often each label is given, as `label_counts` counts."""
        label_counts(self._y, self._weights, counts)

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
    """Sentences and labels as the core read them from files: a thirtieth of the memory of lists."""

    def __init__(self, X: CorpusRows, y: CorpusLabels) -> None:
        self._X, self._ids, self._known, self._lengths = X, y.ids, y.known, y.lengths
        self._partial = y.partial
        self.sentences, self.tokens = X.text.sentences, X.text.tokens

    @classmethod
    def of(cls, read: _core.LabelledText, partial: bool) -> TextPiece:
        """Return what the core read; partial: whether a label such as ``NN,VB`` stands for one of several."""
        return cls(CorpusRows(read.text), CorpusLabels(read, partial))

    def text(self, features: Features | None, first: int) -> _core.Text:
        """Return the sentences for the core; first: the number of the first one, for messages."""
        return core_text(self._X, features, first)

    def is_partial(self) -> bool:
        """Return whether a label is partly known."""
        return self._partial

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
        return self._lengths


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
