"""The averaged perceptron (Collins 2002), trained with any decoder."""

from __future__ import annotations

import os
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from tagwright import checks
from tagwright.constraints.constraints import Constraints
from tagwright.decoding.decoders import Decoder, plan_by_score
from tagwright.features.templates import Features
from tagwright.learners.online import OnlineLearner
from tagwright.learners.options import deprecated, documented, opt, warn_renamed
from tagwright.models.model import Model


@documented
@deprecated("lists", "min_weight", "checkpoint", "progress")
@dataclass(repr=False, eq=False)
class Perceptron(OnlineLearner):
    """The averaged perceptron of Collins (2002): decode, and where that is wrong move weights towards the truth.

    Ties between labellings, which are common while weights are small whole numbers, are broken by a fixed tiny
    preference per node, so that training does not depend on the decoder; the paper leaves them open.

    {parameters}

    Attributes
    ----------
    model_ : Model
        The fitted model.
    history_ : list of dict
        Per epoch: error, seconds and (with dev data) dev accuracy.
    """

    features: str | os.PathLike[str] | Features | None = opt("features")
    _: KW_ONLY
    order: int = opt("order")
    min_count: int = opt("min_count")
    min_ngram_count: int = opt("min_ngram_count")
    parts: str | None = opt("parts")
    margin: float = opt("margin")
    constraints: Constraints | dict[str, Any] | str | int | list[Any] | None = opt("constraints")
    epochs: int = opt("epochs")
    batch: int = opt("batch")
    pairs: str = opt("pairs")
    patience: int | None = opt("patience")
    seed: int = opt("seed")
    decoder: str | Decoder = opt(
        "decoder",
        decides=True,
        checked=lambda given: plan_by_score(given, "the perceptron"),
        help="Finds the labelling that is compared with the right one, and tags afterwards. Exact decoders all lead to "
        "the same weights; a beam does not.",
    )
    warm_start: bool | str | os.PathLike[str] | Model = opt("warm_start")
    threads: int = opt("threads")

    _kind = "perceptron"
    _gradient = "best_path"
    _dense_edges: ClassVar[bool | None] = None
    """True holds edges as a matrix only, False as exceptions only; for comparisons, by a subclass that sets it."""
    _min_weight = 0.0
    """Smaller node weights are left out of the model; a parameter of 0.5.0."""

    def _take_old(self, old: dict[str, Any], given: frozenset[str]) -> None:
        super()._take_old(old, given)
        if "min_weight" in old:
            warn_renamed(type(self), "min_weight=...", "min_count=2 for a smaller model; min_weight will be removed")
            checks.not_negative("min_weight", least := old.pop("min_weight"))
            self._min_weight = float(least)
