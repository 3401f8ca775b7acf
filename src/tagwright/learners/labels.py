"""Labels of a corpus: what is known of them, their numbers and parts; and the weights of sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from tagwright import checks
from tagwright.data.corpus import CorpusLabels
from tagwright.label_parts import split_labels
from tagwright.models.facts import fact_in
from tagwright.models.model import Model

Known: TypeAlias = str | frozenset[str] | None
"""A token's label; some of which one is right; or None where nothing is known."""
Weights: TypeAlias = npt.NDArray[np.float64]
MOST_LABELS = 65_535
_HEAVIEST = 1e9  # of a sentence


def known_labels(y: Sequence[Sequence[Any]], first: int = 0) -> CorpusLabels:
    """Return labels with each distinct one held once, and a set of one label as that label.

    first: the number of the first sentence, for messages.
    """
    if isinstance(y, CorpusLabels):
        return y
    number: dict[Any, int] = {}
    ids: list[int] = []
    lengths = []
    try:
        for s, labels in enumerate(y, first):
            before = len(ids)
            for t, label in enumerate(labels):
                own = label if type(label) is str else _known(label, s, t)
                ids.append(number.setdefault(own, len(number)))
            lengths.append(len(ids) - before)
    except TypeError as error:
        raise ValueError(f"labels must be strings: {error}") from None
    return CorpusLabels(list(number), np.array(ids, np.int32), lengths)


def _known(label: object, s: int, t: int) -> object:
    if not isinstance(label, AbstractSet):
        return label  # anything but a label or None is reported when labels are counted
    names = frozenset(label)
    if not names:
        raise ValueError(f"y[{s}][{t}] is an empty set, so no label is allowed; None allows any")
    if wrong := next((name for name in names if not isinstance(name, str)), None):
        raise ValueError(f"y[{s}][{t}] holds {checks.shown(wrong)}; the labels of a set are strings")
    return next(iter(names)) if len(names) == 1 else names


def label_counts(y: CorpusLabels, weights: Weights | None = None, count: Counter[Any] | None = None) -> Counter[Any]:
    """Return how often each label is given; of a set, each counts for its share of a token.

    weights: of sentences; count: of sentences that came before, to be added to. Shares are added in the order of the
    tokens, so that the sums do not depend on how a corpus is divided.
    """
    count = Counter() if count is None else count
    sets = [known if isinstance(known, frozenset) else () if known is None else (known,) for known in y.known]
    names = list(dict.fromkeys(name for own in sets for name in own))
    number = LabelNumbers(names)
    which, ends = _gathered([[number[name] for name in own] for own in sets], y.ids)
    lengths = np.diff(ends, prepend=0)
    shares = 1.0 if weights is None else np.repeat(weights, y.lengths)
    sums = np.array([count[name] for name in names], np.float64)
    np.add.at(sums, which, np.repeat(shares / np.maximum(lengths, 1), lengths))
    for name, total in zip(names, sums.tolist(), strict=True):
        count[name] = int(total) if total.is_integer() else total
    return count


def _gathered(
    lists: Sequence[Sequence[int]], which: npt.NDArray[np.int32]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the lists of these numbers concatenated, and where each ends."""
    sizes = np.array([len(own) for own in lists], np.int64)
    flat = np.array([item for own in lists for item in own], np.int64)
    begins = np.cumsum(sizes) - sizes
    lengths = sizes[which]
    ends = np.cumsum(lengths)
    at = np.arange(lengths.sum()) - np.repeat(ends - lengths, lengths) + np.repeat(begins[which], lengths)
    return flat[at], ends


class Marks(NamedTuple):
    """Labels as the core takes them."""

    ids: npt.NDArray[np.int32]
    """Of every token; -1 where it has no single label."""
    allowed_end: npt.NDArray[np.uint64]
    """Of every token, in `allowed`; empty where all labels are known."""
    allowed: npt.NDArray[np.int32]
    """The labels that a token may have that has no single one; none where it may have any."""


class LabelNumbers(dict[str, int]):
    """The number of each label by its name."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__((name, n) for n, name in enumerate(names))

    def __missing__(self, name: object) -> int:
        raise ValueError(f"label {name!r} is new: y changed while it was read")


def rank(y: Sequence[Sequence[Any]], first: Sequence[str] = (), weights: Weights | None = None) -> list[str]:
    """Return the label names by frequency, most frequent first; those of `first` that y does not have come last.

    weights: of the sentences.
    """
    labels = known_labels(y)
    return rank_counted(label_counts(labels, weights), len(labels.ids) > 0, first)


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


def numbers(y: CorpusLabels, names: Sequence[str]) -> npt.NDArray[np.int32]:
    """Return the labels of all tokens by their numbers among the names, -1 where one is partly known."""
    number = LabelNumbers(names)
    own = [-1 if known is None or isinstance(known, frozenset) else number[known] for known in y.known]
    return np.array(own, np.int32)[y.ids]


def marks(y: CorpusLabels, names: Sequence[str]) -> Marks:
    """Return the labels of all tokens, some of which are partly known."""
    number = LabelNumbers(names)
    sets = [known if isinstance(known, frozenset) else () for known in y.known]
    allowed, ends = _gathered([sorted(number[name] for name in own) for own in sets], y.ids)
    return Marks(numbers(y, names), ends.astype(np.uint64), allowed.astype(np.int32))


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
    split = split_labels(labels, separator)
    each = max(map(len, split))
    number: dict[tuple[int, str], int] = {}
    named = ((k, pieces[k] if k < len(pieces) else "") for k in range(each) for pieces in split)
    parts = [number.setdefault(name, len(number)) for name in named]
    if len(labels) + len(number) > np.iinfo(np.uint16).max:
        raise ValueError(f"{len(labels)} labels with {len(number)} parts are more than 65,535 together")
    return np.array(parts, np.uint16), len(number)
