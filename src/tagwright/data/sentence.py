"""What a file format is (`Form`), what it is asked for (`Request`) and what it returns (`Sentence`)."""

from __future__ import annotations

import abc
from collections.abc import Collection, Sequence
from typing import ClassVar, NamedTuple, Self

__all__ = ["Form", "Request", "Sentence"]


class Request(NamedTuple):
    """What the caller wants to read; see `tagwright.data.reading.batches`."""

    label: str | None = None
    comments: bool = False
    columns: int | None = None
    widths: Collection[int] = ()
    fields: str | None = None


class Sentence(NamedTuple):
    """A sentence and the lines it came from."""

    rows: list[list[str]]
    """The columns of each token that features may look at."""
    labels: list[str] | None
    """One label per token; None where none was asked for."""
    lines: list[str]
    """The lines as read, without line ends, including comments and whatever else is not a token."""
    at: list[int]
    """The index in `lines` of each token."""
    first: int
    """The number of the first line in its file, from 1."""
    form: Form


class Form(abc.ABC):
    """The form of one file, as its first token line shows it. A subclass is a file format."""

    name: ClassVar[str]
    """The value of ``--format``."""
    sentence_per_line: ClassVar[bool] = False
    """Whether a sentence is one line; otherwise a blank line ends it."""

    def __init__(self, file: str, request: Request) -> None:
        """Take the name of the file, for messages, and what is asked for."""
        self.file, self.request = file, request

    # How a format is recognised. Nothing is asked of a format that the caller named.

    @classmethod
    def has_name(cls, file: str) -> bool:
        """Return whether the name of a file, without ``.gz`` or ``.xz``, says that it has this format."""
        return False

    @classmethod
    def has_comment(cls, line: str) -> bool:
        """Return whether a line above the first token is a comment that only this format has."""
        return False

    @classmethod
    @abc.abstractmethod
    def has_token(cls, line: str, request: Request) -> bool:
        """Return whether the first token line is of this format."""

    # How it is read and written.

    @classmethod
    def is_comment(cls, line: str, request: Request) -> bool:
        """Return whether a line is a comment, not a token."""
        return request.comments and (line == "#" or line.startswith("# "))

    @classmethod
    @abc.abstractmethod
    def of(cls, line: str, number: int, file: str, request: Request) -> Self:
        """Return the form that the first token line shows, once the label is known to be in it."""

    @abc.abstractmethod
    def sentence(self, lines: list[str], first: int) -> Sentence:
        """Return the sentence of these lines, which may have no token; `first` is the number of the first line."""

    @abc.abstractmethod
    def tagged(self, sentence: Sentence, labels: Sequence[str], shares: Sequence[str]) -> list[str]:
        """Return the lines to write, with what stands between sentences; shares: probabilities as text, or empty."""

    @property
    def blanks(self) -> int | None:
        """The number of columns, where blanks separate them; else None."""
        return None
