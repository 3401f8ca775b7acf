"""Labelling in both directions at once: two models, trained or given, that are made to agree (Wang et al. 2013)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone

from tagwright import checks
from tagwright.decoding.decoders import Decoder, plan_by_score
from tagwright.learners.interrupts import stops
from tagwright.learners.learner import Labels, Learner, Sentences, check
from tagwright.learners.memm import MEMM
from tagwright.models.agreement import check_options
from tagwright.models.bidirectional import BidirectionalModel
from tagwright.models.facts import fact_in
from tagwright.models.model import Model, load

__all__ = ["Bidirectional"]


@dataclass(repr=False, eq=False)
class Bidirectional(Learner):
    """Two models that tag together: what both come to agree on is the best by the sum of their scores.

    Each has its own view: a model that goes from left to right knows the labels before a token, one that goes from
    right to left those behind it. Dual decomposition (Algorithm 2) lets them tag by turns, and where they differ makes
    each pay for its own label and the other's cheaper, until they agree.

    Args:
        left: the model that comes from the left: an estimator, which is cloned and trained, or a `Model` or its path,
            which is taken as it is. None: ``MEMM()``, which goes to the right.
        right: the one that comes from the right. None: ``MEMM(direction="left")``. Any two models will do that have the
            same labels: two perceptrons, a CRF and a MEMM. Perceptrons should not be mixed with others, since their
            scores are of another size.
        rounds: the most there are; if they do not agree by then, the better of the last two answers is taken.
        step: how far a price moves in a round.
        schedule: "falling" moves prices by step / n in the n-th round in which the token is in dispute; "constant"
            by the step, as in the paper, which may go on for ever between two labels that are nearly as good.
        decoder: of perceptrons, CRFs and HMMs; a MEMM has its beam.
        threads: for tagging; estimators have their own.

    After `fit`: `model_`, whose `left` and `right` are the two models, and whose `agree(X)` says how each sentence
    went; `left_` and `right_`, the estimators that were trained (or None).

    """

    left: Any = None
    right: Any = None
    rounds: int = 30
    step: float = 0.5
    schedule: str = "falling"
    decoder: str | Decoder = "auto"
    threads: int = 1

    def fit(
        self,
        X: Sentences | None = None,
        y: Labels | None = None,
        dev: tuple[Sentences, Labels] | None = None,
        sample_weight: object = None,
    ) -> Bidirectional:
        """Train the two, one after the other; X and y may be left out where both are given as models.

        dev goes to the estimators that take it, sample_weight to both; labels that are not known are for those that
        take them, which a MEMM does not. Ctrl-C ends the second training as it would alone; in the first it is
        passed on, since there is no second model yet.
        """
        check_options(self.rounds, self.step, self.schedule)
        checks.at_least_one("threads", self.threads)
        plan_by_score(self.decoder, "an agreement")
        sides = [
            _side("left", MEMM() if self.left is None else self.left),
            _side("right", MEMM(direction="left") if self.right is None else self.right),
        ]
        trains = any(isinstance(side, Learner) for side in sides)
        if X is not None and y is not None:
            check(X, y)
        elif trains:
            raise ValueError("there is a model to be trained: fit(X, y) needs sentences and labels")
        with stops():
            first = _trained("left", sides[0], X, y, dev, sample_weight)
        trained = [first, _trained("right", sides[1], X, y, dev, sample_weight)]
        left, right = (own.model_ if own is not None else side for own, side in zip(trained, sides, strict=True))
        self.model_ = BidirectionalModel(left, right, self._facts(left, right))
        self.left_, self.right_ = trained
        return self

    def _facts(self, left: Model, right: Model) -> dict[str, Any]:
        from tagwright import __version__

        own = {"rounds": int(self.rounds), "step": float(self.step), "schedule": self.schedule}
        size = {name: fact_in(left.facts, int, name) for name in ("sentences", "tokens")}
        told = {name: number for name, number in size.items() if number is not None}
        return {"learner": "bidirectional", "options": own, "bidirectional": own, **told, "version": __version__}


def _side(name: str, given: object) -> Learner | Model:
    if isinstance(given, Learner | Model):
        return given
    if isinstance(given, str | os.PathLike):
        return load(given)
    raise ValueError(f"{name} must be an estimator, a model or the path of one, not {type(given).__name__}")


def _trained(name: str, side: Learner | Model, X: Any, y: Any, dev: Any, sample_weight: Any) -> Any:
    if isinstance(side, Model):
        return None
    own: Any = clone(side)
    own._side = name
    takes_dev = dev is not None and "patience" in own.get_params()
    return own.fit(X, y, sample_weight=sample_weight, **({"dev": dev} if takes_dev else {}))
