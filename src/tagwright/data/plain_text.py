"""Plain text: a sentence per line, tokens between blanks. It has no labels to read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Self

from tagwright.data.files import DataError
from tagwright.data.sentence import Form, Request, Sentence

__all__ = ["PlainText"]

_WORD = re.compile(r"[^ \t]+")


class PlainText(Form):
    """Plain text; tagged, it becomes ``token TAB label`` lines."""

    name = "text"
    sentence_per_line = True

    @classmethod
    def has_token(cls, line: str, request: Request) -> bool:
        """Return whether several words must be a sentence: one column is wanted, and it is not a known width."""
        if "\t" in line or request.columns != 1 or request.label is not None:
            return False
        width = len(_WORD.findall(line))
        return width > 1 and width not in request.widths

    @classmethod
    def of(cls, line: str, number: int, file: str, request: Request) -> Self:
        """Return the form, unless labels are asked for."""
        if request.label is not None:
            message = f"plain text has no label {request.label!r}; choose --format columns or conllu"
            raise DataError(f"{file}:{number}: {message}")
        return cls(file, request)

    def sentence(self, lines: list[str], first: int) -> Sentence:
        """Return the words of a line."""
        words = [word for line in lines if not self.is_comment(line, self.request) for word in line.split()]
        return Sentence([[word] for word in words], None, lines, [0] * len(words), first, self)

    def tagged(self, sentence: Sentence, labels: Sequence[str], shares: Sequence[str]) -> list[str]:
        """Return a line per token, and a blank line."""
        cells = zip(sentence.rows, labels, shares, strict=True)
        lines = [f"{row[0]}\t{label}\t{share}" if share else f"{row[0]}\t{label}" for row, label, share in cells]
        return [*lines, ""]
