"""CoNLL-U (https://universaldependencies.org/format.html): ten columns with a TAB between them, and comments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Self

from tagwright.data.columns import check_widths, label_columns
from tagwright.data.files import DataError
from tagwright.data.sentence import Form, Request, Sentence

__all__ = ["FIELDS", "Conllu"]

FIELDS = {"upos": 3, "xpos": 4, "feats": 5}
"""The fields that may hold a label."""

_WIDTH = 10
_MISC = 9
_COMMENT = re.compile(r"# (sent_id|text|newdoc|newpar|global\.columns)\b.*=|# (newdoc|newpar)\b")
_FIRST_TOKEN = re.compile(r"1(-\d+)?\t[^\t]+\t[^\t]+\t[^\t]+\t")
_RANGE_OR_EMPTY = re.compile(r"\d+[-.]\d+")


class Conllu(Form):
    """CoNLL-U; tagged, the label replaces the fields it is read from.

    A row is FORM, LEMMA, UPOS, XPOS and FEATS, with ``_`` for the label. Ranges (``1-2``) and empty nodes (``1.1``)
    are not tokens.
    """

    name = "conllu"

    def __init__(self, file: str, request: Request, picks: tuple[int, ...]) -> None:
        """Take the label's fields, in the order asked for."""
        super().__init__(file, request)
        self.picks = picks

    @classmethod
    def has_name(cls, file: str) -> bool:
        """Return whether the name ends in .conllu or .conll-u."""
        return file.endswith((".conllu", ".conll-u"))

    @classmethod
    def has_comment(cls, line: str) -> bool:
        """Return whether the line is a comment such as ``# sent_id = 1``."""
        return _COMMENT.match(line) is not None

    @classmethod
    def has_token(cls, line: str, request: Request) -> bool:
        """Return whether the line has ten columns and the ID 1."""
        return line.count("\t") + 1 == _WIDTH and _FIRST_TOKEN.match(line) is not None

    @classmethod
    def is_comment(cls, line: str, request: Request) -> bool:
        """Return whether the line begins with ``#``."""
        return line.startswith("#")

    @classmethod
    def of(cls, line: str, number: int, file: str, request: Request) -> Self:
        """Return the form, with the fields where labels are read from or, without a label, written to."""
        label = request.fields if request.label is None else request.label
        if label is None:
            return cls(file, request, ())
        names = label.lower().split("+")
        if not FIELDS.keys() >= set(names) or len(set(names)) < len(names):
            remedy = "choose --label upos, xpos, feats or a joint such as upos+feats"
            raise DataError(f"{file}:{number}: {label!r} is no label of CoNLL-U; {remedy}")
        return cls(file, request, tuple(FIELDS[name] for name in names))

    def sentence(self, lines: list[str], first: int) -> Sentence:
        """Return the tokens and the label."""
        at = [i for i, line in enumerate(lines) if not line.startswith("#")]
        rows = [lines[i].split("\t") for i in at]
        check_widths(rows, _WIDTH, at, "CoNLL-U has 10, with a TAB between; fix this line", self.file, first)
        for i, row in zip(at, rows, strict=True):
            if not row[0].isdecimal() and not _RANGE_OR_EMPTY.fullmatch(row[0]):
                message = f"{row[0]!r} is no CoNLL-U id; use 1, a range 1-2 or a node 1.1"
                raise DataError(f"{self.file}:{first + i}: {message}")
        at = [i for i, row in zip(at, rows, strict=True) if row[0].isdecimal()]
        rows = [row for row in rows if row[0].isdecimal()]
        labels = None if self.request.label is None else self._labels(rows, at, first)
        rows = [row[1:6] for row in rows]
        for row in rows:
            for pick in self.picks:
                row[pick - 1] = "_"
        return Sentence(rows, labels, lines, at, first, self)

    def tagged(self, sentence: Sentence, labels: Sequence[str], shares: Sequence[str]) -> list[str]:
        """Return the lines with the label in its fields, and the probability as ``Prob=`` in MISC."""
        lines = sentence.lines.copy()
        for i, label, share in zip(sentence.at, labels, shares, strict=True):
            fields = lines[i].split("\t")
            for pick, part in zip(self.picks, self._parts(label), strict=True):
                fields[pick] = part
            if share:
                kept = [fact for fact in fields[_MISC].split("|") if fact != "_" and not fact.startswith("Prob=")]
                fields[_MISC] = "|".join([*kept, f"Prob={share}"])
            lines[i] = "\t".join(fields)
        lines.append("")
        return lines

    def _labels(self, rows: list[list[str]], at: list[int], first: int) -> list[str]:
        parts = label_columns(rows, self.picks, at, self.file, first)
        for pick, cells in zip(self.picks, parts, strict=True):
            if pick != max(self.picks) and "|" in "".join(cells):
                i, cell = next((i, cell) for i, cell in zip(at, cells, strict=True) if "|" in cell)
                raise DataError(
                    f"{self.file}:{first + i}: {cell!r} holds '|' and could not be told from the rest of the joint "
                    "label; choose another --label"
                )
        return parts[0] if len(parts) == 1 else ["|".join(cells) for cells in zip(*parts, strict=True)]

    def _parts(self, label: str) -> list[str]:
        """Return the fields of a label. Only the rightmost field, FEATS or else XPOS, may hold ``|`` itself."""
        if not self.picks:
            raise ValueError("no place for the labels; read the file with label upos, xpos, feats or a joint")
        wild = self.picks.index(max(self.picks))
        *parts, rest = label.split("|", wild)
        parts += rest.rsplit("|", len(self.picks) - 1 - wild)
        if len(parts) != len(self.picks):
            joint = "+".join(field for pick in self.picks for field, at in FIELDS.items() if at == pick)
            remedy = "choose the --label that the model was trained on"
            raise DataError(f"label {label!r} is not of the form {joint}; {remedy}")
        return parts
