"""L-BFGS over the core's sums: what is minimised, how, and when it has converged."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from tagwright.decoding.keep import Keep, keep_arguments

if TYPE_CHECKING:
    from tagwright.learners.batch import BatchTraining

__all__ = ["MEMORY", "MOST_ITERATIONS", "PERIOD", "Lbfgs", "Objective", "converged", "inner"]

PERIOD = 10  # iterations over which progress is judged, and between measurements on dev data and checkpoints
MOST_ITERATIONS = 100_000
MEMORY = 10  # steps that L-BFGS remembers
_MOST_LOOKS = 20  # of a line search
_SHORTEST = 1e-10  # share of the first step of a line search: less is as good as nothing
_ENOUGH = 1e-4  # of the decrease that the slope promises: a step is worth taking
_ROUNDING = 1e-13  # of the objective: smaller gains are none
_STEEP = 0.9  # of the slope at the start: a longer step is better
_LONGER = 4.0  # times as long is the next look
_LEVEL = 1e-7  # no slope is above this, or above this share of the first gradient: the minimum

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int32]


def inner(a: Floats, b: Floats) -> float:
    """Return the sum of a * b. Its order is the same on every machine, that of BLAS is not."""
    return float((a * b).sum())


class Objective:
    """The penalised loss of some sentences and its slopes."""

    def __init__(self, run: BatchTraining, sentences: Numbers, rule: Keep | None) -> None:
        """Count what the right labels of the sentences have."""
        self.run, self.sentences, self.rule = run, sentences, keep_arguments(rule)
        self.l1, self.l2 = float(run.solver.l1), float(run.solver.l2 or 0)
        self.observed = np.empty(run.trainer.size)
        run.trainer.observe(sentences, self.observed)
        self.norm = self.first_norm = self.kept = 0.0

    def __call__(self, w: Floats) -> tuple[float, Floats]:
        """Return the objective, and its gradient without l1; `norm` and `kept` describe this point afterwards."""
        self.run.check_stop()
        gradient = np.empty(len(w))
        log_z, tokens, kept = self.run.sums.expect(w, self.rule, self.sentences, self.run.learner.threads, gradient)
        value = log_z - inner(self.observed, w) + self.l2 * inner(w, w) + self.l1 * float(np.abs(w).sum())
        gradient -= self.observed
        gradient += 2 * self.l2 * w
        self.kept = kept / max(1, tokens)
        slopes = self.slopes(w, gradient)
        self.norm = math.sqrt(inner(slopes, slopes))
        self.first_norm = self.first_norm or self.norm
        return value, gradient

    def slopes(self, w: Floats, gradient: Floats) -> Floats:
        """Return the gradient with l1 (Andrew and Gao 2007, equation 4)."""
        if self.l1 == 0:
            return gradient
        # Where a weight is 0, l1 holds it there as long as the rest does not pull harder.
        held = np.sign(gradient) * np.maximum(np.abs(gradient) - self.l1, 0)
        return np.where(w == 0, held, gradient + self.l1 * np.sign(w))

    def fact(self, value: float, seconds: float) -> dict[str, float]:
        """Return what the history says of the point that was last looked at."""
        return {"objective": value, "gradient": self.norm, "kept": self.kept, "seconds": seconds}


class Lbfgs:
    """L-BFGS (Liu and Nocedal 1989), and OWL-QN (Andrew and Gao 2007) where there is l1, one step after the other.

    Not SciPy's, which does not hand out what it remembers: a training that goes on from a checkpoint takes the very
    steps that it would have taken.
    """

    def __init__(
        self,
        objective: Objective,
        weights: Floats,
        pairs: Iterable[tuple[Floats, Floats]] = (),
        length: float = 1.0,
    ) -> None:
        """Begin, or go on, at these weights. pairs, length: as they were there."""
        self.objective = objective
        self.weights = weights
        self.value, self.gradient = objective(weights)
        self.pairs = deque(pairs, MEMORY)
        """The last steps, each with the change of the gradient, the oldest first."""
        self.length = length
        """How much of the last direction the last step was."""
        self.failed = False
        """Whether the last line search failed."""

    def step(self) -> bool:
        """Take a step; return False where there is none: at the minimum, or where a line search fails."""
        slopes = self.objective.slopes(self.weights, self.gradient)
        if np.abs(slopes).max(initial=0) <= _LEVEL * min(1.0, self.objective.first_norm):
            return False
        while not self._search(slopes):
            if not self.pairs:
                self.failed = True
                return False
            self.pairs.clear()
        return True

    def _direction(self, slopes: Floats) -> Floats:
        """Return where to go: down the slopes, as what is remembered of the curvature bends them."""
        down = -slopes
        shares = []
        for step, change in reversed(self.pairs):
            shares.append(inner(step, down) / inner(step, change))
            down -= shares[-1] * change
        if self.pairs:
            step, change = self.pairs[-1]
            down *= inner(step, change) / inner(change, change)
        for (step, change), share in zip(self.pairs, reversed(shares), strict=True):
            down += (share - inner(change, down) / inner(step, change)) * step
        return np.where(down * slopes < 0, down, 0.0) if self.objective.l1 > 0 else down

    def _search(self, slopes: Floats) -> bool:
        """Go as far as is good (Wolfe's conditions; with l1, the first only); return whether there is such a point."""
        direction = self._direction(slopes)
        slope = inner(slopes, direction)
        if not slope < 0:
            return False
        side = np.where(self.weights == 0, -np.sign(slopes), np.sign(self.weights))
        low, high = 0.0, math.inf
        # Curvature does not know where signs would change: with l1 it is often too bold, many times in a row.
        length = min(1.0, 2 * self.length) if self.objective.l1 > 0 else 1.0
        if not self.pairs:
            length = min(1.0, 1 / math.sqrt(-slope))
        # The first direction is the gradient, which is as large as the sentences' weights make it.
        shortest = _SHORTEST * (1.0 if self.pairs else length)
        for _ in range(_MOST_LOOKS):
            if length < shortest:
                return False
            weights = self.weights + length * direction
            if self.objective.l1 > 0:
                weights = np.where(weights * side > 0, weights, 0.0)  # no weight changes its sign within a step
            step = weights - self.weights
            value, gradient = self.objective(weights)
            gain = max(-_ENOUGH * inner(slopes, step), _ROUNDING * abs(self.value))
            if not self.value - value >= gain:
                high = length
                bend = value - self.value - length * slope
                shorter = -slope * length / (2 * bend) if low == 0 and bend > 0 else 0.5
                length = low + (high - low) * min(max(shorter, 0.1), 0.5)
            elif self.objective.l1 == 0 and inner(gradient, direction) < _STEEP * slope:
                low = length
                length = _LONGER * low if high == math.inf else (low + high) / 2
            else:
                break
        else:
            return False
        change = gradient - self.gradient
        if inner(step, change) > np.finfo(float).eps * inner(change, change):
            self.pairs.append((step, change))
        self.length = length
        self.weights, self.value, self.gradient = weights, value, gradient
        return True


def converged(objectives: list[float], tolerance: float) -> bool:
    """Return whether the last `PERIOD` iterations lowered the objective by less than this share of it."""
    if len(objectives) <= PERIOD:
        return False
    return objectives[-1 - PERIOD] - objectives[-1] < tolerance * abs(objectives[-1])
