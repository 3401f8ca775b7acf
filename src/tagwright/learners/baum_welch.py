"""Baum-Welch: transitions and emissions of an HMM, their expected counts, and the EM algorithm over these."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tagwright import _core, checks
from tagwright.decoding.keep import KeepArguments, keep_arguments
from tagwright.elementary import exp, expm1, log, log1p
from tagwright.learners.labels import MOST_LABELS
from tagwright.learners.learner import Sentences
from tagwright.models.file import Arrays
from tagwright.models.model import Model

LEAST_BACKOFF = 1e-3  # so that no transition is impossible
LEAST_LABEL = 1e-9  # lower bound of the probability of a single label
_SPREAD = 0.5  # at random: weights lie between 1 - this and 1 + this
_BACKOFF_AT_RANDOM = 0.1
WORD = "Uword:"  # prefix of the features of words
_NUMBERS = 1 << 18  # of a batch: scores of labels
_SENTENCES = 256
_NONE = np.empty(0)

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
        return log1p(self.bigram / exp(self.backoff[self.current]))

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
        single = exp(np.append(backoff, border))
        first, last = np.flatnonzero(arrays["start"] > 0), np.flatnonzero(arrays["stop"] > border)
        i = np.concatenate([arrays["edges.previous"].astype(np.int64), np.full(len(first), L), last])
        j = np.concatenate([arrays["edges.current"].astype(np.int64), first, np.full(len(last), L)])
        above = [arrays["edges.score"].astype(np.float64), arrays["start"][first], arrays["stop"][last] - border]
        bigram = single[j] * expm1(np.concatenate(above))
        order = np.lexsort((j, i))
        i, j, bigram = i[order], j[order], bigram[order]
        # Normalise: the model's scores are rounded.
        bigram *= (1 - share) / sums(i, bigram, L + 1)[i]
        return cls(share, log(single * share / single.sum()), i, j, bigram)

    @classmethod
    def at_random(cls, L: int, ends: float, rng: np.random.Generator) -> Transitions:
        """Return nearly uniform transitions; ends: the border's share of the labels."""
        likely = np.append(np.full(L, (1 - ends) / L), ends)
        i, j = np.divmod(np.arange((L + 1) ** 2 - 1), L + 1)  # all pairs but the border's with itself
        bigram = likely[j] * spread(rng, len(j))
        bigram *= (1 - _BACKOFF_AT_RANDOM) / sums(i, bigram, L + 1)[i]
        return cls(_BACKOFF_AT_RANDOM, log(_BACKOFF_AT_RANDOM * likely), i, j, bigram)

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
        bigram = pairs * -expm1(-above)
        single = np.maximum(into - sums(j, pairs, len(into)), 0) + sums(j, pairs - bigram, len(into))
        share = float(single.sum() / (single.sum() + bigram.sum()))
        share = min(max(share, LEAST_BACKOFF), 1 - LEAST_BACKOFF)
        left = sums(i, bigram, len(into))[i]
        chat = np.divide(bigram, left, out=self.bigram / (1 - self.share), where=left > 0)
        return Transitions(share, log(share * _probabilities(single)), i, j, (1 - share) * chat)


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
        p: Floats = counts * ((1 - LEAST_LABEL * low.sum()) / counts[~low].sum())
        p[low] = LEAST_LABEL
        if not (p < LEAST_LABEL).any():
            return p
        low |= p < LEAST_LABEL


