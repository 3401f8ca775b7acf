"""The file formats, in the order in which ``auto`` tries them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

from tagwright.data.columns import Columns
from tagwright.data.conllu import Conllu
from tagwright.data.files import BLANK, cells
from tagwright.data.plain_text import Paragraphs, PlainText
from tagwright.data.sentence import Form, Request
from tagwright.data.tokens import tokenize

FORMATS: tuple[type[Form], ...] = (Conllu, PlainText, Paragraphs, Columns)


def format_names() -> list[str]:
    """Return the values of ``--format``."""
    return ["auto", *sorted(form.name for form in FORMATS)]


def format_of(name: str, file: str) -> type[Form] | None:
    """Return the format of this name; for ``auto`` the one that the file's name implies, or None."""
    if name not in format_names():
        raise ValueError(f"format {name!r}: use one of {', '.join(format_names())}")
    unpacked = re.sub(r"\.(gz|xz)$", "", file.lower())
    found = (form for form in FORMATS if form.name == name or (name == "auto" and unpacked.endswith(form.suffixes)))
    return next(found, None)


class Recognition:
    """Finds the form of a file from its first lines, one by one, so that it does not depend on how they arrive.

    A line determines the format, except in two cases, in which the form is columns until it is decided. One word may be
    a token of a column file or a line of text: a line of several words makes it text, and so does the end of a block if
    the tokeniser splits most of its words; otherwise a block of several is columns. A TAB between several words may
    separate columns or be part of text: the next line decides by its number of TABs.

    Parameters
    ----------
    kind : subclass of Form or None
        The format, where it is known.
    request : Request
        What the caller wants to read.
    typed : bool
        Whether it is typed at a terminal, where a word is text.
    ahead : bool
        Whether the lines that follow can be read ahead, as those of a file can; then wrapped text is recognised.
    """

    def __init__(self, kind: type[Form] | None, request: Request, typed: bool = False, ahead: bool = False) -> None:
        self.form: Form | None = None
        """The form, as far as it is known."""
        self.sure = False
        """Whether the form is final."""
        self.file = request.file
        self._kind, self._request, self._typed, self._ahead = kind, request, typed, ahead
        self._first = "", 0  # the first token line and its number
        self._words = self._splits = 0  # lines of one word since the last blank line, and those that would be split
        self._tabs = 0  # in the first line, if these may be part of text

    def see(self, line: str, number: int, ahead: Sequence[str] = ()) -> None:
        """Take the next line and its number; ahead: lines after it that are there already."""
        if not line.strip(BLANK):
            self._end_block()
            return
        self._kind = self._kind or next((form for form in FORMATS if form.has_comment(line)), None)
        if (self._kind or Form).is_comment(line, self._request):
            return
        if self._tabs:
            same = line.count("\t") == self._tabs
            self._decide(Columns if same else PlainText, not same)
            return
        kind = self._kind or next(form for form in FORMATS if form.has_token(line, self._request))
        unclear = self._kind is None and kind is Columns
        if self.form is None:
            self._first = line, number
        if unclear and self.form is None and _tabs_in_text(line, self._request):
            self.form, self._tabs = Columns(line, number, self._request), line.count("\t")
        elif not (unclear and _one_word(line, self._request)):
            kind = kind if self.form is None or kind is PlainText else Columns
            block = [line, *takewhile(lambda other: other.strip(BLANK), ahead)]
            if self._kind is None and kind is PlainText and self._ahead and Paragraphs.wrapped(block):
                self._decide(Paragraphs, True)
                return
            guess = self._kind is None and kind is PlainText
            self._decide(kind, guess and (self.form is not None or _like_columns(block, len(ahead))))
        elif self._typed:
            self._decide(PlainText, True)
        else:
            self.form = self.form or Columns(line, number, self._request)
            self._words += 1
            self._splits += len(tokenize(line, self._request.tokenize)) > 1

    def _end_block(self) -> None:
        """Decide after a block of lines of one word, or after a line with a TAB."""
        if self._tabs or 2 * self._splits > self._words:
            self._decide(PlainText, self._tabs > 0 or self._words > 1)
        elif self._words > 1:
            self._decide(Columns, self._splits > 0)
        self._words = self._splits = self._tabs = 0

    def _decide(self, kind: type[Form], guess: bool) -> None:
        """Take this format; guess: whether it may be wrong."""
        self.form, self.sure = kind(*self._first, self._request), True
        if guess:
            taken, other = _GUESSES[kind]
            self.form.note = f"{self._request.file}: taken for {taken}; otherwise choose --format {other}"


_GUESSES: dict[type[Form], tuple[str, str]] = {
    PlainText: ("text", "columns"),
    Paragraphs: ("wrapped text, in which a blank line ends a paragraph", "text"),
    Columns: ("columns with one token per line", "text"),
}
"""How a guess is called in a note, and the format to choose where it is wrong."""


def _like_columns(block: Sequence[str], ahead: int) -> bool:
    """Return whether the lines up to a blank one are several and have the same number of words."""
    return 1 < len(block) <= ahead and len({len(cells(line)) for line in block}) == 1


def _tabs_in_text(line: str, request: Request) -> bool:
    """Return whether a line has TABs that may be part of text: at its begin, or beside several words."""
    parts = line.split("\t")
    words = not parts[0] or any(len(cells(part)) > 1 for part in parts)
    return len(parts) > 1 and words and request.columns == 1 and request.label is None


def _one_word(line: str, request: Request) -> bool:
    """Return whether a line is one word that may be text."""
    may_be_text = request.columns == 1 and request.label is None and 1 not in request.widths
    return may_be_text and "\t" not in line and len(cells(line)) == 1
