"""Confusions between parts of labels: of 1,700 morphological tags, which attribute is wrong, and what it is taken for.

Labels are divided as for the learners' option `parts` (`tagwright.label_parts`). What is compared are

* features by their names, if parts are of the form ``Case=Nom``;
* in positional tags the first character and, of labels that agree in it, the others: what a character means depends
  on the first one;
* parts by their places, otherwise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from tagwright.label_parts import split_labels

Difference = tuple[str, str, str]
"""Name of a part, its gold and its predicted value; a label without the part has the value ""."""


@dataclass(frozen=True)
class Part:
    """One part of the labels of all tokens, gold against predicted."""

    name: str
    """Of the feature, or its place."""
    tokens: int
    """Tokens of which the gold or the predicted label has it."""
    wrong: int
    """Tokens in which it differs."""
    confusions: list[tuple[str, str, int]]
    """Gold value, predicted value and how often, most frequent first; "" for labels without it."""
    right: dict[str, int] = field(repr=False)
    """How often each value is right."""

    @property
    def accuracy(self) -> float:
        """Share of the tokens that have it in which it is right."""
        return 1 - self.wrong / self.tokens


@dataclass(frozen=True)
class LabelParts:
    """Where labels that consist of parts are wrong."""

    separators: str
    """The characters between parts; empty if each character is a part."""
    parts: list[Part]
    """Those that have several values, most often wrong first."""
    wrong_parts: dict[int, int]
    """Number of wrong labels by the number of their parts that are wrong."""
    differences: list[tuple[tuple[Difference, ...], int]] = field(repr=False)
    """The wrong parts of each confusion of labels, and how often it occurs."""

    def covered(self, shown: Collection[Difference]) -> int:
        """Return the number of wrong labels all of whose wrong parts are among those shown."""
        return sum(count for parts, count in self.differences if parts and all(part in shown for part in parts))


def compare_parts(right: Mapping[str, int], confusions: Iterable[tuple[str, str, int]], separators: str) -> LabelParts:
    """Return where labels are wrong, by part.

    Parameters
    ----------
    right
        How often each label is right; every gold and predicted label is in it.
    confusions
        Gold label, predicted label and how often.
    separators
        The characters between parts; empty if each character is a part.
    """
    values = _values(list(right), separators)
    found: dict[str, Counter[str]] = {}
    wrong: dict[str, Counter[tuple[str, str]]] = {}
    for label, count in right.items():
        for name, value in values[label].items():
            found.setdefault(name, Counter())[value] += count
    differences = []
    numbers: Counter[int] = Counter()
    for gold, predicted, count in confusions:
        differ = []
        for name, pair in _pairs(values[gold], values[predicted], positional=not separators):
            if pair[0] == pair[1]:
                found.setdefault(name, Counter())[pair[0]] += count
            else:
                wrong.setdefault(name, Counter())[pair] += count
                differ.append((name, *pair))
        differences.append((tuple(differ), count))
        numbers[len(differ)] += count
    parts = []
    for name, own in found.items():  # the parts of all labels, right or not
        mistakes = wrong.get(name, Counter())
        rows = [(*pair, count) for pair, count in mistakes.items()]
        rows.sort(key=lambda row: (-row[2], row[0], row[1]))
        tokens = own.total() + mistakes.total()
        if tokens and (len(own) > 1 or rows):
            parts.append(Part(name, tokens, mistakes.total(), rows, dict(own)))
    parts.sort(key=lambda part: -part.wrong)
    return LabelParts(separators, parts, dict(sorted(numbers.items())), differences)


def _values(labels: Sequence[str], separators: str) -> dict[str, dict[str, str]]:
    """Return the parts of each label, by their names."""
    split = split_labels(labels, separators)
    if not separators:
        return {
            label: {_character(parts[0], k): part for k, part in enumerate(parts)}
            for label, parts in zip(labels, split, strict=True)
        }
    if "[" in separators:  # nothing stands between the brackets of [/N][Nom]
        split = [[part for part in parts if part] for parts in split]
    pieces = [part for parts in split for part in parts if part]
    is_named = 2 * sum("=" in part for part in pieces) > len(pieces)
    made: dict[str, dict[str, str]] = {}
    for label, parts in zip(labels, split, strict=True):
        own = made[label] = {}
        for k, part in enumerate(parts):
            key, sign, value = part.partition("=")
            if is_named and sign:
                own[key] = f"{own[key]},{value}" if key in own else value
            elif part and not (is_named and part == "_"):
                own[f"part {k + 1}"] = part
    return made


def _character(first: str, k: int) -> str:
    return f"character {k + 1} of {first}…" if k else "character 1"


def _pairs(
    gold: Mapping[str, str], predicted: Mapping[str, str], positional: bool
) -> Iterable[tuple[str, tuple[str, str]]]:
    """Return the parts of two labels that can be compared: name, gold and predicted value."""
    names = dict.fromkeys([*gold, *predicted])
    if positional and gold.get("character 1") != predicted.get("character 1"):
        names = {"character 1": None}
    return [(name, (gold.get(name, ""), predicted.get(name, ""))) for name in names]
