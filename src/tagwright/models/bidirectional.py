"""Two models that tag together: the labels that dual decomposition makes them agree on."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np

from tagwright import _core, checks
from tagwright.constraints.allowed import AllowedLabels
from tagwright.constraints.constraints import Constraints
from tagwright.decoding.decode import Work
from tagwright.decoding.decoders import Decoder, Plan
from tagwright.models.agreement import Agreement, check_options
from tagwright.models.facts import checked, plain, timed_facts
from tagwright.models.file import Arrays
from tagwright.models.limits import HELD, Limits
from tagwright.models.model import Model, model_from
from tagwright.models.native import Sentences
from tagwright.models.tagging import Tagging, TagOptions, TagResult


class BidirectionalModel(Model):
    """Two models of the same labels that tag together.

    Any two models can be combined; usually one goes from left to right, the other from right to left. Labels are
    numbered as in the left one. `facts["bidirectional"]` has rounds, step and schedule.

    Scores are the sums of both models' scores. `tag`, and `tag_kbest` with k = 1, return what they agree on. With a
    larger k, that and the k best of each model are ordered by their joint score, and the first k returned: a labelling
    that is far down in both lists is not found.
    """

    lacks: ClassVar = {
        "probabilities": "the joint scores of two models are not probabilities; use one of them, or train a CRF",
        "edges": "two models have no edges in common; use model.left or model.right",
        "lattice": "two models have no lattice in common; use model.left or model.right",
        "explain": "what two models agree on is not a sum of weights; use model.left or model.right",
        "priced": "a bidirectional model cannot be one of two; take its own left and right",
    }

    def __init__(self, left: Model, right: Model, facts: dict[str, Any]) -> None:
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
        self._for_right = functools.lru_cache(maxsize=HELD)(self._renumbered)
        self._number = {name: n for n, name in enumerate(left.labels)}
        self._to_left = np.array([self._number[name] for name in right.labels], np.int32)

    def _renumbered(self, constraints: Constraints | None) -> Constraints | None:
        """Return constraints for the labels of the right model."""
        return None if constraints is None else constraints.for_labels(self.right.labels)

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
        """Return which template of either model reads a column beyond the first `columns`; for messages."""
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

        `constraints` and `allowed` are as for `tag`; `certain` then means that no other labelling that satisfies them
        is better.
        """
        given = {"rounds": rounds, "step": step, "schedule": schedule}
        options = self.needed_facts()["bidirectional"] | {
            name: value for name, value in given.items() if value is not None
        }
        _check(options)
        checks.at_least_one("threads", threads)
        return self._agree(X, decoder, threads, options, self._limiter.of(X, constraints, allowed))

    def _agree(
        self, X: Sentences, decoder: str | Decoder, threads: int, options: dict[str, Any], limits: Limits
    ) -> list[Agreement]:
        its = limits.for_labels(self.right.labels, self._for_right(limits.constraints))
        left = self.left.side(X, decoder, limits)
        right = self.right.side(X, decoder, its)
        given = int(options["rounds"]), float(options["step"]), options["schedule"]
        flat, facts = _core.agree_batch(left, right, self._to_left, given, threads)
        names = [self.labels[y] for y in flat.tolist()]
        made, at = [], 0
        for length, (score, done, agreed, certain, disputed) in zip(left[1].lengths().tolist(), facts, strict=True):
            made.append(Agreement(names[at : at + length], score, agreed, done, disputed, certain))
            at += length
        return made

    def _results(self, X: Sentences, chosen: Plan, options: TagOptions, limits: Limits) -> list[TagResult]:
        if options.deadline is not None:
            raise self._lacking("lattice")
        decoder, threads = options.decoder, options.threads
        agreed = self._agree(X, decoder, threads, self.needed_facts()["bidirectional"], limits)
        found = [[Tagging(own.labels, own.score or 0.0)] for own in agreed]
        if options.k > 1:
            found = self._more(X, found, options, limits)
        return [
            TagResult(own, one.certain and options.k == 1, 0.0 if one.certain else np.inf, Work(one.rounds, 0, 0))
            for own, one in zip(found, agreed, strict=True)
        ]

    def _more(
        self, X: Sentences, agreed: list[list[Tagging]], options: TagOptions, limits: Limits
    ) -> list[list[Tagging]]:
        """Return the k best by joint score of what both agree on and the k best of each."""
        own = self.left.tag_results(X, options, limits.constraints, limits.named())
        its = self.right.tag_results(X, options, limits.constraints, limits.named())
        union: list[list[list[str]]] = []
        for first, left, right in zip(agreed, own, its, strict=True):
            every = [tagging.labels for tagging in (*first, *left.taggings, *right.taggings)]
            union.append([list(labels) for labels in dict.fromkeys(map(tuple, every))])
        scores = self.joint_scores(X, union, options.decoder, options.threads)
        return [
            sorted((Tagging(*pair) for pair in zip(labels, own, strict=True)), key=lambda t: -t.score)[: options.k]
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
