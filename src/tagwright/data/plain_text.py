"""Plain text: a sentence or a paragraph per line, or wrapped paragraphs; split by a tokeniser. It has no labels."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from tagwright.data.english_tokens import Span
from tagwright.data.files import cells
from tagwright.data.sentence import Form, Request, Sentence
from tagwright.data.tokens import tokenizer_named

_NARROWEST, _WIDEST = 40, 130  # columns that text is wrapped at
_SENTENCE_END = re.compile(r"[.!?…][\"')\]’”]*$")


class PlainText(Form):
    """Plain text, a sentence or a paragraph per line; tagged, it becomes ``token TAB label`` lines.

    Comments stand before the sentence that follows them. `Sentence.lines` holds the text first and then its comments.
    """

    name = "text"
    sentence_per_line = True

    def __init__(self, line: str, number: int, request: Request) -> None:
        super().__init__(line, number, request)
        self.tokenizer = tokenizer_named(request.tokenize)
        self._comments: list[str] = []  # since the last sentence
        if request.label is not None:
            raise self.error(number, f"plain text has no label {request.label!r}; choose --format columns or conllu")

    @staticmethod
    def has_token(line: str, request: Request) -> bool:
        """Return whether several words must be a sentence: one column is needed, and it is not a known width."""
        if "\t" in line or request.columns != 1 or request.label is not None:
            return False
        width = len(cells(line))
        return width > 1 and width not in request.widths

    def sentence(self, lines: list[str], first: int) -> Sentence:
        """Return the tokens of a line, or of a paragraph, as one sentence."""
        text = self._text(lines)
        if self.tokenizer.words:
            rows = [[word] for word in self.tokenizer.words(text)]
            return Sentence(rows, None, self._lines(text, rows), [0] * len(rows), first, self, self.tokenizer.spans)
        return self._at(self.tokenizer.spans(text), text, first)

    def sentences(self, lines: list[str], first: int) -> list[Sentence]:
        """Return the sentences of a line, or of a paragraph."""
        if not (self.tokenizer.starts and self.request.split):
            return [self.sentence(lines, first)]
        text = self._text(lines)
        return [self._at(spans, text, first) for spans in self.tokenizer.sentences(text)]

    def _text(self, lines: list[str]) -> str:
        """Return the text of lines, with a blank for each line end; keep its comments for the next sentence."""
        comments = [line for line in lines if self.is_comment(line, self.request)]
        self._comments += comments
        return " ".join(line for line in lines if line not in comments) if comments else " ".join(lines)

    def _lines(self, text: str, rows: list[list[str]]) -> list[str]:
        """Return the text and, if it has tokens, the comments before it."""
        comments: list[str] = []
        if rows:
            comments, self._comments = self._comments, []
        return [text, *comments]

    def _at(self, spans: list[Span], text: str, first: int) -> Sentence:
        """Return the sentence whose tokens are at these places of a text."""
        rows = [[text[begin:end]] for begin, end in spans]
        return Sentence(rows, None, self._lines(text, rows), [0] * len(rows), first, self, spans)

    def tagged(self, sentence: Sentence, labels: Sequence[str], shares: Sequence[str]) -> list[str]:
        """Return the comments, a line per token, and a blank line."""
        tokens = zip(sentence.rows, labels, shares, strict=True)
        lines = [f"{row[0]}\t{label}\t{share}" if share else f"{row[0]}\t{label}" for row, label, share in tokens]
        return [*sentence.lines[1:], *lines, ""]


class Paragraphs(PlainText):
    """Plain text whose paragraphs are wrapped to a width, with blank lines between them."""

    name = "paragraphs"
    sentence_per_line = False

    @staticmethod
    def has_token(line: str, request: Request) -> bool:
        """Return False: one line does not show that it is wrapped; see `wrapped`."""
        return False

    @staticmethod
    def wrapped(lines: Sequence[str]) -> bool:
        """Return whether lines up to a blank one look like a paragraph that was wrapped to a width.

        There must be three lines or more, so long that the first word of the next line would not have fitted, and one
        of them must end within a sentence.
        """
        width = max(map(len, lines), default=0)
        if len(lines) < 3 or not _NARROWEST <= width <= _WIDEST:
            return False
        if any(len(own) + 1 + len(following.split(maxsplit=1)[0]) <= width for own, following in pairwise(lines)):
            return False
        return any(not _SENTENCE_END.search(line.rstrip()) for line in lines[:-1])
