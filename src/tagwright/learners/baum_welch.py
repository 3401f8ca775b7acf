"""Baum-Welch: hidden Markov models from sentences without labels, the expected counts by the core."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tagwright import _core, checks
from tagwright.decoding.keep import KeepArguments
from tagwright.learners.learner import MOST_LABELS, Sentences
from tagwright.models.file import Arrays
from tagwright.models.model import Model

__all__ = ["WORD", "BaumWelch", "Corpus", "Emissions", "Transitions"]

WORD = "Uword:"  # what the names of words begin with
LEAST_BACKOFF = 1e-3  # no transition is ever impossible
_LEAST_LABEL = 1e-9  # of the single labels' probability: what even a label that nobody needs any more keeps
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
    """b: what the single labels have of each transition, the sum of exp(backoff)."""
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
        # The model's scores are rounded: make up for it.
        bigram *= (1 - share) / _sums(i, bigram, L + 1)[i]
        return cls(share, np.log(single * share / single.sum()), i, j, bigram)

    @classmethod
    def at_random(cls, L: int, ends: float, rng: np.random.Generator) -> Transitions:
        """Return nearly equal ones; ends: the border's share of the labels."""
        likely = np.append(np.full(L, (1 - ends) / L), ends)
        i, j = np.divmod(np.arange((L + 1) ** 2 - 1), L + 1)  # all pairs but the border's with itself
        bigram = likely[j] * _spread(rng, len(j))
        bigram *= (1 - _BACKOFF_AT_RANDOM) / _sums(i, bigram, L + 1)[i]
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
        """Return the likeliest, from expected counts of the pairs and of what comes into each label and the border.

        Whether a transition was drawn from the bigram or from the single labels is as hidden as the labels are.
        """
        i, j = self.previous, self.current
        above = self.above()
        bigram = pairs * -np.expm1(-above)
        single = np.maximum(into - _sums(j, pairs, len(into)), 0) + _sums(j, pairs - bigram, len(into))
        share = float(single.sum() / (single.sum() + bigram.sum()))
        share = min(max(share, LEAST_BACKOFF), 1 - LEAST_BACKOFF)
        left = _sums(i, bigram, len(into))[i]
        chat = np.divide(bigram, left, out=self.bigram / (1 - self.share), where=left > 0)
        return Transitions(share, np.log(share * _probabilities(single)), i, j, (1 - share) * chat)


@dataclass(frozen=True)
class Emissions:
    """p(w | j) of words: one row per word, of the labels that it may have."""

    words: list[str]
    end: Integers
    label: Integers
    p: Floats

    @classmethod
    def of(cls, model: Model) -> tuple[Emissions, Floats]:
        """Return them, and the labels' backoff, which the model's rows hold too, from a model."""
        names = names_of(model)
        is_word = np.array([name.startswith(WORD) for name in names])
        end = model.arrays["rows.end"].astype(np.int64)
        entries = is_word[rows_of(model)]
        label = model.arrays["rows.label"][entries].astype(np.int64)
        both = np.exp(model.arrays["rows.weight"][entries].astype(np.float64))
        behind = _sums(label, both, len(model.labels))  # since the words of a label sum to one
        words = [name[len(WORD) :] for name in names if name.startswith(WORD)]
        lengths = np.diff(end, prepend=0)[is_word]
        return cls(words, np.cumsum(lengths), label, both / behind[label]), np.log(behind)

    @classmethod
    def for_corpus(cls, model: Model, corpus: Corpus, column: int) -> tuple[Emissions, Floats]:
        """Return them for the words of a corpus, which come first, and for the model's others, behind these.

        A word that the model does not know has the labels of its suffix: p(w | j) is p(j | suffix) / p(j) times the
        word's share of the corpus, and then the words of each label are made to sum to one again.
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
        met = set(corpus.words)
        others = [word for word in known.words if word not in met]
        label += [known.label[pieces[number[word]]] for word in others]
        p += [known.p[pieces[number[word]]] for word in others]
        labels, all_p = np.concatenate(label), np.concatenate(p)
        all_p /= _sums(labels, all_p, len(backoff))[labels]
        return cls(corpus.words + others, np.cumsum([len(row) for row in label]), labels, all_p), backoff

    def renumbered(self, number: Integers) -> Emissions:
        """Return the same with label y numbered number[y]."""
        label = number[self.label]
        row = np.repeat(np.arange(len(self.end)), np.diff(self.end, prepend=0))
        order = np.lexsort((label, row))
        return Emissions(self.words, self.end, label[order], self.p[order])

    def rows(self) -> Iterator[dict[int, float]]:
        """Yield for each word what its labels have, without those that have nothing."""
        label, p, begin = self.label.tolist(), self.p.tolist(), 0
        for end in self.end.tolist():
            yield {label[q]: p[q] for q in range(begin, end) if p[q] > 0}
            begin = end

    @classmethod
    def at_random(cls, corpus: Corpus, L: int, rng: np.random.Generator) -> Emissions:
        """Return every label for every word, each label's words nearly as frequent as they are in the corpus."""
        p = corpus.count[:, None] * _spread(rng, (len(corpus.words), L))
        p /= p.sum(axis=0)
        V = len(corpus.words)
        return cls(corpus.words, np.arange(1, V + 1) * L, np.tile(np.arange(L), V), p.ravel())


