"""What is wrong with spans: their boundaries, their type, or both; or they are missed, or spurious."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

KINDS = ("boundary", "type", "boundary and type", "missed", "spurious")


class TypedSpan(NamedTuple):
    """Tokens of one sentence, and the type they have together."""

    first: int
    last: int
    type: str


@dataclass(frozen=True)
class SpanError:
    """A gold span, a predicted span, or one of each that stand for each other, which are not equal."""

    kind: str
    """One of `KINDS`."""
    sentence: int
    """Its index in the evaluated sentences."""
    gold: TypedSpan | None
    """None if the predicted span is spurious."""
    predicted: TypedSpan | None
    """None if the gold span is missed."""

    @property
    def type(self) -> str:
        """The type of the gold span, or of the predicted one if it is spurious."""
        return (self.gold or self.predicted or TypedSpan(0, 0, "")).type


class SpanList(NamedTuple):
    """Spans in the order of the text; those of one list do not overlap."""

    sentence: Ints
    first: Ints
    last: Ints
    type: Ints
    """Index of a name."""


def span_errors(gold: SpanList, predicted: SpanList, names: Sequence[str]) -> list[SpanError]:
    """Return the errors of spans that are in only one of the lists, in the order of the text.

    Spans that overlap are matched one to one: first those with the same tokens, then those of the same type, then
    others; those with more tokens in common first. What is left is missed or spurious. So every gold span is right or
    in one error, and so is every predicted one.

    Parameters
    ----------
    gold, predicted
        The spans that are wrong.
    names
        Names of the types.
    """
    ours, theirs = ([*zip(*(column.tolist() for column in spans), strict=True)] for spans in (gold, predicted))
    matched: dict[int, int] = {}
    taken: set[int] = set()
    kinds: dict[int, str] = {}
    for rank, _, g, p in sorted(_overlaps(ours, theirs)):
        if g not in matched and p not in taken:
            matched[g], kinds[g] = p, ("type", "boundary", "boundary and type")[rank]
            taken.add(p)

    def span(row: tuple[int, int, int, int]) -> TypedSpan:
        return TypedSpan(row[1], row[2], names[row[3]])

    found = [
        SpanError(kinds.get(g, "missed"), row[0], span(row), span(theirs[matched[g]]) if g in matched else None)
        for g, row in enumerate(ours)
    ]
    found += [SpanError("spurious", row[0], None, span(row)) for p, row in enumerate(theirs) if p not in taken]
    return sorted(found, key=lambda own: (own.sentence, (own.gold or own.predicted or TypedSpan(0, 0, "")).first))


def _overlaps(
    gold: Sequence[tuple[int, int, int, int]], predicted: Sequence[tuple[int, int, int, int]]
) -> Iterator[tuple[int, int, int, int]]:
    """Yield pairs of spans that overlap: how well they match, 0 best; minus the common tokens; and their indices."""
    begin = 0
    for g, (sentence, first, last, own_type) in enumerate(gold):
        while begin < len(predicted) and (predicted[begin][0], predicted[begin][2]) < (sentence, first):
            begin += 1
        p = begin
        while p < len(predicted) and predicted[p][0] == sentence and predicted[p][1] <= last:
            _, start, end, other_type = predicted[p]
            rank = 0 if (start, end) == (first, last) else 1 if own_type == other_type else 2
            yield rank, max(start, first) - min(end, last) - 1, g, p
            p += 1
