"""What a model keeps of its training: a dict per epoch or iteration with what was measured, and how long it took."""

from __future__ import annotations

import os
import sys
from typing import Any, TypeAlias

from tagwright import checks
from tagwright.models.facts import fact_in

History: TypeAlias = list[dict[str, float]]

FORMATS = {
    "error": ".2%",
    "objective": ",.1f",
    "log_likelihood": ",.1f",
    "gradient": ".3g",
    "kept": ".1f",
    "dev": ".2%",
    "seconds": ".1f",
}
"""Measures of an epoch or iteration, in the order in which they are shown, and their formats."""


def history_of(facts: object) -> History:
    """Return the history that a model's facts hold, without values that are not finite numbers."""
    found = fact_in(facts, list, "history")
    if found is None or not all(isinstance(fact, dict) for fact in found):
        return []
    return [
        {
            name: float(value)
            for name, value in fact.items()
            if checks.is_number(value) and abs(value) <= sys.float_info.max
        }
        for fact in found
    ]


def unit_of(facts: object) -> str:
    """Return what one entry of the history is: an epoch or an iteration."""
    return "epoch" if fact_in(facts, int, "epochs_done") is not None else "iteration"


def timed_facts(facts: dict[str, Any]) -> dict[str, Any]:
    """Return a model's facts as they are saved: without seconds if SOURCE_DATE_EPOCH is set.

    Seconds differ between runs. That variable requests reproducible files
    (https://reproducible-builds.org/specs/source-date-epoch).
    """
    if "history" not in facts or not os.environ.get("SOURCE_DATE_EPOCH"):
        return facts
    untimed = [{name: value for name, value in fact.items() if name != "seconds"} for fact in history_of(facts)]
    return {**facts, "history": untimed}