@dataclass(frozen=True)
class Emissions:
    """p(w | j) of words: one row per word, of the labels that it may have."""

    words: list[str]
    end: Integers
    label: Integers
    p: Floats

    @classmethod
    def of(cls, model: Model) -> tuple[Emissions, Floats]:
        """Return the emissions of a model, and the backoff of its labels, which its rows include."""
        names = names_of(model)
        is_word = np.array([name.startswith(WORD) for name in names])
        end = model.arrays["rows.end"].astype(np.int64)
        entries = is_word[rows_of(model)]
        label = model.arrays["rows.label"][entries].astype(np.int64)
        both = exp(model.arrays["rows.weight"][entries].astype(np.float64))
        behind = sums(label, both, len(model.labels))  # since the words of a label sum to one
        words = [name[len(WORD) :] for name in names if name.startswith(WORD)]
        lengths = np.diff(end, prepend=0)[is_word]
        return cls(words, np.cumsum(lengths), label, both / behind[label]), log(behind)

    @classmethod
    def for_corpus(cls, model: Model, corpus: Corpus, column: int) -> tuple[Emissions, Floats]:
        """Return emissions of the words of a corpus, followed by those of the model's other words.

        An unknown word has the labels of its suffix: p(w | j) is p(j | suffix) / p(j) times the word's share of the
        corpus; then each label is normalised.
        """
        known, backoff = cls.of(model)
        number = {word: n for n, word in enumerate(known.words)}
        pieces = np.split(np.arange(len(known.label)), known.end[:-1])
        label, p = [], []
        for word, times in zip(corpus.words, corpus.count.tolist(), strict=True):
            if word in number:
                label.append(known.label[pieces[number[word]]])
                p.append(known.p[pieces[number[word]]])
                continue
            nodes = model.lattice([[""] * column + [word]]).nodes[0].astype(np.float64)
            label.append(np.flatnonzero(nodes > -np.inf))
            p.append(exp(nodes - backoff)[label[-1]] * times / corpus.tokens)
        own = set(corpus.words)
        others = [word for word in known.words if word not in own]
        label += [known.label[pieces[number[word]]] for word in others]
        p += [known.p[pieces[number[word]]] for word in others]
        labels, all_p = np.concatenate(label), np.concatenate(p)
        all_p /= sums(labels, all_p, len(backoff))[labels]
        return cls(corpus.words + others, np.cumsum([len(row) for row in label]), labels, all_p), backoff

    def renumbered(self, number: Integers) -> Emissions:
        """Return the same with label y numbered number[y]."""
        V, L = len(self.end), len(number)
        if len(self.label) == V * L:  # every word has every label
            return Emissions(self.words, self.end, self.label, self.p.reshape(V, L)[:, np.argsort(number)].ravel())
        label = number[self.label]
        row = np.repeat(np.arange(V), np.diff(self.end, prepend=0))
        order = np.lexsort((label, row))
        return Emissions(self.words, self.end, label[order], self.p[order])

    @classmethod
    def at_random(cls, corpus: Corpus, L: int, rng: np.random.Generator) -> Emissions:
        """Return every label for every word, each label's words nearly as frequent as they are in the corpus."""
        p = corpus.count[:, None] * spread(rng, (len(corpus.words), L))
        p /= p.sum(axis=0)
        V = len(corpus.words)
        return cls(corpus.words, np.arange(1, V + 1) * L, np.tile(np.arange(L, dtype=np.uint16), V), p.ravel())


@dataclass(frozen=True)
class Corpus:
    """Sentences as word numbers."""

    words: list[str]
    """In the order of their first occurrence."""
    sentences: list[list[int]]
    count: Integers
    """[word]"""

    @classmethod
    def read(cls, X: Sentences, column: int) -> Corpus:
        """Number the words; ValueError if tokens are not text, or there is none."""
        _core.Text.from_rows(X, column + 1)  # raises for tokens that are not text
        number: dict[str, int] = {}
        sentences = [
            [number.setdefault(token if isinstance(token, str) else token[column], len(number)) for token in sentence]
            for sentence in X
        ]
        if not number:
            raise ValueError("there is no token to learn from")
        count = np.bincount(np.fromiter((n for sentence in sentences for n in sentence), np.int64))
        return cls(list(number), sentences, count)

    @property
    def tokens(self) -> int:
        """The number of tokens."""
        return int(self.count.sum())

    @property
    def not_empty(self) -> int:
        """The number of sentences that have a token."""
        return sum(1 for sentence in self.sentences if sentence)


