"""Baum-Welch: hidden Markov models from sentences without labels; the core sums expected counts."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tagwright import _core, checks
from tagwright.decoding.keep import KeepArguments
from tagwright.learners.expected_counts import ByBatches, ByEntries, Expected, Scores
from tagwright.learners.hmm_transitions import Transitions, spread, sums
from tagwright.learners.learner import MOST_LABELS, Sentences
from tagwright.models.model import Model

__all__ = ["WORD", "BaumWelch", "Corpus", "Emissions"]

WORD = "Uword:"  # prefix of the features of words

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


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
        both = np.exp(model.arrays["rows.weight"][entries].astype(np.float64))
        behind = sums(label, both, len(model.labels))  # since the words of a label sum to one
        words = [name[len(WORD) :] for name in names if name.startswith(WORD)]
        lengths = np.diff(end, prepend=0)[is_word]
        return cls(words, np.cumsum(lengths), label, both / behind[label]), np.log(behind)

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
            p.append(np.exp(nodes - backoff)[label[-1]] * times / corpus.tokens)
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
        with np.errstate(divide="ignore"):  # a label may have become impossible for a word
            nodes = np.log(self.emissions.p[: self.entries])
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
