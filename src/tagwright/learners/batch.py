"""Batch training: L-BFGS over sums of the whole corpus, for CRFs and MEMMs."""

from __future__ import annotations

import math
import os
import time
import warnings
from collections import deque
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from tagwright import _core
from tagwright.decoding.keep import Keep, keep_arguments
from tagwright.learners.examples import Examples
from tagwright.learners.interrupts import stops
from tagwright.learners.labels import check_same_parts, label_parts
from tagwright.learners.learner import RunOptions
from tagwright.learners.options import LBFGS, solver_of
from tagwright.learners.progress import Progress, brief
from tagwright.learners.training import Numbers, Training, is_best, stalled
from tagwright.models.file import Arrays
from tagwright.models.model import Model

PERIOD = 10  # iterations over which progress is judged, and between measurements on dev data and checkpoints
MOST_ITERATIONS = 100_000
MEMORY = 10  # steps that L-BFGS remembers
_MOST_STEPS = 20  # evaluations of a line search
_SHORTEST = 1e-10  # of the first step of a line search; a shorter one is a failure
_ENOUGH = 1e-4  # of the decrease that the slope predicts (the first of Wolfe's conditions)
_ROUNDING = 1e-13  # of the objective; smaller gains are rounding errors
_STEEP = 0.9  # of the slope at the start; a steeper one needs a longer step (the second condition)
_LONGER = 4.0  # factor by which a step grows
_LEVEL = 1e-7  # largest slope at the minimum, also as a share of the first gradient
_FAR = 0.1  # of the first gradient's norm; a line search that fails above it is reported
_ENDS = {
    "converged": "converged",
    "limit": "stopped",
    "patience": "stopped, since dev accuracy did not rise,",
    "noise": "stopped by a failed line search",
}

Floats = npt.NDArray[np.float64]


