"""Options that decide the weights of a model: plain values, which models and checkpoints repeat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["CrfOptions", "MemmOptions", "PerceptronOptions"]


def _whole(value: Any) -> int | None:
    return None if value is None else int(value)


@dataclass(frozen=True)
class PerceptronOptions:
    """What decides the weights of a perceptron, beside the corpus and the number of epochs."""

    seed: int
    decoder: str
    min_count: int
    pairs: str
    margin: float
    parts: str | None
    min_weight: float
    patience: int | None

    @classmethod
    def of(cls, learner: Any) -> PerceptronOptions:
        """Return the options of a `Perceptron`."""
        return cls(
            seed=int(learner.seed),
            decoder=str(learner.decoder),
            min_count=int(learner.min_count),
            pairs=learner.pairs,
            margin=float(learner.margin),
            parts=learner.parts,
            min_weight=float(learner.min_weight),
            patience=_whole(learner.patience),
        )


@dataclass(frozen=True)
class CrfOptions:
    """What decides the weights of a CRF, beside the corpus and the number of iterations or epochs.

    `keep` is the rule as text, "auto" or None. The defaults are those of trainings that have no such option.
    """

    l2: float
    tolerance: float
    min_count: int
    patience: int | None
    l1: float = 0.0
    keep: str | None = None
    solver: str = "lbfgs"
    rate: float = 0.5
    batch: int = 8
    start_on: float | None = None
    all_pairs: bool = False
    seed: int = 0

    @classmethod
    def of(cls, learner: Any) -> CrfOptions:
        """Return the options of a `CRF`."""
        return cls(
            l2=float(learner.l2),
            tolerance=float(learner.tolerance),
            min_count=int(learner.min_count),
            patience=_whole(learner.patience),
            l1=float(learner.l1),
            keep=None if learner.keep is None else str(learner.keep),
            solver=learner.solver,
            rate=float(learner.rate),
            batch=int(learner.batch),
            start_on=None if learner.start_on is None else float(learner.start_on),
            all_pairs=bool(learner.all_pairs),
            seed=int(learner.seed),
        )


@dataclass(frozen=True)
class MemmOptions:
    """What decides the weights and answers of a MEMM, beside the corpus and the number of iterations."""

    direction: str
    history: int
    l2: float
    tolerance: float
    dictionary: int | None
    min_count: int
    patience: int | None

    @classmethod
    def of(cls, learner: Any) -> MemmOptions:
        """Return the options of a `MEMM`."""
        return cls(
            direction=learner.direction,
            history=int(learner.history),
            l2=float(learner.l2),
            tolerance=float(learner.tolerance),
            dictionary=_whole(learner.dictionary),
            min_count=int(learner.min_count),
            patience=_whole(learner.patience),
        )

    def as_crf(self) -> CrfOptions:
        """Return the options of the CRF without edges that a MEMM is trained as."""
        return CrfOptions(l2=self.l2, tolerance=self.tolerance, min_count=self.min_count, patience=self.patience)
