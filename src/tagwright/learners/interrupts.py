"""Ctrl-C that is heard where a training can stop, and is never lost."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

__all__ = ["never", "stops"]


def never() -> None:
    """Stand for a check where nothing can interrupt."""


@contextlib.contextmanager
def stops() -> Iterator[Callable[[], None]]:
    """Give a function that raises KeyboardInterrupt once Ctrl-C was pressed; until it is called, nothing stops.

    Left alone, Python raises at whatever line is running, and forgets what is raised in a destructor or a callback: a
    training would go on as if nothing had been said. A second Ctrl-C is raised at once. Outside the main thread, and
    where a program hears Ctrl-C in its own way, that is left as it is.
    """
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield never
        return
    pressed = False

    def heard(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        if pressed:
            signal.default_int_handler(number, frame)
        pressed = True

    def check() -> None:
        if pressed:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, heard)
    try:
        yield check
        check()
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
