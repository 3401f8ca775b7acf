"""Parts of labels: NN|B-NP is NN and B-NP, ncmsl1 is n, c, m, s, l and 1, Case=Nom|Number=Sing has two features.

Learners (`parts=`) and evaluations divide labels in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

SEPARATORS = ("|", ";", "+", "[]", ":")
"""What is taken for separators of parts, if labels have them."""

_SHARE = 1 / 3  # of the labels have the separator
_SHARED = 0.85  # parts are fewer than this share of the labels, or nothing is common to them
_SHARED_CHARACTERS = 1 / 3  # the same for characters: those of words are many for each place
_LONGEST = 32  # characters of a positional tag


def check_separators(parts: object) -> None:
    """Check the separators of parts: a string, which a model file can hold."""
    if not isinstance(parts, str) or re.search("[\ud800-\udfff]", parts):  # lone surrogates
        raise ValueError(f"parts must be None or a string of separators, not {parts!r}")


def split_labels(labels: Sequence[str], separators: str) -> list[list[str]]:
    """Return the parts of each label: between any of the separators, or its characters if there are no separators."""
    if not separators:
        return [list(label) for label in labels]
    between = re.compile(f"[{re.escape(separators)}]")
    return [between.split(label) for label in labels]


def find_separators(labels: Collection[str]) -> str | None:
    """Return the separators of labels that have parts in common, as `split_labels` reads them; else None.

    Among the separators that more than a third of the labels has, the one that leaves the fewest distinct parts; the
    empty string for positional tags: labels that number three times the distinct characters of their places.
    """
    names = list(dict.fromkeys(labels))
    counts = {}
    for separators in SEPARATORS:
        split = split_labels(names, separators)
        if sum(len(parts) > 1 for parts in split) > _SHARE * len(names):
            counts[separators] = _distinct(split)
    if counts:
        best = min(counts, key=counts.__getitem__)
        return best if counts[best] <= _SHARED * len(names) else None
    if not names or max(map(len, names)) > _LONGEST:
        return None
    return "" if _distinct(split_labels(names, "")) <= _SHARED_CHARACTERS * len(names) else None


def _distinct(split: Sequence[Sequence[str]]) -> int:
    return len({place for parts in split for place in enumerate(parts)})
