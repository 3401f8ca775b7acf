"""Options that decide the weights of a model: plain values, which models and checkpoints repeat."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, Self

__all__ = ["CrfOptions", "MemmOptions", "OnlineOptions", "PerceptronOptions", "plain_options"]

_PLAIN = {"int": int, "float": float, "bool": bool, "str": str}


class _Options:
    @classmethod
    def of(cls, learner: Any) -> Self:
        """Return a learner's options of these names, as plain values of these types."""
        values = {}
        for field in fields(cls):  # type: ignore[arg-type]
            value = getattr(learner, field.name)
            plain = _PLAIN[str(field.type).removesuffix(" | None")]
            values[field.name] = None if value is None else plain(value)
        return cls(**values)


def plain_options(options: Any) -> dict[str, Any]:
    """Return options by name; a training of the first order says nothing of higher ones."""
    values = asdict(options)
    if values.get("order") == 1:
        del values["order"], values["min_ngram_count"]
    return values


@dataclass(frozen=True)
class PerceptronOptions(_Options):
    """What decides the weights of a perceptron, beside the corpus and the number of epochs."""

    seed: int
    decoder: str
    min_count: int
    pairs: str
    margin: float
    parts: str | None
    min_weight: float
    patience: int | None
    batch: int = 1
    order: int = 1
    min_ngram_count: int = 1


@dataclass(frozen=True)
class CrfOptions(_Options):
    """What decides the weights of a CRF, beside the corpus and the number of iterations or epochs.

    The defaults are those of a training that has no such option.
    """

    l2: float
    tolerance: float
    min_count: int
    patience: int | None
    l1: float = 0.0
    keep: str | None = None  # the pruning rule as text
    solver: str = "lbfgs"
    rate: float = 0.5
    batch: int = 8
    start_on: float | None = None
    all_pairs: bool = False
    seed: int = 0
    order: int = 1
    min_ngram_count: int = 1


@dataclass(frozen=True)
class OnlineOptions(_Options):
    """What decides the weights of a CRF that is trained online, beside the corpus and the number of epochs."""

    l2: float | None
    keep: str | None  # the rule as text, or None for the solver's own
    rate: float
    batch: int
    pairs: str
    parts: str | None
    min_count: int
    patience: int | None
    seed: int
    margin: float = 0.0
    solver: str = "adagrad"
    order: int = 1
    min_ngram_count: int = 1


@dataclass(frozen=True)
class MemmOptions(_Options):
    """What decides the weights and answers of a MEMM, beside the corpus and the number of iterations."""

    direction: str
    history: int
    l2: float
    tolerance: float
    dictionary: int | None
    min_count: int
    patience: int | None

    def as_crf(self) -> CrfOptions:
        """Return the options of the CRF without edges that a MEMM is trained as."""
        return CrfOptions(self.l2, self.tolerance, self.min_count, self.patience)
