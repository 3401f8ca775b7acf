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

_NO_LABEL = 65_535  # behind a run of three


@dataclass(frozen=True)
class Trigrams:
    """p(k | i, j) = l1 * p(k) + l2 * p(k | j) + l3 * p(k | i, j), the latter from counts; l1 + l2 + l3 = 1."""

    run: npt.NDArray[np.int64]
    """(N, 3): the runs of three labels that were met, in order."""
    probability: npt.NDArray[np.float64]
    """Beside them: c(i, j, k) / c(i, j)."""
    shares: tuple[float, float, float]
    """l1, l2 and l3."""

    @classmethod
    def counted(cls, y: Sequence[Sequence[str]], names: list[str], weights: Weights | None, pairs: Counts) -> Trigrams:
        """Count runs of three labels; each votes for the estimate that would have predicted it best, met once less."""
        number, L = Numbers(names), len(names)
        met: dict[tuple[int, ...], float] = defaultdict(float)
        for s, labels in enumerate(y):
            ids = [number[label] for label in labels]
            weight = 1 if weights is None else float(weights[s])
            for own in zip(ids, ids[1:], ids[2:], strict=False):
                met[own] += weight
        run = np.array(sorted(met), np.int64).reshape(-1, 3)
        count = np.array([met[tuple(own)] for own in run.tolist()], np.float64)
        i, j, k = run.T
        pair = {own: float(times) for own, times in pairs.pairs.items()}
        of_pair = np.array([pair[own] for own in (i * (L + 1) + j).tolist()], np.float64)
        behind = np.array([pair[own] for own in (j * (L + 1) + k).tolist()], np.float64)
        single = np.append(pairs.frequency, pairs.sentences).astype(np.float64)
        # 0 / 0 is taken as 0.
        votes = np.array(
            [
                (single[k] - 1) / max(single.sum() - 1, 1),
                (behind - 1) / np.maximum(single[j] - 1, 1),
                (count - 1) / np.maximum(of_pair - 1, 1),
            ]
        )
        voted = np.bincount(votes.argmax(axis=0), count, 3) if len(run) else np.zeros(3)
        shares = np.maximum(voted / (voted.sum() or 1), LEAST_BACKOFF)
        shares /= shares.sum()
        return cls(run, count / of_pair, (float(shares[0]), float(shares[1]), float(shares[2])))

    @property
    def of_single(self) -> float:
        """What single labels have of what is left to them and to pairs."""
        return self.shares[0] / (self.shares[0] + self.shares[1])

    def arrays(self, transitions: Transitions) -> Arrays:
        """Return them as ngrams of a model: what they add to the scores of edges and labels, of share `of_single`."""
        border = len(transitions.backoff)
        bigram = dict(
            zip(
                (transitions.previous * border + transitions.current).tolist(), transitions.bigram.tolist(), strict=True
            )
        )
        _, j, k = self.run.T
        likely = np.array([bigram[pair] for pair in (j * border + k).tolist()]) + np.exp(transitions.backoff[k])
        score = np.log1p(self.shares[2] * self.probability / ((1 - self.shares[2]) * likely))
        labels = np.full((len(self.run), 4), _NO_LABEL, np.uint16)
        labels[:, :3] = self.run
        return {"ngrams.labels": labels.reshape(-1), "ngrams.score": score.astype(np.float32)}
