"""Column files (CRF++, Wapiti, CoNLL): a token per line, a blank line between sentences."""

from __future__ import annotations

from collections.abc import Sequence

from tagwright import _core
from tagwright.data.files import BLANK, cells
from tagwright.data.sentence import Form, Request, Sentence


class Columns(Form):
    """A column file; tagged, it has one more column."""

    name = "columns"

    def __init__(self, line: str, number: int, request: Request) -> None:
        """Take the separator and the number of columns from the line, and find the label's columns."""
        super().__init__(line, number, request)
        self.tab = "\t" in line  # whether a TAB separates columns; otherwise runs of blanks and TABs do
        self.width = line.count("\t") + 1 if self.tab else len(cells(line))
        self.blanks = None if self.tab else self.width
        self.separator = "\t" if self.tab or self.width == 1 else " "
        self.picks = () if request.label is None else self._picks(request.label, line, number)

    @staticmethod
    def has_token(line: str, request: Request) -> bool:
        """Return True: whatever is no other format is columns."""
        return True

    def sentence(self, lines: list[str], first: int) -> Sentence:
        """Return the columns before the label, and the label."""
        at = list(range(len(lines)))
        tokens = lines
        if self.request.comments:
            at = [i for i in at if not self.is_comment(lines[i], self.request)]
            tokens = [lines[i] for i in at]
        rows = [line.split("\t") for line in tokens] if self.tab else list(map(cells, tokens))
        fix = "" if self.tab else ", or for a sentence per line choose --format text"
        check_widths(self, rows, self.width, f"the first token has {self.width}; fix this line{fix}", at, first)
        labels = None
        if self.picks:
            labels = joined_labels(self, rows, self.picks, at, first)
            cut = min(self.picks)
            for row in rows:
                del row[cut:]
        return Sentence(rows, labels, lines, at, first, self)

    def tagged(self, sentence: Sentence, labels: Sequence[str], shares: Sequence[str]) -> list[str]:
        """Return the lines with the label as another column, and then the probability."""
        lines = sentence.lines.copy()
        for i, label, share in zip(sentence.at, labels, shares, strict=True):
            line = lines[i] if self.tab else lines[i].strip(BLANK)
            lines[i] = self.separator.join([line, label, share] if share else [line, label])
        lines.append("")
        return lines

    def line_format(self) -> _core.LineFormat | None:
        """Return the format for the core's reader: columns before the label, which is read if one was requested."""
        return _core.LineFormat.make(
            conllu=False, comments=self.request.comments, tab=self.tab, width=self.width,
            columns=min(self.picks, default=self.width), picks=self.picks, labelled=bool(self.picks),
            separator=self.separator,
        )  # fmt: skip

    def _picks(self, label: str, line: str, number: int) -> tuple[int, ...]:
        """Return the label's columns, counted from 0, in the requested order."""
        width = self.width
        parts = [str(width)] if label.lower() == "last" else label.split("+")
        if not all(part.isascii() and part.isdigit() for part in parts) or len(set(parts)) < len(parts):
            raise self.error(number, f"{label!r} is not a label column; choose --label last, 3 or 2+3, counted from 1")
        columns = [int(part) for part in parts]
        commas = "; TABs or blanks separate columns, commas do not" if width == 1 and "," in line else ""
        for column in columns:
            if not 1 <= column <= width:
                what = f"no label column {column}; columns in the file: {width}, counted from 1"
                raise self.error(number, what + commas)
        if min(columns) == 1:
            remedy = commas or "; put the token before it"
            raise self.error(number, f"nothing stands before the label in column 1 of {width}{remedy}")
        return tuple(column - 1 for column in columns)


def check_widths(form: Form, rows: list[list[str]], width: int, expected: str, at: list[int], first: int) -> None:
    """Raise DataError at the first token line that has another number of columns; expected: what it should have."""
    if set(map(len, rows)) - {width}:
        i, count = next((i, len(row)) for i, row in zip(at, rows, strict=True) if len(row) != width)
        raise form.error(first + i, f"{count} {'column' if count == 1 else 'columns'}, but {expected}")


def joined_labels(form: Form, rows: list[list[str]], picks: tuple[int, ...], at: list[int], first: int) -> list[str]:
    """Return the labels, whose parts are in the picked columns; none may be empty."""
    parts = [[row[pick] for row in rows] for pick in picks]
    for pick, column in zip(picks, parts, strict=True):
        if "" in column:
            raise form.error(first + at[column.index("")], f"the label in column {pick + 1} is empty; fill it in")
    return parts[0] if len(parts) == 1 else ["|".join(label) for label in zip(*parts, strict=True)]
