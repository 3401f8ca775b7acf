"""How a CRF is trained: the loops of L-BFGS and AdaGrad over the core's sums."""

from __future__ import annotations

import os
import time
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from tagwright import _core
from tagwright.decoding.keep import Keep, keep_arguments
from tagwright.learners.examples import Examples
from tagwright.learners.interrupts import stops
from tagwright.learners.lbfgs import MEMORY, MOST_ITERATIONS, PERIOD, Floats, Lbfgs, Numbers, Objective, converged
from tagwright.learners.learner import Labels, Sentences, accuracy
from tagwright.learners.options import CrfOptions
from tagwright.learners.progress import Progress, brief
from tagwright.learners.training import Training, is_best, pieces_of, stalled
from tagwright.models.file import Arrays
from tagwright.models.model import Model

__all__ = ["CrfTraining"]

_FAR = 0.1  # of the gradient's first norm: a line search that fails so far from the end is worth a warning
_ENDS = {
    "converged": "converged",
    "limit": "stopped",
    "patience": "stopped, since dev accuracy did not rise,",
    "noise": "stopped by a failed line search",
}


class CrfTraining(Training):
    """The training of a CRF: weights, history, and how they get better."""

    kind = "crf"
    options: CrfOptions

    def __init__(
        self, learner: Any, examples: Examples, dev: tuple[Sentences, Labels] | None, engine: Any = None
    ) -> None:
        """Read the corpus; go on from an old model or a checkpoint where there is one."""
        super().__init__(learner, examples)
        self.dev = dev
        self.options = self.make_options()
        self.trainer = self.indexed()
        self.sums = self.trainer if engine is None else learner.cluster.crf(engine, self)
        """What sums over sentences: the trainer, or its parts elsewhere."""
        self.everyone = np.arange(self.sentences, dtype=np.int32)
        self.weights: Floats = np.zeros(self.trainer.size)
        self.last = self.weights.copy()  # those that the history ends with
        self.squares: Floats = np.zeros(self.trainer.size if self.is_adagrad else 0)
        self.pairs: list[tuple[Floats, Floats]] = []
        self.descent: dict[str, Any] = {}
        """Of L-BFGS, with `pairs`: what the next iteration depends on, beside weights and history."""
        self.restored: dict[str, Any] = {}
        """The same as a checkpoint had it."""
        self.written = 0
        """Iterations or epochs that the checkpoint has seen."""
        if self.old:
            self._start_from(self.old)
        if found := self.read(self.most, self.called, "epochs" if self.is_adagrad else "max_iterations"):
            self._restore(*found)

    def make_options(self) -> CrfOptions:
        """Return what decides the weights."""
        learner, options = self.learner, CrfOptions.of(self.learner)
        exact = learner.keep is None or learner.keep == "all"
        return replace(
            options,
            l2=1.0 if options.l2 is None else options.l2,
            solver=learner._solver,
            keep=None if exact else options.keep,
        )

    @property
    def is_adagrad(self) -> bool:
        """Whether weights are stepped after every few sentences, not after every pass."""
        return self.options.solver == "adagrad"

    @property
    def called(self) -> str:
        """The name of what is counted."""
        return "epochs" if self.is_adagrad else "iterations"

    @property
    def most(self) -> int:
        """How many epochs or iterations there may be."""
        return self.learner.epochs if self.is_adagrad else self.learner.max_iterations or MOST_ITERATIONS

    def make_trainer(self) -> _core.BatchObjective:
        """Return the core's objective, which has the corpus and sums over it."""
        make: Any = _core.CrfTrainer.make if self.is_adagrad else _core.BatchObjective.make
        return make(
            self.corpus,
            edges=self.features.edges if self.features else True,
            all_pairs=self.options.all_pairs,
            dense_edges=self.learner._dense_edges,
            order=self.options.order,
            min_ngram_count=self.options.min_ngram_count,
            **self.limits(),
        )

    def run(self) -> None:
        """Train, and leave `history_`, `objective_` and `model_` with the learner."""
        learner = self.learner
        learner.history_ = self.history
        try:
            # More threads of BLAS than ours would change the last digits, and be slower.
            with threadpool_limits(1, user_api="blas"), stops() as self.check_stop:
                self.adagrad() if self.is_adagrad else self.lbfgs()
        except KeyboardInterrupt:
            if not self.history:
                raise
            self._finish_with_last()
            warnings.warn(
                f"interrupted after {len(self.history)} {self.called}; the model is as it was then", stacklevel=4
            )
        learner.objective_ = self.history[self.finished_after - 1]["objective"]
        learner.model_ = self.finished_model()

    def _restore(self, arrays: Arrays, going_on: dict[str, Any]) -> None:
        """Take over the state of a checkpoint, which may have been made by anyone."""
        path = os.fspath(self.learner.checkpoint or "")

        def taken(name: str, like: Floats) -> Floats:
            its = arrays.get(f"state.{name}")
            right = its is not None and its.dtype == like.dtype and its.shape == like.shape
            if its is None or not right or not np.isfinite(its).all() or (name == "squares" and (its < 0).any()):
                raise ValueError(f"{path}: no {name} to go on from; remove it")
            return np.array(its)

        self.weights, self.squares = taken("weights", self.weights), taken("squares", self.squares)
        self.restored = going_on.get("descent", {})
        begun, steps = self.restored.get("begun", 0), self.restored.get("steps", 0)
        done = range(len(self.history) + 1)
        if self.finished_after not in done[1:] or begun not in done or steps not in range(MEMORY + 1):
            raise ValueError(f"{path}: a history that does not fit; remove it")
        self.pairs = [(taken(f"step.{n}", self.weights), taken(f"change.{n}", self.weights)) for n in range(steps)]
        self.last = self.weights.copy()
        self.written = len(self.history)

    def _start_from(self, old: Model) -> None:
        """Take over the weights of a model, by the names of its features and labels."""
        if "parts" in old.arrays:
            raise ValueError(
                f"warm_start: the model has weights for parts of labels, which a {self.kind.upper()} does not have"
            )
        self.trainer.warm_start(self.known, self.new_numbers(old), self.weights)

    def facts(self, after: int) -> dict[str, Any]:
        """Return what a model says about its training."""
        return {**self.common_facts({}), f"{self.called}_done": after}

    def _finish_with_last(self) -> None:
        """Take the last weights as what is returned, unless better ones were found by their dev accuracy."""
        if self.options.patience is None or self.finished is None:
            self.finish_with(self.trainer.model_weights(self.last), len(self.history))

    def _note(self, fact: dict[str, float], weights: Floats, measure: bool) -> None:
        """Add to the history what led to these weights; measure them, and write a checkpoint, if it is time."""
        model = self._measured(fact, weights, len(self.history) + 1) if measure else None
        self.last = weights
        self.history.append(fact)
        if not measure:
            return
        if self.options.patience is None or is_best(self.history):
            self.finish_with(model or self.trainer.model_weights(weights), len(self.history))
        self._checkpoint()

    def _checkpoint(self) -> None:
        if self.learner.checkpoint is None or self.written == len(self.history):
            return
        state = {"state.weights": self.last, "state.squares": self.squares}
        for n, pair in enumerate(self.pairs):
            state |= zip((f"state.step.{n}", f"state.change.{n}"), pair, strict=True)
        self.write(self.learner.checkpoint, state, {"descent": self.descent})
        self.written = len(self.history)

    def _measured(self, fact: dict[str, float], weights: Floats, after: int) -> Model | None:
        if self.dev is None:
            return None
        model = self.model(self.trainer.model_weights(weights), after)
        fact["dev"] = accuracy(model, *self.dev, "auto", self.learner.threads)
        return model

    def _end(self) -> None:
        """Measure the last weights, if they were not, and take them, unless others were better."""
        self._finish_with_last()
        self._checkpoint()  # as in a longer training, which would not measure here
        if self.dev is not None and self.history and "dev" not in self.history[-1]:
            model = self._measured(self.history[-1], self.last, len(self.history))
            if model is not None and is_best(self.history):
                self.finish_with(model, len(self.history))

    def adagrad(self) -> None:
        """Pass over the corpus in a new order each time, with a step after every few sentences."""
        options = self.options
        rule = keep_arguments(self._rule())
        with self.progress("epoch", self.most, name=self.kind.upper()) as progress:
            while len(self.history) < self.most and not stalled(self.history, options.patience):
                rng = np.random.default_rng([options.seed, len(self.history)])
                order = rng.permutation(self.sentences).astype(np.int32)
                began, loss, tokens, kept = time.perf_counter(), 0.0, 0, 0
                # In pieces, so that Ctrl-C is heard.
                for piece, cut, _ in self.walked(pieces_of(order, 64 * options.batch)):
                    self.check_stop()
                    seen = self.trainer.adagrad(
                        self.weights, self.squares, rule, piece, options.batch, options.rate, options.l2, cut
                    )
                    loss, tokens, kept = loss + seen[0], tokens + seen[1], kept + seen[2]
                fact = {
                    "objective": loss + options.l2 * float(self.weights @ self.weights),
                    "kept": kept / max(1, tokens),
                    "seconds": time.perf_counter() - began,
                }
                self._note(fact, self.weights.copy(), True)
                progress.step(fact)
        self._end()

    def _rule(self) -> Keep | None:
        """Return the pruning rule, None for exact sums."""
        return None if self.options.keep is None else self.learner.keep

    def lbfgs(self) -> None:
        """Descend on a part of the corpus where that is asked for, then on all of it."""
        options = self.options
        with self.progress("iteration", self.learner.max_iterations, PERIOD, self.kind.upper()) as progress:
            if options.start_on is not None and not self.history:
                rng = np.random.default_rng([options.seed, 1])
                some = rng.permutation(self.sentences)[: max(1, round(options.start_on * self.sentences))]
                self._descend(np.sort(some).astype(np.int32), self._rule(), progress, noted=False)
            why = self._descend(self.everyone, self._rule(), progress)
            if why == "noise":
                warnings.warn(
                    "a line search failed: the pruning rule keeps too few labels for its gradients to be trusted; "
                    "keep more labels, or all",
                    stacklevel=5,
                )
        self._end()
        progress.say(f"{_ENDS[why]} after {len(self.history)} iterations: {brief(self.history[-1])}")
        objectives = [fact["objective"] for fact in self.history]
        if why == "limit" and not converged(objectives, options.tolerance):
            warnings.warn(
                f"{self.learner._side or self.kind.upper()}: stopped after {len(self.history)} iterations, before it "
                "converged; raise max_iterations, or leave it out to train until it has",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _descend(self, sentences: Numbers, rule: Keep | None, progress: Progress, noted: bool = True) -> str:
        """Minimise over some sentences, from where a checkpoint left off if there was one; return why that ended.

        That is "converged", "limit", "patience" or "noise" (a line search failed far from the end). noted: whether the
        iterations count and are part of the history.
        """
        if noted and len(self.history) >= self.most:
            return "limit"
        objective = Objective(self, sentences, rule)
        before, self.restored = self.restored, {}
        begun = before.get("begun", len(self.history))
        objectives = [fact["objective"] for fact in self.history[begun:]]
        objective.first_norm = before.get("first_norm", 0.0)
        began = time.perf_counter()
        pairs = self.pairs if before else []
        solver = Lbfgs(objective, self.weights, pairs, before.get("length", 1.0))

        def note(fact: dict[str, float], measure: bool) -> None:
            self.weights, self.pairs = solver.weights, list(solver.pairs)
            self.descent = {
                "begun": begun,
                "steps": len(self.pairs),
                "first_norm": objective.first_norm,
                "length": solver.length,
            }
            objectives.append(solver.value)
            if noted:
                self._note(fact, self.weights, measure)

        def ended() -> str | None:
            """Return why this is the last iteration, if it is."""
            if (len(self.history) if noted else len(objectives)) >= self.most:
                return "limit"
            if noted and stalled(self.history, self.options.patience):
                return "patience"
            return "converged" if converged(objectives, self.options.tolerance) else None

        while (why := ended()) is None and solver.step():
            fact = objective.fact(solver.value, time.perf_counter() - began)
            note(fact, (len(self.history) + 1) % PERIOD == 0)
            if noted:
                progress.step(fact)
            else:
                progress.aside(f"on {len(sentences):,} sentences", fact)
            began = time.perf_counter()  # what it takes to measure on dev data and to write checkpoints does not count
        if not objectives:
            note(objective.fact(solver.value, 0.0), True)  # nothing to do: the start is the end
        if rule is None or why not in (None, "converged"):
            return why or "converged"
        # Close to the end every rule is too noisy, and no more is to be had from it.
        return "noise" if solver.failed and objective.norm > _FAR * objective.first_norm else "converged"
