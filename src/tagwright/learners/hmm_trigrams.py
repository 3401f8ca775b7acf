"""Trigrams of labels for an HMM of order 2, by the deleted interpolation of TnT (Brants 2000, equations 2 to 6)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tagwright.learners.hmm_counts import Counts
from tagwright.learners.hmm_transitions import LEAST_BACKOFF, Transitions
from tagwright.learners.partial import Numbers, Weights
from tagwright.models.file import Arrays

__all__ = ["Trigrams"]

_NO_LABEL = 65_535  # pads a trigram to four labels


@dataclass(frozen=True)
class Trigrams:
    """p(k | i, j) = l1 * p(k) + l2 * p(k | j) + l3 * p(k | i, j), the latter from counts; l1 + l2 + l3 = 1."""

    labels: npt.NDArray[np.int64]
    """(N, 3): the observed label trigrams, in order."""
    probability: npt.NDArray[np.float64]
    """(N,): c(i, j, k) / c(i, j)."""
    shares: tuple[float, float, float]
    """l1, l2 and l3."""

    @classmethod
    def counted(cls, y: Sequence[Sequence[str]], names: list[str], weights: Weights | None, pairs: Counts) -> Trigrams:
        """Count label trigrams; each votes for the estimate that predicts it best with one occurrence less."""
        number, L = Numbers(names), len(names)
        observed: dict[tuple[int, ...], float] = defaultdict(float)
        for s, sentence in enumerate(y):
            ids = [number[label] for label in sentence]
            weight = 1 if weights is None else float(weights[s])
            for own in zip(ids, ids[1:], ids[2:], strict=False):
                observed[own] += weight
        labels = np.array(sorted(observed), np.int64).reshape(-1, 3)
        count = np.array([observed[tuple(own)] for own in labels.tolist()], np.float64)
        i, j, k = labels.T
        pair = {own: float(times) for own, times in pairs.pairs.items()}
        of_pair = np.array([pair[own] for own in (i * (L + 1) + j).tolist()], np.float64)
        behind = np.array([pair[own] for own in (j * (L + 1) + k).tolist()], np.float64)
        single = np.append(pairs.frequency, pairs.sentences).astype(np.float64)
        # 0 / 0 counts as 0.
        votes = np.array(
            [
                (single[k] - 1) / max(single.sum() - 1, 1),
                (behind - 1) / np.maximum(single[j] - 1, 1),
                (count - 1) / np.maximum(of_pair - 1, 1),
            ]
        )
        voted = np.bincount(votes.argmax(axis=0), count, 3) if len(labels) else np.zeros(3)
        shares = np.maximum(voted / (voted.sum() or 1), LEAST_BACKOFF)
        shares /= shares.sum()
        return cls(labels, count / of_pair, (float(shares[0]), float(shares[1]), float(shares[2])))

    @property
    def of_single(self) -> float:
        """The share of single labels in the estimate from single labels and pairs."""
        return self.shares[0] / (self.shares[0] + self.shares[1])

    def arrays(self, transitions: Transitions) -> Arrays:
        """Return the label n-grams of a model: what trigrams add to transitions with the share `of_single`."""
        border = len(transitions.backoff)
        bigram = dict(
            zip(
                (transitions.previous * border + transitions.current).tolist(), transitions.bigram.tolist(), strict=True
            )
        )
        _, j, k = self.labels.T
        likely = np.array([bigram[pair] for pair in (j * border + k).tolist()]) + np.exp(transitions.backoff[k])
        score = np.log1p(self.shares[2] * self.probability / ((1 - self.shares[2]) * likely))
        padded = np.full((len(self.labels), 4), _NO_LABEL, np.uint16)
        padded[:, :3] = self.labels
        return {"ngrams.labels": padded.reshape(-1), "ngrams.score": score.astype(np.float32)}
