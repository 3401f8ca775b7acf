"""Checks of arguments: each raises ValueError that names the argument, what it must be and what it is."""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Callable, Collection
from typing import Any, ParamSpec, TypeGuard, TypeVar

import numpy as np

P = ParamSpec("P")
R = TypeVar("R")

_MOST = 2**31  # of anything that is counted
_LARGEST_SEED = 2**128  # as large as NumPy's own


def shown(value: object) -> str:
    """Return a value for a message, cut where it is long."""
    try:
        text = repr(value)
    except Exception:  # whole numbers of thousands of digits, and objects of the user's
        return f"a value of type {type(value).__name__}"
    return text if len(text) <= 100 else f"{text[:80]}..."


def is_whole(value: object) -> TypeGuard[int]:
    """Return whether a value is a whole number; booleans are not."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool | np.timedelta64)


def is_number(value: object) -> TypeGuard[float]:
    """Return whether a value is a real number; booleans and times are not, whatever NumPy derives them from."""
    return is_whole(value) or isinstance(value, float | np.floating)


def _is_finite(value: object) -> TypeGuard[float]:
    """Return whether a value is a number that is finite as a float, too."""
    try:
        return is_number(value) and math.isfinite(float(value))
    except OverflowError:
        return False


def _whole(name: str, value: object, least: int, below: int, text: str) -> None:
    if not is_whole(value) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, not {shown(value)}")
    if value >= below:
        raise ValueError(f"{name} is {shown(value)}, which is too large; use a number below {text}")


def at_least_one(name: str, value: object) -> None:
    """Check a count: a whole number from 1 to 2**31 - 1."""
    _whole(name, value, 1, _MOST, "2**31")


def at_least_zero(name: str, value: object) -> None:
    """Check a whole number from 0 to 2**31 - 1."""
    _whole(name, value, 0, _MOST, "2**31")


def seed(value: object) -> None:
    """Check a seed: a whole number from 0 to 2**128 - 1."""
    _whole("seed", value, 0, _LARGEST_SEED, "2**128")


def real(name: str, value: object) -> None:
    """Check a number that a float can hold; it may be infinite."""
    try:
        if is_number(value) or isinstance(value, bool):
            float(value)
            return
    except OverflowError:
        raise ValueError(f"{name} is {shown(value)}, beyond what a float can hold") from None
    raise ValueError(f"{name} must be a number, not {shown(value)}")


def not_negative(name: str, value: object) -> None:
    """Check a number that is finite and at least 0."""
    if not _is_finite(value) or value < 0:
        raise ValueError(f"{name} must be a number of at least 0, not {shown(value)}")


def above_zero(name: str, value: object) -> None:
    """Check a number that is finite and above 0."""
    if not _is_finite(value) or not value > 0:
        raise ValueError(f"{name} must be a number above 0, not {shown(value)}")


def one_of(name: str, value: object, choices: Collection[str], optional: bool = False) -> None:
    """Check one of a few words, or None if that is allowed."""
    if value is None and optional:
        return
    if not isinstance(value, str) or value not in choices:
        allowed = [*map(repr, choices), *(["None"] if optional else [])]
        raise ValueError(f"{name} must be {' or '.join(allowed)}, not {shown(value)}")


def renamed(**names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function accept keyword arguments under their names in 0.5.0 (old=new), with a DeprecationWarning."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> R:
            for old in names.keys() & kwargs.keys():
                message = f"{old} is deprecated: use {names[old]} in its place"
                warnings.warn(message, DeprecationWarning, stacklevel=2)
                kwargs[names[old]] = kwargs.pop(old)
            return function(*args, **kwargs)

        return call

    return decorate
