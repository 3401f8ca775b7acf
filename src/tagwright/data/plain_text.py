"""Plain text: a sentence or a paragraph per line, split by a tokeniser. It has no labels to read."""

from __future__ import annotations

from collections.abc import Sequence

from tagwright.data.files import cells
from tagwright.data.sentence import Form, Request, Sentence
from tagwright.data.tokens import Span, tokenizer_named

__all__ = ["PlainText"]


class PlainText(Form):
    """Plain text; tagged, it becomes ``token TAB label`` lines."""

    name = "text"
    sentence_per_line = True

    def __init__(self, line: str, number: int, request: Request) -> None:
        """Find the tokeniser; refuse to read labels."""
        super().__init__(line, number, request)
        self.tokenizer = tokenizer_named(request.tokenize)
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
        """Return the tokens of a line."""
        (line,) = lines
        if self.is_comment(line, self.request):
            return Sentence([], None, lines, [], first, self)
        if self.tokenizer.words:
            rows = [[word] for word in self.tokenizer.words(line)]
            return Sentence(rows, None, lines, [0] * len(rows), first, self, self.tokenizer.spans)
        return self._at(self.tokenizer.spans(line), lines, first)

    def sentences(self, lines: list[str], first: int) -> list[Sentence]:
        """Return the sentences of a line."""
        if not (self.tokenizer.starts and self.request.split) or self.is_comment(lines[0], self.request):
            return [self.sentence(lines, first)]
        return [self._at(spans, lines, first) for spans in self.tokenizer.sentences(lines[0])]

    def _at(self, spans: list[Span], lines: list[str], first: int) -> Sentence:
        """Return the sentence of the tokens that are here in a line."""
        rows = [[lines[0][begin:end]] for begin, end in spans]
        return Sentence(rows, None, lines, [0] * len(rows), first, self, spans)

    def tagged(self, sentence: Sentence, labels: Sequence[str], shares: Sequence[str]) -> list[str]:
        """Return a line per token, and a blank line."""
        tokens = zip(sentence.rows, labels, shares, strict=True)
        lines = [f"{row[0]}\t{label}\t{share}" if share else f"{row[0]}\t{label}" for row, label, share in tokens]
        return [*lines, ""]