@dataclass(frozen=True)
class Corpus:
    """Sentences as numbers of words."""

    words: list[str]
    """In the order in which they are met."""
    sentences: list[list[int]]
    count: Integers
    """[word]"""

    @classmethod
    def read(cls, X: Sentences, column: int) -> Corpus:
        """Number the words; ValueError where tokens are no text, or where there is none."""
        _core.Text.from_rows(X, column + 1)  # complains about tokens that are no text
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
        """How many tokens there are."""
        return int(self.count.sum())

    @property
    def not_empty(self) -> int:
        """How many sentences have a token."""
        return sum(1 for sentence in self.sentences if sentence)

    def text(self) -> _core.Text:
        """Return them as the core takes them: a word is a token's first feature, sentence start and end are others."""
        token = [[str(n)] for n in range(len(self.words))]
        X = [[token[n] for n in sentence] for sentence in self.sentences]
        for sentence in X:
            if sentence:
                sentence[0] = [*sentence[0], "<s>"]
                sentence[-1] = [*sentence[-1], "</s>"]
        return _core.Text.from_ready(X)


class BaumWelch:
    """Expectation-maximisation from a start: each `step` is one turn, and changes transitions and emissions."""

    def __init__(self, corpus: Corpus, transitions: Transitions, emissions: Emissions) -> None:
        """Take the start; the corpus' words must be the first of the emissions."""
        self.corpus, self.transitions, self.emissions = corpus, transitions, emissions
        L, V = len(transitions.backoff) - 1, len(corpus.words)
        self.L, self.entries = L, int(emissions.end[V - 1])
        inner = transitions.inner()
        self.label = emissions.label[: self.entries]
        # What the corpus' words have together; the others keep the rest.
        self.mass: Floats = _sums(self.label, emissions.p[: self.entries], L)
        self.trainer = _core.CrfTrainer.closed(
            corpus.text(),
            L,
            [*map(str, range(V)), "<s>", "</s>"],
            np.append(emissions.end[:V], [self.entries + L, self.entries + 2 * L]).astype(np.uint64),
            np.concatenate([self.label, np.arange(L), np.arange(L)]).astype(np.uint16),
            transitions.previous[inner].astype(np.uint16),
            transitions.current[inner].astype(np.uint16),
        )
        self.counts: Floats = np.empty(self.trainer.size)
        self.everyone = np.arange(len(corpus.sentences), dtype=np.int32)

    def step(self, keep: KeepArguments, threads: int) -> tuple[float, float]:
        """Take one step; return log p(X) before it and the labels kept per token, on average."""
        before = self.transitions
        with np.errstate(divide="ignore"):  # a label may have died out for a word
            nodes = np.log(self.emissions.p[: self.entries]) + before.backoff[self.label]
        weights = np.concatenate([nodes, *before.ends(), before.above()[before.inner()]])
        log_z, tokens, kept = self.trainer.expect(weights, keep, self.everyone, threads, self.counts)
        L, inner = self.L, before.inner()
        words, first, last, edges = np.split(self.counts, self.entries + np.array([0, L, 2 * L]))
        pairs = np.empty(len(inner))
        pairs[inner] = edges
        start, stop = before.previous == L, before.current == L
        pairs[start], pairs[stop] = first[before.current[start]], last[before.previous[stop]]
        frequency = _sums(self.label, words, L)
        p = self.emissions.p.copy()
        times = frequency[self.label]
        np.divide(words * self.mass[self.label], times, out=p[: self.entries], where=times > 0)
        transitions = before.maximised(pairs, np.append(frequency, self.corpus.not_empty))
        self.transitions, self.emissions = transitions, dataclasses.replace(self.emissions, p=p)
        return float(log_z), kept / tokens

    def expected(self) -> Emissions:
        """Return how often each word of the corpus had which label, by the last step."""
        V = len(self.corpus.words)
        return Emissions(self.corpus.words, self.emissions.end[:V], self.label, self.counts[: self.entries])


def label_names(labels: object) -> list[str]:
    """Give the names that are meant by a number of labels, or by names."""
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


def _sums(at: Integers, weight: Floats, n: int) -> Floats:
    """Sum the weights at each of n places."""
    return np.bincount(at, weight, n).astype(np.float64, copy=False)


def _spread(rng: np.random.Generator, shape: Any) -> Floats:
    return np.asarray(rng.uniform(1 - _SPREAD, 1 + _SPREAD, shape), np.float64)


def _probabilities(counts: Floats) -> Floats:
    """Give the probabilities that make these counts likeliest, of all that are nowhere below the least."""
    low = np.zeros(len(counts), bool)
    while True:
        p: Floats = counts * ((1 - _LEAST_LABEL * low.sum()) / counts[~low].sum())
        p[low] = _LEAST_LABEL
        if not (p < _LEAST_LABEL).any():
            return p
        low |= p < _LEAST_LABEL


def names_of(model: Model) -> list[str]:
    """Return the features of a model, in their order."""
    ends = model.arrays["names.ends"].tolist()
    text = model.arrays["names.bytes"].tobytes()
    return [text[begin:end].decode() for begin, end in zip([0, *ends], ends, strict=False)]


def rows_of(model: Model) -> npt.NDArray[np.int64]:
    """Return the feature of each node weight of a model."""
    ends = model.arrays["rows.end"].astype(np.int64)
    return np.repeat(np.arange(len(ends)), np.diff(ends, prepend=0))
