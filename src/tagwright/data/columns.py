"""Column files (CRF++, Wapiti, CoNLL): a token per line, a blank line between sentences."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Self

from tagwright.data.files import BLANK, DataError
from tagwright.data.sentence import Form, Request, Sentence

__all__ = ["Columns", "check_widths", "label_columns"]

_CELL = re.compile(r"[^ \t]+")


class Columns(Form):
    """A column file; tagged, it has one more column."""

    name = "columns"

    def __init__(self, file: str, request: Request, tab: bool, width: int, picks: tuple[int, ...]) -> None:
        """Take the layout of every token line."""
        super().__init__(file, request)
        self.tab = tab  # whether a TAB separates columns; otherwise runs of blanks and TABs do
        self.width = width
        self.picks = picks  # the label's columns, from 0, in the order asked for

    @classmethod
    def has_token(cls, line: str, request: Request) -> bool:
        """Return True: whatever is no other format is columns."""
        return True

    @classmethod
    def of(cls, line: str, number: int, file: str, request: Request) -> Self:
        """Return the separator and the number of columns of the first token line."""
        tab = "\t" in line
        width = line.count("\t") + 1 if tab else len(_CELL.findall(line))
        picks = () if request.label is None else _picks(request.label, width, f"{file}:{number}")
        return cls(file, request, tab, width, picks)

    def sentence(self, lines: list[str], first: int) -> Sentence:
        """Return the columns before the label, and the label."""
        at = list(range(len(lines)))
        tokens = lines
        if self.request.comments:
            at = [i for i in at if not self.is_comment(lines[i], self.request)]
            tokens = [lines[i] for i in at]
        rows = [line.split("\t") for line in tokens] if self.tab else [_CELL.findall(line) for line in tokens]
        fix = "" if self.tab else ", or for a sentence per line choose --format text"
        check_widths(rows, self.width, at, f"the first token has {self.width}; fix this line{fix}", self.file, first)
        if not self.picks:
            return Sentence(rows, None, lines, at, first, self)
        parts = label_columns(rows, self.picks, at, self.file, first)
        labels = parts[0] if len(parts) == 1 else ["|".join(cells) for cells in zip(*parts, strict=True)]
        cut = min(self.picks)
        for row in rows:
            del row[cut:]
        return Sentence(rows, labels, lines, at, first, self)

    def tagged(self, sentence: Sentence, labels: Sequence[str], shares: Sequence[str]) -> list[str]:
        """Return the lines with the label as another column, and then the probability."""
        lines = sentence.lines.copy()
        separator = "\t" if self.tab or self.width == 1 else " "
        for i, label, share in zip(sentence.at, labels, shares, strict=True):
            line = lines[i] if self.tab else lines[i].strip(BLANK)
            lines[i] = f"{line}{separator}{label}{separator}{share}" if share else f"{line}{separator}{label}"
        lines.append("")
        return lines

    @property
    def blanks(self) -> int | None:
        """The number of columns, where blanks separate them; else None."""
        return None if self.tab else self.width


def check_widths(rows: list[list[str]], width: int, at: list[int], wanted: str, file: str, first: int) -> None:
    """Raise DataError at the first token line that has another number of columns; wanted: what it should have."""
    if set(map(len, rows)) - {width}:
        i, count = next((i, len(row)) for i, row in zip(at, rows, strict=True) if len(row) != width)
        raise DataError(f"{file}:{first + i}: {count} {'column' if count == 1 else 'columns'}, but {wanted}")


def label_columns(
    rows: list[list[str]], picks: tuple[int, ...], at: list[int], file: str, first: int
) -> list[list[str]]:
    """Return the cells of each of the label's columns, none of which is empty."""
    parts = [[row[pick] for row in rows] for pick in picks]
    for pick, cells in zip(picks, parts, strict=True):
        if "" in cells:
            line = first + at[cells.index("")]
            raise DataError(f"{file}:{line}: the label in column {pick + 1} is empty; fill it in")
    return parts


def _picks(label: str, width: int, where: str) -> tuple[int, ...]:
    parts = [str(width)] if label.lower() == "last" else label.split("+")
    if not all(part.isascii() and part.isdigit() for part in parts) or len(set(parts)) < len(parts):
        raise DataError(f"{where}: {label!r} is no label column; choose --label last, 3 or 2+3, counted from 1")
    numbers = [int(part) for part in parts]
    for number in numbers:
        if not 1 <= number <= width:
            raise DataError(f"{where}: no label column {number}; columns in the file: {width}, counted from 1")
    if min(numbers) == 1:
        raise DataError(f"{where}: nothing stands before the label in column 1 of {width}; put the token before it")
    return tuple(number - 1 for number in numbers)
