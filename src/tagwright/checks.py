"""Checks of arguments: each raises ValueError that names the argument, what it must be and what it is."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import TypeGuard

import numpy as np

__all__ = ["above_zero", "at_least_one", "at_least_zero", "is_number", "not_negative", "one_of"]


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int | np.integer) and not isinstance(value, bool | np.timedelta64)


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a real number; truth values and times are none, whatever NumPy derives them from."""
    return _is_whole(value) or isinstance(value, float | np.floating)


def at_least_one(name: str, value: object) -> None:
    """Check a count: a whole number from 1 to 2**31 - 1."""
    if not _is_whole(value) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, not {value!r}")
    if value >= 2**31:
        raise ValueError(f"{name} is {value}, more than there will ever be; use a number below 2**31")


def not_negative(name: str, value: object) -> None:
    """Check a number that is finite and at least 0."""
    if not is_number(value) or not 0 <= value < math.inf:
        raise ValueError(f"{name} must be a number of at least 0, not {value!r}")


def above_zero(name: str, value: object) -> None:
    """Check a number that is finite and above 0."""
    if not is_number(value) or not 0 < value < math.inf:
        raise ValueError(f"{name} must be a number above 0, not {value!r}")


def at_least_zero(name: str, value: object) -> None:
    """Check a whole number that is not negative."""
    if not _is_whole(value) or value < 0:
        raise ValueError(f"{name} must be a whole number of at least 0, not {value!r}")


def one_of(name: str, value: object, choices: Collection[str]) -> None:
    """Check one of a few words."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be {' or '.join(map(repr, choices))}, not {value!r}")
