"""Conditional random fields, trained with exact or with sparse forward-backward (Pal et al. 2006)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from tagwright import checks
from tagwright.decoding.decoders import Decoder, plan
from tagwright.decoding.keep import Keep
from tagwright.features.templates import Features
from tagwright.learners.crf_training import CrfTraining
from tagwright.learners.learner import Labels, Learner, Sentences
from tagwright.learners.training import check_training
from tagwright.models.model import Model

__all__ = ["CRF"]


@dataclass(repr=False, eq=False)
class CRF(Learner):
    """A linear-chain conditional random field: p(labels | sentence) is proportional to exp(score).

    Minimises, summed over sentences, log Z less the score of the right labels, plus l1 times the absolute weights, plus
    l2 times the squared ones; l1 and l2 mean what c1 and c2 mean in CRFsuite.

    Args:
        features: a preset's name, a template file, templates themselves (text or `Features`), or None for ready-made
            features. Tokens that are dicts are always taken as ready-made features.
        l2: weight of the squared penalty.
        l1: weight of the absolute one, which makes weights 0. Each weight is then a difference of two that are bounded
            by 0, so training takes twice the memory. Not for solver="adagrad".
        keep: None sums exactly. `KeepDivergence`, `KeepSize` or `KeepRatio` sum over the labels that the rule keeps and
            the right ones; sentences of which it keeps more than a quarter are summed exactly, which is faster then
            (with 64 labels or more). "auto" sums exactly until, on a sample,
            KeepDivergence(0.01) keeps so few labels that it pays, and takes a tenth of epsilon whenever the sparse
            gradient strays too far from the exact one there, or a line search fails, or the end is reached and log Z
            is not close enough; at last it sums exactly again.
        solver: "lbfgs", SciPy's L-BFGS-B, or "adagrad", steps after every `batch` sentences, for corpora and label
            sets where L-BFGS takes too long.
        max_iterations: of L-BFGS; None: until it has converged.
        tolerance: L-BFGS has converged when the last 10 iterations lowered the objective by less than this share.
        epochs: passes over the corpus by AdaGrad.
        rate: AdaGrad's step size.
        batch: sentences per step of AdaGrad.
        start_on: a share of the sentences that L-BFGS is fitted to first, such as 0.1 (Pal et al. 2006, 4.2); up to
            max_iterations of its own.
        all_pairs: whether every label has a weight for every feature, and every pair of labels one. By default only
            those that the corpus has.
        min_count: features on fewer tokens than this are left out.
        seed: of the sample for `start_on` and keep="auto", and of the order of sentences for AdaGrad.
        decoder: finds the best labelling afterwards.
        lists: word lists for ``%in``: name -> entries or the path of a file.
        patience: with dev data, which is measured every 10 iterations or every epoch: stop when so many measurements
            in a row were no better, and keep the best.
        warm_start: True goes on from this estimator's own model, a Model or its path from that one; its features and
            labels are kept. Weights that only the old model has, and the corpus does not, are lost.
        checkpoint: a file that is written every 10 iterations or every epoch. If it is there already, training goes on
            from its weights; AdaGrad ends with the weights it would have had, L-BFGS begins to learn curvature anew.
            It can be loaded as a model.
        threads: for training and tagging; the weights do not depend on it. AdaGrad uses one.
        progress: whether to show a bar; None: where standard error is a terminal.

    After `fit`: `model_`; `history_`, a dict per iteration with objective, gradient (its norm), kept (labels per token,
    on average), seconds and (where measured) dev accuracy; and `objective_`, that of the model. AdaGrad's history has
    one per epoch, without gradient, the objective summed up while the weights were changing.

    """

    features: str | os.PathLike[str] | Features | None = "pos"
    l2: float = 1.0
    l1: float = 0.0
    keep: Keep | str | None = None
    solver: str = "lbfgs"
    max_iterations: int | None = None
    tolerance: float = 1e-5
    epochs: int = 10
    rate: float = 0.5
    batch: int = 8
    start_on: float | None = None
    all_pairs: bool = False
    min_count: int = 1
    seed: int = 0
    decoder: str | Decoder = "auto"
    lists: Mapping[str, object] | None = None
    patience: int | None = None
    warm_start: bool | str | os.PathLike[str] | Model = False
    checkpoint: str | os.PathLike[str] | None = None
    threads: int = 1
    progress: bool | None = None

    # For comparisons, by a subclass that sets them: sums over the whole matrix of edges, not over those that have
    # weights; and exact sums of eight sentences side by side, or of one at a time.
    _dense_edges = False
    _lanes = True

    def fit(self, X: Sentences, y: Labels, dev: tuple[Sentences, Labels] | None = None) -> CRF:
        """Train on sentences X with labels y; dev, a pair like them, is measured now and then.

        Ctrl-C ends training with the weights so far, and a warning; before the first iteration over the whole corpus
        (or epoch) is done, there is nothing to return.
        """
        self._check(X, y, dev)
        CrfTraining(self, X, y, dev).run()
        return self

    def _check(self, X: Sentences, y: Labels, dev: tuple[Sentences, Labels] | None) -> None:
        check_training(self, X, y, dev)
        for name in ("epochs", "batch", "min_count", "threads"):
            checks.at_least_one(name, getattr(self, name))
        if self.max_iterations is not None:
            checks.at_least_one("max_iterations", self.max_iterations)
        for name in ("l1", "l2", "tolerance", "rate"):
            checks.not_negative(name, getattr(self, name))
        checks.one_of("solver", self.solver, ("lbfgs", "adagrad"))
        if self.solver == "adagrad":
            for name, nothing in (("l1", 0), ("start_on", None), ("max_iterations", None)):
                if getattr(self, name) != nothing:
                    raise ValueError(f"{name} is for solver='lbfgs'")
        if self.keep == "auto" and self.solver == "adagrad":
            raise ValueError("keep='auto' is for solver='lbfgs', which has line searches that can fail")
        if self.keep not in (None, "auto") and not isinstance(self.keep, Keep):
            raise ValueError(
                f"keep must be None, 'auto', KeepDivergence(...), KeepSize(...) or KeepRatio(...), not {self.keep!r}"
            )
        start = 1 if self.start_on is None else self.start_on
        if not checks.is_number(start) or not 0 < start <= 1:
            raise ValueError(f"start_on must be a share above 0 and at most 1, not {start!r}")
        plan(self.decoder)
