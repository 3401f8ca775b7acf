"""Plain text: a sentence per line, tokens between blanks. It has no labels to read."""

from __future__ import annotations

from collections.abc import Sequence

from tagwright.data.files import cells
from tagwright.data.sentence import Form, Request, Sentence

__all__ = ["PlainText"]


class PlainText(Form):
    """Plain text; tagged, it becomes ``token TAB label`` lines."""

    name = "text"
    sentence_per_line = True

    def __init__(self, line: str, number: int, request: Request) -> None:
        """Refuse to read labels."""
        super().__init__(line, number, request)
        if request.label is not None:
            raise self.error(number, f"plain text has no label {request.label!r}; choose --format columns or conllu")

    @staticmethod
    def has_token(line: str, request: Request) -> bool:
        """Return whether several words must be a sentence: one column is wanted, and it is not a known width."""
        if "\t" in line or request.columns != 1 or request.label is not None:
            return False
        width = len(cells(line))
        return width > 1 and width not in request.widths

    def sentence(self, lines: list[str], first: int) -> Sentence:
        """Return the words of a line."""
        rows = [[word] for line in lines if not self.is_comment(line, self.request) for word in line.split()]
        return Sentence(rows, None, lines, [0] * len(rows), first, self)

    def tagged(self, sentence: Sentence, labels: Sequence[str], shares: Sequence[str]) -> list[str]:
        """Return a line per token, and a blank line."""
        tokens = zip(sentence.rows, labels, shares, strict=True)
        lines = [f"{row[0]}\t{label}\t{share}" if share else f"{row[0]}\t{label}" for row, label, share in tokens]
        return [*lines, ""]
