"""Batch training: L-BFGS over sums of the whole corpus, for CRFs and MEMMs."""

from __future__ import annotations

import os
import time
import warnings
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from tagwright import _core
from tagwright.decoding.keep import Keep
from tagwright.learners.examples import Examples
from tagwright.learners.interrupts import stops
from tagwright.learners.lbfgs import MEMORY, MOST_ITERATIONS, PERIOD, Floats, Lbfgs, Numbers, Objective, converged
from tagwright.learners.learner import RunOptions, accuracy
from tagwright.learners.options import LBFGS, solver_of
from tagwright.learners.progress import Progress, brief
from tagwright.learners.training import Training, is_best, stalled
from tagwright.models.file import Arrays
from tagwright.models.model import Model

__all__ = ["BatchTraining"]

_FAR = 0.1  # of the gradient's first norm: a line search that fails so far from the end is worth a warning
_ENDS = {
    "converged": "converged",
    "limit": "stopped",
    "patience": "stopped, since dev accuracy did not rise,",
    "noise": "stopped by a failed line search",
}


class BatchTraining(Training):
    """A training whose steps depend on all sentences."""

    kind = "crf"
    unit = "iterations"
    solver: LBFGS
    defaults: ClassVar[dict[str, float]] = {"l2": 1.0, "tolerance": 1e-5}
    """Of options of the solver that are None."""

    def __init__(self, learner: Any, examples: Examples, run: RunOptions | None = None, engine: Any = None) -> None:
        """Read the corpus; start from an old model or resume from a checkpoint where there is one."""
        self.solver = solver_of(learner).resolved(**self.defaults)
        rule = getattr(learner, "pruning", None)
        self.rule: Keep | None = None if rule == "exact" else rule
        super().__init__(learner, examples, run or RunOptions())
        self.trainer = self.indexed()
        self.sums = self.trainer if engine is None else self.run_options.cluster.batch(engine, self)
        """What sums over sentences: the trainer, or its shards on a cluster."""
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
        """How many iterations there may be."""
        return self.solver.max_iterations or MOST_ITERATIONS

    def make_trainer(self) -> _core.BatchObjective:
        """Return the core's trainer, which has the corpus and sums over it."""
        return _core.BatchObjective.make(
            self.corpus,
            edges=self.features.edges if self.features else True,
            all_pairs=self.solver.pairs == "all",
            dense_edges=self.learner._dense_edges,
            order=int(self.learner.order),
            min_ngram_count=int(self.learner.min_ngram_count),
            **self.limits(),
        )

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
        """Take over the state of a checkpoint, which may have been made by anyone."""
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
        """Take over the weights of a model, by the names of its features and labels."""
        if "parts" in old.arrays:
            raise ValueError(
                "warm_start: the model has weights for parts of labels, which L-BFGS cannot train; use solver='adagrad'"
            )
        self.trainer.warm_start(self.known, self.new_numbers(old), self.weights)

    def _finish_with_last(self) -> None:
        """Take the last weights as what is returned, unless better ones were found by their dev accuracy."""
        if self.learner.patience is None or self.finished is None:
            self.finish_with(self.trainer.model_weights(self.last), len(self.history))

    def _note(self, fact: dict[str, float], weights: Floats, measure: bool) -> None:
        """Add an iteration to the history; measure its weights, and write a checkpoint, if it is time."""
        model = self._measured(fact, weights, len(self.history) + 1) if measure else None
        self.last = weights
        self.history.append(fact)
        if not measure:
            return
        if self.learner.patience is None or is_best(self.history):
            self.finish_with(model or self.trainer.model_weights(weights), len(self.history))
        self._checkpoint()

    def _checkpoint(self) -> None:
        if self.run_options.checkpoint is None or self.written == len(self.history):
            return
        state = {"state.weights": self.last}
        for n, pair in enumerate(self.pairs):
            state |= zip((f"state.step.{n}", f"state.change.{n}"), pair, strict=True)
        self.write(state, {"descent": self.descent})
        self.written = len(self.history)

    def _measured(self, fact: dict[str, float], weights: Floats, after: int) -> Model | None:
        if self.run_options.dev is None:
            return None
        model = self.model(self.trainer.model_weights(weights), after)
        X, y = self.run_options.dev
        fact["dev"] = accuracy(model, X, y, threads=self.learner.threads)
        return model

    def _end(self) -> None:
        """Measure the last weights, if they were not, and take them, unless others were better."""
        self._finish_with_last()
        self._checkpoint()  # as in a longer training, which would not measure here
        if self.run_options.dev is not None and self.history and "dev" not in self.history[-1]:
            model = self._measured(self.history[-1], self.last, len(self.history))
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
