"""Two labellings of the same sentences, compared by paired tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tagwright.evaluation.resampling import paired_tests
from tagwright.evaluation.result import Evaluation
from tagwright.markup import notebook_table
from tagwright.table import table

__all__ = ["Comparison", "Difference", "TokenCounts", "compare"]

NAMES = ("first", "second")


@dataclass(frozen=True)
class Difference:
    """A figure of both labellings."""

    key: str
    """As in `Evaluation.intervals`."""
    name: str
    count: int | None
    """Of how many it is a share or a mean; None if that differs."""
    first: float
    second: float
    interval: tuple[float, float] | None
    """95 % interval of the difference, by the paired bootstrap over sentences; None if there is none."""
    p: float | None
    """Of a two-sided test by approximate randomisation over sentences; None if the figure is not tested."""

    @property
    def difference(self) -> float:
        """Second minus first."""
        return self.second - self.first


@dataclass(frozen=True)
class TokenCounts:
    """How many tokens both labellings have right, one of them, or none."""

    both_right: int
    only_first: int
    only_second: int
    both_wrong: int


@dataclass(frozen=True)
class Comparison:
    """What `Evaluation.compare` found. Shares are from 0 to 1; differences are second minus first.

    p is that of approximate randomisation (Noreen 1989; Yeh 2000): the probability of a difference at least as large if
    the two labellings were equally good, from 10,000 random swaps of their answers to whole sentences. It applies to
    F1 as to accuracies. McNemar's test over tokens would take the tokens of a sentence for independent.
    """

    differences: list[Difference]
    tokens: TokenCounts

    def table(self, names: Sequence[str] = NAMES) -> str:
        """Return a table in percent; names: of the two labellings."""
        return table(*self._block(names))

    def _repr_html_(self) -> str:
        """Return the same table for a notebook."""
        return notebook_table(*self._block(NAMES))

    def _block(self, names: Sequence[str]) -> tuple[list[str], list[list[str]]]:
        rows = []
        for own in self.differences:
            shares = [f"{100 * value:.2f}" for value in (own.first, own.second)]
            ends = "" if own.interval is None else " ".join(map(signed, own.interval))
            p = "" if own.p is None else f"{own.p:.4f}"
            rows.append([own.name, "" if own.count is None else f"{own.count:,}", *shares])
            rows[-1] += [signed(own.difference), ends, p]
        return ["measure", "of", *names, "difference", "95 % interval", "p"], rows

    def as_dict(self) -> dict[str, Any]:
        """Return everything as dicts, lists, strings and finite numbers, for JSON."""
        rows = {own.key: {**asdict(own), "difference": own.difference} for own in self.differences}
        for row in rows.values():
            del row["key"]
            row["interval"] = row["interval"] and list(row["interval"])
        return {"differences": rows, "tokens": asdict(self.tokens)}


def signed(difference: float) -> str:
    """Return a difference of shares in percentage points, with its sign."""
    text = f"{100 * difference:+.2f}"
    return "0.00" if text in ("+0.00", "-0.00") else text


def compare(first: Evaluation, second: Evaluation) -> Comparison:
    """Return what `Evaluation.compare` returns."""
    one, two = first.counts, second.counts
    if one is None or two is None or first.right is None or second.right is None:
        raise ValueError("evaluations are compared by the counts of their sentences, which `evaluate` makes")
    own_tokens, tokens = (counts.totals[:, counts.names.index("token_accuracy")] for counts in (one, two))
    if not np.array_equal(own_tokens, tokens):
        raise ValueError(
            "the evaluations are not of the same sentences: "
            f"{first.sentences:,} with {first.tokens:,} tokens and {second.sentences:,} with {second.tokens:,}"
        )
    tests = paired_tests(one, two)
    others = {own.key: own for own in second.figures}
    rows = []
    for own in first.figures:
        if (other := others.get(own.key)) is not None:
            test = tests.get(own.key)
            count = own.count if own.count == other.count else None
            row = (own.key, own.name, count, own.value, other.value)
            rows.append(Difference(*row, test.interval if test else None, test.p if test else None))
    a, b = first.right, second.right
    cells = (a & b, a & ~b, ~a & b, ~a & ~b)
    return Comparison(rows, TokenCounts(*(int(cell.sum()) for cell in cells)))
