"""Expected counts of words, first and last labels and pairs of labels under an HMM, summed by the core."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tagwright import _core
from tagwright.decoding.keep import KeepArguments, keep_arguments

__all__ = ["ByBatches", "ByEntries", "Expected", "Scores"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_NUMBERS = 1 << 18  # of a batch: scores of labels
_SENTENCES = 256
_NONE = np.empty(0)


class Scores(NamedTuple):
    """The log probabilities of an HMM."""

    nodes: Floats
    """Of the words' labels, word by word."""
    start: Floats
    stop: Floats
    """[label]."""
    edges: Floats
    """Of the pairs."""


class Expected(NamedTuple):
    """Expected counts, in the layout of `Scores`, and the sums behind them."""

    nodes: Floats
    start: Floats
    stop: Floats
    edges: Floats
    log_z: float
    kept: float
    """Labels per token."""


class ByEntries:
    """Sums over the labels that each word may have and listed pairs: for any HMM and any pruning rule."""

    def __init__(
        self,
        sentences: Sequence[Sequence[int]],
        end: Integers,
        label: Integers,
        L: int,
        pairs: tuple[Integers, Integers],
    ) -> None:
        """Take sentences as numbers of words; the labels of word w end at end[w]; pairs: previous and current."""
        V, entries = len(end), len(label)
        self._split = entries + np.array([0, L, 2 * L])
        self._trainer = _core.BatchObjective.hmm(
            _text(sentences, V),
            L,
            [*map(str, range(V)), "<s>", "</s>"],
            np.append(end, [entries + L, entries + 2 * L]).astype(np.uint64),
            np.concatenate([label, np.arange(L), np.arange(L)]).astype(np.uint16),
            pairs[0].astype(np.uint16),
            pairs[1].astype(np.uint16),
        )
        self._counts: Floats = np.empty(self._trainer.size)
        self._everyone = np.arange(len(sentences), dtype=np.int32)

    def expect(self, scores: Scores, keep: KeepArguments, threads: int) -> Expected:
        """Return the expected counts."""
        weights = np.concatenate(scores)
        log_z, tokens, kept = self._trainer.expect(weights, keep, self._everyone, threads, self._counts)
        nodes, start, stop, edges = np.split(self._counts, self._split)
        return Expected(nodes, start, stop, edges, float(log_z), kept / tokens)


def _text(sentences: Sequence[Sequence[int]], V: int) -> _core.Text:
    """Return sentences as the core takes them: a word is a token's first feature, sentence start and end are others."""
    token = [[str(n)] for n in range(V)]
    X = [[token[n] for n in sentence] for sentence in sentences]
    for sentence in X:
        if sentence:
            sentence[0] = [*sentence[0], "<s>"]
            sentence[-1] = [*sentence[-1], "</s>"]
    return _core.Text.from_ready(X)


class _Batch(NamedTuple):
    words: Integers
    """(B, T), 0 in the padding."""
    lengths: Integers
    order: Integers
    """Its tokens by their index in (B, T), grouped by word."""
    observed: Integers
    """Its words, in this order."""
    begin: Integers
    """Where the tokens of each begin."""


class ByBatches:
    """Exact batched sums over all labels and pairs, if every word may have every label."""

    def __init__(self, sentences: Sequence[Sequence[int]], V: int, L: int, pairs: tuple[Integers, Integers]) -> None:
        """Take sentences as numbers of V words."""
        self._V, self._L, self._pairs = V, L, pairs
        self._batches = [*self._cut(sorted((own for own in sentences if own), key=len, reverse=True))]

    def _cut(self, sentences: list[Sequence[int]]) -> Iterator[_Batch]:
        begin = 0
        while begin < len(sentences):
            T = len(sentences[begin])
            some = sentences[begin : begin + max(1, min(_SENTENCES, _NUMBERS // (T * self._L)))]
            begin += len(some)
            lengths = np.array([len(own) for own in some])
            there = np.arange(T) < lengths[:, None]
            words = np.zeros(there.shape, np.int64)
            words[there] = np.concatenate([np.asarray(own) for own in some])
            order = np.flatnonzero(there)[np.argsort(words[there], kind="stable")]
            observed, first = np.unique(words.ravel()[order], return_index=True)
            yield _Batch(words, lengths, order, observed, first)

    def expect(self, scores: Scores, threads: int) -> Expected:
        """Return the expected counts."""
        L = self._L
        rows, counted = scores.nodes.reshape(self._V, L), np.zeros((self._V, L))
        matrix, pairs = np.zeros((L, L)), np.zeros((L, L))
        matrix[self._pairs] = scores.edges
        edges: Any = (matrix, None, None, 0.0, scores.start, scores.stop)
        ends = np.zeros((2, L))
        keep, log_z = keep_arguments(None), 0.0
        for batch in self._batches:
            nodes = rows[batch.words]
            found = np.empty_like(nodes)
            own, own_pairs, own_ends = np.empty(len(nodes)), np.empty(L * L), np.empty((2, L))
            outputs: Any = (own, _NONE, found, own_pairs, None, own_ends[0], own_ends[1])
            _core.fill_sums(nodes, batch.lengths, edges, (None, None, 1.0, _NONE), keep, False, outputs, threads)
            counted[batch.observed] += np.add.reduceat(found.reshape(-1, L)[batch.order], batch.begin, axis=0)
            pairs += own_pairs.reshape(L, L)
            ends += own_ends
            log_z += float(own.sum())
        return Expected(counted.ravel(), ends[0], ends[1], pairs[self._pairs], log_z, L)
