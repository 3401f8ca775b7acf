"""Where the mistakes are: by the frequency of labels, by the length of sentences, and between which labels."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tagwright import checks
from tagwright.evaluation.result import Evaluation

__all__ = [
    "Confusion",
    "Group",
    "accuracy_by_frequency",
    "accuracy_by_length",
    "confusion_of",
    "confusion_table",
    "wilson",
]

MOST_LABELS = 100  # of a table of confusions: it has as many cells as their square
LENGTHS = (1, 5, 10, 15, 20, 30, 40, 60, 100, math.inf)  # where groups of sentences begin, in tokens
_Z = 1.959963984540054  # of the normal distribution: 95 % lie within


@dataclass(frozen=True)
class Group:
    """Tokens that have something in common."""

    name: str
    members: int
    """How many labels, or sentences, are in it."""
    tokens: int
    right: int
    """How many tokens have the right label."""
    members_right: int | None = None
    """How many of its sentences have no wrong label; None for labels."""

    @property
    def accuracy(self) -> float:
        """Share of the tokens that have the right label."""
        return self.right / self.tokens

    @property
    def interval(self) -> tuple[float, float]:
        """Where the accuracy lies with 95 % confidence, if mistakes are independent (Wilson 1927)."""
        return wilson(self.right, self.tokens)


def wilson(hits: int, total: int) -> tuple[float, float]:
    """Return the 95 % interval of a share by Wilson (1927), if hits are independent."""
    n, p, z = total, hits / total, _Z
    middle = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return max(middle - half, 0.0), min(middle + half, 1.0)


def accuracy_by_frequency(evaluation: Evaluation, known: Collection[str] | None = None) -> list[Group]:
    """Return groups of labels that occur 1, 2 to 9, 10 to 99, 100 to 999 times in gold, and so on.

    known: the labels that the model has; gold labels that are not among them, which are never right, come first.
    """
    groups: dict[int, list[tuple[int, int]]] = {}
    for own in evaluation.labels:
        if own.support:
            place = (
                -1 if known is not None and own.name not in known else len(str(own.support)) if own.support > 1 else 0
            )
            groups.setdefault(place, []).append((own.support, round(own.recall * own.support)))
    return [
        Group(_times(place), len(rows), sum(count for count, _ in rows), sum(right for _, right in rows))
        for place, rows in sorted(groups.items())
    ]


def _times(digits: int) -> str:
    if digits < 0:
        return "unknown to the model"
    low = 2 if digits == 1 else 10 ** (digits - 1)
    return f"{low:,} to {10**digits - 1:,}" if digits else "1"


def accuracy_by_length(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> list[Group]:
    """Return groups of sentences of 1 to 4, 5 to 9, 10 to 14 tokens, and so on; those without a sentence left out."""
    pairs = list(pairwise(LENGTHS))
    sums = [[0, 0, 0, 0] for _ in pairs]
    for truth, guess in zip(gold, predicted, strict=True):
        if truth:
            own = sums[next(n for n, (_, end) in enumerate(pairs) if len(truth) < end)]
            right = sum(a == b for a, b in zip(truth, guess, strict=True))
            for n, more in enumerate((1, len(truth), right, right == len(truth))):
                own[n] += more
    return [
        Group(f"{low} to {end - 1}" if end < math.inf else f"{low} and more", *own)
        for (low, end), own in zip(pairs, sums, strict=True)
        if own[0]
    ]


@dataclass(frozen=True)
class Confusion:
    """How often labels are taken for each other."""

    labels: list[str]
    """Labels, or values of a part: those that take part in the most frequent confusions, in alphabetical order."""
    counts: list[list[int]]
    """[gold label, predicted label]; one more column has all other predicted labels."""
    shown: int
    """How many wrong labels are in the table, those of the last column aside."""
    wrong: int
    """How many wrong labels there are."""

    def share(self, row: int, column: int) -> float:
        """Return what share of the tokens with a gold label has a predicted label."""
        total = sum(self.counts[row])
        return self.counts[row][column] / total if total else 0.0


def confusion_of(evaluation: Evaluation, most: int) -> Confusion:
    """Return a table of the labels that matter: at most `most`, from the most frequent confusions on."""
    right = {own.name: round(own.recall * own.support) for own in evaluation.labels}
    return confusion_table(evaluation.confusions, right, most)


def confusion_table(confusions: Sequence[tuple[str, str, int]], right: Mapping[str, int], most: int) -> Confusion:
    """Return a table of the values that matter: at most `most`, from the most frequent confusions on.

    Parameters
    ----------
    confusions
        Gold value, predicted value and how often, most frequent first.
    right
        How often each value is right.
    most
        Largest number of values.
    """
    checks.at_least_one("labels", most)
    if most > MOST_LABELS:
        raise ValueError(f"labels is {most}, more than a table of confusions can show; use at most {MOST_LABELS}")
    chosen: dict[str, None] = {}
    for gold, predicted, _ in confusions:
        both = [name for name in (gold, predicted) if name not in chosen]
        if len(chosen) + len(both) <= most:
            chosen |= dict.fromkeys(both)
    if not chosen:  # nothing is wrong
        chosen = dict.fromkeys([*right][:most])
    labels = sorted(chosen)
    place = {name: n for n, name in enumerate(labels)}
    counts = [[0] * (len(labels) + 1) for _ in labels]
    for gold, predicted, count in confusions:
        if gold in place:
            counts[place[gold]][place.get(predicted, len(labels))] += count
    shown = sum(sum(row[:-1]) for row in counts)
    for name, n in place.items():
        counts[n][n] = right.get(name, 0)
    return Confusion(labels, counts, shown, sum(count for _, _, count in confusions))
