"""L-BFGS over the core's sums: what is minimised, how, and when it has converged."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import Bounds, minimize

from tagwright.decoding.keep import Keep, keep_arguments

if TYPE_CHECKING:
    from tagwright.learners.crf_training import CrfTraining

__all__ = ["MOST_ITERATIONS", "PERIOD", "Objective", "converged", "descend"]

PERIOD = 10  # iterations over which progress is judged, and between measurements on dev data and checkpoints
MOST_ITERATIONS = 100_000
_MEMORY = 10  # steps that L-BFGS remembers
_LINE_SEARCH_FAILED = 2  # SciPy's status of an abnormal end

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int32]


class Objective:
    """The penalised loss of some sentences and its gradient, as SciPy asks for them.

    With l1 each weight is a difference of two numbers that are at least 0, so that the penalty is linear.
    """

    def __init__(self, run: CrfTraining, sentences: Numbers, rule: Keep | None) -> None:
        """Count what the right labels of the sentences have."""
        self.run, self.sentences, self.rule = run, sentences, keep_arguments(rule)
        self.l1, self.l2 = run.options.l1, run.options.l2
        self.observed = np.empty(run.trainer.size)
        run.trainer.observe(sentences, self.observed)
        self.norm = self.first_norm = self.kept = 0.0

    def start(self, weights: Floats) -> Floats:
        """Return weights as SciPy is given them."""
        return np.concatenate([np.maximum(weights, 0), np.maximum(-weights, 0)]) if self.l1 > 0 else weights

    def weights(self, x: Floats) -> Floats:
        """Return weights out of what SciPy has."""
        half = self.run.trainer.size
        return x[:half] - x[half:] if self.l1 > 0 else x

    def __call__(self, x: Floats) -> tuple[float, Floats]:
        """Return the objective and its gradient; `norm` and `kept` describe this point afterwards."""
        self.run.check_stop()
        w = self.weights(x)
        gradient = np.empty(len(w))
        log_z, tokens, kept = self.run.trainer.expect(w, self.rule, self.sentences, self.run.learner.threads, gradient)
        value = log_z - float(self.observed @ w) + self.l2 * float(w @ w)
        gradient -= self.observed
        gradient += 2 * self.l2 * w
        self.kept = kept / max(1, tokens)
        slope = gradient
        if self.l1 > 0:
            # Where a weight is 0, l1 holds it there as long as the rest does not pull harder.
            held = np.sign(gradient) * np.maximum(np.abs(gradient) - self.l1, 0)
            slope = np.where(w == 0, held, gradient + self.l1 * np.sign(w))
        self.norm = float(np.linalg.norm(slope))
        self.first_norm = self.first_norm or self.norm
        if self.l1 > 0:
            value += self.l1 * float(x.sum())
            gradient = np.concatenate([gradient + self.l1, self.l1 - gradient])
        return value, gradient

    def fact(self, value: float, seconds: float) -> dict[str, float]:
        """Return what the history says of the point that was last looked at."""
        return {"objective": value, "gradient": self.norm, "kept": self.kept, "seconds": seconds}


def descend(objective: Objective, weights: Floats, step: Callable[[Floats, float], None]) -> bool:
    """Minimise by SciPy's L-BFGS-B; return whether a line search failed.

    step(weights, objective) is called after every iteration; it ends the descent by raising StopIteration.
    """

    def after(intermediate_result: Any) -> None:
        step(np.array(objective.weights(intermediate_result.x)), float(intermediate_result.fun))

    found = minimize(
        objective,
        objective.start(weights),
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(0, np.inf) if objective.l1 > 0 else None,
        callback=after,
        options={
            "maxcor": _MEMORY,
            "ftol": 0,
            "gtol": 1e-7,
            "maxiter": MOST_ITERATIONS,
            "maxfun": 10 * MOST_ITERATIONS,
        },
    )
    # Without a single weight, SciPy tells no status.
    return bool(found.get("status") == _LINE_SEARCH_FAILED)


def converged(objectives: list[float], tolerance: float) -> bool:
    """Return whether the last `PERIOD` iterations lowered the objective by less than this share of it."""
    if len(objectives) <= PERIOD:
        return False
    return objectives[-1 - PERIOD] - objectives[-1] < tolerance * abs(objectives[-1])