class BaumWelch:
    """Expectation-maximisation: each `step` is one iteration and replaces transitions and emissions."""

    def __init__(self, corpus: Corpus, transitions: Transitions, emissions: Emissions) -> None:
        """Start from these estimates; the words of the corpus must come first in the emissions."""
        self.corpus, self.transitions, self.emissions = corpus, transitions, emissions
        L, V = len(transitions.backoff) - 1, len(corpus.words)
        self.L, self.entries = L, int(emissions.end[V - 1])
        self.label = emissions.label[: self.entries]
        self.full = self.entries == V * L
        """Whether every word may have every label."""
        # The probability of all words of the corpus, by label; the other words keep the rest.
        self.mass = self.by_label(emissions.p[: self.entries])
        self.counts: Floats = np.zeros(self.entries)
        """Expected counts of words by label in the last step."""

    def by_label(self, values: Floats) -> Floats:
        """Return the sum of the entries of each label."""
        return values.reshape(-1, self.L).sum(axis=0) if self.full else sums(self.label, values, self.L)

    def _of_entries(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the values of labels for each entry, or row of entries."""
        return values if self.full else values[self.label]

    def _rows(self, values: Floats) -> Floats:
        """Return entries in the form of `_of_entries`."""
        return values.reshape(-1, self.L) if self.full else values

    def _expected(self, scores: Scores, keep: KeepArguments, threads: int) -> Expected:
        corpus, inner = self.corpus, self.transitions.inner()
        pairs = self.transitions.previous[inner], self.transitions.current[inner]
        if self.full and not keep[0]:
            if self._batches is None:
                self._batches = ByBatches(corpus.sentences, len(corpus.words), self.L, pairs)
            return self._batches.expect(scores, threads)
        if self._all is None:
            end = self.emissions.end[: len(corpus.words)]
            self._all = ByEntries(corpus.sentences, end, self.label, self.L, pairs)
        return self._all.expect(scores, keep, threads)

    _batches: ByBatches | None = None
    _all: ByEntries | None = None

    def step(self, keep: KeepArguments, threads: int) -> tuple[float, float]:
        """Take one step; return log p(X) before it and the labels kept per token, on average."""
        before = self.transitions
        inner = before.inner()
        nodes = log(self.emissions.p[: self.entries])  # -inf where a label has become impossible for a word
        self._rows(nodes)[...] += self._of_entries(before.backoff[:-1])
        found = self._expected(Scores(nodes, *before.ends(), before.above()[inner]), keep, threads)
        pairs = np.empty(len(inner))
        pairs[inner] = found.edges
        start, stop = before.previous == self.L, before.current == self.L
        pairs[start], pairs[stop] = found.start[before.current[start]], found.stop[before.previous[stop]]
        frequency = self.by_label(found.nodes)
        del nodes
        p = self.emissions.p.copy()
        observed = frequency > 0
        share = np.divide(self.mass, frequency, out=np.zeros(self.L), where=observed)
        own = self._rows(p[: self.entries])
        np.multiply(self._rows(found.nodes), self._of_entries(share), out=own, where=self._of_entries(observed))
        self.counts = found.nodes
        transitions = before.maximised(pairs, np.append(frequency, self.corpus.not_empty))
        self.transitions, self.emissions = transitions, dataclasses.replace(self.emissions, p=p)
        return found.log_z, found.kept

    def expected(self) -> Emissions:
        """Return the expected counts of each word of the corpus by label in the last step."""
        V = len(self.corpus.words)
        return Emissions(self.corpus.words, self.emissions.end[:V], self.label, self.counts)


def label_names(labels: object) -> list[str]:
    """Return the names of a number of labels, or the given names."""
    if isinstance(labels, int | np.integer) and not isinstance(labels, bool):
        if not 1 <= labels <= MOST_LABELS:
            raise ValueError(f"labels must be at least 1 and at most {MOST_LABELS:,}, not {checks.shown(labels)}")
        return [f"L{n}" for n in range(int(labels))]
    if not isinstance(labels, Sequence) or isinstance(labels, str):
        raise ValueError(f"labels must be a number or a list of names, not {labels!r}")
    names = list(labels)
    if not names:
        raise ValueError("labels: there must be at least one name")
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise ValueError("labels: names must be strings that differ")
    return names


def names_of(model: Model) -> list[str]:
    """Return the features of a model, in their order."""
    ends = model.arrays["names.ends"].tolist()
    text = model.arrays["names.bytes"].tobytes()
    return [text[begin:end].decode() for begin, end in zip([0, *ends], ends, strict=False)]


def rows_of(model: Model) -> npt.NDArray[np.int64]:
    """Return the feature of each node weight of a model."""
    ends = model.arrays["rows.end"].astype(np.int64)
    return np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))


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
