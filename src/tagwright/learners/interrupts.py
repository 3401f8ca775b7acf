"""Handling of signals: Ctrl-C stops a training at a safe point; SIGINT, SIGTERM and SIGHUP end a program."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, NoReturn

from tagwright.system import raise_in_main_thread

_ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
_AT_ONCE = 1.0  # seconds in which further signals are ignored, so that cleaning up is not interrupted


def never() -> None:
    """Stand for a check where nothing can interrupt."""


class _Stop:
    """The handler of signals during training: it records a signal, which `check` raises."""

    def __init__(self, before: dict[int, Callable[..., Any]]) -> None:
        self.before = before
        self.came, self.open = False, True

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Record a signal; raise the second one, and any during native work, which stops cleanly."""
        from tagwright import _core

        handler, again = self.before[number], self.came
        self.came = True
        if isinstance(handler, Ending):
            handler.number = number
        if again:
            handler(number, frame)
        if _core.hearing():
            raise KeyboardInterrupt

    def check(self) -> None:
        if self.came:
            raise KeyboardInterrupt


def _handler(number: int) -> Any:
    """Return the handler of a signal; not that of a training that was interrupted while it restored its own."""
    handler = signal.getsignal(number)
    return handler.before[number] if isinstance(handler, _Stop) and not handler.open else handler


@contextlib.contextmanager
def stops() -> Iterator[Callable[[], None]]:
    """Yield a function that raises KeyboardInterrupt if Ctrl-C was pressed; training stops only there.

    By default, Python raises at any line, and ignores exceptions in destructors and callbacks: a
    training would continue. Native work stops at once. A second Ctrl-C is raised at once.
    Outside the main thread, and if the program has its own handler of Ctrl-C, nothing changes. A nested call yields the
    function of the outer one, which raises again at its end.
    """
    handlers = {number: _handler(number) for number in _ENDING}
    outer = next((handler for handler in handlers.values() if isinstance(handler, _Stop)), None)
    before = {n: h for n, h in handlers.items() if h is signal.default_int_handler or isinstance(h, Ending)}
    if threading.current_thread() is not threading.main_thread() or not (before or outer):
        yield never
        return
    if outer:
        yield outer.check
        return
    for handler in before.values():
        if isinstance(handler, Ending) and handler.number is not None:
            handler.end()  # a signal that came before, and that a bare except has swallowed
    stop = _Stop(before)
    for number in before:
        signal.signal(number, stop)
    try:
        yield stop.check
        stop.check()
    finally:
        stop.open = False
        for number, handler in before.items():
            signal.signal(number, handler)


class Ending:
    """The end of a program by signals: they raise KeyboardInterrupt, wherever it is, and decide the exit code."""

    def __init__(self) -> None:
        """Install the handlers, except for signals that are ignored, as SIGHUP is under nohup."""
        self.number: int | None = None
        """The signal that came last."""
        self._quiet_until = 0.0
        for number in _ENDING:
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                signal.signal(number, self)
        sys.unraisablehook = self._raise_again

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Raise KeyboardInterrupt."""
        self.number = number
        if time.monotonic() > self._quiet_until:
            self.end()

    def end(self) -> NoReturn:
        """Raise KeyboardInterrupt, and for a while no other one."""
        self._quiet_until = time.monotonic() + _AT_ONCE
        raise KeyboardInterrupt

    def _raise_again(self, lost: Any) -> None:
        """Send a signal again that Python has forgotten, since it was raised in a destructor or a callback."""
        if self.number is None or not issubclass(lost.exc_type, KeyboardInterrupt):
            sys.__unraisablehook__(lost)
            return
        self._quiet_until = 0.0
        again = threading.Timer(0.01, raise_in_main_thread, (self.number,))
        again.daemon = True
        again.start()

    def code(self, code: Any) -> Any:
        """Return the exit code of a program that would end with this one, and ignore further signals."""
        self._quiet_until = float("inf")
        return code if self.number in (None, signal.SIGINT) else 128 + self.number
