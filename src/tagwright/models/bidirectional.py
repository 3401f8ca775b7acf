"""Two models that tag together: the labels that dual decomposition makes them agree on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self
from weakref import WeakKeyDictionary

import numpy as np

from tagwright import _core, checks
from tagwright.constraints.allowed import AllowedLabels
from tagwright.constraints.constraints import Constraints
from tagwright.decoding.decoders import Decoder
from tagwright.models.agreement import Agreement, check_options
from tagwright.models.facts import checked, plain
from tagwright.models.file import Arrays
from tagwright.models.history import timed_facts
from tagwright.models.limits import Limits
from tagwright.models.model import Model, Tagging, model_from
from tagwright.models.native import Sentences

__all__ = ["BidirectionalModel"]


class BidirectionalModel(Model):
    """Two models of the same labels that tag together.

    Any two models can be combined; usually one goes from left to right, the other from right to left. Labels are
    numbered as in the left one. `facts["bidirectional"]` has rounds, step and schedule.

    Scores are the sums of both models' scores. `tag`, and `tag_kbest` with k = 1, return what they agree on. With a
    larger k, that and the k best of each model are ordered by their joint score, and the first k returned: a labelling
    that is far down in both lists is not found.
    """

    lacks: ClassVar = {
        "probabilities": "the joint scores of two models are not probabilities; ask one of them, or train a CRF",
        "edges": "two models have no edges in common; ask model.left or model.right",
        "lattice": "two models have no lattice in common; ask model.left or model.right",
        "explain": "what two models agree on is no sum of weights; ask model.left or model.right",
        "priced": "a bidirectional model cannot be one of two; take its own left and right",
    }

    def __init__(self, left: Model, right: Model, facts: dict[str, Any]) -> None:
        """Check that the models have the same labels and read the same input."""
        missing = sorted(set(left.labels) ^ set(right.labels))
        if missing:
            both = f"{missing[0]!r}" + (f" and {len(missing) - 1} more" if len(missing) > 1 else "")
            raise ValueError(f"the two models must have the same labels, but only one of them has {both}")
        for part in (left, right):
            if isinstance(part, BidirectionalModel):
                raise part._lacking("priced")
        if (left.features is None) != (right.features is None):
            raise ValueError("one model reads text, the other ready-made features; both must read the same")
        self._own = dict(facts["bidirectional"])
        _check(self._own)
        sides = {"left": left, "right": right}
        arrays = {f"{side}.{name}": array for side in sides for name, array in sides[side].arrays.items()}
        super().__init__(left.labels, left.features, arrays, facts)
        self.left, self.right = left, right
        self._right_pairs: WeakKeyDictionary[Constraints, Constraints] = WeakKeyDictionary()
        self._number = {name: n for n, name in enumerate(left.labels)}
        self._to_left = np.array([self._number[name] for name in right.labels], np.int32)

    @classmethod
    def restored(cls, meta: dict[str, Any], arrays: Arrays) -> Self:
        """Return the model that a file's metadata and arrays describe."""

        def part(side: str) -> Model:
            start = f"{side}."
            own = {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}
            return model_from(meta[side], own)

        return cls(part("left"), part("right"), dict(meta["facts"]))

    def meta(self) -> dict[str, Any]:
        """Return what a file keeps of both models beside their arrays."""
        return {"left": self.left.meta(), "right": self.right.meta(), "facts": timed_facts(plain(self.all_facts()))}

    def needed_facts(self) -> dict[str, Any]:
        """Return what kind of model it is, and its options."""
        return {"learner": "bidirectional", "bidirectional": checked(self.facts, "bidirectional", _check, self._own)}

    def __reduce__(self) -> tuple[Any, ...]:
        """Let scikit-learn send a model to another process; files are for `save`."""
        return type(self), (self.left, self.right, self.all_facts())

    def __repr__(self) -> str:
        """Return both models' learners and sizes."""
        return f"BidirectionalModel({self.left!r}, {self.right!r})"

    @property
    def constraints(self) -> Constraints | None:
        """What every labelling keeps to: the constraints of both models."""
        mine, its = self.left.constraints, self.right.constraints
        if its is None:
            return mine
        its = its.for_labels(self.labels)
        return its if mine is None else mine & its

    @property
    def columns(self) -> int:
        """How many columns a token must have."""
        return max(self.left.columns, self.right.columns)

    def reader(self, columns: int) -> str:
        """Return which template of either model reads a column that tokens with so many columns do not have."""
        return max(self.left, self.right, key=lambda side: side.columns).reader(columns)

    def knows(self, word: str) -> bool | None:
        """Return whether a word was in the training data of the left model."""
        return self.left.knows(word)

    def agree(
        self,
        X: Sentences,
        decoder: str | Decoder = "auto",
        threads: int = 1,
        *,
        rounds: int | None = None,
        step: float | None = None,
        schedule: str | None = None,
        constraints: Constraints | str | None = None,
        allowed: Sequence[AllowedLabels | None] | None = None,
    ) -> list[Agreement]:
        """Return what both models agree on for each sentence; options that are None are the model's own.

        `constraints` and `allowed` are as for `tag`; `certain` then means that no other labelling that keeps
        to them is better.
        """
        return self._agree(X, decoder, threads, rounds, step, schedule, self._limiter.of(X, constraints, allowed))

    def _agree(
        self,
        X: Sentences,
        decoder: str | Decoder,
        threads: int,
        rounds: int | None,
        step: float | None,
        schedule: str | None,
        limits: Limits,
    ) -> list[Agreement]:
        own = self.needed_facts()["bidirectional"]
        rounds = own["rounds"] if rounds is None else rounds
        step = own["step"] if step is None else step
        schedule = own["schedule"] if schedule is None else schedule
        check_options(rounds, step, schedule)
        checks.at_least_one("threads", threads)
        texts = self.left.text(X), self.right.text(X)
        named = limits.named(self.labels)
        own = [limits._replace(lists=named), Limits(self._pairs_of_right(limits), named)]
        left, right = (side.priced(decoder, its.pairs) for side, its in zip((self.left, self.right), own, strict=True))
        flat, facts = _core.agree_batch(
            left, texts[0], right, texts[1],
            self._to_left, rounds=int(rounds), step=float(step), schedule=schedule, threads=threads,
            left_limits=own[0].searches(self.left.labels, texts[0]),
            right_limits=own[1].searches(self.right.labels, texts[1]),
        )  # fmt: skip
        names = [self.labels[y] for y in flat.tolist()]
        made, at = [], 0
        for length, (score, done, agreed, certain, disputed) in zip(texts[0].lengths().tolist(), facts, strict=True):
            made.append(Agreement(names[at : at + length], score, agreed, done, disputed, certain))
            at += length
        return made

    def _pairs_of_right(self, limits: Limits) -> Constraints | None:
        """Return what is said of pairs for the labels of the right model, made once for each of the constraints."""
        if limits.pairs is None:
            return None
        if (made := self._right_pairs.get(limits.pairs)) is None:
            made = self._right_pairs[limits.pairs] = limits.pairs.for_labels(self.right.labels)
        return made

    def _kbest(
        self, X: Sentences, k: int, decoder: str | Decoder, threads: int, proba: bool, limits: Limits
    ) -> list[list[Tagging]]:
        agreed = self._agree(X, decoder, threads, None, None, None, limits)
        if k == 1:
            return [[Tagging(own.labels, own.score or 0.0)] for own in agreed]
        more: dict[str, Any] = {"constraints": limits.constraints, "allowed": limits.named(self.labels)}
        lists = [side.tag_kbest(X, k, decoder, threads, **more) for side in (self.left, self.right)]
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
        X: Sentences,
        labellings: Sequence[Sequence[Sequence[str]]],
        decoder: str | Decoder = "auto",
        threads: int = 1,
    ) -> list[list[float]]:
        """Return the sum of both models' scores of some labellings of each sentence."""
        paths = [len(own) for own in labellings]
        flat = np.array([self._number[name] for own in labellings for one in own for name in one], np.int32)
        to_right = np.argsort(self._to_left).astype(np.int32)
        both = [
            np.array(model.priced(decoder).scores(model.text(X), numbers, paths, threads))
            for model, numbers in ((self.left, flat), (self.right, to_right[flat]))
        ]
        return [part.tolist() for part in np.split(both[0] + both[1], np.cumsum(paths)[:-1])] if paths else []


def _check(own: dict[str, Any]) -> None:
    check_options(own["rounds"], own["step"], own["schedule"])
