"""One place for limits: what a model and a call together say about the labels that sentences may have."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

from tagwright import _core, checks
from tagwright.constraints.allowed import AllowedLabels, at_most, lists_of, read_allowed
from tagwright.constraints.constraints import Constraints
from tagwright.constraints.reading import word_of
from tagwright.models.native import Sentences
from tagwright.models.tagging import TokenLists
from tagwright.schemes import PARTS, span_parts

__all__ = ["HELD", "Limiter", "Limits", "scheme_constraints"]

HELD = 8
"""Constraints of calls that a model keeps composed with its own; each may have as many edges as the model."""


class Limits(NamedTuple):
    """Everything that limits the labellings of some sentences, composed."""

    labels: dict[str, int]
    """The numbers of the labels by name."""
    constraints: Constraints | None
    """Rules for pairs, first and last labels; the tag dictionary is in the lists already."""
    lists: list[Any] | None
    """For each sentence None or, for each token, None or labels, by name or number."""

    @property
    def rules(self) -> _core.PairRules | None:
        """The rules for pairs, first and last labels as the core takes them."""
        own = self.constraints
        return None if own is None or not own.limits_edges else own.core()

    def allowed(self, lengths: Sequence[int]) -> _core.AllowedLists | None:
        """Return the lists as the core takes them; ValueError where they do not fit sentences of these lengths."""
        return read_allowed(self.lists, list(lengths), [len(self.labels)], self.labels)

    def searches(self, text: _core.Text) -> tuple[_core.PairRules | None, _core.AllowedLists | None]:
        """Return rules and lists as searches over label histories take them."""
        return self.rules, self.allowed(text.lengths().tolist())

    def of_token(self, s: int, T: int) -> TokenLists | None:
        """Return the lists of sentence s, which has T tokens, as numbers."""
        if self.lists is None or self.lists[s] is None:
            return None
        read_allowed(self.lists[s : s + 1], [T], [len(self.labels)], self.labels)  # checks them
        return [None if own is None else sorted({self.labels.get(y, y) for y in own}) for own in self.lists[s]]

    def for_labels(self, labels: list[str], constraints: Constraints | None) -> Limits:
        """Return the same for a model that numbers its labels otherwise; constraints: those for its labels."""
        return Limits({name: y for y, name in enumerate(labels)}, constraints, self.named())

    def named(self) -> list[Any] | None:
        """Return the lists with the names of labels."""
        if self.lists is None:
            return None
        names = list(self.labels)
        return [
            own and [its and [name if isinstance(name, str) else names[name] for name in its] for its in own]
            for own in self.lists
        ]


class Limiter:
    """Composes the limits of a model with those of a call.

    Parameters
    ----------
    labels
        The names of the model's labels.
    own
        The model's constraints.

    """

    def __init__(self, labels: list[str], own: Constraints | None) -> None:
        """Start without constraints of calls."""
        self._labels, self._own = labels, own
        self._numbers = {name: y for y, name in enumerate(labels)}
        self._composed = functools.lru_cache(maxsize=HELD)(self._compose)

    def _compose(self, given: Constraints | str) -> Constraints:
        if isinstance(given, str):
            given = scheme_constraints(given, self._labels)
        own = given.for_labels(self._labels)
        return own if self._own is None else self._own & own

    def compose(self, given: Constraints | str | None) -> Constraints | None:
        """Return the model's constraints and those of a call; ValueError where `given` is neither."""
        if given is None:
            return self._own
        if not isinstance(given, Constraints | str):
            raise ValueError(f"constraints must be tw.Constraints or the name of a scheme, not {checks.shown(given)}")
        return self._composed(given)

    def of(
        self,
        X: Sentences,
        constraints: Constraints | str | None = None,
        allowed: Sequence[AllowedLabels | None] | None = None,
    ) -> Limits:
        """Return what limits these sentences. A list given for a token replaces that of the tag dictionary."""
        both = self.compose(constraints)
        lists = None if allowed is None else list(map(lists_of, at_most(allowed, len(X))))
        if both is None or both.words is None:
            return Limits(self._numbers, both, lists)
        if lists is not None and len(lists) != len(X):
            raise ValueError(f"allowed has {len(lists)} entries, but there are {len(X)} sentences")
        made = [_with_words(both, s, own, lists[s] if lists else None) for s, own in enumerate(X)]
        return Limits(self._numbers, both, made)


def _with_words(constraints: Constraints, s: int, sentence: Sequence[Any], given: AllowedLabels | None) -> list[Any]:
    """Return the labels that each token may have: those given or, for tokens without, those of the tag dictionary."""
    known, unknown = constraints.word_lists()
    found: list[Any] = [known.get(token if type(token) is str else word_of(token), unknown) for token in sentence]
    if given is not None:
        given = list(at_most(given, len(found)))
        if len(given) != len(found):
            raise ValueError(f"allowed has {len(given)} entries, but sentence {s} has {len(found)} tokens")
        found = [own if its is None else its for own, its in zip(found, given, strict=True)]
    for t, own in enumerate(found):
        if isinstance(own, list) and not own:
            word = word_of(sentence[t])
            raise ValueError(f"sentence {s}: the tag dictionary leaves no label for token {t}, {word!r}")
    return found


def scheme_constraints(text: str, labels: Sequence[str]) -> Constraints:
    """Return the constraints of a scheme.

    ``BIO`` applies to the part of joint labels such as ``NN|B-NP`` or ``NN:B-NP`` that has spans; ``BIO:1`` names the
    part by its number.
    """
    name, _, part = text.partition(":")
    if part and not part.isdecimal():
        raise ValueError(f"a scheme is a name such as BIO, or BIO:1 for part 1 of joint labels, not {text!r}")
    if part:
        sep = "|" if any("|" in label for label in labels) else ":"
        return Constraints(labels, name, part=int(part), sep=sep)
    found = span_parts(labels)
    return Constraints(labels, name, scheme_of=None if found is None else PARTS[found[0]])
