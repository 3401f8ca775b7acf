"""Pruning rules: which labels of a column are kept, in sums and beams (Pal, Sutton and McCallum 2006, section 3)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, TypeAlias

from tagwright import checks

KeepArguments: TypeAlias = tuple[str, float, int]
"""A rule for the core: its name ("" for no pruning), its parameter, and the smallest number of labels."""


@dataclass(frozen=True)
class Keep:
    """Base class of pruning rules."""

    name: ClassVar[str]

    def __str__(self) -> str:
        values = [(field.type, getattr(self, field.name)) for field in fields(self)]
        return ":".join([self.name, *(repr(float(own)) if kind == "float" else str(own) for kind, own in values)])


@dataclass(frozen=True)
class KeepDivergence(Keep):
    """Minimum-divergence beam: the smallest set of labels with Kullback-Leibler divergence at most epsilon.

    A set I with share Z(I) of the belief has divergence -log Z(I) from the full belief. A concentrated column thus
    keeps fewer labels than a flat one.

    Parameters
    ----------
    epsilon : float, default=0.001
        The largest divergence per column.
    at_least : int, default=1
        The smallest number of labels per column.
    """

    name: ClassVar[str] = "divergence"
    epsilon: float = 0.001
    at_least: int = 1

    def __post_init__(self) -> None:
        checks.not_negative("KeepDivergence(epsilon=...)", self.epsilon)
        checks.at_least_one("KeepDivergence(at_least=...)", self.at_least)


@dataclass(frozen=True)
class KeepSize(Keep):
    """Beam of fixed size.

    Parameters
    ----------
    n : int, default=8
        Number of labels per column, those of largest belief.
    """

    name: ClassVar[str] = "size"
    n: int = 8

    def __post_init__(self) -> None:
        checks.at_least_one("KeepSize(n)", self.n)


@dataclass(frozen=True)
class KeepRatio(Keep):
    """Threshold beam.

    Parameters
    ----------
    r : float, default=0.001
        Labels are kept whose belief is at least r times the largest of the column.
    """

    name: ClassVar[str] = "ratio"
    r: float = 1e-3

    def __post_init__(self) -> None:
        checks.above_zero("KeepRatio(r)", self.r)
        if self.r > 1:
            raise ValueError(f"KeepRatio(r) must be above 0 and at most 1, not {self.r!r}")


_RULES: dict[str, Any] = {rule.name: rule for rule in (KeepDivergence, KeepSize, KeepRatio)}


def is_rule(text: str) -> bool:
    """Return whether the text names a pruning rule."""
    return text.partition(":")[0] in _RULES


def parse_keep(text: str) -> Keep:
    """Return the rule of a text form: divergence:0.005:10, size:20 or ratio:0.001."""
    form = "write divergence:EPSILON, divergence:EPSILON:AT_LEAST, size:N or ratio:R"
    name, *numbers = text.split(":")
    kinds = [{"int": int, "float": float}[str(field.type)] for field in fields(_RULES[name])] if name in _RULES else []
    if not 1 <= len(numbers) <= len(kinds):
        raise ValueError(f"{text!r} is not a pruning rule; {form}")
    try:
        rule: Keep = _RULES[name](*(kind(number) for kind, number in zip(kinds, numbers, strict=False)))
    except ValueError as error:
        raise ValueError(f"{text!r}: {error if 'Keep' in str(error) else form}") from None
    return rule


def keep_arguments(rule: Keep | None) -> KeepArguments:
    """Return a rule for the core."""
    if rule is None:
        return "", 0.0, 1
    if not isinstance(rule, tuple(_RULES.values())):
        raise ValueError(f"pruning must be None, KeepDivergence(...), KeepSize(...) or KeepRatio(...), not {rule!r}")
    first, *rest = (getattr(rule, field.name) for field in fields(rule))
    return rule.name, float(first), int(rest[0]) if rest else 1
