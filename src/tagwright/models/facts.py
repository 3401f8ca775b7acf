"""A model's facts: metadata of its training, which anyone may have written and which is therefore checked."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from tagwright.data.conllu import FIELDS
from tagwright.data.tokens import TOKENIZERS

OWN = {
    "attribution", "backoff", "bidirectional", "columns", "data", "epochs_done", "first_only", "history",
    "iterations_done", "learner", "memm", "options", "sentences", "tokens", "unlabelled", "version",
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
