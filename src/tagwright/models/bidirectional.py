"""Two models that are made to agree, by dual decomposition (Wang, Zong and Xue 2013, section 3)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from tagwright import _core, checks
from tagwright.decoding.decoders import Decoder
from tagwright.models.file import Arrays
from tagwright.models.model import Lattice, Model, Tagging, restored

__all__ = ["Agreement", "BidirectionalModel", "dual_decomposition"]

SCHEDULES = ("falling", "constant")

Prices = npt.NDArray[np.float64]
"""(T, L): what is added to a model's score for each label of each token."""


class Agreement(NamedTuple):
    """What two models came to agree on."""

    labels: list[Any]
    """One a token: names, or numbers where there are only numbers."""
    score: float | None
    """The sum of both models' scores, without prices; None where they were not given."""
    agreed: bool
    """Whether both models gave these labels in the end."""
    rounds: int
    """How often both models were asked; 1 where they agreed at once."""
    disputed: list[int]
    """Tokens on which they still differed in the last round."""
    certain: bool
    """Whether no labelling has a higher sum of both scores: both searches were exact, and they agreed."""


def dual_decomposition(
    left: Callable[[Prices], Sequence[int]],
    right: Callable[[Prices], Sequence[int]],
    T: int,
    L: int,
    rounds: int = 30,
    step: float = 0.5,
    schedule: str = "falling",
    *,
    score: Callable[[list[int]], float] | None = None,
    exact: bool = False,
) -> Agreement:
    """Make two searches agree (Algorithm 2); all it knows of them is that they give labels for prices.

    Prices are 0 at first. Each round asks both for their best labels, `left` with prices mu and `right` with -mu. Where
    they differ, mu falls by a step at the label of `left` and rises by it at that of `right`.

    Args:
        left: from prices (T, L), to be added to its scores of labels, to its best labels, one a token.
        right: the same for the other model.
        T: how many tokens there are.
        L: how many labels.
        rounds: the most there are.
        step: how far prices move (the paper's delta).
        schedule: "constant" moves them by the step in every round, as the paper does; "falling" by step / n in the
            n-th round in which the token is in dispute.
        score: the sum of both models' scores of labels, without prices. Where they do not agree, the better of the
            last round's two answers is taken by it; without it, that of `left`.
        exact: whether both searches are exact; an agreement is then certain to be the best.

    Example:
        >>> import numpy as np, tagwright as tw
        >>> left, right = np.array([[3.0, 2.0]]), np.array([[0.0, 2.0]])
        >>> best = lambda scores: lambda prices: (scores + prices).argmax(axis=1)
        >>> tw.dual_decomposition(best(left), best(right), 1, 2).labels
        [1]

    """
    check_options(rounds, step, schedule)
    for name, value in (("T", T), ("L", L)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < (name == "L"):
            raise ValueError(f"{name} must be a whole number of at least {int(name == 'L')}, not {value!r}")
    first, second, done, agreed, disputed = _core.agree(
        left, right, int(T), int(L), rounds=rounds, step=float(step), schedule=schedule
    )
    labels: list[int] = first.tolist()
    total = None if score is None else float(score(labels))
    if not agreed and score is not None and total is not None:
        others: list[int] = second.tolist()
        its = float(score(others))
        if its > total:
            labels, total = others, its
    return Agreement(labels, total, agreed, done, disputed, bool(agreed and exact))


def check_options(rounds: int, step: float, schedule: str) -> None:
    """Complain about options that make no sense."""
    checks.at_least_one("rounds", rounds)
    if isinstance(step, bool) or not isinstance(step, int | float | np.number) or not 0 < step < math.inf:
        raise ValueError(f"step must be a number above 0, not {step!r}")
    if schedule not in SCHEDULES:
        raise ValueError(f"schedule must be 'constant' or 'falling', not {schedule!r}")


class BidirectionalModel(Model):
    """Two models of the same labels that tag together.

    Any two will do. Mostly one goes from left to right, the other from right to left. Labels are numbered as in the
    left one. `facts["bidirectional"]` has rounds, step and schedule.

    Scores are the sums of both models' scores. `tag`, and `tag_kbest` with k = 1, give what they agree on. With more,
    that and the k best of each model are ordered by their joint score, and the first k returned: a labelling that is
    far down in both lists is not found.
    """

    def __init__(self, left: Model, right: Model, facts: dict[str, Any]) -> None:
        """Check that the models have the same labels."""
        missing = sorted(set(left.labels) ^ set(right.labels))
        if missing:
            both = f"{missing[0]!r}" + (f" and {len(missing) - 1} more" if len(missing) > 1 else "")
            raise ValueError(f"the two models must have the same labels, but only one of them has {both}")
        for part in (left, right):
            if isinstance(part, BidirectionalModel):
                raise ValueError("a bidirectional model cannot be one of two; take its own left and right")
        if (left.features is None) != (right.features is None):
            raise ValueError("one model reads text, the other ready-made features; both must read the same")
        self.left, self.right = left, right
        self.labels = left.labels
        self.features = left.features
        self.facts = facts
        own = facts["bidirectional"]
        check_options(own["rounds"], own["step"], own["schedule"])
        self.arrays = {
            f"{side}.{name}": array
            for side, model in (("left", left), ("right", right))
            for name, array in model.arrays.items()
        }
        number = {name: n for n, name in enumerate(left.labels)}
        self._number = number
        self._to_left = np.array([number[name] for name in right.labels], np.int32)

    @classmethod
    def restored(cls, meta: dict[str, Any], arrays: Arrays) -> BidirectionalModel:
        """Make the model that a file describes."""
        parts = []
        for side in ("left", "right"):
            own = {
                name.removeprefix(f"{side}."): array for name, array in arrays.items() if name.startswith(f"{side}.")
            }
            parts.append(restored(meta[side], own))
        return cls(parts[0], parts[1], dict(meta["facts"]))

    def meta(self) -> dict[str, Any]:
        """All but the arrays, for a file."""
        return {"left": self.left.meta(), "right": self.right.meta(), "facts": self.facts}

    def __reduce__(self) -> tuple[Any, ...]:
        """Let scikit-learn send a model to another process; files are for `save`."""
        return BidirectionalModel, (self.left, self.right, self.facts)

    def __repr__(self) -> str:
        """Say what it is."""
        return f"BidirectionalModel({self.left!r}, {self.right!r})"

    @property
    def columns(self) -> int:
        """How many columns a token must have."""
        return max(self.left.columns, self.right.columns)

    def knows(self, word: str) -> bool | None:
        """Whether a word was met in training."""
        return self.left.knows(word)

    def agree(
        self,
        X: Sequence[Sequence[object]],
        decoder: str | Decoder = "auto",
        threads: int = 1,
        *,
        rounds: int | None = None,
        step: float | None = None,
        schedule: str | None = None,
    ) -> list[Agreement]:
        """Label sentences with both models, and say how it went; options that are None are the model's own."""
        own = self.facts["bidirectional"]
        rounds = own["rounds"] if rounds is None else rounds
        step = own["step"] if step is None else step
        schedule = own["schedule"] if schedule is None else schedule
        check_options(rounds, step, schedule)
        checks.at_least_one("threads", threads)
        texts = self.left.text(X), self.right.text(X)
        flat, facts = _core.agree_batch(
            self.left.priced(decoder), texts[0], self.right.priced(decoder), texts[1],
            self._to_left, rounds=int(rounds), step=float(step), schedule=schedule, threads=threads,
        )  # fmt: skip
        names = [self.labels[y] for y in flat.tolist()]
        made, at = [], 0
        for length, (score, done, agreed, certain, disputed) in zip(texts[0].lengths().tolist(), facts, strict=True):
            made.append(Agreement(names[at : at + length], score, agreed, done, disputed, certain))
            at += length
        return made

    def _kbest(
        self, X: Sequence[Sequence[object]], k: int, decoder: str | Decoder, threads: int, proba: bool
    ) -> list[list[Tagging]]:
        agreed = self.agree(X, decoder, threads)
        if k == 1:
            return [[Tagging(own.labels, own.score or 0.0)] for own in agreed]
        lists = (self.left.tag_kbest(X, k, decoder, threads), self.right.tag_kbest(X, k, decoder, threads))
        union: list[list[list[str]]] = []
        for own, *found in zip(agreed, *lists, strict=True):
            all_labels = [own.labels, *(tagging.labels for side in found for tagging in side)]
            union.append([list(labels) for labels in dict.fromkeys(map(tuple, all_labels))])
        scores = self.joint_scores(X, union, decoder, threads)
        return [
            sorted((Tagging(*pair) for pair in zip(labels, own, strict=True)), key=lambda t: -t.score)[:k]
            for labels, own in zip(union, scores, strict=True)
        ]

    def joint_scores(
        self,
        X: Sequence[Sequence[object]],
        labellings: Sequence[Sequence[Sequence[str]]],
        decoder: str | Decoder = "auto",
        threads: int = 1,
    ) -> list[list[float]]:
        """Give the sum of both models' scores of some labellings of each sentence."""
        paths = [len(own) for own in labellings]
        flat = np.array([self._number[name] for own in labellings for one in own for name in one], np.int32)
        to_right = np.argsort(self._to_left).astype(np.int32)
        both = [
            np.array(model.priced(decoder).scores(model.text(X), numbers, paths, threads))
            for model, numbers in ((self.left, flat), (self.right, to_right[flat]))
        ]
        return [part.tolist() for part in np.split(both[0] + both[1], np.cumsum(paths)[:-1])] if paths else []

    @property
    def probabilistic(self) -> bool:
        """Whether scores are log probabilities of one distribution: the sum of two is none."""
        return False

    def need_probabilities(self) -> None:
        """Complain: a sum of two scores is no probability."""
        raise ValueError("the joint scores of two models are not probabilities; ask one of them, or train a CRF")

    @property
    def edges(self) -> NoReturn:
        """Complain: there are two models."""
        raise ValueError("two models have no edges in common; ask model.left or model.right")

    def lattice(self, sentence: Sequence[object]) -> Lattice:
        """Complain: there are two models."""
        raise ValueError("two models have no lattice in common; ask model.left or model.right")

    def priced(self, decoder: str | Decoder = "auto") -> NoReturn:
        """Complain: only single models have prices."""
        raise ValueError("a bidirectional model cannot be one of two; take its own left and right")
