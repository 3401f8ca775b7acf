"""Pruning rules: which labels of a column are kept, in sums and beams (Pal, Sutton and McCallum 2006, section 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from tagwright import checks

KeepArguments: TypeAlias = tuple[str, float, int]
"""A rule for the core: its name ("" for no pruning), its parameter, and the smallest number of labels."""


@dataclass(frozen=True)
class Keep:
    """Base class of pruning rules."""

    name: ClassVar[str]


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

    def __str__(self) -> str:
        return f"divergence:{float(self.epsilon)!r}:{self.at_least}"


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

    def __str__(self) -> str:
        return f"size:{self.n}"


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

    def __str__(self) -> str:
        return f"ratio:{float(self.r)!r}"


def is_rule(text: str) -> bool:
    """Return whether the text names a pruning rule."""
    return text.partition(":")[0] in ("divergence", "size", "ratio")


def parse_keep(text: str) -> Keep:
    """Return the rule of a text form: divergence:0.005:10, size:20 or ratio:0.001."""
    name, *numbers = text.split(":")
    form = "write divergence:EPSILON, divergence:EPSILON:AT_LEAST, size:N or ratio:R"
    try:
        if name == "divergence" and 1 <= len(numbers) <= 2:
            return KeepDivergence(float(numbers[0]), *(int(number) for number in numbers[1:]))
        if name == "size" and len(numbers) == 1:
            return KeepSize(int(numbers[0]))
        if name == "ratio" and len(numbers) == 1:
            return KeepRatio(float(numbers[0]))
    except ValueError as error:
        raise ValueError(f"{text!r}: {error if 'Keep' in str(error) else form}") from None
    raise ValueError(f"{text!r} is not a pruning rule; {form}")


def keep_arguments(rule: Keep | None) -> KeepArguments:
    """Return a rule for the core."""
    match rule:
        case None:
            return "", 0.0, 1
        case KeepDivergence():
            return rule.name, float(rule.epsilon), int(rule.at_least)
        case KeepSize():
            return rule.name, float(rule.n), 1
        case KeepRatio():
            return rule.name, float(rule.r), 1
    raise ValueError(f"pruning must be None, KeepDivergence(...), KeepSize(...) or KeepRatio(...), not {rule!r}")
