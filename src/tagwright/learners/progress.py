"""Progress of a training: a bar on a terminal, and records of the logger "tagwright"."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Self

from tqdm import tqdm

from tagwright.models.facts import FORMATS, History

log = logging.getLogger("tagwright")
log.addHandler(logging.NullHandler())

_WIDTHS = {"error": 7, "objective": 14, "log_likelihood": 14, "gradient": 9, "kept": 7, "dev": 7}


class Progress:
    """Reports the progress of one training: a record per epoch or `every` iterations at level INFO, others at DEBUG.

    unit: "epoch" or "iteration"; total: the most of them, if known; tokens: read by each; history: of an earlier run of
    the same training; shown: whether to show bars (None: on a terminal); side: "left" or "right" if two models are
    trained; name: the title of a bar over the whole training, without which the caller has its own bars.
    """

    def __init__(
        self,
        unit: str,
        total: int | None,
        tokens: int,
        history: History,
        shown: bool | None = None,
        side: str = "",
        every: int = 1,
        name: str = "",
    ) -> None:
        self.unit, self.total, self.tokens, self.every = unit, total, tokens, every
        self.done = len(history)
        self.seconds = sum(fact.get("seconds", 0.0) for fact in history)
        self._hidden = None if shown is None else not shown
        self._side = f"{side}: " if side else ""
        self._bar = self.bar(name, unit, total, self.done) if name else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def bar(self, name: str, unit: str, total: int | None, done: int = 0) -> Any:
        """Return a bar of tqdm, hidden where none is to be shown."""
        return tqdm(total=total, desc=f"{self._side}{name}", unit=unit, disable=self._hidden, initial=done)

    def step(self, fact: Mapping[str, float]) -> None:
        """Report that another epoch or iteration is done, and what it measured."""
        self.done += 1
        seconds = fact.get("seconds", 0.0)
        self.seconds += seconds
        if self._bar is not None:
            self._bar.update()
            self._bar.set_postfix_str(brief(fact))
        number = f"{self.done:>{len(str(self.total))}}/{self.total}" if self.total else f"{self.done:>4}"
        measured = [_text(fact, name, width) for name, width in _WIDTHS.items() if name in fact and name != "dev"]
        rate = f"{self.tokens / seconds if seconds else 0:>11,.0f} tokens/s"
        dev = [_text(fact, "dev", _WIDTHS["dev"])] if "dev" in fact else []
        is_time = self.done % self.every == 0 or self.done == self.total
        line = [f"{self.unit} {number}", *measured, f"{self.seconds:>8.1f} s", rate, *dev]
        self.say("  ".join(line), logging.INFO if is_time else logging.DEBUG)

    def aside(self, what: str, fact: Mapping[str, float]) -> None:
        """Report an iteration that is not part of the history."""
        if self._bar is not None:
            self._bar.set_postfix_str(brief(fact))
        self.say(f"{what}: {brief(fact)}", logging.DEBUG)

    def say(self, text: str, level: int = logging.INFO) -> None:
        """Write a line to the log; bars make room for it."""
        if log.isEnabledFor(level):
            with tqdm.external_write_mode():
                log.log(level, "%s%s", self._side, text)


def brief(fact: Mapping[str, float]) -> str:
    """Return the measurements as a short text."""
    return ", ".join(_text(fact, name) for name in _WIDTHS if name in fact)


def _text(fact: Mapping[str, float], name: str, width: int = 0) -> str:
    return f"{name.replace('_', '-')} {fact[name]:>{width}{FORMATS[name]}}"
