"""Rules about whole labellings: how many spans of a type, or runs of a label, a labelling may have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypedDict

import numpy as np
import numpy.typing as npt

from tagwright import _core, checks
from tagwright.constraints.reading import Ints
from tagwright.schemes import CONTINUES, OPEN, span_parts

LIMIT = 2000
"""Searches per sentence, by default."""

_MEMBER, _OPEN, _CONTINUES = 1, 2, 4  # UnitFlag in cpp/lattice/labelling_rules.h

Accept = Callable[[list[str]], object]
"""A predicate over the labels of a sentence."""


class RuleOptions(TypedDict, total=False):
    """Arguments of `Constraints` for rules about whole labellings."""

    once: Iterable[str] | bool
    at_most: Mapping[str, int]
    at_least: Mapping[str, int]
    same: int | None
    accept: Accept | None
    limit: int


class CountRule(NamedTuple):
    """A labelling has between `least` and `most` units: spans of a type, or runs of a label."""

    name: str
    """For messages: "at most 1 span of PER"."""
    least: int
    most: int
    """-1 for any number."""
    labels: Ints
    """The labels of its units, in rising order."""
    flags: npt.NDArray[np.uint8]
    """Beside them: whether a unit may go on behind the label, and whether the label continues an open unit."""

    def for_labels(self, new: npt.NDArray[np.int32]) -> CountRule:
        """Return the rule for labels that have other numbers; new: [label], -1 for a label that is gone."""
        labels = new[self.labels]
        order = np.argsort(labels, kind="stable")
        order = order[labels[order] >= 0]
        return self._replace(labels=labels[order].astype(np.int32), flags=self.flags[order])


class Units(NamedTuple):
    """Labels of one kind of units."""

    noun: str
    """"span" or "run"."""
    name: str
    """Of the type or the label."""
    labels: Ints
    flags: npt.NDArray[np.uint8]


class UnitReader:
    """Finds the labels of span types, and of labels by their names.

    Parameters
    ----------
    labels
        The names of all labels.
    parts
        The prefix and the type of each label, where a scheme was given; otherwise they are read from the names, if all
        labels are span labels.

    """

    def __init__(self, labels: Sequence[str], parts: Sequence[tuple[str, str]] | None) -> None:
        """Find the span types."""
        self._number = {name: y for y, name in enumerate(labels)}
        if parts is None:
            found = span_parts(labels, typed=True)
            parts = None if found is None else found[1]
        self.types: dict[str, list[tuple[int, int]]] = {}
        for y, (prefix, name) in enumerate(parts or ()):
            if prefix != "O":
                flags = _MEMBER | _OPEN * (prefix in OPEN) | _CONTINUES * (prefix in CONTINUES)
                self.types.setdefault(name, []).append((y, flags))

    def all(self) -> list[str]:
        """Return the names of all span types; of all labels where these are not of spans."""
        return list(self.types or self._number)

    def units(self, what: str, name: object) -> Units:
        """Return the units of a span type or else of a label; ValueError where there is neither. `what`: for it."""
        if isinstance(name, str) and name in self.types:
            labels, flags = zip(*self.types[name], strict=True)
            return Units("span", name, np.array(labels, np.int32), np.array(flags, np.uint8))
        if isinstance(name, str) and name in self._number:
            every = _MEMBER | _OPEN | _CONTINUES
            return Units("run", name, np.array([self._number[name]], np.int32), np.array([every], np.uint8))
        kinds = "neither a span type nor a label" if self.types else "not a label"
        raise ValueError(f"{what} names {checks.shown(name)}, which is {kinds}")


def count_rules(
    labels: Sequence[str], parts: Sequence[tuple[str, str]] | None, options: RuleOptions
) -> list[CountRule]:
    """Return the rules of `once`, `at_most` and `at_least`; arguments are those of `UnitReader`, and the options."""
    reader = UnitReader(labels, parts)
    once = options.get("once", False)
    if isinstance(once, str) or not isinstance(once, bool | Iterable):
        raise ValueError(
            f"once must be a list of span types or labels, or True for all of them, not {checks.shown(once)}"
        )
    names = (reader.all() if once else []) if isinstance(once, bool) else list(once)
    made = [_rule(reader.units("once", name), 0, 1) for name in dict.fromkeys(names)]
    for name, count in _counts("at_most", options.get("at_most")).items():
        made.append(_rule(reader.units("at_most", name), 0, count))
    for name, count in _counts("at_least", options.get("at_least")).items():
        made.append(_rule(reader.units("at_least", name), count, -1))
    return distinct(made)


def _counts(what: str, given: object) -> Mapping[str, int]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ValueError(f'{what} must be a dict such as {{"PER": 1}}, not {checks.shown(given)}')
    for name, count in given.items():
        checks.at_least_zero(f"{what}[{name!r}]", count)
    return given


def _rule(units: Units, least: int, most: int) -> CountRule:
    word, count = ("most", most) if most >= 0 else ("least", least)
    name = f"at {word} {count} {units.noun}{'s' * (count != 1)}" + f" of {units.name}" * bool(units.name)
    return CountRule(name, int(least), int(most), units.labels, units.flags)


def distinct(rules: Iterable[CountRule]) -> list[CountRule]:
    """Return the rules, each once."""
    made: dict[Any, CountRule] = {}
    for rule in rules:
        made.setdefault((rule[:3], rule.labels.tobytes(), rule.flags.tobytes()), rule)
    return list(made.values())


def core_rules(
    labels: Sequence[str], counts: Sequence[CountRule], accept: Sequence[Accept], limit: int
) -> _core.LabellingRules:
    """Return the rules as the core takes them; labels: the names of all labels."""
    return _core.LabellingRules.make([*labels], [*counts], [*accept], limit)
