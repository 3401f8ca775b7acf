"""A property that is computed once per object, without a lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")


class cached_property(Generic[T]):  # noqa: N801 - named as that of functools, in whose place it stands
    """Computes a value when it is first read, and keeps it in the object.

    functools.cached_property of Python 3.11 has one lock for all objects of a class: a process that is forked while
    another thread computes a value would wait forever. Here threads that come at once all compute the value, and the
    first is kept.
    """

    def __init__(self, make: Callable[[Any], T]) -> None:
        self.make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> T: ...

    def __get__(self, instance: object | None, owner: type | None = None) -> Self | T:
        """Return the value; Python finds it in the object itself the next time."""
        if instance is None:
            return self
        value: T = instance.__dict__.setdefault(self.name, self.make(instance))
        return value
