"""Hidden Markov models by counting, with suffixes for unknown words (after TnT: Brants 2000)."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from tagwright import _core
from tagwright.container import Arrays
from tagwright.decoder import Decoder, at_least_one
from tagwright.features import Features
from tagwright.learner import Labels, Learner, Sentences, check, numbers, rank
from tagwright.model import Model

__all__ = ["HMM"]

_LEAST_BACKOFF = 1e-3  # no transition is ever impossible
_UNLIKELY = 1e-4  # of the likeliest: labels that a suffix speaks against so strongly are left out of its row

Row = dict[int, float]


class HMM(Learner):
    """A bigram hidden Markov model, its probabilities counted from labelled sentences.

    Transitions: p(j | i) = a * c(i, j) / c(i) + b * c(j) / n, where a + b = 1 come from deleted interpolation (each
    bigram votes for the estimate that would have predicted it better had it been met once less; Brants 2000, eq. 4).
    Start and end of a sentence count as labels in this. Since what stands behind b depends on j alone, it is put into
    the node scores: the edges are 0 but for the pairs that were met, and decoding costs what it costs for a
    perceptron.

    Known words: p(w | j) = c(w, j) / c(j), for the labels they were met with. Unknown words: p(j | suffix), smoothed
    from shorter suffixes to longer ones with the standard deviation of the labels' probabilities as weight, turned
    round by Bayes' rule; from words met at most `rare` times, apart for each kind of capitals (Brants 2000, 2.3).

    Scores are log probabilities, but for a constant for each unknown word.

    Args:
        suffix: the longest suffix that is looked at, in characters.
        rare: words met at most this often teach suffixes.
        column: where in a token's row the word is.
        decoder: finds the best labelling.
        threads: for tagging.

    Differs from TnT in that it has bigrams, not trigrams, and in leaving out of a suffix's row the labels that are
    10,000 times less likely than its best.

    """

    def __init__(
        self, suffix: int = 10, rare: int = 10, column: int = 0, decoder: str | Decoder = "auto", threads: int = 1
    ) -> None:
        """Keep the parameters; they are checked by `fit`."""
        self.suffix = suffix
        self.rare = rare
        self.column = column
        self.decoder = decoder
        self.threads = threads

    def fit(self, X: Sentences, y: Labels) -> HMM:
        """Count."""
        check(X, y)
        at_least_one("suffix", self.suffix)
        at_least_one("rare", self.rare)
        if isinstance(self.column, bool) or not isinstance(self.column, int) or self.column < 0:
            raise ValueError(f"column must be a whole number of at least 0, not {self.column!r}")
        _core.Text.from_rows(X, self.column + 1)  # complains about tokens that are no text
        labels = rank(y)
        ids = numbers(y, labels)
        lengths = np.array([len(sentence) for sentence in y])
        features = self._templates()
        frequency = np.bincount(ids, minlength=len(labels))
        backoff, arrays = _transitions(ids, lengths[lengths > 0], frequency)
        rows = self._emissions(X, ids, frequency)
        for row in rows.values():
            for label in row:
                row[label] += backoff[label]
        arrays |= _rows(rows)
        self.model_ = Model(labels, features, arrays, self._facts(len(X), len(ids)))
        return self

    def _templates(self) -> Features:
        c = self.column
        suffixes = [f"U{n}:%suffix[0,{c},{n}]/%capital[0,{c}]" for n in range(self.suffix, 0, -1)]
        lines = [f"Uword:%x[0,{c}]", *suffixes, f"U0:/%capital[0,{c}]", "Uany:", "B"]
        return Features("\n".join(lines) + "\n")

    def _emissions(self, X: Sentences, ids: npt.NDArray[np.int32], frequency: npt.NDArray[np.int64]) -> dict[str, Row]:
        """Give a row of log p(. | label) to every word and suffix, by the names that the templates give them."""
        count: dict[str, Counter[int]] = defaultdict(Counter)
        label = iter(ids.tolist())
        for tokens in X:
            for token in tokens:
                count[token if isinstance(token, str) else token[self.column]][next(label)] += 1
        log_frequency = np.log(frequency).tolist()
        rows = {
            f"Uword:{word}": {j: math.log(n) - log_frequency[j] for j, n in met.items()} for word, met in count.items()
        }
        rare = [word for word, met in count.items() if met.total() <= self.rare] or list(count)
        suffixes: dict[str, Counter[int]] = defaultdict(Counter)
        shorter: dict[str, str] = {}
        for word, names in zip(rare, self._suffix_names(rare), strict=True):
            shorter |= itertools.pairwise(names)
            for name in names:
                suffixes[name].update(count[word])
        return rows | _suffix_rows(suffixes, shorter, frequency / frequency.sum())

    def _suffix_names(self, words: list[str]) -> list[list[str]]:
        """Say what the templates make of words, but for the words themselves: suffixes, the longest first."""
        templates = self._templates()
        text = _core.Text.from_rows([[[""] * self.column + [word]] for word in words], templates.columns)
        return [templates.core.expand(text, s)[0][0][1:] for s in range(len(words))]

    def _facts(self, sentences: int, tokens: int) -> dict[str, Any]:
        from tagwright import __version__

        return {
            "learner": "hmm",
            "first_only": True,
            "options": {
                "suffix": int(self.suffix),
                "rare": int(self.rare),
                "column": int(self.column),
                "decoder": str(self.decoder),
            },
            "sentences": sentences,
            "tokens": tokens,
            "version": __version__,
        }


def _suffix_rows(
    suffixes: Mapping[str, Counter[int]], shorter: Mapping[str, str], prior: npt.NDArray[np.float64]
) -> dict[str, Row]:
    """Give log p(suffix | label), but for a constant, from counts of labels; shorter: the next suffix to ask."""
    weight = float(prior.std(ddof=1)) if len(prior) > 1 else 0.0
    likely: dict[str, Row] = {}
    for asked in suffixes:
        chain = [asked]
        while chain[-1] not in likely and chain[-1] in shorter:
            chain.append(shorter[chain[-1]])
        for name in reversed(chain):
            if name in likely:
                continue
            met, n = suffixes[name], suffixes[name].total()
            before = likely[shorter[name]] if name in shorter else {}
            scale = 1 + weight if before else 1.0
            row = {j: weight * p / scale for j, p in before.items()}
            for j, times in met.items():
                row[j] = row.get(j, 0.0) + times / n / scale
            least = _UNLIKELY * max(row.values())
            likely[name] = {j: p for j, p in row.items() if p >= least}
    return {name: {j: math.log(p / prior[j]) for j, p in row.items()} for name, row in likely.items()}


def _transitions(
    ids: npt.NDArray[np.int32], lengths: npt.NDArray[np.int64], frequency: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.float64], Arrays]:
    """Give log(b * p(j)) for each label, which belongs to its node scores, and start, stop and edges above that."""
    L = len(frequency)
    ends = np.cumsum(lengths)
    starts = ends - lengths
    border = L  # start and end of a sentence, as a label
    inner = np.ones(len(ids), bool)
    inner[starts] = False
    previous = np.concatenate([ids[:-1][inner[1:]], np.full(len(starts), border), ids[ends - 1]]).astype(np.int64)
    current = np.concatenate([ids[1:][inner[1:]], ids[starts], np.full(len(ends), border)]).astype(np.int64)
    pairs, count = np.unique(previous * (L + 1) + current, return_counts=True)
    i, j = pairs // (L + 1), pairs % (L + 1)
    unigram = np.append(frequency, len(lengths)).astype(np.float64)
    total = unigram.sum()

    # Deleted interpolation: 0 / 0 is taken as 0.
    from_bigram = (count - 1) / np.maximum(unigram[i] - 1, 1)
    from_unigram = (unigram[j] - 1) / max(total - 1, 1)
    votes = float(count[from_bigram > from_unigram].sum())
    b = min(max(1 - votes / count.sum(), _LEAST_BACKOFF), 1 - _LEAST_BACKOFF)
    backoff = np.log(b * unigram / total)
    above = np.log1p((1 - b) * count / unigram[i] / np.exp(backoff[j]))
    start, stop = np.zeros(L), np.full(L, backoff[border])
    start[j[i == border]] = above[i == border]
    stop[i[j == border]] += above[j == border]
    edge = (i < border) & (j < border)
    return backoff[:L], {
        "edges.previous": i[edge].astype(np.uint16),
        "edges.current": j[edge].astype(np.uint16),
        "edges.score": above[edge].astype(np.float32),
        "start": start,
        "stop": stop,
    }


def _rows(rows: Mapping[str, Row]) -> Arrays:
    """Give rows as a model keeps them."""
    slots, ends, text = _core.index_arrays(list(rows))
    label = [j for row in rows.values() for j in sorted(row)]
    weight = [row[j] for row in rows.values() for j in sorted(row)]
    return {
        "names.slots": slots,
        "names.ends": ends,
        "names.bytes": text,
        "rows.end": np.cumsum([len(row) for row in rows.values()], dtype=np.uint64),
        "rows.label": np.array(label, np.uint16),
        "rows.weight": np.array(weight, np.float32),
    }
