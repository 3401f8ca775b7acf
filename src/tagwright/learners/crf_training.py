"""How a CRF is trained: the loops of L-BFGS and AdaGrad over the core's sums."""

from __future__ import annotations

import os
import time
import warnings
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits
from tqdm import tqdm

from tagwright import _core
from tagwright.decoding.keep import Keep, keep_arguments
from tagwright.learners.auto_keep import AutoKeep
from tagwright.learners.interrupts import stops
from tagwright.learners.lbfgs import MOST_ITERATIONS, PERIOD, Floats, Numbers, Objective, converged, descend
from tagwright.learners.learner import Labels, Sentences, accuracy
from tagwright.learners.options import CrfOptions
from tagwright.learners.training import Training, is_best, stalled
from tagwright.models.file import Arrays
from tagwright.models.model import Model

__all__ = ["CrfTraining"]

_FAR = 0.1  # of the gradient's first norm: a line search that fails so far from the end is worth a warning


class CrfTraining(Training):
    """The training of a CRF: weights, history, and how they get better."""

    kind = "crf"
    options: CrfOptions

    def __init__(self, learner: Any, X: Sentences, y: Labels, dev: tuple[Sentences, Labels] | None) -> None:
        """Read the corpus; go on from an old model or a checkpoint where there is one."""
        super().__init__(learner, X, y)
        self.dev = dev
        self.options = self.make_options()
        self.trainer = self.make_trainer()
        self.everyone = np.arange(self.sentences, dtype=np.int32)
        self.weights: Floats = np.zeros(self.trainer.size)
        self.last = self.weights.copy()  # those that the history ends with
        self.squares: Floats = np.zeros(self.trainer.size if self.is_adagrad else 0)
        if self.old:
            self._start_from(self.old)
        if found := self.read(self.most, self.called, "epochs" if self.is_adagrad else "max_iterations"):
            arrays, _ = found
            self._restore(arrays)

    def make_options(self) -> CrfOptions:
        """Return what decides the weights."""
        return CrfOptions.of(self.learner)

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

    def make_trainer(self) -> _core.CrfTrainer:
        """Return the core's trainer, which has the corpus and sums over it."""
        return _core.CrfTrainer.make(
            **self.corpus_arguments(),
            edges=self.features.edges if self.features else True,
            all_pairs=self.options.all_pairs,
            dense_edges=self.learner._dense_edges,
            lanes=self.learner._lanes,
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
                f"interrupted after {len(self.history)} {self.called}; the model is as it was then", stacklevel=3
            )
        learner.objective_ = self.history[self.finished_after - 1]["objective"]
        learner.model_ = self.finished_model()

    def _restore(self, arrays: Arrays) -> None:
        """Take over the state of a checkpoint, which may have been made by anyone."""
        for name in ("weights", "squares"):
            mine, its = getattr(self, name), arrays.get(f"state.{name}")
            right = its is not None and its.dtype == mine.dtype and its.shape == mine.shape
            if its is None or not right or not np.isfinite(its).all() or (name == "squares" and (its < 0).any()):
                raise ValueError(f"{os.fspath(self.learner.checkpoint or '')}: no {name} to go on from; remove it")
            setattr(self, name, np.array(its))
        if not 1 <= self.finished_after <= len(self.history):
            raise ValueError(f"{os.fspath(self.learner.checkpoint or '')}: a history that does not fit; remove it")
        self.last = self.weights.copy()

    def _start_from(self, old: Model) -> None:
        """Take over the weights of a model, by the names of its features and labels."""
        if "parts" in old.arrays:
            raise ValueError(
                f"warm_start: the model has weights for parts of labels, which a {self.kind.upper()} does not have"
            )
        self.trainer.start_from(self.known, self.new_numbers(old), self.weights)

    def facts(self, after: int) -> dict[str, Any]:
        """Return what a model says about its training."""
        return {**self.common_facts({}), f"{self.called}_done": after}

    def _finish_with_last(self) -> None:
        """Take the last weights as what is returned, unless better ones were found by their dev accuracy."""
        if self.options.patience is None or self.finished is None:
            self.finish_with(self.trainer.trained(self.last), len(self.history))

    def _note(self, fact: dict[str, float], weights: Floats, measure: bool) -> None:
        """Add to the history what led to these weights; measure them, and write a checkpoint, if it is time."""
        model = self._measured(fact, weights, len(self.history) + 1) if measure else None
        self.last = weights
        self.history.append(fact)
        if not measure:
            return
        if self.options.patience is None or is_best(self.history):
            self.finish_with(model or self.trainer.trained(weights), len(self.history))
        if self.learner.checkpoint is not None:
            self.write(self.learner.checkpoint, {"state.weights": weights, "state.squares": self.squares}, {})

    def _measured(self, fact: dict[str, float], weights: Floats, after: int) -> Model | None:
        if self.dev is None:
            return None
        model = self.model(self.trainer.trained(weights), after)
        fact["dev"] = accuracy(model, *self.dev, "auto", self.learner.threads)
        return model

    def _bar(self, total: int | None) -> Any:
        hidden = None if self.learner.progress is None else not self.learner.progress
        return tqdm(
            total=total, desc=self.kind.upper(), unit=self.called[:-1], disable=hidden, initial=len(self.history)
        )

    def _end(self) -> None:
        """Measure the last weights, if they were not, and take them, unless others were better."""
        if self.dev is not None and self.history and "dev" not in self.history[-1]:
            model = self._measured(self.history[-1], self.last, len(self.history))
            if model is not None and is_best(self.history):
                self.finish_with(model, len(self.history))
        self._finish_with_last()

    def adagrad(self) -> None:
        """Pass over the corpus in a new order each time, with a step after every few sentences."""
        options = self.options
        rule = keep_arguments(self._rule())
        with self._bar(self.most) as bar:
            while len(self.history) < self.most and not stalled(self.history, options.patience):
                rng = np.random.default_rng([options.seed, len(self.history)])
                order = rng.permutation(self.sentences).astype(np.int32)
                began, loss, tokens, kept = time.perf_counter(), 0.0, 0, 0
                # In pieces, so that Ctrl-C is heard.
                for at in range(0, len(order), 64 * options.batch):
                    self.check_stop()
                    piece = order[at : at + 64 * options.batch]
                    seen = self.trainer.adagrad(
                        self.weights, self.squares, rule, piece, options.batch, options.rate, options.l2
                    )
                    loss, tokens, kept = loss + seen[0], tokens + seen[1], kept + seen[2]
                fact = {
                    "objective": loss + options.l2 * float(self.weights @ self.weights),
                    "kept": kept / max(1, tokens),
                    "seconds": time.perf_counter() - began,
                }
                self._note(fact, self.weights.copy(), True)
                bar.update()
                bar.set_postfix_str(_shown(fact))
        self._end()

    def _rule(self) -> Keep | None:
        """Return the rule that was asked for; None for exact sums and for "auto", which begins with them."""
        return None if self.options.keep in (None, "auto") else self.learner.keep

    def lbfgs(self) -> None:
        """Descend on a part of the corpus where that is asked for, then on all of it."""
        options = self.options
        auto = AutoKeep(self) if options.keep == "auto" else None
        with self._bar(self.learner.max_iterations) as bar:
            if options.start_on is not None and not self.history:
                rng = np.random.default_rng([options.seed, 1])
                some = rng.permutation(self.sentences)[: max(1, round(options.start_on * self.sentences))]
                self._descend(np.sort(some).astype(np.int32), self._rule(), bar, None, noted=False)
            why = self._descend(self.everyone, self._rule(), bar, auto)
            while auto and why == "another rule":
                auto.change()
                why = self._descend(self.everyone, auto.rule, bar, auto)
            if why == "noise":
                warnings.warn(
                    "a line search failed: what is kept is too little for its gradients to be trusted; "
                    "keep more, or use keep='auto'",
                    stacklevel=4,
                )
        self._end()

    def _descend(
        self, sentences: Numbers, rule: Keep | None, bar: Any, auto: AutoKeep | None, noted: bool = True
    ) -> str:
        """Minimise over some sentences; return why that ended.

        That is "converged", "limit", "patience", "another rule" (keep="auto" only) or "noise" (a line search failed far
        from the end). noted: whether the iterations count and are part of the history.
        """
        if noted and len(self.history) >= self.most:
            return "limit"
        objective = Objective(self, sentences, rule)
        objectives: list[float] = []
        began = time.perf_counter()
        why = "converged"

        def step(weights: Floats, value: float) -> None:
            nonlocal began, why
            now = time.perf_counter()
            fact = objective.fact(value, now - began)
            began = now
            objectives.append(value)
            if noted:
                self._note(fact, weights, (len(self.history) + 1) % PERIOD == 0)
                bar.update()
            self.weights = weights
            bar.set_postfix_str(_shown(fact))
            if (len(self.history) if noted else len(objectives)) >= self.most:
                why = "limit"
            elif noted and stalled(self.history, self.options.patience):
                why = "patience"
            elif not converged(objectives, self.options.tolerance):
                # Every few iterations, since it takes about as long as one.
                if not auto or len(objectives) % (PERIOD // 2) or not auto.should_change(objective):
                    return
                why = "another rule"
            raise StopIteration

        failed = descend(objective, self.weights, step)
        if not objectives and noted:
            # Nothing to do: the start is the end.
            value, _ = objective(objective.start(self.weights))
            self._note(objective.fact(value, 0.0), self.weights, True)
        if why != "converged" or rule is None:
            return why
        if auto:
            return "another rule" if failed or not auto.is_close() else why
        # Close to the end every rule is too noisy, and no more is to be had from it.
        return "noise" if failed and objective.norm > _FAR * objective.first_norm else why


def _shown(fact: dict[str, float]) -> str:
    """Return a fact as the progress bar shows it."""
    parts = [f"objective {fact['objective']:.1f}"]
    if "gradient" in fact:
        parts.append(f"gradient {fact['gradient']:.3g}")
    parts.append(f"kept {fact['kept']:.1f}")
    if "dev" in fact:
        parts.append(f"dev {fact['dev']:.2%}")
    return ", ".join(parts)
