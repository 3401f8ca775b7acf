"""The kinds of models, by the learner that a model's facts name: the one place where a kind is recognised."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, NamedTuple

from tagwright.models.facts import fact_in

if TYPE_CHECKING:
    from tagwright.models.model import Model


class Kind(NamedTuple):
    """What follows from the name of a learner."""

    module: str
    """In tagwright.models; imported when a model of this kind is made."""
    name: str
    """The class of the models in that module."""
    probabilistic: bool
    """Whether exp(score - log Z) is a probability that was trained to be one."""

    @property
    def model_class(self) -> type[Model]:
        """The class of the models."""
        found: type[Model] = getattr(importlib.import_module(f"tagwright.models.{self.module}"), self.name)
        return found


KINDS = {
    "perceptron": Kind("linear", "LinearModel", probabilistic=False),
    "crf": Kind("linear", "LinearModel", probabilistic=True),
    "hmm": Kind("linear", "LinearModel", probabilistic=True),
    "memm": Kind("memm", "MemmModel", probabilistic=False),
    "bidirectional": Kind("bidirectional", "BidirectionalModel", probabilistic=False),
}


def kind_of(facts: object) -> Kind:
    """Return the kind of model that the facts name; a model that names no known learner is as a perceptron's."""
    return KINDS.get(fact_in(facts, str, "learner") or "", KINDS["perceptron"])
