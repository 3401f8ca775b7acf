"""Counts of an HMM: words and label pairs; labels that are not known count by their probabilities."""

from __future__ import annotations

import itertools
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tagwright.learners.partial import Known, Numbers, Weights

if TYPE_CHECKING:
    from tagwright.learners.hmm import HMM

__all__ = ["Counts", "first_counts", "maximise"]

_MOST_ROUNDS = 10
_TOLERANCE = 1e-4  # of the log-likelihood: EM stops at a smaller rise
_LEAST = 1e-3  # smaller expected counts are dropped, or every word would have every label

Floats = npt.NDArray[np.floating[Any]]


class Counts(NamedTuple):
    """Counts of words by label, and of label pairs."""

    words: Mapping[str, Mapping[int, float]]
    """[word][label]."""
    pairs: Mapping[int, float]
    """[previous * (L + 1) + current]; start and end of a sentence are label L."""
    frequency: Floats
    """[label]."""
    sentences: float
    """Not counting empty ones."""
    tokens: int
    """Without weights."""


def _weight(weights: Weights | None, s: int) -> float:
    return 1 if weights is None else float(weights[s])


def first_counts(
    words: Sequence[Sequence[str]], y: Sequence[Sequence[Known]], names: Sequence[str], weights: Weights | None
) -> Counts:
    """Return the counts of known labels; a set counts in equal shares, and a pair if both labels are known."""
    L = len(names)
    number = Numbers(names)
    by_word: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(int))
    pairs: dict[int, float] = defaultdict(int)
    frequency = np.zeros(L)
    sentences: float = 0
    for s, (tokens, labels) in enumerate(zip(words, y, strict=True)):
        if not labels:
            continue
        weight = _weight(weights, s)
        sentences += weight
        ids = [number[label] if isinstance(label, str) else None for label in labels]
        for word, own, label in zip(tokens, ids, labels, strict=True):
            among = [own] if own is not None else sorted(number[name] for name in label or ())
            for j in among:
                share = weight if own is not None else weight / len(among)
                by_word[word][j] += share
                frequency[j] += share
        around = [L, *ids, L]
        for i, k in itertools.pairwise(around):
            if i is not None and k is not None:
                pairs[i * (L + 1) + k] += weight
    return Counts(by_word, pairs, frequency, sentences, sum(map(len, words)))


def maximise(
    learner: HMM,
    X: Sequence[Sequence[object]],
    words: Sequence[Sequence[str]],
    y: Sequence[Sequence[Known]],
    names: list[str],
    weights: Weights | None,
    tokens: int,
) -> list[dict[str, float]]:
    """Improve `model_` by expectation-maximisation over unknown labels; return the history.

    A round counts labels by their probabilities under the current model, given the allowed labels, and estimates a
    model from these counts. Deviation from the textbook: transitions are smoothed by deleted interpolation as in
    `HMM.fit`, and rare words by suffixes, so that the likelihood need not rise in every round.
    """
    number = Numbers(names)
    partial = [s for s, labels in enumerate(y) if any(not isinstance(label, str) for label in labels)]
    complete = sorted({*range(len(y))} - {*partial})
    known = first_counts(
        [words[s] for s in complete],
        [y[s] for s in complete],
        names,
        None if weights is None else weights[complete],
    )
    history: list[dict[str, float]] = []
    for _ in range(_MOST_ROUNDS):
        began = time.perf_counter()
        found = _Expected(known, len(names), tokens)
        for s in partial:
            allowed = [
                None if label is None else [number[name] for name in ([label] if isinstance(label, str) else label)]
                for label in y[s]
            ]
            found.add(learner.model_, X[s], words[s], allowed, _weight(weights, s))
        learner.model_ = learner._counted(names, found.counts(), len(X))
        history.append({"log_likelihood": found.log_likelihood, "seconds": time.perf_counter() - began})
        if len(history) > 1:
            before, now = (fact["log_likelihood"] for fact in history[-2:])
            if now - before < _TOLERANCE * abs(now):
                break
    return history


class _Expected:
    """Expected counts."""

    def __init__(self, known: Counts, L: int, tokens: int) -> None:
        self.L, self.tokens = L, tokens
        self.words = defaultdict(lambda: np.zeros(L), {word: _dense(row, L) for word, row in known.words.items()})
        self.pairs = _dense(known.pairs, (L + 1) ** 2).reshape(L + 1, L + 1)
        self.sentences = known.sentences
        self.log_likelihood = 0.0

    def add(
        self,
        model: Any,
        sentence: Sequence[object],
        words: Sequence[str],
        allowed: Sequence[Sequence[int] | None],
        weight: float,
    ) -> None:
        """Add the expected counts of a sentence, given the labels that each token may have."""
        sums = model.lattice(sentence, allowed=allowed).marginals(with_edges=True)
        share, L = weight * sums.nodes, self.L
        for word, row in zip(words, share, strict=True):
            self.words[word] += row
        self.pairs[L, :L] += share[0]
        self.pairs[:L, L] += share[-1]
        if sums.edges is not None:
            self.pairs[:L, :L] += weight * sums.edges.sum(axis=0)
        self.sentences += weight
        self.log_likelihood += weight * sums.log_z

    def counts(self) -> Counts:
        """Return the counts that are not negligible."""
        by_word = {}
        for word, row in self.words.items():
            kept = np.flatnonzero(row >= min(_LEAST, row.max()))
            by_word[word] = dict(zip(kept.tolist(), row[kept].tolist(), strict=True))
        flat = self.pairs.ravel()
        pairs = np.flatnonzero(flat >= _LEAST)
        frequency = np.zeros(self.L)
        for counted in by_word.values():
            frequency[list(counted)] += list(counted.values())
        kept_pairs = dict(zip(pairs.tolist(), flat[pairs].tolist(), strict=True))
        return Counts(by_word, kept_pairs, frequency, self.sentences, self.tokens)


def _dense(counted: Mapping[int, float], size: int) -> npt.NDArray[np.float64]:
    made = np.zeros(size)
    for at, count in counted.items():
        made[at] = count
    return made
