"""Labelling in both directions at once: two models, trained or given, that are made to agree (Wang et al. 2013)."""

from __future__ import annotations

import inspect
import os
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

from sklearn.base import clone

from tagwright.decoding.decoders import Decoder, plan_by_score
from tagwright.learners.interrupts import stops
from tagwright.learners.learner import Dev, KnownLabels, Learner, Sentences, check, check_dev
from tagwright.learners.memm import MEMM
from tagwright.learners.options import check_options, documented, opt
from tagwright.models.bidirectional import BidirectionalModel
from tagwright.models.facts import fact_in
from tagwright.models.model import Model, load


@documented
@dataclass(repr=False, eq=False)
class Bidirectional(Learner):
    """Two models that tag together: what both come to agree on is the best by the sum of their scores.

    Each has its own view: a model that goes from left to right knows the labels before a token, one that goes from
    right to left those after it. Dual decomposition (Algorithm 2) lets them tag by turns, and where they differ raises
    the price of each one's label and lowers that of the other's, until they agree.

    {parameters}

    Attributes
    ----------
    model_ : BidirectionalModel
        Its `left` and `right` are the two models; its `agree(X)` reports the rounds of each sentence.
    left_, right_
        The estimators that were trained (or None).
    """

    left: Any = opt("left")
    right: Any = opt("right")
    _: KW_ONLY
    rounds: int = opt("rounds")
    step: float = opt("step")
    schedule: str = opt("schedule")
    decoder: str | Decoder = opt("decoder", help="Of perceptrons, CRFs and HMMs; a MEMM has its beam.")
    threads: int = opt("threads", help="Threads for tagging; estimators have their own.")

    def fit(
        self,
        X: Sentences | None = None,
        y: KnownLabels | None = None,
        dev: Dev | None = None,
        sample_weight: object = None,
        *,
        progress: bool | None = None,
    ) -> Self:
        """Train the two, one after the other; X and y may be left out where both are models.

        Ctrl-C ends the second training as it would alone; in the first it is passed on, since there is no second model
        yet.

        Parameters
        ----------
        X, y
            Sentences and labels; partial labels are for estimators that take them, which a MEMM does not.
        dev : pair (X_dev, y_dev), optional
            For the estimators that take it.
        sample_weight : array of numbers, optional
            For both.
        progress : bool, optional
            Whether to show progress bars.
        """
        check_dev(dev, sample_weight)
        check_options(self)
        plan_by_score(self.decoder, "an agreement")
        sides = [
            _side("left", MEMM() if self.left is None else self.left),
            _side("right", MEMM(direction="left") if self.right is None else self.right),
        ]
        trains = any(isinstance(side, Learner) for side in sides)
        if X is not None and y is not None:
            X, y = check(X, y)
        elif trains:
            raise ValueError("an estimator has to be trained: fit(X, y) needs sentences and labels")
        run = {"dev": dev, "sample_weight": sample_weight, "progress": progress}
        with stops():
            first = _trained("left", sides[0], X, y, run)
        trained = [first, _trained("right", sides[1], X, y, run)]
        left, right = (own.model_ if own is not None else side for own, side in zip(trained, sides, strict=True))
        self.model_ = BidirectionalModel(left, right, self._facts(left, right))
        self.left_, self.right_ = trained
        return self

    def _facts(self, left: Model, right: Model) -> dict[str, Any]:
        from tagwright import __version__

        own = {"rounds": int(self.rounds), "step": float(self.step), "schedule": self.schedule}
        size = {name: fact_in(left.facts, int, name) for name in ("sentences", "tokens")}
        known = {name: number for name, number in size.items() if number is not None}
        return {"learner": "bidirectional", "options": own, "bidirectional": own, **known, "version": __version__}


def _side(name: str, given: object) -> Learner | Model:
    if isinstance(given, Learner | Model):
        return given
    if isinstance(given, str | os.PathLike):
        return load(given)
    raise ValueError(f"{name} must be an estimator, a model or the path of one, not {type(given).__name__}")


def _trained(name: str, side: Learner | Model, X: Any, y: Any, run: dict[str, Any]) -> Any:
    """Train one side with those options of the run that its `fit` takes."""
    if isinstance(side, Model):
        return None
    own: Any = clone(side)
    own._side, own._old_run = name, side._old_run
    takes = inspect.signature(own.fit).parameters
    return own.fit(X, y, **{option: value for option, value in run.items() if option in takes})
