"""What a file format is (`Form`), what is requested of it (`Request`) and what it returns (`Sentence`)."""

from __future__ import annotations

import abc
from collections.abc import Callable, Collection, Sequence
from typing import ClassVar, NamedTuple

from tagwright import _core
from tagwright.data.english_tokens import Span
from tagwright.data.files import DataError


class Request(NamedTuple):
    """What the caller wants to read; see `tagwright.data.reading.batches`."""

    file: str
    """The name of the file, for messages."""
    label: str | None = None
    comments: bool = False
    columns: int | None = None
    widths: Collection[int] = ()
    fields: str | None = None
    tokenize: str = "whitespace"
    split: bool = True


class Sentence(NamedTuple):
    """A sentence and the lines it came from."""

    rows: list[list[str]]
    """The columns of each token that features may look at."""
    labels: list[str] | None
    """One label per token; None where none was requested."""
    lines: list[str]
    """The lines as read, without line ends, including comments and whatever else is not a token."""
    at: list[int]
    """The index in `lines` of each token."""
    first: int
    """The number of the first line in its file, from 1."""
    form: Form
    spans: list[Span] | Callable[[str], list[Span]] | None = None
    """In text, where the tokens are, or what finds them in the line; see `offsets`."""

    @property
    def offsets(self) -> list[Span] | None:
        """In text, where each token begins and ends in ``lines[0]``, in characters; None in other formats."""
        return self.spans(self.lines[0]) if callable(self.spans) else self.spans


class Form(abc.ABC):
    """The form of one file, as its first token line shows it. A subclass is a file format."""

    name: ClassVar[str]
    """The value of ``--format``."""
    suffixes: ClassVar[tuple[str, ...]] = ()
    """How names of its files end, without ``.gz`` or ``.xz``, where that determines the format."""
    sentence_per_line: ClassVar[bool] = False
    """Whether a line is complete on its own; otherwise a blank line ends a sentence."""
    blanks: int | None = None
    """The number of columns, where blanks separate them."""
    separator: str = "\t"
    """What stands between the cells that are added to a token."""
    note: str = ""
    """What was guessed, where the guess may be wrong."""

    def __init__(self, line: str, number: int, request: Request) -> None:
        self.request = request

    @staticmethod
    def has_comment(line: str) -> bool:
        """Return whether a line above the first token is a comment that only this format has."""
        return False

    @staticmethod
    def has_token(line: str, request: Request) -> bool:
        """Return whether the first token line is of this format."""
        return False

    @staticmethod
    def is_comment(line: str, request: Request) -> bool:
        """Return whether a line is a comment, not a token."""
        return request.comments and (line == "#" or line.startswith("# "))

    @abc.abstractmethod
    def sentence(self, lines: list[str], first: int) -> Sentence:
        """Return the sentence of these lines, which may have no token; `first` is the number of the first line."""

    def sentences(self, lines: list[str], first: int) -> list[Sentence]:
        """Return the sentences of these lines: one, except where a line of text is a paragraph."""
        return [self.sentence(lines, first)]

    @abc.abstractmethod
    def tagged(self, sentence: Sentence, labels: Sequence[str], shares: Sequence[str]) -> list[str]:
        """Return the lines to write, with what stands between sentences; shares: probabilities as text, or empty."""

    def joined(self, sentence: Sentence) -> list[bool]:
        """Return for each token whether the next one follows without a blank, as far as the file records it."""
        return [False] * len(sentence.rows)

    def line_format(self) -> _core.LineFormat | None:
        """Return the format for the core's reader of lines; None if only Python reads it."""
        return None

    def error(self, number: int, message: str) -> DataError:
        """Return an error in the line of this number."""
        return DataError(f"{self.request.file}:{number}: {message}")
