"""Calibration: whether 80 % of the labels predicted with probability 0.8 are right."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["BINS", "Bin", "Calibration", "calibrate"]

BINS = 10


@dataclass(frozen=True)
class Bin:
    """Tokens whose label has a probability above `low` and up to `high`."""

    low: float
    high: float
    tokens: int
    probability: float
    """Mean probability of their predicted labels."""
    accuracy: float
    """Share of these labels that are right."""


@dataclass(frozen=True)
class Calibration:
    """How far the probabilities of predicted labels are from the share of them that is right."""

    error: float
    """Expected calibration error: the mean over the tokens of the distance of accuracy and probability in their bin."""
    bins: list[Bin]
    """Ten of equal width, those without a token left out."""


def calibrate(probabilities: npt.NDArray[np.float64], right: npt.NDArray[np.bool_]) -> Calibration:
    """Return how good the probabilities of predicted labels are, given which of the labels are right.

    The bins and the error are those of Guo et al. (2017), "On calibration of modern neural networks", equations 2 to 5,
    over single tokens.
    """
    if wrong := probabilities[~((probabilities >= 0) & (probabilities <= 1.0 + 1e-6))].tolist():
        raise ValueError(f"probabilities must be from 0 to 1, not {wrong[0]}")
    limits = np.arange(1, BINS) / BINS
    place = np.searchsorted(limits, probabilities, side="left")
    count, sums, hits = (np.bincount(place, given, BINS) for given in (None, probabilities, right))
    bins = [
        Bin(n / BINS, (n + 1) / BINS, int(count[n]), float(sums[n] / count[n]), float(hits[n] / count[n]))
        for n in np.flatnonzero(count).tolist()
    ]
    error = sum(own.tokens * abs(own.accuracy - own.probability) for own in bins) / max(len(right), 1)
    return Calibration(error, bins)
