"""Wrong labels one by one: which words have them, and examples of each confusion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["Place", "WordErrors", "error_words", "examples_of", "wrong_places"]

Sentences = Sequence[Sequence[str]]


class Place(NamedTuple):
    """A token."""

    sentence: int
    token: int


@dataclass(frozen=True)
class WordErrors:
    """How often a word has a wrong label."""

    word: str
    wrong: int
    tokens: int
    confusion: tuple[str, str, int]
    """Its most frequent confusion: gold label, predicted label and how often."""


def wrong_places(gold: Sentences, predicted: Sentences) -> Iterator[Place]:
    """Yield the tokens whose label is wrong."""
    for s, (own, other) in enumerate(zip(gold, predicted, strict=True)):
        if own != other:
            yield from (Place(s, t) for t, (a, b) in enumerate(zip(own, other, strict=True)) if a != b)


def error_words(words: Sentences, gold: Sentences, predicted: Sentences, most: int) -> list[WordErrors]:
    """Return the words that most often have a wrong label, at most `most`."""
    count = Counter(word for sentence in words for word in sentence)
    confusions: dict[str, Counter[tuple[str, str]]] = {}
    for s, t in wrong_places(gold, predicted):
        confusions.setdefault(words[s][t], Counter())[gold[s][t], predicted[s][t]] += 1
    found = sorted(confusions.items(), key=lambda row: (-row[1].total(), count[row[0]], row[0]))
    rows = []
    for word, own in found[:most]:
        pair, times = min(own.items(), key=lambda row: (-row[1], row[0]))
        rows.append(WordErrors(word, own.total(), count[word], (*pair, times)))
    return rows


def examples_of(
    words: Sentences, gold: Sentences, predicted: Sentences, most: int
) -> dict[tuple[str, str], list[tuple[Place, int]]]:
    """Return up to `most` tokens of each confusion (gold label, predicted label).

    They are of different words, most frequent first; each is the first of its word, and how many there are is given.
    """
    places: dict[tuple[str, str], dict[str, list[Place]]] = {}
    for place in wrong_places(gold, predicted):
        s, t = place
        places.setdefault((gold[s][t], predicted[s][t]), {}).setdefault(words[s][t], []).append(place)
    return {
        pair: [(own[0], len(own)) for own in sorted(by_word.values(), key=lambda own: (-len(own), own[0]))[:most]]
        for pair, by_word in places.items()
    }
