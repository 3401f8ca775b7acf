"""Confidence intervals and tests by resampling, with sentences as units.

Tokens of a sentence are not independent: a wrong label makes its neighbours likely to be wrong. Sentences nearly are,
so that they are what is drawn (bootstrap) and what is swapped (approximate randomisation). Of very many sentences, runs
of consecutive ones are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]

RESAMPLES = 1000  # of an interval
TRIALS = 10_000  # of a test
SEED = 0
FEWEST_SENTENCES = 10  # of fewer, resamples say little
MOST_UNITS = 1 << 14  # of more sentences, runs of consecutive ones are units
_AT_ONCE = 1 << 20  # units that are drawn
_TOLERANCE = 1e-12  # of shares that are compared, whose quotients are rounded


@dataclass(frozen=True)
class SentenceCounts:
    """What each sentence adds to figures that are shares of sums: hits of all sentences by totals of all sentences.

    Accuracies and F1 are of this form: F1 has twice the number of right spans over that of gold and predicted ones.
    """

    names: tuple[str, ...]
    """Of the figures."""
    hits: Ints
    """[sentence, figure]"""
    totals: Ints
    """[sentence, figure]"""

    @property
    def units(self) -> Floats:
        """Hits, then totals of what is resampled, which are the sentences unless there are many: [unit, 2 * figures].

        Sums of integers are exact in any order, so that results are the same bits everywhere.
        """
        table = np.hstack([self.hits, self.totals])
        if len(table) > MOST_UNITS:
            table = np.add.reduceat(table, np.arange(MOST_UNITS) * len(table) // MOST_UNITS)
        return table.astype(np.float64)


def intervals(counts: SentenceCounts) -> dict[str, tuple[float, float]]:
    """Return the 95 % interval of each figure by the percentile bootstrap (Efron and Tibshirani 1993, chapter 13).

    It is empty if there are fewer than ten sentences. Resamples in which a figure is undefined do not count.
    """
    if len(counts.hits) < FEWEST_SENTENCES:
        return {}
    return _percentiles(counts.names, [_shares(sums) for sums in _bootstrap(counts.units)])


@dataclass(frozen=True)
class PairedTest:
    """Whether a figure of two labellings of the same sentences differs by chance."""

    interval: tuple[float, float] | None
    """95 % interval of the difference, second minus first, by the paired bootstrap; None with too few sentences."""
    p: float
    """Probability of a difference at least as large if the two labellings were equally good."""


def paired_tests(first: SentenceCounts, second: SentenceCounts) -> dict[str, PairedTest]:
    """Return a two-sided test of each figure that both have, given counts of the same sentences.

    Approximate randomisation (Noreen 1989; Yeh 2000): if the two were equally good, their answers to a sentence could
    be swapped. p is the share of random swaps after which the figures differ by at least as much. For the share of
    right sentences, this is McNemar's exact test, up to the number of trials.
    """
    names = tuple(name for name in first.names if name in second.names)
    one, two = (_selected(counts, names) for counts in (first, second))
    found = _swapped_at_least(one.units, two.units)
    own: dict[str, tuple[float, float]] = {}
    if len(one.hits) >= FEWEST_SENTENCES:
        both = np.hstack([one.units, two.units])
        half = both.shape[1] // 2
        drawn = [_shares(sums[:, half:]) - _shares(sums[:, :half]) for sums in _bootstrap(both)]
        own = _percentiles(names, drawn)
    return {
        name: PairedTest(own.get(name), (1 + int(count)) / (1 + TRIALS))
        for name, count in zip(names, found, strict=True)
    }


def _selected(counts: SentenceCounts, names: tuple[str, ...]) -> SentenceCounts:
    at = [counts.names.index(name) for name in names]
    return SentenceCounts(names, counts.hits[:, at], counts.totals[:, at])


def _shares(sums: Floats) -> Floats:
    """Return hits by totals, NaN where they are undefined; sums: [..., 2 * figures]."""
    hits, totals = np.split(sums, 2, axis=-1)
    found: Floats = np.divide(hits, totals, out=np.full(hits.shape, np.nan), where=totals > 0)
    return found


def _percentiles(names: tuple[str, ...], drawn: list[Floats]) -> dict[str, tuple[float, float]]:
    values = np.concatenate(drawn)
    found = {}
    for name, column in zip(names, values.T, strict=True):
        defined = column[~np.isnan(column)]
        if len(defined):
            low, high = np.quantile(defined, [0.025, 0.975])
            found[name] = (float(low), float(high))
    return found


def _bootstrap(table: Floats) -> Iterator[Floats]:
    """Yield sums over units drawn with replacement, some resamples at a time: [resample, column].

    The bits of PCG64 are the same for every version of NumPy.
    """
    S = len(table)
    bits = np.random.PCG64(SEED)
    at_once = max(_AT_ONCE // S, 1)
    for begin in range(0, RESAMPLES, at_once):
        size = min(at_once, RESAMPLES - begin)
        # The upper half of 64 bits, times S: the lower half is what is left over.
        drawn = (bits.random_raw(size * S) >> np.uint64(32)) * np.uint64(S) >> np.uint64(32)
        drawn += np.repeat(np.arange(size, dtype=np.uint64) * np.uint64(S), S)
        times = np.bincount(drawn.astype(np.int64), minlength=size * S).reshape(size, S)
        yield times.astype(np.float64) @ table


def _swapped_at_least(first: Floats, second: Floats) -> Ints:
    """Return for each figure in how many trials it differs at least as much as observed: [figure]."""
    more = (second - first)[(second != first).any(axis=1)]  # swapping equal answers changes nothing
    sums = first.sum(axis=0), second.sum(axis=0)
    observed = np.abs(_difference(*sums))
    found = np.zeros(len(observed), np.int64)
    bits = np.random.PCG64(SEED)
    words = -(-len(more) // 64)
    at_once = max(_AT_ONCE // max(len(more), 1), 1)
    for begin in range(0, TRIALS, at_once):
        size = min(at_once, TRIALS - begin)
        raw: Words = bits.random_raw(size * words).astype("<u8").reshape(size, words)
        swapped = np.unpackbits(raw.view(np.uint8), axis=1, count=len(more)) if words else np.zeros((size, 0))
        moved = swapped.astype(np.float64) @ more
        differ = np.abs(_difference(sums[0] + moved, sums[1] - moved))
        found += (differ >= observed - _TOLERANCE).sum(axis=0)
    return found


def _difference(first: Floats, second: Floats) -> Floats:
    """Return second minus first; 0 where one is undefined."""
    return np.nan_to_num(_shares(second) - _shares(first))
