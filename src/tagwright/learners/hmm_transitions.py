"""Transitions of an HMM: bigrams of labels, backed off to single labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tagwright.models.file import Arrays
from tagwright.models.model import Model

__all__ = ["LEAST_BACKOFF", "Transitions", "spread", "sums"]

LEAST_BACKOFF = 1e-3  # so that no transition is impossible
_LEAST_LABEL = 1e-9  # lower bound of the probability of a single label
_SPREAD = 0.5  # at random: weights lie between 1 - this and 1 + this
_BACKOFF_AT_RANDOM = 0.1

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Transitions:
    """p(j | i) = bigram(i, j) + exp(backoff(j)), for L labels and the border, L, which is a sentence's start and end.

    Pairs that are not listed have no bigram; there is none of the border with itself, since empty sentences do not
    count.
    """

    share: float
    """b: the share of single labels in each transition, the sum of exp(backoff)."""
    backoff: Floats
    """[L + 1]: log(b * p(j))."""
    previous: Integers
    current: Integers
    """Beside it: the pairs, in order."""
    bigram: Floats
    """Beside them: a * chat(j | i), where a = 1 - b."""

    def above(self) -> Floats:
        """Return what the pairs' log probabilities have above backoff."""
        return np.log1p(self.bigram / np.exp(self.backoff[self.current]))

    def ends(self) -> tuple[Floats, Floats]:
        """Return scores of first and of last labels; those of first labels are without backoff, as edges are."""
        border, above = len(self.backoff) - 1, self.above()
        start, stop = np.zeros(border), np.full(border, self.backoff[border])
        first, last = self.previous == border, self.current == border
        start[self.current[first]] = above[first]
        stop[self.previous[last]] += above[last]
        return start, stop

    def inner(self) -> npt.NDArray[np.bool_]:
        """Return which pairs are not at the border."""
        border = len(self.backoff) - 1
        return (self.previous < border) & (self.current < border)

    def arrays(self) -> Arrays:
        """Return them as a model has them, without backoff, which is in its rows."""
        score = self.above().astype(np.float32)
        edge = self.inner() & (score > 0)
        start, stop = self.ends()
        return {
            "edges.previous": self.previous[edge].astype(np.uint16),
            "edges.current": self.current[edge].astype(np.uint16),
            "edges.score": score[edge],
            "start": start,
            "stop": stop,
        }

    def facts(self) -> dict[str, float]:
        """Return what `of` needs beside a model's arrays."""
        return {"share": float(self.share), "border": float(self.backoff[-1])}

    @classmethod
    def of(cls, model: Model, backoff: Floats) -> Transitions:
        """Read them from a model; backoff: of its labels."""
        share, border = float(model.facts["backoff"]["share"]), float(model.facts["backoff"]["border"])
        arrays, L = model.arrays, len(model.labels)
        single = np.exp(np.append(backoff, border))
        first, last = np.flatnonzero(arrays["start"] > 0), np.flatnonzero(arrays["stop"] > border)
        i = np.concatenate([arrays["edges.previous"].astype(np.int64), np.full(len(first), L), last])
        j = np.concatenate([arrays["edges.current"].astype(np.int64), first, np.full(len(last), L)])
        above = [arrays["edges.score"].astype(np.float64), arrays["start"][first], arrays["stop"][last] - border]
        bigram = single[j] * np.expm1(np.concatenate(above))
        order = np.lexsort((j, i))
        i, j, bigram = i[order], j[order], bigram[order]
        # Normalise: the model's scores are rounded.
        bigram *= (1 - share) / sums(i, bigram, L + 1)[i]
        return cls(share, np.log(single * share / single.sum()), i, j, bigram)

    @classmethod
    def at_random(cls, L: int, ends: float, rng: np.random.Generator) -> Transitions:
        """Return nearly uniform transitions; ends: the border's share of the labels."""
        likely = np.append(np.full(L, (1 - ends) / L), ends)
        i, j = np.divmod(np.arange((L + 1) ** 2 - 1), L + 1)  # all pairs but the border's with itself
        bigram = likely[j] * spread(rng, len(j))
        bigram *= (1 - _BACKOFF_AT_RANDOM) / sums(i, bigram, L + 1)[i]
        return cls(_BACKOFF_AT_RANDOM, np.log(_BACKOFF_AT_RANDOM * likely), i, j, bigram)

    def renumbered(self, number: Integers) -> Transitions:
        """Return the same with label y numbered number[y]."""
        number = np.append(number, len(number))
        backoff = np.empty_like(self.backoff)
        backoff[number] = self.backoff
        i, j = number[self.previous], number[self.current]
        order = np.lexsort((j, i))
        return Transitions(self.share, backoff, i[order], j[order], self.bigram[order])

    def maximised(self, pairs: Floats, into: Floats) -> Transitions:
        """Return the maximum-likelihood estimate from expected counts of pairs and of entries of each label.

        Whether a transition was drawn from the bigram or from the single labels is as hidden as the labels are.
        """
        i, j = self.previous, self.current
        above = self.above()
        bigram = pairs * -np.expm1(-above)
        single = np.maximum(into - sums(j, pairs, len(into)), 0) + sums(j, pairs - bigram, len(into))
        share = float(single.sum() / (single.sum() + bigram.sum()))
        share = min(max(share, LEAST_BACKOFF), 1 - LEAST_BACKOFF)
        left = sums(i, bigram, len(into))[i]
        chat = np.divide(bigram, left, out=self.bigram / (1 - self.share), where=left > 0)
        return Transitions(share, np.log(share * _probabilities(single)), i, j, (1 - share) * chat)


def sums(at: Integers, weight: Floats, n: int) -> Floats:
    """Sum the weights at each of n places."""
    return np.bincount(at, weight, n).astype(np.float64, copy=False)


def spread(rng: np.random.Generator, shape: Any) -> Floats:
    """Return weights at random, around 1."""
    return np.asarray(rng.uniform(1 - _SPREAD, 1 + _SPREAD, shape), np.float64)


def _probabilities(counts: Floats) -> Floats:
    """Return the most likely probabilities for these counts, of those that are nowhere below the bound."""
    low = np.zeros(len(counts), bool)
    while True:
        p: Floats = counts * ((1 - _LEAST_LABEL * low.sum()) / counts[~low].sum())
        p[low] = _LEAST_LABEL
        if not (p < _LEAST_LABEL).any():
            return p
        low |= p < _LEAST_LABEL
