"""Constraints as the arrays of a model file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tagwright.constraints.constraints import Constraints, Rule
from tagwright.constraints.counting import CountRule
from tagwright.constraints.reading import Ints, word_arrays

__all__ = ["SOFT", "from_arrays", "from_word_index", "to_arrays"]

Arrays = dict[str, npt.NDArray[Any]]

PREFIX = "constraints."
SOFT = "soft."
"""The prefix of the constraints of a MEMM that are relaxed at a token where they leave no labelling."""


def to_arrays(constraints: Constraints | None, prefix: str = PREFIX) -> Arrays:
    """Return arrays whose names begin with a prefix; none for no constraints."""
    if constraints is None:
        return {}
    made: Arrays = {
        "names": _bytes("\n".join(rule.name for rule in constraints.rules)),
        "entry": np.concatenate([np.zeros(0, np.int32), *(rule.entry for rule in constraints.rules)]),
        "exit": np.concatenate([np.zeros(0, np.int32), *(rule.exit for rule in constraints.rules)]),
        "previous": constraints.forbidden[:, 0],
        "current": constraints.forbidden[:, 1],
    }
    for name in ("start", "stop"):
        if (flags := getattr(constraints, name)) is not None:
            made[name] = flags.astype(np.uint8)
    if constraints.words is not None:
        words, made["word_end"], made["list_end"], made["list"] = word_arrays(constraints.words)
        made["words"] = np.frombuffer(words, np.uint8)
    if constraints.unknown is not None:
        made["unknown"] = constraints.unknown
    if constraints.accept:
        raise ValueError("accept is a Python function, which a model file cannot hold; pass it when tagging")
    if rules := constraints.counts:
        made["count_names"] = _bytes("\n".join(rule.name.replace("\n", " ") for rule in rules))
        made["count_least"], made["count_most"] = np.array([rule[1:3] for rule in rules], np.int32).T
        made["count_end"] = np.cumsum([len(rule.labels) for rule in rules], dtype=np.uint64)
        made["count_label"] = np.concatenate([rule.labels for rule in rules])
        made["count_flags"] = np.concatenate([rule.flags for rule in rules])
        made["limit"] = np.array([constraints.limit], np.int32)
    return {prefix + name: np.ascontiguousarray(array) for name, array in made.items()}


def from_arrays(
    labels: Sequence[str], arrays: Mapping[str, npt.NDArray[Any]], prefix: str = PREFIX
) -> Constraints | None:
    """Return the constraints of a file, or None; ValueError where they fit neither labels nor each other."""
    own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
    if not own:
        return None
    L = len(labels)
    made = Constraints._of(list(labels))
    text = _text(own["names"])
    names = text.split("\n") if text else []
    entry, exits = (own[name].astype(np.int32) for name in ("entry", "exit"))
    if len(entry) != len(names) * L or len(exits) != len(entry):
        raise ValueError("constraints: rules for another number of labels")
    made.rules = [Rule(name, entry[n * L : n * L + L], exits[n * L : n * L + L]) for n, name in enumerate(names)]
    if len(own["previous"]) != len(own["current"]):
        raise ValueError("constraints: pairs of one label")
    made.forbidden = np.stack([own["previous"], own["current"]], axis=1).astype(np.int32)
    for name in ("start", "stop"):
        if name in own:
            setattr(made, name, own[name].astype(bool))
    if "words" in own:
        made.words = _words(own, L)
    if "unknown" in own:
        made.unknown = _checked(own["unknown"], L)
    if "count_names" in own:
        made.counts, made.limit = _counts(own), int(own["limit"].item())
    made.core()  # checks the rules for pairs
    made.labelling_core()  # checks the rules about whole labellings
    return made


def _counts(own: Mapping[str, npt.NDArray[Any]]) -> list[CountRule]:
    names, ends = _text(own["count_names"]).split("\n"), own["count_end"].astype(np.int64).tolist()
    counts = [own[f"count_{part}"].tolist() for part in ("least", "most")]
    rows = list(zip(names, *counts, [0, *ends[:-1]], ends, strict=True))
    labels, flags = own["count_label"].astype(np.int32), own["count_flags"].astype(np.uint8)
    if not rows or ends[-1] != len(labels) or any(begin > end for *_, begin, end in rows):
        raise ValueError("constraints: rules about whole labellings do not fit together")
    return [CountRule(name, least, most, labels[a:b], flags[a:b]) for name, least, most, a, b in rows]


def from_word_index(labels: Sequence[str], arrays: Mapping[str, npt.NDArray[Any]]) -> Constraints | None:
    """Return the tag dictionary of a MEMM that was saved by version 0.5.0: the arrays dictionary.*."""
    if not any(name.startswith("dictionary.") for name in arrays):
        return None
    parts = {"words": "bytes", "word_end": "ends", "list": "label", "list_end": "end"}
    own = {name: arrays[f"dictionary.{part}"] for name, part in parts.items()}
    made = Constraints._of(list(labels))
    made.words = _words(own, len(labels))
    if not all(len(own) for own in made.words.values()):
        raise ValueError("tag dictionary: a word without labels")
    return made


def _words(own: Mapping[str, npt.NDArray[Any]], L: int) -> dict[str, Ints]:
    data, labels = own["words"].tobytes(), own["list"]
    ends = [own[name].astype(np.int64) for name in ("word_end", "list_end")]
    for end, size in zip(ends, (len(data), len(labels)), strict=True):
        if len(ends[0]) != len(end) or (np.diff(end, prepend=0) < 0).any() or (end[-1] if len(end) else 0) != size:
            raise ValueError("constraints: words and lists do not fit together")
    words: dict[str, Ints] = {}
    at, first = 0, 0
    for stop, last in zip(*(end.tolist() for end in ends), strict=True):
        words[data[at:stop].decode("utf-8", "surrogatepass")] = _checked(labels[first:last], L, empty=True)
        at, first = stop, last
    return words


def _checked(labels: npt.NDArray[Any], L: int, empty: bool = False) -> Ints:
    if (not len(labels) and not empty) or (len(labels) and (labels.min() < 0 or labels.max() >= L)):
        raise ValueError("constraints: a list without labels, or of labels that are not there")
    if (np.diff(labels.astype(np.int64)) <= 0).any():
        raise ValueError("constraints: labels out of order")
    return np.array(labels, np.int32)


def _bytes(text: str) -> npt.NDArray[np.uint8]:
    return np.frombuffer(text.encode(), np.uint8)


def _text(array: npt.NDArray[Any]) -> str:
    return array.astype(np.uint8).tobytes().decode()
