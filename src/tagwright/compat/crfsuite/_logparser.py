"""A parser of the log of a training, line by line."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple


class LabelScore(NamedTuple):
    """How well a label is found on the holdout data."""

    match: int
    model: int
    ref: int
    precision: float | None
    recall: float | None
    f1: float | None


_HEAD = re.compile(r"\*{5} (?:Iteration|Epoch) #(\d+) \*{5}\n")
_SECONDS = re.compile(r"Seconds required: (\d+\.\d+)")
_TOTAL = re.compile(r"Total seconds required for training: (\d+\.\d+)")
_FEATURES = re.compile(r"Number of features: (\d+)")
_MACRO = re.compile(r"Macro-average precision, recall, F1: \((\d\.\d+), (\d\.\d+), (\d\.\d+)\)")
_ACCURACY = re.compile(r"(Item|Instance) accuracy: (\d+) / (\d+)")
_LABEL = re.compile(r"\s{4}(.+): \((\d+), (\d+), (\d+)\) \((\*{6}|\d\.\d+), (\*{6}|\d\.\d+), (\*{6}|\d\.\d+)\)")
_NUMBERS: dict[str, tuple[re.Pattern[str], Callable[[str], float]]] = {
    "loss": (re.compile(r"Loss: (\d+\.\d+)"), float),
    "feature_norm": (re.compile(r"Feature norm: (\d+\.\d+)"), float),
    "error_norm": (re.compile(r"Error norm: (\d+\.\d+)"), float),
    "active_features": (re.compile(r"Active features: (\d+)"), int),
    "linesearch_trials": (re.compile(r"Line search trials: (\d+)"), int),
    "linesearch_step": (re.compile(r"Line search step: (\d+\.\d+)"), float),
    "time": (re.compile(r"Seconds required for this iteration: (\d+\.\d+)"), float),
}
# The line that ends these phases is the first of the next one.
_ENDED_BY_NEXT = ("prepared", "optimization_end")


class TrainLogParser:
    """The state of a training, as its log describes it.

    `feed` takes the log line by line, and returns the event that a line completes: ``start``, ``featgen_progress``,
    ``featgen_end``, ``prepared``, ``prepare_error``, ``iteration``, ``optimization_end``, ``end``, or None.

    Attributes
    ----------
    iterations : list of dict
        For each iteration ``num``, ``loss``, ``feature_norm``, ``time``, and where they are logged ``error_norm``,
        ``active_features``, ``linesearch_trials``, ``linesearch_step``, and measures on the holdout data.
    last_iteration : dict or None
        The last of them.
    """

    def __init__(self) -> None:
        """Begin before the first line."""
        self.state: str | None = None
        self.featgen_percent = -2
        self.featgen_num_features: int | None = None
        self.featgen_seconds: float | None = None
        self.training_seconds: float | None = None
        self.storing_seconds: float | None = None
        self.iterations: list[dict[str, Any]] = []
        self.last_iteration: dict[str, Any] | None = None
        self.log: list[str] = []
        self.events: list[tuple[str, int, int]] = []

    def feed(self, line: str) -> str | None:
        """Read one line; return the event that it completes, or None."""
        self.log.append(line)
        if self.state is None:
            self.state = "FEATGEN" if line.startswith("Feature generation") else "STARTING"
            self.events.append(("start", 0, 1))
            return "start"
        event: str | None = getattr(self, f"_in_{self.state.lower()}")(line)
        if event is not None:
            self.events.append((event, self.events[-1][2], len(self.log) - (event in _ENDED_BY_NEXT)))
        return event

    @property
    def last_log(self) -> str:
        """The lines of the last event."""
        _, begin, end = self.events[-1]
        return "".join(self.log[begin:end])

    def _in_starting(self, line: str) -> None:
        if line.startswith("Feature generation"):
            self.state = "FEATGEN"

    def _in_featgen(self, line: str) -> str | None:
        if line in "0123456789.10":
            self.featgen_percent += 2
            return "featgen_progress"
        if found := _FEATURES.match(line):
            self.featgen_num_features = int(found[1])
        elif found := _SECONDS.match(line):
            self.featgen_seconds = float(found[1])
            self.state = "PREPARING"
            return "featgen_end"
        return None

    def _in_preparing(self, line: str) -> str | None:
        if _HEAD.match(line):
            self._begin_iteration(line)
            return "prepared"
        if "terminated with error" in line:
            self.state = "BETWEEN"
            return "prepare_error"
        return None

    def _begin_iteration(self, line: str) -> None:
        found = _HEAD.match(line)
        assert found is not None
        self.state = "ITERATION"
        self.last_iteration = {"num": int(found[1]), "scores": {}}
        self.iterations.append(self.last_iteration)

    def _in_iteration(self, line: str) -> str | None:
        if line == "\n":
            self.state = "BETWEEN"
            return "iteration"
        own = self.last_iteration
        assert own is not None
        for name, (pattern, number) in _NUMBERS.items():
            if found := pattern.match(line):
                own[name] = number(found[1])
        if found := _MACRO.match(line):
            own |= {f"avg_{name}": float(found[n]) for n, name in enumerate(("precision", "recall", "f1"), 1)}
        if found := _ACCURACY.match(line):
            name, share = f"{found[1].lower()}_accuracy", Fraction(int(found[2]), int(found[3]))
            own |= {name: share, f"{name}_float": float(share)}
        if found := _LABEL.match(line):
            counts = map(int, found.groups()[1:4])
            own["scores"][found[1]] = LabelScore(*counts, *map(_share, found.groups()[4:]))
        return None

    def _in_between(self, line: str) -> str | None:
        if _HEAD.match(line):
            self._begin_iteration(line)
        elif found := _TOTAL.match(line):
            self.training_seconds = float(found[1])
        elif line.startswith("Storing the model"):
            self.state = "STORING"
            return "optimization_end"
        return None

    def _in_storing(self, line: str) -> str | None:
        if line == "\n":
            return "end"
        if found := _SECONDS.match(line):
            self.storing_seconds = float(found[1])
        return None


def _share(text: str) -> float | None:
    """Return a share; None where it is undefined."""
    return None if text.startswith("*") else float(text)
