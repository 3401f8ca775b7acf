"""A model's facts: metadata and history of its training, which anyone may have written, and which are checked."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeVar

from tagwright import checks
from tagwright.data.conllu import FIELDS
from tagwright.data.tokens import TOKENIZERS

OWN = {
    "attribution", "backoff", "bidirectional", "columns", "data", "epochs_done", "first_only", "history",
    "iterations_done", "learner", "memm", "options", "sentences", "tokens", "temperature", "unlabelled",
    "version",
}  # fmt: skip
"""The names of the facts that tagwright itself writes; all others are the user's."""

Kind = TypeVar("Kind")


def fact_in(facts: object, kind: type[Kind], *path: str) -> Kind | None:
    """Return the fact at this path, such as ``"data", "label"``; None where there is none, or none of this kind."""
    for name in path:
        facts = facts.get(name) if isinstance(facts, Mapping) else None
    return facts if isinstance(facts, kind) and not (kind is int and isinstance(facts, bool)) else None


def checked(facts: object, name: str, check: Callable[[Any], None], otherwise: dict[str, Any]) -> dict[str, Any]:
    """Return the options that the facts have under a name, if they pass the check; else those that did before."""
    given = fact_in(facts, dict, name)
    try:
        check(given)
    except (KeyError, TypeError, ValueError):
        return otherwise
    return given or otherwise


def label_column(facts: object) -> str | None:
    """Return the column of labels in training, in the form of ``--label``; None where it is not known."""
    label = fact_in(facts, str, "data", "label")
    named = {*FIELDS, "last"}
    whole = label is not None and all(part.isdecimal() or part.lower() in named for part in label.split("+"))
    return label if whole else None


def tokenizer_in(facts: object) -> str | None:
    """Return the name of the tokeniser that the model was trained with, where its facts say so."""
    name = fact_in(facts, str, "data", "tokenize")
    return name if name in TOKENIZERS else None


def plain(facts: dict[Any, Any]) -> dict[str, Any]:
    """Return facts as a file gives them back; ValueError for what JSON cannot hold."""
    kept: dict[str, Any] = {}
    for name, value in facts.items():
        try:
            text = json.dumps({name: value}, ensure_ascii=False, allow_nan=False)
            text.encode()
            kept |= json.loads(text)
        except (TypeError, ValueError, RecursionError) as error:
            raise ValueError(f"the fact {name!r} cannot be saved: {error}; JSON must be able to hold it") from None
    return kept


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
