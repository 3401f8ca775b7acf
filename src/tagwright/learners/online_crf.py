"""How a CRF is trained online: AdaGrad over few labels per token, with steps that cost what they touch."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tagwright import _core
from tagwright.decoding.keep import KeepDivergence, keep_arguments
from tagwright.learners.examples import Examples
from tagwright.learners.interrupts import stops
from tagwright.learners.learner import Labels, Sentences, accuracy
from tagwright.learners.options import OnlineOptions
from tagwright.learners.parts import check_same_parts, label_parts
from tagwright.learners.progress import Progress, brief
from tagwright.learners.training import Training, is_best, pieces_of, stalled
from tagwright.models.model import Model

__all__ = ["OnlineTraining"]

_AUTO = KeepDivergence(0.1)
_AUTO_MOST = 32  # labels of a token; more only make the first epoch slower
_PIECE = 64  # batches between two looks at the keyboard and the progress bar


class OnlineTraining(Training):
    """The training of a CRF by a step after every few sentences."""

    kind = "crf"
    options: OnlineOptions

    def __init__(
        self, learner: Any, examples: Examples, dev: tuple[Sentences, Labels] | None, engine: Any = None
    ) -> None:
        """Read the corpus; go on from an old model or a checkpoint where there is one."""
        super().__init__(learner, examples)
        self.dev = dev
        options = OnlineOptions.of(learner)
        self.options = replace(options, solver="adagrad")
        self.trainer = self.indexed()
        if self.old:
            self._start_from(self.old)
        if found := self.read(learner.epochs, "epochs", "epochs"):
            arrays, going_on = found
            self.trainer.restore(going_on["seen"], arrays)
        self.replicated: Any = None
        if engine is not None:
            self.replicated = learner.cluster.online(engine, self, self._core_options())

    def make_trainer(self) -> _core.OnlineTrainer:
        """Return the core's trainer, which has the corpus in numbers."""
        return _core.OnlineTrainer.make(self.corpus, **self._core_options(), **self.limits())

    def _core_options(self) -> dict[str, Any]:
        options, auto = self.options, self.options.keep is None
        return {
            "parts": label_parts(self.labels, options.parts)[0],
            "edges": self.features.edges if self.features else True,
            "touched": options.pairs == "touched",
            "batch": options.batch,
            "rate": options.rate,
            "l2": options.l2 or 0.0,
            "margin": options.margin,
            "keep": keep_arguments(_AUTO if auto else self.learner.keep),
            "at_most": _AUTO_MOST if auto else 0,
            "order": options.order,
            "min_ngram_count": options.min_ngram_count,
        }

    def run(self) -> None:
        """Train, and leave `history_`, `objective_` and `model_` with the learner."""
        learner = self.learner
        learner.history_ = self.history
        try:
            with stops() as self.check_stop, self.progress("epoch", learner.epochs, name="CRF") as progress:
                while len(self.history) < learner.epochs and not stalled(self.history, self.options.patience):
                    self._epoch(progress)
        except KeyboardInterrupt:
            if not self.finished:
                raise
            after = len(self.history)
            warnings.warn(f"interrupted after {after} epochs; the model is as it was then", stacklevel=4)
        learner.objective_ = self.history[self.finished_after - 1]["objective"]
        learner.model_ = self.finished_model()

    def _epoch(self, progress: Progress) -> None:
        """Go over the corpus once, in a new order, and measure what came of it."""
        learner, options, epoch = self.learner, self.options, len(self.history)
        order = np.random.default_rng([options.seed, epoch]).permutation(self.sentences).astype(np.int32)
        began = time.perf_counter()
        with progress.bar(f"epoch {epoch + 1}/{learner.epochs}", "sent", self.sentences) as bar:
            fact = self.pass_over(order, bar.update)
            fact["seconds"] = time.perf_counter() - began
            average, model = self.trainer.average(), None
            if self.dev is not None:
                model = self.model(average, epoch + 1)
                fact["dev"] = accuracy(model, *self.dev, "auto", learner.threads)
                bar.set_postfix_str(brief(fact))
        self.check_stop()
        self.history.append(fact)
        progress.step(fact)
        if options.patience is None or is_best(self.history):
            self.finish_with(model or average, epoch + 1)
        if learner.checkpoint is not None:
            self.write(learner.checkpoint, self.trainer.state(), {"seen": self.trainer.seen})

    def pass_over(self, order: npt.NDArray[np.int32], told: Callable[[int], object]) -> dict[str, float]:
        """Go over sentences once, in this order; told: how many were seen, now and then."""
        seen = np.zeros(5)
        sums: Any = self.trainer if self.replicated is None else self.replicated
        for piece, cut, count in self.walked(pieces_of(order, _PIECE * self.options.batch), self.replicated is None):
            self.check_stop()
            seen += sums.run(piece, self.learner.threads, cut)
            told(count)
        sums.end_epoch()
        loss, tokens, kept, missing, _ = seen.tolist()
        return {"objective": loss, "kept": kept / max(1, tokens), "missing": missing / max(1, tokens)}

    def _start_from(self, old: Model) -> None:
        """Take over the weights of a model, by the names of its features and labels."""
        check_same_parts(old, self.options.parts)
        self.trainer.start_from(self.known, self.new_numbers(old))

    def facts(self, after: int) -> dict[str, Any]:
        """Return what a model says about its training."""
        return {**self.common_facts({"epochs": int(self.learner.epochs)}), "epochs_done": after}
