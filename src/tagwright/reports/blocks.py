"""Small pieces of a page: tables that scroll, labels in their colours, tokens in context."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from tagwright.markup import Html, cut, html_table, join, tag

AROUND = 5  # tokens that are shown on both sides of a token in context
LONGEST = 40  # characters of a word or label that are shown
NONE = "(none)"
"""Stands for a part that a label does not have."""


def percent(*shares: float) -> list[str]:
    """Return shares in percent."""
    return [f"{100 * share:.2f}" for share in shares]


def wide(name: str, inside: Html, class_: str = "wide") -> Html:
    """Return a group that may be wider than a phone and scrolls on its own, also by keys; name: for screen readers."""
    return tag("div", inside, class_=class_, tabindex="0", role="group", aria_label=name)


def data_table(
    name: str,
    header: Sequence[object],
    rows: Iterable[Sequence[object]],
    left: Collection[int] = (0,),
    line: str = "",
) -> Html:
    """Return a table that scrolls; its first column has the headers of the rows.

    line: "first" or "last", a column of sentences, which have a line of their own on a phone.
    """
    kind = f"wide {line}-line" if line else "wide"
    return wide(name, html_table(header, rows, left, row_headers=True), kind)


def left_out(count: int, most: int, what: str) -> list[Html]:
    """Return a note on the rows that are not shown, if there are any."""
    return [tag("p", f"The first {most:,} of {count:,} {what} are shown.", class_="note")] if count > most else []


def named(name: str, text: str, class_: str | None = None) -> Html:
    """Return an element with a word or a label, cut if it is long."""
    shown = cut(text, LONGEST)
    return tag(name, shown, class_=class_, title=cut(text) if shown != text else None)


class Palette:
    """The colours of labels, which are those of the page of the server.

    Labels of a family (NN, NNS; B-NP, I-NP) have one colour, families that come first have colours that are far apart,
    and marks without letters have none.
    """

    def __init__(self, labels: Iterable[str]) -> None:
        self._families: dict[str, int] = {}
        for label in labels:
            if own := _family(label):
                self._families.setdefault(own, len(self._families))

    def chip(self, label: str) -> Html:
        """Return a label in its colour."""
        own = _family(label)
        shown = cut(label, LONGEST)
        title = cut(label) if shown != label else None
        if not own:
            return tag("bdi", shown or NONE, class_="label plain", title=title)
        hue = round((280 + self._families.setdefault(own, len(self._families)) * 137.508) % 360)
        return tag("bdi", shown, class_="label", style=f"--h: {hue}", title=title)


def _family(label: str) -> str:
    if label == "O":
        return ""
    return re.sub(r"[\W\d_].*", "", re.sub("^[BIESLMU]-", "", label), flags=re.S)[:2].upper()


class Example(NamedTuple):
    """A token in its sentence."""

    sentence: int
    """Number of the sentence, from 0."""
    before: list[str]
    words: list[str]
    """The word, or the words of a span."""
    after: list[str]
    is_cut: tuple[bool, bool]
    """Whether the sentence has more tokens before and after."""
    times: int = 1
    """How many there are like it."""

    @classmethod
    def of(cls, words: Sequence[str], sentence: int, first: int, last: int, times: int = 1) -> Example:
        """Return tokens first to last of a sentence, and those around them."""
        begin, end = max(first - AROUND, 0), min(last + 1 + AROUND, len(words))
        before, after = list(words[begin:first]), list(words[last + 1 : end])
        return cls(sentence, before, list(words[first : last + 1]), after, (begin > 0, end < len(words)), times)


def context(example: Example) -> Html:
    """Return a token in context."""
    before = [*(["…"] if example.is_cut[0] else []), *(cut(word, LONGEST) for word in example.before)]
    after = [*(cut(word, LONGEST) for word in example.after), *(["…"] if example.is_cut[1] else [])]
    shown = tag("mark", " ".join(cut(word, LONGEST) for word in example.words))
    times = f" ×{example.times:,}" if example.times > 1 else ""
    where = tag("small", f" {example.sentence + 1:,}{times}", title=f"sentence {example.sentence + 1:,}")
    text = tag("span", join([part for part in (" ".join(before), shown, " ".join(after)) if part], " "), dir="auto")
    return tag("span", text, where, class_="context")


def contexts(examples: Iterable[Example]) -> Html:
    """Return tokens in context, one per line."""
    return join(map(context, examples))