class BatchTraining(Training):
    """A training whose steps depend on all sentences."""

    kind = "crf"
    unit = "iterations"
    solver: LBFGS
    defaults: ClassVar[dict[str, float]] = {"l2": 1.0, "tolerance": 1e-5}
    """Of options of the solver that are None."""

    def __init__(self, learner: Any, examples: Examples, run: RunOptions | None = None, engine: Any = None) -> None:
        self.solver = solver_of(learner).resolved(**self.defaults)
        rule = getattr(learner, "pruning", None)
        self.rule: Keep | None = None if rule == "exact" else rule
        super().__init__(learner, examples, run or RunOptions())
        self.trainer = self.indexed()
        self.sums = self.trainer if engine is None else self.run_options.cluster.batch(engine, self)
        """Computes sums over sentences: the trainer, or its shards on a cluster."""
        self.everyone = np.arange(self.sentences, dtype=np.int32)
        self.weights: Floats = np.zeros(self.trainer.size)
        self.last = self.weights.copy()  # those that the history ends with
        self.pairs: list[tuple[Floats, Floats]] = []
        self.descent: dict[str, Any] = {}
        """State of L-BFGS besides `pairs`, weights and history."""
        self.restored: dict[str, Any] = {}
        """The same as a checkpoint had it."""
        self.written = 0
        """Iterations that the checkpoint has."""
        if self.old:
            self._start_from(self.old)
        if found := self.read(self.most, "max_iterations"):
            self._restore(*found)

    @property
    def most(self) -> int:
        """The largest number of iterations."""
        return self.solver.max_iterations or MOST_ITERATIONS

    def make_trainer(self) -> _core.BatchObjective:
        """Return the core's trainer, which has the corpus and sums over it."""
        return _core.BatchObjective.make(
            self.corpus,
            edges=self.features.edges if self.features else True,
            all_pairs=self.solver.pairs == "all",
            order=int(self.learner.order),
            min_ngram_count=int(self.learner.min_ngram_count),
            **self.shared_options(),
            **self.limits(),
        )

    def shared_options(self) -> dict[str, Any]:
        """Return the options that the objective of a shard has as well."""
        learner = self.learner
        return {
            "dense_edges": learner._dense_edges,
            "parts": label_parts(self.labels, self.parts)[0],
            "margin": self.margin,
        }

    def run(self) -> None:
        """Train, and leave `history_`, `objective_` and `model_` with the learner."""
        self.learner.history_ = self.history
        try:
            # More threads of BLAS than ours would change the last digits, and be slower.
            with threadpool_limits(1, user_api="blas"), stops() as self.check_stop:
                self._minimise()
        except KeyboardInterrupt:
            if not self.history:
                raise
            self._finish_with_last()
            message = f"interrupted after {len(self.history)} iterations; the model is that of the last one"
            warnings.warn(message, stacklevel=4)
        self.hand_over()

    def _restore(self, arrays: Arrays, resume: dict[str, Any]) -> None:
        """Restore the state of a checkpoint, after a check of its contents."""
        path = os.fspath(self.run_options.checkpoint or "")

        def taken(name: str, like: Floats) -> Floats:
            its = arrays.get(f"state.{name}")
            right = its is not None and its.dtype == like.dtype and its.shape == like.shape
            if its is None or not right or not np.isfinite(its).all():
                raise ValueError(f"{path}: no {name} to resume from; remove the file")
            return np.array(its)

        self.weights = taken("weights", self.weights)
        self.restored = resume.get("descent", {})
        begun, steps = self.restored.get("begun", 0), self.restored.get("steps", 0)
        done = range(len(self.history) + 1)
        if self.finished_after not in done[1:] or begun not in done or steps not in range(MEMORY + 1):
            raise ValueError(f"{path}: a history that does not fit; remove the file")
        self.pairs = [(taken(f"step.{n}", self.weights), taken(f"change.{n}", self.weights)) for n in range(steps)]
        self.last = self.weights.copy()
        self.written = len(self.history)

    def _start_from(self, old: Model) -> None:
        """Copy the weights of a model, by the names of its features and labels."""
        check_same_parts(old, self.parts)
        self.trainer.warm_start(self.known, self.new_numbers(old), self.weights)

    def _finish_with_last(self) -> None:
        """Return the last weights, unless patience has selected others by their dev accuracy."""
        if self.learner.patience is None or self.finished is None:
            self.finish_with(self.trainer.model_weights(self.last), len(self.history))

    def _note(self, fact: dict[str, float], weights: Floats, measure: bool) -> None:
        """Add an iteration to the history; measure its weights, and write a checkpoint, if it is time."""
        self.last = weights
        self.history.append(fact)
        if not measure:
            return
        trained = self.trainer.model_weights(weights)
        model = self.measured(fact, trained, len(self.history))
        if self.learner.patience is None or is_best(self.history):
            self.finish_with(model or trained, len(self.history))
        self._checkpoint()

    def _checkpoint(self) -> None:
        if self.run_options.checkpoint is None or self.written == len(self.history):
            return
        state = {"state.weights": self.last}
        for n, pair in enumerate(self.pairs):
            state |= zip((f"state.step.{n}", f"state.change.{n}"), pair, strict=True)
        self.write(state, {"descent": self.descent})
        self.written = len(self.history)

    def _end(self) -> None:
        """Measure the last weights, if they were not, and take them, unless others were better."""
        self._finish_with_last()
        self._checkpoint()  # as in a longer training, which would not measure here
        if self.run_options.dev is not None and self.history and "dev" not in self.history[-1]:
            model = self.measured(self.history[-1], self.trainer.model_weights(self.last), len(self.history))
            if model is not None and is_best(self.history):
                self.finish_with(model, len(self.history))

    def _minimise(self) -> None:
        """Minimise over a share of the corpus where that is set, then over all of it."""
        solver = self.solver
        with self.progress(solver.max_iterations, PERIOD, self.kind.upper()) as progress:
            if solver.start_on is not None and not self.history:
                rng = np.random.default_rng([getattr(self.learner, "seed", 0), 1])
                some = rng.permutation(self.sentences)[: max(1, round(solver.start_on * self.sentences))]
                self._descend(np.sort(some).astype(np.int32), progress, noted=False)
            why = self._descend(self.everyone, progress)
            if why == "noise":
                warnings.warn(
                    "a line search failed: the pruning rule keeps too few labels for its gradients to be trusted; "
                    "keep more labels, or use pruning='exact'",
                    stacklevel=5,
                )
        self._end()
        progress.say(f"{_ENDS[why]} after {len(self.history)} iterations: {brief(self.history[-1])}")
        objectives = [fact["objective"] for fact in self.history]
        if why == "limit" and not converged(objectives, float(solver.tolerance or 0)):
            warnings.warn(
                f"{self.learner._side or self.kind.upper()}: stopped after {len(self.history)} iterations, before it "
                "converged; raise max_iterations, or leave it out to train until it has",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _descend(self, sentences: Numbers, progress: Progress, noted: bool = True) -> str:
        """Minimise over some sentences, from a checkpoint's state if there is one; return why that ended.

        That is "converged", "limit", "patience" or "noise" (a line search failed far from the end). noted: whether the
        iterations count and are part of the history.
        """
        if noted and len(self.history) >= self.most:
            return "limit"
        objective = Objective(self, sentences, self.rule)
        before, self.restored = self.restored, {}
        begun = before.get("begun", len(self.history))
        objectives = [fact["objective"] for fact in self.history[begun:]]
        objective.first_norm = before.get("first_norm", 0.0)
        began = time.perf_counter()
        descent = Lbfgs(objective, self.weights, self.pairs if before else [], before.get("length", 1.0))

        def note(fact: dict[str, float], measure: bool) -> None:
            self.weights, self.pairs = descent.weights, list(descent.pairs)
            self.descent = {
                "begun": begun,
                "steps": len(self.pairs),
                "first_norm": objective.first_norm,
                "length": descent.length,
            }
            objectives.append(descent.value)
            if noted:
                self._note(fact, self.weights, measure)

        def ended() -> str | None:
            """Return why this is the last iteration, if it is."""
            if (len(self.history) if noted else len(objectives)) >= self.most:
                return "limit"
            if noted and stalled(self.history, self.learner.patience):
                return "patience"
            return "converged" if converged(objectives, float(self.solver.tolerance or 0)) else None

        while (why := ended()) is None and descent.step():
            fact = objective.fact(descent.value, time.perf_counter() - began)
            note(fact, (len(self.history) + 1) % PERIOD == 0)
            if noted:
                progress.step(fact)
            else:
                progress.aside(f"on {len(sentences):,} sentences", fact)
            began = time.perf_counter()  # without measuring on dev data and writing checkpoints
        if not objectives:
            note(objective.fact(descent.value, 0.0), True)  # nothing to do: the start is the end
        if self.rule is None or why not in (None, "converged"):
            return why or "converged"
        # Close to the end every rule is too noisy to improve on.
        return "noise" if descent.failed and objective.norm > _FAR * objective.first_norm else "converged"


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
        """Return the entry of the history for the point that was last evaluated."""
        return {"objective": value, "gradient": self.norm, "kept": self.kept, "seconds": seconds}


class Lbfgs:
    """L-BFGS (Liu and Nocedal 1989), and OWL-QN (Andrew and Gao 2007) where there is l1, one step after the other.

    Not SciPy's, which does not hand out what it remembers: a training that resumes from a checkpoint takes the very
    steps that it would have taken.
    """

    def __init__(
        self,
        objective: Objective,
        weights: Floats,
        pairs: Iterable[tuple[Floats, Floats]] = (),
        length: float = 1.0,
    ) -> None:
        """Start at these weights; pairs, length: the state at a checkpoint, to resume from."""
        self.objective = objective
        self.weights = weights
        self.value, self.gradient = objective(weights)
        self.pairs = deque(pairs, MEMORY)
        """The last steps, each with the change of the gradient, the oldest first."""
        self.length = length
        """Length of the last step, as a multiple of its direction."""
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
        """Return the search direction: the negative slopes times the approximate inverse Hessian."""
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
        """Search along the direction for a point that meets Wolfe's conditions (with l1, the first); return success."""
        direction = self._direction(slopes)
        slope = inner(slopes, direction)
        if not slope < 0:
            return False
        side = np.where(self.weights == 0, -np.sign(slopes), np.sign(self.weights))
        low, high = 0.0, math.inf
        # The curvature ignores that signs may not change: with l1, steps are often too long, many times in a row.
        length = min(1.0, 2 * self.length) if self.objective.l1 > 0 else 1.0
        if not self.pairs:
            length = min(1.0, 1 / math.sqrt(-slope))
        # The first direction is the gradient, which is as large as the sentences' weights make it.
        shortest = _SHORTEST * (1.0 if self.pairs else length)
        for _ in range(_MOST_STEPS):
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
