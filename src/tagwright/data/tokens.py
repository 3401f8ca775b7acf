"""Tokenisers: where the tokens and the sentences of a line of text are. `TOKENIZERS` lists them."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import NamedTuple

from tagwright.data.english_tokens import Span, english_sentences, english_spans
from tagwright.data.files import cells


class Tokenizer(NamedTuple):
    """A row of `TOKENIZERS`."""

    spans: Callable[[str], list[Span]]
    """Returns where the tokens of a line are: begin and end, in characters."""
    starts: Callable[[str, list[Span]], list[int]] | None = None
    """Returns the numbers of the tokens that begin a sentence; None: a line is one sentence."""
    words: Callable[[str], list[str]] | None = None
    """Returns the tokens themselves, where that is faster."""

    def sentences(self, line: str) -> list[list[Span]]:
        """Return where the tokens of each sentence of a line are."""
        spans = self.spans(line)
        starts = self.starts(line, spans) if self.starts else [0]
        return [spans[begin:end] for begin, end in pairwise([*starts, len(spans)]) if begin < end]


def _matches(pattern: str) -> Callable[[str], list[Span]]:
    finditer = re.compile(pattern).finditer
    return lambda line: [found.span() for found in finditer(line)]


TOKENIZERS: dict[str, Tokenizer] = {
    "none": Tokenizer(_matches(r"[^ \t]+"), words=cells),  # as it is: only blanks and TABs separate tokens
    "whitespace": Tokenizer(_matches(r"\S+"), words=str.split),
    "english": Tokenizer(english_spans, english_sentences),
}


def tokenizer_named(name: str) -> Tokenizer:
    """Return the tokeniser of this name."""
    if name not in TOKENIZERS:
        raise ValueError(f"tokenizer {name!r}: use one of {', '.join(TOKENIZERS)}")
    return TOKENIZERS[name]


_GLUED = re.compile(r"(?<=\w)(?:[.,;:!?]+|['’]\w+)(?!\S)")  # a mark or a clitic at the end of a word


def unsplit(line: str, knows: Callable[[str], bool]) -> list[str]:
    """Return the pieces of the first word such as ``rice.`` or ``it's`` of which only the pieces are known."""
    for word in line.split() if _GLUED.search(line) else ():
        if _GLUED.search(word):
            pieces = tokenize(f"{word} x")[:-1]  # x: at the end of a text a dot belongs to no abbreviation
            if len(pieces) > 1 and not knows(word) and all(map(knows, pieces)):
                return pieces
    return []


def tokenize(text: str, tokenizer: str = "english") -> list[str]:
    """Return the tokens of a text.

    Parameters
    ----------
    text : str
        Any text; a line end is a blank like others.
    tokenizer : {"english", "whitespace", "none"}, default="english"
        A name of `tagwright.data.tokens.TOKENIZERS`; "none" splits at blanks and TABs only.

    Returns
    -------
    list of str
        The tokens.

    Examples
    --------
    >>> import tagwright as tw
    >>> tw.tokenize("It's rice, isn't it?")
    ['It', "'s", 'rice', ',', 'is', "n't", 'it', '?']
    """
    return [text[begin:end] for begin, end in tokenizer_named(tokenizer).spans(text)]


def sentences(text: str, tokenizer: str = "english") -> list[list[str]]:
    """Return the tokens of each sentence of a text. A line end always ends a sentence.

    Parameters
    ----------
    text, tokenizer
        As for `tokenize`.

    Returns
    -------
    list of list of str
        The tokens of each sentence.

    Examples
    --------
    >>> import tagwright as tw
    >>> tw.sentences("I can't stay. See you at 5pm!")
    [['I', 'ca', "n't", 'stay', '.'], ['See', 'you', 'at', '5', 'pm', '!']]
    """
    split = tokenizer_named(tokenizer).sentences
    return [[line[begin:end] for begin, end in spans] for line in text.split("\n") for spans in split(line)]
