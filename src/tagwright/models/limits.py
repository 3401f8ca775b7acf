"""What limits the labellings of sentences that a model is asked for: its constraints, those of the call, and lists."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from tagwright import _core, checks
from tagwright.constraints.allowed import AllowedLabels, read_allowed
from tagwright.constraints.constraints import Constraints
from tagwright.constraints.reading import word_of
from tagwright.models.native import Sentences

__all__ = ["Limiter", "Limits"]


class Limits(NamedTuple):
    """What limits the labellings of some sentences."""

    constraints: Constraints | None
    """For the labels of the model."""
    lists: list[Any] | None
    """For each sentence None or, for each token, None or labels, by name or number."""

    @property
    def limited(self) -> bool:
        """Whether anything is."""
        return self.constraints is not None or self.lists is not None

    def named(self, labels: Sequence[str]) -> list[Any] | None:
        """Return the lists with names in the place of numbers."""
        if self.lists is None:
            return None
        return [
            own and [its and [name if isinstance(name, str) else labels[name] for name in its] for its in own]
            for own in self.lists
        ]

    @property
    def pairs(self) -> Constraints | None:
        """The constraints, where they say something of pairs, first or last labels; words are in the lists."""
        own = self.constraints
        if own is None or not own.limits_edges:
            return None
        return own if own.words is None else own.without_words()

    def searches(
        self, labels: Sequence[str], text: _core.Text
    ) -> tuple[_core.PairRules | None, _core.AllowedLists | None]:
        """Return rules and lists as searches over label histories take them."""
        pairs = self.pairs
        return None if pairs is None else pairs.core(), self.core(labels, text.lengths().tolist())

    def core(self, labels: Sequence[str], lengths: Sequence[int]) -> _core.AllowedLists | None:
        """Return the lists as the core takes them."""
        names = {name: y for y, name in enumerate(labels)}
        return read_allowed(self.lists, list(lengths), [len(labels)], names)


def limit_tokens(allowed: AllowedLabels, labels: Sequence[str]) -> list[Any]:
    """Return the lists of one sentence with numbers in the place of names."""
    number = {name: y for y, name in enumerate(labels)}
    return [None if own is None else [number.get(name, name) for name in own] for own in allowed]


class Limiter:
    """Puts together what a model keeps to and what is asked of it."""

    def __init__(self, labels: Sequence[str], own: Constraints | None) -> None:
        """Remember what is put together, once for each of the constraints that come."""
        self._labels, self._own = labels, own
        self._made: WeakKeyDictionary[Constraints, Constraints] = WeakKeyDictionary()

    def _under(self, given: Constraints | str | None) -> Constraints | None:
        if given is None:
            return self._own
        if isinstance(given, str):
            given = scheme_constraints(given, self._labels)
        if not isinstance(given, Constraints):
            raise ValueError(f"constraints must be tw.Constraints or the name of a scheme, not {checks.shown(given)}")
        if (made := self._made.get(given)) is None:
            renumbered = given.for_labels(self._labels)
            made = self._made[given] = renumbered if self._own is None else self._own & renumbered
        return made

    def of(
        self, X: Sentences, constraints: Constraints | str | None, allowed: Sequence[AllowedLabels | None] | None
    ) -> Limits:
        """Return what limits these sentences. A list that is given for a token counts in place of the dictionary's."""
        both = self._under(constraints)
        lists = None if allowed is None else list(allowed)
        if both is None or both.words is None:
            return Limits(both, lists)
        if lists is not None and len(lists) != len(X):
            raise ValueError(f"allowed has {len(lists)} entries, but there are {len(X)} sentences")
        made = [self._with_words(both, s, own, lists[s] if lists else None) for s, own in enumerate(X)]
        return Limits(both, made)

    @staticmethod
    def _with_words(
        constraints: Constraints, s: int, sentence: Sequence[Any], given: AllowedLabels | None
    ) -> list[Any]:
        known, unknown = constraints.word_lists()
        found: list[Any] = [known.get(token if type(token) is str else word_of(token), unknown) for token in sentence]
        if given is not None:
            given = list(given)
            if len(given) != len(found):
                raise ValueError(f"allowed has {len(given)} entries, but sentence {s} has {len(found)} tokens")
            found = [own if its is None else its for own, its in zip(found, given, strict=True)]
        for t, own in enumerate(found):
            if own == []:
                word = word_of(sentence[t])
                raise ValueError(f"sentence {s}: the tag dictionary leaves no label for token {t}, {word!r}")
        return found


def scheme_constraints(text: str, labels: Sequence[str]) -> Constraints:
    """Return the constraints of a scheme; ``BIO:1`` is BIO for part 1 of labels such as ``NN|B-NP``."""
    name, _, part = text.partition(":")
    if part and not part.isdecimal():
        raise ValueError(f"a scheme is a name such as BIO, or BIO:1 for part 1 of joint labels, not {text!r}")
    return Constraints(labels, name, part=int(part) if part else None)
