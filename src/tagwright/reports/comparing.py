"""The sections of a page on two models: their figures with paired tests, what changed, and sentences that differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tagwright.evaluation.comparison import Comparison, signed
from tagwright.evaluation.result import Scores
from tagwright.evaluation.span_errors import KINDS
from tagwright.markup import Html, cut, join, tag
from tagwright.reports.blocks import data_table, percent
from tagwright.reports.collect import Collected, Tagged
from tagwright.reports.sentences import pair_article

if TYPE_CHECKING:
    from tagwright.reports.report import Report

MOST_CHANGES = 20  # rows of a table
SURE = 0.05  # p below which a difference is called significant


def differing(first: Collected, second: Collected, most: int) -> list[tuple[Tagged, Tagged]]:
    """Return the sentences in which one model has most errors more than the other: of each model, up to half."""
    rows = []
    for s, (gold, own, truth, other) in enumerate(
        zip(first.gold, first.predicted, second.gold, second.predicted, strict=True)
    ):
        if own != other:
            wrong = [sum(map(str.__ne__, *pair)) for pair in ((gold, own), (truth, other))]
            rows.append((wrong[1] - wrong[0], s))
    rows.sort()
    half = most // 2
    better = [s for change, s in rows[: most - half] if change < 0]
    worse = [s for change, s in rows[::-1][:half] if change > 0]

    def tagged(found: Collected, s: int) -> Tagged:
        return Tagged(s, found.words[s], found.gold[s], found.predicted[s], None)

    return [(tagged(first, s), tagged(second, s)) for s in [*better, *worse]]


def comparison(report: Report) -> list[Html]:
    """Return the figures of both models, with tests, and what changed."""
    found, other = report.comparison, report.other
    if found is None or other is None:
        return []
    return [
        _figures(found, report.names),
        *_agreement(found, report.names),
        *_changes("Confusions that changed most", ["✓ gold", "✗ predicted"], _confusions(report, other), report.names),
        *_changes("Labels that changed most: right tokens", ["label", "gold"], _labels(report, other), report.names),
        *_changes("Parts of labels: wrong", ["part"], _parts(report, other), report.names),
        *_changes("Span errors", ["error"], _spans(report, other), report.names),
    ]


def _figures(found: Comparison, names: Sequence[str]) -> Html:
    rows = []
    for own in found.differences:
        ends = "" if own.interval is None else " to ".join(_points(end) for end in own.interval)
        p = [""] if own.p is None else [_verdict(own.p)]
        count = "" if own.count is None else f"{own.count:,}"
        rows.append([_capital(own.name), *percent(own.first, own.second), _points(own.difference), ends, *p, count])
    header = ["figure", *(f"{cut(name)}, %" for name in names), "difference", "95 % interval", "p", "of"]
    text = (
        f"Differences are those of {names[1]} minus {names[0]}, in percentage points. p is the probability of a "
        "difference at least as large if both models were equally good, by approximate randomisation (Noreen 1989; Yeh "
        "2000): 10,000 times, the answers of the two models to random sentences are swapped. Sentences are swapped as "
        "a whole, because errors in a sentence depend on each other. Intervals are those of the paired bootstrap over "
        "sentences. Means over labels or types and the calibration error have no test."
    )
    return join([tag("p", text), data_table("Figures of both models", header, rows)])


def _verdict(p: float) -> str:
    return f"{p:.4f}, {'significant' if p < SURE else 'may be chance'}"


def _points(difference: float) -> str:
    return signed(difference).replace("-", "−")


def _capital(name: str) -> str:
    return name[:1].upper() + name[1:]


def _agreement(found: Comparison, names: Sequence[str]) -> list[Html]:
    own = found.tokens
    rows = [
        [f"{names[0]} right", f"{own.both_right:,}", f"{own.only_first:,}"],
        [f"{names[0]} wrong", f"{own.only_second:,}", f"{own.both_wrong:,}"],
    ]
    header = ["tokens", f"{names[1]} right", f"{names[1]} wrong"]
    return [tag("h3", "Agreement"), data_table("Tokens that both models have right or wrong", header, rows)]


class Change(NamedTuple):
    """A number of both models."""

    cells: list[object]
    """Of what it is."""
    first: int
    second: int


def _changes(title: str, header: Sequence[str], rows: Iterable[Change], names: Sequence[str]) -> list[Html]:
    """Return a table of the numbers that changed most."""
    changed = sorted((row for row in rows if row.first != row.second), key=lambda row: -abs(row.second - row.first))
    if not changed:
        return []
    shown = [
        [*cells, f"{one:,}", f"{two:,}", f"{two - one:+,}".replace("-", "−")]
        for cells, one, two in changed[:MOST_CHANGES]
    ]
    left = (0, 1) if header[-1].startswith("✗") else (0,)
    made = [tag("h3", title), data_table(title, [*header, *map(cut, names), "change"], shown, left)]
    if len(changed) > MOST_CHANGES:
        made.append(tag("p", f"The first {MOST_CHANGES} of {len(changed):,} that changed are shown.", class_="note"))
    return made


def _confusions(report: Report, other: Report) -> list[Change]:
    one, two = ({row[:2]: row[2] for row in own.evaluation.confusions} for own in (report, other))
    return [
        Change([report.colours.chip(name) for name in pair], one.get(pair, 0), two.get(pair, 0))
        for pair in dict.fromkeys([*one, *two])
    ]


def _labels(report: Report, other: Report) -> list[Change]:
    one, two = ({own.name: own for own in each.evaluation.labels} for each in (report, other))
    return [
        Change([report.colours.chip(name), f"{own.support:,}"], _right(own), _right(two[name]))
        for name, own in one.items()
        if name in two and own.support == two[name].support
    ]


def _right(own: Scores) -> int:
    return round(own.recall * own.support)


def _parts(report: Report, other: Report) -> list[Change]:
    one, two = report.evaluation.parts, other.evaluation.parts
    if one is None or two is None or one.separators != two.separators:
        return []
    counts = [{part.name: part.wrong for part in own.parts} for own in (one, two)]
    names = dict.fromkeys([*counts[0], *counts[1]])
    return [Change([name], counts[0].get(name, 0), counts[1].get(name, 0)) for name in names]


def _spans(report: Report, other: Report) -> list[Change]:
    one, two = report.evaluation.spans, other.evaluation.spans
    if one is None or two is None:
        return []
    counts = [Counter(error.kind for error in own.errors) for own in (one, two)]
    return [Change([kind], counts[0][kind], counts[1][kind]) for kind in KINDS]


def sentences(report: Report) -> list[Html]:
    """Return the sentences on which the models differ most."""
    if not report.differing:
        return []
    first, second = report.names
    text = (
        f"Sentences in which {second} has fewest errors compared with {first}, then those in which it has most. At "
        f"tokens that one of them has wrong, 1 is the label of {first}, 2 that of {second}; ✓ is right, ✗ wrong."
    )
    return [tag("p", text), *(pair_article(*own, report.names, report.colours) for own in report.differing)]
