"""Labels of a corpus: what is known of them, their numbers and parts; and the weights of sentences."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from tagwright import checks
from tagwright.data.corpus import CorpusLabels
from tagwright.models.facts import fact_in
from tagwright.models.model import Model

Known: TypeAlias = str | frozenset[str] | None
"""A token's label; some of which one is right; or None where nothing is known."""
Weights: TypeAlias = npt.NDArray[np.float64]
MOST_LABELS = 65_535
_HEAVIEST = 1e9  # of a sentence


def known_labels(y: Sequence[Sequence[Any]], first: int = 0) -> tuple[Sequence[Sequence[Any]], bool]:
    """Return labels with sets of one label as that label, and whether a token is left that has no single one.

    Where every label is a string, y itself is returned. first: the number of the first sentence, for messages.
    """
    if isinstance(y, CorpusLabels):
        return y, y.partial
    if all(type(label) is str for labels in y for label in labels):
        return y, False
    made = [[_known(label, s, t) for t, label in enumerate(labels)] for s, labels in enumerate(y, first)]
    return made, any(label is None or isinstance(label, frozenset) for labels in made for label in labels)


def _known(label: object, s: int, t: int) -> object:
    if not isinstance(label, AbstractSet):
        return label  # anything but a label or None is reported when labels are counted
    names = frozenset(label)
    if not names:
        raise ValueError(f"y[{s}][{t}] is an empty set, so no label is allowed; None allows any")
    if wrong := next((name for name in names if not isinstance(name, str)), None):
        raise ValueError(f"y[{s}][{t}] holds {checks.shown(wrong)}; the labels of a set are strings")
    return next(iter(names)) if len(names) == 1 else names


def label_counts(
    y: Sequence[Sequence[Any]], weights: Weights | None, count: Counter[Any] | None = None
) -> Counter[Any]:
    """Return how often each label is given; of a set, each counts for its share of a token.

    weights: of sentences; count: of sentences that came before, to be added to.
    """
    count = Counter() if count is None else count
    try:
        return _counted(y, weights, count)
    except TypeError as error:
        raise ValueError(f"labels must be strings: {error}") from None


def _counted(y: Sequence[Sequence[Any]], weights: Weights | None, count: Counter[Any]) -> Counter[Any]:
    if weights is None and not any(isinstance(label, AbstractSet) or label is None for own in y for label in own):
        for labels in y:
            count.update(labels)
        return count
    for s, labels in enumerate(y):
        weight = 1 if weights is None else float(weights[s])
        for label in labels:
            names: Collection[object] = label if isinstance(label, AbstractSet) else () if label is None else (label,)
            for name in names:
                count[name] += weight if len(names) == 1 else weight / len(names)  # type: ignore[assignment]
    return count


class Marks(NamedTuple):
    """Labels as the core takes them."""

    ids: npt.NDArray[np.int32]
    """Of every token; -1 where it has no single label."""
    allowed_end: npt.NDArray[np.uint64]
    """Of every token, in `allowed`; empty where all labels are known."""
    allowed: npt.NDArray[np.int32]
    """The labels that a token may have that has no single one; none where it may have any."""


class Numbers(dict[str, int]):
    """The number of each label by its name."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__((name, n) for n, name in enumerate(names))

    def __missing__(self, name: object) -> int:
        raise ValueError(f"label {name!r} is new: y changed while it was read")


def rank(y: Sequence[Sequence[Any]], first: Sequence[str] = (), weights: Weights | None = None) -> list[str]:
    """Return the label names by frequency, most frequent first; those of `first` that y does not have come last.

    weights: of the sentences.
    """
    return rank_counted(label_counts(y, weights), any(len(labels) for labels in y), first)


def rank_counted(counted: Counter[Any], tokens: bool, first: Sequence[str] = ()) -> list[str]:
    """Return the same for labels that were counted; tokens: whether there is a token at all."""
    count: Counter[Any] = Counter(dict.fromkeys(first, 0))
    count.update(counted)
    for name in count:
        if not isinstance(name, str):
            raise ValueError(f"labels must be strings, not {type(name).__name__} ({name!r})")
        if not name or not name.isprintable():
            raise ValueError(f"label {name!r} is empty or holds characters that cannot be printed")
    if not count:
        raise ValueError("every label of y is None" if tokens else "there is no token to learn from")
    if len(count) > MOST_LABELS:
        raise ValueError(f"{len(count):,} labels; a model has at most {MOST_LABELS:,}")
    return sorted(count, key=lambda name: (-count[name], name))


def numbers(y: Iterable[Iterable[Any]], names: Sequence[str]) -> npt.NDArray[np.int32]:
    """Return the labels of all tokens as numbers."""
    number = Numbers(names)
    return np.fromiter((number[label] for labels in y for label in labels), np.int32)


def marks(y: Sequence[Sequence[Known]], names: Sequence[str]) -> Marks:
    """Return labels by their numbers among the names."""
    number = Numbers(names)
    ids, allowed, ends = [], [], []
    for labels in y:
        for label in labels:
            if isinstance(label, str):
                ids.append(number[label])
            else:
                ids.append(-1)
                allowed += sorted(number[name] for name in label or ())
            ends.append(len(allowed))
    return Marks(np.array(ids, np.int32), np.array(ends, np.uint64), np.array(allowed, np.int32))


def checked_weights(sample_weight: object, sentences: int) -> Weights | None:
    """Return the weight of each sentence, after a check; None where none are given."""
    if sample_weight is None:
        return None
    try:
        weights = np.asarray(sample_weight, np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"sample_weight must hold a number per sentence, not {checks.shown(sample_weight)}") from None
    if weights.shape != (sentences,):
        raise ValueError(f"sample_weight must hold one number per sentence: {sentences}, not {weights.shape}")
    wrong = np.flatnonzero(~((weights >= 0) & (weights <= _HEAVIEST)))
    if len(wrong):
        raise ValueError(f"sample_weight[{wrong[0]}] is {weights[wrong[0]]}; weights are from 0 to 1e9")
    if sentences and not weights.any():
        raise ValueError("sample_weight is 0 for every sentence; there is nothing to learn from")
    return None if (weights == 1).all() else np.ascontiguousarray(weights)


def check_same_parts(old: Model, parts: str | None) -> None:
    """Check that a model that training starts from has the same parts."""
    its = fact_in(old.facts, str, "options", "parts")
    if its != parts:
        raise ValueError(f"warm_start: the model was trained with parts={its!r}; set parts={its!r}")


def label_parts(labels: Sequence[str], separator: str | None) -> tuple[npt.NDArray[np.uint16], int]:
    """Return the number of each label's k-th part at [k * L + label], and how many parts there are."""
    if separator is None:
        return np.empty(0, np.uint16), 0
    between = re.compile(f"[{re.escape(separator)}]") if separator else None
    split = [between.split(label) if between else list(label) for label in labels]
    each = max(map(len, split))
    number: dict[tuple[int, str], int] = {}
    named = ((k, pieces[k] if k < len(pieces) else "") for k in range(each) for pieces in split)
    parts = [number.setdefault(name, len(number)) for name in named]
    if len(labels) + len(number) > np.iinfo(np.uint16).max:
        raise ValueError(f"{len(labels)} labels with {len(number)} parts are more than 65,535 together")
    return np.array(parts, np.uint16), len(number)
