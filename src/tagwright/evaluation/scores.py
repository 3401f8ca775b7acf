"""Precision, recall and F1 from counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Scores", "all_scores", "mean_f1", "scores_of"]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Scores:
    """Precision, recall and F1 from 0 to 1; 0 where they are undefined."""

    name: str
    precision: float
    recall: float
    f1: float
    support: int
    """How many there are in gold."""
    predicted: int
    """How many were predicted."""


def scores_of(name: str, right: int, support: int, predicted: int) -> Scores:
    """Return the scores of one name: how many are right, in gold, and predicted."""
    precision = right / predicted if predicted else 0.0
    recall = right / support if support else 0.0
    f1 = 2 * precision * recall / (precision + recall) if right else 0.0
    return Scores(name, precision, recall, f1, support, predicted)


def all_scores(names: Sequence[str], right: Ints, truth: Ints, guess: Ints) -> list[Scores]:
    """Return the scores of every name that occurs, most frequent in gold first.

    The arrays hold numbers of names: of what is right, of all in gold, and of all predicted.
    """
    counts = [np.bincount(numbers, minlength=len(names)).tolist() for numbers in (right, truth, guess)]
    scores = [scores_of(*row) for row in zip(names, *counts, strict=True)]
    occur = [own for own in scores if own.support or own.predicted]
    return sorted(occur, key=lambda own: (-own.support, own.name))


def mean_f1(scores: Sequence[Scores]) -> float:
    """Return the mean of F1; 0 where there are no scores."""
    return sum(own.f1 for own in scores) / len(scores) if scores else 0.0
