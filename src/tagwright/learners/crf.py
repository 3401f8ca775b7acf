"""Conditional random fields, trained with exact or with sparse forward-backward (Pal et al. 2006)."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import KW_ONLY, dataclass
from typing import Any

from tagwright.constraints.constraints import Constraints
from tagwright.decoding.decoders import Decoder
from tagwright.decoding.keep import Keep
from tagwright.features.templates import Features
from tagwright.learners.online import OnlineLearner
from tagwright.learners.options import (
    LBFGS,
    AdaGrad,
    deprecated,
    documented,
    opt,
    solver_of,
    warn_renamed,
)
from tagwright.models.model import Model

_OF_LBFGS = ("l1", "l2", "max_iterations", "tolerance", "start_on", "all_pairs")
_OF_ADAGRAD = ("rate", "batch", "l2")


@documented
@deprecated("lists", "keep", "checkpoint", "progress", *_OF_LBFGS, "rate", "batch")
@dataclass(repr=False, eq=False)
class CRF(OnlineLearner):
    """A linear-chain conditional random field: p(labels | sentence) is proportional to exp(score).

    Minimises, summed over sentences, log Z minus the score of the right labels, plus l1 times the absolute weights,
    plus l2 times the squared ones. AdaGrad, the default, takes a step per mini-batch over pruned label sets; it is much
    faster than L-BFGS and usually more accurate. L-BFGS finds the optimum.

    {parameters}

    Attributes
    ----------
    model_ : Model
        The fitted model.
    history_ : list of dict
        AdaGrad, per epoch: objective (summed while the weights change, without the penalty), kept (labels per token),
        missing (an upper bound, per token, on what pruned sums lack of log Z; ``inf`` where there is none, as with
        label n-grams), seconds and (with dev data) dev accuracy.
        L-BFGS, per iteration: objective, gradient (its norm), kept, seconds and (every 10) dev accuracy.
    objective_ : float
        That of the model.

    Examples
    --------
    >>> import tagwright as tw
    >>> X, y = [["the", "dog", "barks"]], [["DT", "NN", "VBZ"]]
    >>> tw.CRF(solver=tw.LBFGS(l2=0.1)).fit(X, y).predict([["the", "dog"]])
    [['DT', 'NN']]
    """

    features: str | os.PathLike[str] | Features | None = opt("features")
    _: KW_ONLY
    solver: str | AdaGrad | LBFGS = opt("solver")
    pruning: Keep | str | None = opt("pruning")
    order: int = opt("order")
    min_count: int = opt("min_count")
    min_ngram_count: int = opt("min_ngram_count")
    parts: str | None = opt("parts", default="auto")
    margin: float | None = opt(
        "margin",
        default=None,
        optional=True,
        help="Softmax-margin (Gimpel and Smith 2010): the score by which the right labelling must win, for each token "
        "that another one has wrong. More accurate with many labels; probabilities are under-confident unless they are "
        "calibrated. None, with AdaGrad, calibration and a corpus of 5,000 tokens or more: with at most 1,000 labels "
        "0 or 2, whichever is more accurate on held-out sentences; 8 with more that have parts; else 0.",
    )
    constraints: Constraints | dict[str, Any] | str | int | list[Any] | None = opt("constraints")
    epochs: int = opt("epochs", help="Passes over the corpus by AdaGrad.")
    patience: int | None = opt("patience")
    seed: int = opt("seed")
    decoder: str | Decoder = opt("decoder", help="Finds the best labelling when tagging.")
    warm_start: bool | str | os.PathLike[str] | Model = opt(
        "warm_start",
        help="True starts from this estimator's own model, a `Model` or its path from that one; its features and "
        "labels are kept. With L-BFGS, weights that only the old model has, and the corpus does not, are lost.",
    )
    threads: int = opt("threads")

    _kind = "crf"
    _gradient = "sums"
    _solvers = ("adagrad", "lbfgs")
    _dense_edges = False
    """Whether L-BFGS sums over the whole matrix of edges; for comparisons, by a subclass that sets it."""

    def _take_old(self, old: dict[str, Any], given: frozenset[str]) -> None:
        super()._take_old(old, given)
        keep = old.pop("keep", None)
        if "solver" in given or not (keep or old):
            kind = type(solver_of(self))
        else:  # the default of 0.5.0 was L-BFGS
            kind = LBFGS if keep or any(name in _OF_LBFGS for name in old) else AdaGrad
        names = _OF_ADAGRAD if kind is AdaGrad else _OF_LBFGS
        own = {name: value for name, value in old.items() if name in names}
        if "all_pairs" in own:
            own["pairs"] = "all" if own.pop("all_pairs") else "observed"
        self.solver = dataclasses.replace(solver_of(self), **own) if "solver" in given else kind(**own)
        written = f"solver=tw.{self.solver!r}"
        if keep is not None:
            self.pruning = None if keep == "auto" else "exact" if keep == "all" else keep
            old["keep"] = keep
            written += f", pruning={self.pruning!r}"
        if old:
            warn_renamed(type(self), ", ".join(f"{name}={value!r}" for name, value in old.items()), written)
