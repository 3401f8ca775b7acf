"""The file formats, in the order in which ``auto`` asks whether a file has them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from tagwright.data.columns import Columns
from tagwright.data.conllu import Conllu
from tagwright.data.files import BLANK, cells
from tagwright.data.plain_text import PlainText
from tagwright.data.sentence import Form, Request
from tagwright.data.tokens import tokenize

__all__ = ["FORMATS", "Recognition", "format_names", "format_of"]

FORMATS: tuple[type[Form], ...] = (Conllu, PlainText, Columns)


def format_names() -> list[str]:
    """Return the values of ``--format``."""
    return ["auto", *sorted(form.name for form in FORMATS)]


def format_of(name: str, file: str) -> type[Form] | None:
    """Return the format of this name; for ``auto`` the one that the file's name tells, or else None."""
    if name not in format_names():
        raise ValueError(f"format {name!r}: use one of {', '.join(format_names())}")
    unpacked = re.sub(r"\.(gz|xz)$", "", file.lower())
    told = (form for form in FORMATS if form.name == name or (name == "auto" and unpacked.endswith(form.suffixes)))
    return next(told, None)


class Recognition:
    """Finds the form of a file from its first lines, one by one, so that it does not depend on how they arrive.

    A line tells the format, unless it is one word: a token of a column file, or a line of text? While there are only
    such lines, the form is columns. A line of several words makes it text. The end of a block decides, too: text, if
    the tokeniser splits most of its words, or else columns, if it has several.
    """

    def __init__(self, kind: type[Form] | None, request: Request, typed: bool = False) -> None:
        """Take the format, where it is known; typed: whether it is typed at a terminal, where a word is text."""
        self.form: Form | None = None
        """The form, as far as it is known."""
        self.sure = False
        """Whether the form is final."""
        self._kind, self._request, self._typed = kind, request, typed
        self._first = "", 0  # the first token line and its number
        self._words = self._splits = 0  # lines of one word since the last blank line, and those that would be split

    def see(self, line: str, number: int, ahead: Sequence[str] = ()) -> None:
        """Take the next line and its number; ahead: lines after it that are there already."""
        if not line.strip(BLANK):
            self._end_block()
            return
        self._kind = self._kind or next((form for form in FORMATS if form.has_comment(line)), None)
        if (self._kind or Form).is_comment(line, self._request):
            return
        kind = self._kind or next(form for form in FORMATS if form.has_token(line, self._request))
        unclear = self._kind is None and kind is Columns and _one_word(line, self._request)
        if self.form is None:
            self._first = line, number
        if not unclear:
            guess = self._kind is None and kind is PlainText and (self.form is not None or _like_columns(line, ahead))
            self._decide(kind if self.form is None or kind is PlainText else Columns, guess)
        elif self._typed:
            self._decide(PlainText, True)
        else:
            self.form = self.form or Columns(line, number, self._request)
            self._words += 1
            self._splits += len(tokenize(line, self._request.tokenize)) > 1

    def _end_block(self) -> None:
        """Decide after a block of lines of one word."""
        if 2 * self._splits > self._words:
            self._decide(PlainText, self._words > 1)
        elif self._words > 1:
            self._decide(Columns, self._splits > 0)
        self._words = self._splits = 0

    def _decide(self, kind: type[Form], guess: bool) -> None:
        """Take this format; guess: whether it may be wrong."""
        self.form, self.sure = kind(*self._first, self._request), True
        if guess:
            is_text = kind is PlainText
            taken, other = ("text", "columns") if is_text else ("columns with one token per line", "text")
            self.form.note = f"{self._request.file}: taken for {taken}; otherwise choose --format {other}"


def _like_columns(line: str, ahead: Sequence[str]) -> bool:
    """Return whether the lines up to a blank one are several and have the same number of words."""
    block = [line, *takewhile(lambda other: other.strip(BLANK), ahead)]
    return 1 < len(block) <= len(ahead) and len({len(cells(other)) for other in block}) == 1


def _one_word(line: str, request: Request) -> bool:
    """Return whether a line is one word that may be text."""
    may_be_text = request.columns == 1 and request.label is None and 1 not in request.widths
    return may_be_text and "\t" not in line and len(cells(line)) == 1
