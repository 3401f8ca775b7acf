"""The summary that `tagwright train` prints."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

from tagwright.data.output import is_stream
from tagwright.models.facts import fact_in
from tagwright.models.model import Model
from tagwright.models.summary import array_sizes, size_text
from tagwright.table import table

__all__ = ["summary"]


def summary(
    learner: Any, made: Model, size: tuple[int, ...], model: str, began: float, dev: Any, measured: bool
) -> str:
    """Return a table of what was made; measured: whether the history has the accuracy on these dev data."""
    rows = [
        ["sentences", f"{size[0]:,}"],
        ["tokens", f"{size[1]:,}"],
        ["labels", f"{len(made.labels):,}"],
        *([name, f"{size:,}"] for name, size in array_sizes(made).items()),
        *([] if is_stream(model) else [["file", size_text(os.path.getsize(model))]]),
        ["time", f"{time.perf_counter() - began:.1f} s"],
        *_progress(learner),
    ]
    if dev:
        known = _dev_accuracy(learner) if measured else None
        rows.append(["dev accuracy", f"{learner.score(*dev) if known is None else known:.2%}"])
    return table([model, ""], rows)


def _done(learner: Any) -> tuple[str, int]:
    """Return what the kept model was trained in, epochs or iterations, and how many."""
    facts = learner.model_.facts
    called = "epochs" if "epochs_done" in facts else "iterations"
    return called, fact_in(facts, int, f"{called}_done") or 0


def _progress(learner: Any) -> Iterator[list[str]]:
    """Yield how far training went, for learners that go in epochs or iterations."""
    history = getattr(learner, "history_", [])
    if history and "error" in history[-1]:
        yield ["training error", f"{history[-1]['error']:.2%}"]
    if history and "objective" in history[-1]:
        called, done = _done(learner)
        yield [called, f"{done:,}"]
        yield ["objective", f"{learner.objective_:,.1f}"]


def _dev_accuracy(learner: Any) -> float | None:
    """Return the kept model's accuracy on dev data, if training measured it with the learner's decoder."""
    history, (_, done) = getattr(learner, "history_", []), _done(learner)
    if learner.decoder != "auto" or not 1 <= done <= len(history):
        return None
    accuracy: float | None = history[done - 1].get("dev")
    return accuracy
