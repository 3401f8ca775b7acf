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
from tagwright.schemes import PARTS, span_parts

__all__ = ["HELD", "Limiter", "Limits", "scheme_constraints"]

HELD = 8
"""Constraints of calls that a model keeps composed with its own; each may have as many edges as the model."""


class Limits(NamedTuple):
    """Everything that limits the labellings of some sentences, composed."""

    labels: dict[str, int]
    """The numbers of the labels by name."""
    constraints: Constraints | None
    """Rules for pairs, first and last labels, and a tag dictionary."""
    X: Sentences
    lists: list[Any] | None
    """Allowed labels of the call: for each sentence None or, for each token, None or labels, by name or number."""

    @property
    def rules(self) -> _core.PairRules | None:
        """The rules for pairs, first and last labels as searches over label histories take them."""
        own = self.constraints
        if own is None or not own.limits_edges:
            return None
        return own.without_labelling_rules("a MEMM, or an agreement of two models,").core()

    def allowed(self, text: _core.Text) -> _core.AllowedLists | None:
        """Return the labels that each token may have; a list of the call replaces that of the tag dictionary.

        text: the sentences, in the order of reading. ValueError where lists do not fit the sentences, or no label is
        left for a token.
        """
        given = read_allowed(self.lists, text.lengths().tolist(), [len(self.labels)], self.labels)
        dictionary = None if self.constraints is None else self.constraints.dictionary()
        if dictionary is None:
            return given
        if not text.columns:
            text = _core.Text.from_rows([[word_of(token) for token in own] for own in self.X], 1)
        return dictionary.allowed(text, given)

    def of_sentence(self, s: int) -> Limits:
        """Return the limits of one of the sentences."""
        return self._replace(X=self.X[s : s + 1], lists=None if self.lists is None else self.lists[s : s + 1])

    def for_labels(self, labels: list[str], constraints: Constraints | None) -> Limits:
        """Return the same for a model that numbers its labels otherwise; constraints: those for its labels."""
        return Limits({name: y for y, name in enumerate(labels)}, constraints, self.X, self.named())

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
        """Return what limits these sentences."""
        lists = None if allowed is None else list(map(lists_of, at_most(allowed, len(X))))
        return Limits(self._numbers, self.compose(constraints), X, lists)


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
