"""Sentences tagged and compared with their gold labels, batch by batch: all labels, and some sentences whole."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

from tagwright.constraints.constraints import Constraints
from tagwright.decoding.decoders import Decoder
from tagwright.evaluation.breakdown import wilson
from tagwright.evaluation.evaluate import evaluate
from tagwright.evaluation.result import Evaluation
from tagwright.label_parts import find_separators
from tagwright.models.facts import fact_in
from tagwright.models.model import Model
from tagwright.models.native import Sentences
from tagwright.models.tagging import word_of

Item = TypeVar("Item")

Known = str | frozenset[str] | None
"""A gold label, a set of labels of which one is right, or None where nothing is known."""

NO_TOKEN = "(no token)"
"""Stands for the label of a gold token that the tokeniser did not find."""


class Tagged(NamedTuple):
    """A sentence with its gold labels and those of the model."""

    number: int
    """Its place among all sentences, from 0."""
    tokens: Sequence[object]
    gold: list[str]
    predicted: list[str]
    probabilities: list[float] | None
    """Of the predicted labels, if the model has any."""
    whole: Sequence[object] | None = None
    """The sentence as it was tagged; None where it has the same tokens."""
    places: list[int | None] | None = None
    """Where the tokens are in the whole sentence; None for a token that it does not have."""

    @property
    def wrong(self) -> list[int]:
        """The tokens whose label is wrong."""
        return [t for t, (own, other) in enumerate(zip(self.gold, self.predicted, strict=True)) if own != other]


class Collected:
    """Words and labels of all sentences that were added, tagged by one model.

    Parameters
    ----------
    model
        Tags the sentences.
    decoder
        The decoder.
    threads
        Threads over the sentences.
    worst
        How many sentences are kept whole: those with the highest density of errors, which is the lower end of Wilson's
        interval for the share of wrong labels. So neither long sentences nor those of one word come first.
    constraints
        Rules for labellings, beside those of the model.
    confident
        How many wrong labels are kept with their sentence: those with the highest probability.

    """

    def __init__(
        self,
        model: Model,
        decoder: str | Decoder = "auto",
        threads: int = 1,
        worst: int = 0,
        constraints: Constraints | None = None,
        confident: int = 0,
    ) -> None:
        self.model, self.decoder, self.threads, self.constraints = model, decoder, threads, constraints
        self.probabilistic = model.has_probabilities(constraints)
        self.words: list[list[str]] = []
        self.gold: list[list[str]] = []
        self.predicted: list[list[str]] = []
        self._vocabulary: dict[str, str] = {}
        self._knows = model.knows("") is not None
        self._known: list[list[bool]] = []
        self._probabilities: list[list[float]] = []
        self._worst = Largest[Tagged](worst)
        self._confident = Largest[tuple[Tagged, int]](confident)

    def add(
        self,
        X: Sentences,
        gold: Sequence[Sequence[Known]],
        gold_tokens: Sequence[Sequence[object]] | None = None,
        places: Sequence[Sequence[int | None]] | None = None,
    ) -> None:
        """Tag sentences and keep their labels.

        Parameters
        ----------
        X
            The sentences to tag.
        gold
            Their gold labels. One may be a set: a label of the set is right. A token whose label is None is left out.
        gold_tokens, places
            Where the sentences of X are split differently: the gold tokens, and for each its index in the sentence of
            X. None stands for a gold token that X does not have; its label is wrong, and there is no calibration.
        """
        proba, under = self.probabilistic, self.constraints
        answers = self.model.tag_kbest(X, 1, self.decoder, self.threads, proba, constraints=under)
        for s, (whole, truth, found) in enumerate(zip(X, gold, answers, strict=True)):
            tokens, labels, shares = whole, found[0].labels, found[0].marginals
            at: list[int | None] | None = None
            if places is not None and gold_tokens is not None:
                tokens, at, shares = gold_tokens[s], list(places[s]), None
                labels = [NO_TOKEN if t is None else labels[t] for t in at]
            if not all(isinstance(label, str) for label in truth):
                known = [t for t, label in enumerate(truth) if label is not None]
                at = [t if at is None else at[t] for t in known]
                tokens, labels = [tokens[t] for t in known], [labels[t] for t in known]
                shares = None if shares is None else [shares[t] for t in known]
                truth = [_resolved(truth[t], own) for t, own in zip(known, labels, strict=True)]  # noqa: PLW2901
            sentence = Tagged(len(self.gold), tokens, [str(label) for label in truth], labels, shares)
            if at is not None:
                sentence = sentence._replace(whole=whole, places=at)
            self._keep(sentence)

    def _keep(self, sentence: Tagged) -> None:
        words = [self._vocabulary.setdefault(word, word) for word in map(word_of, sentence.tokens)]
        self.words.append(words)
        self.gold.append(sentence.gold)
        self.predicted.append(sentence.predicted)
        if self._knows:
            self._known.append([bool(self.model.knows(word)) for word in words])
        if sentence.probabilities is not None:
            self._probabilities.append(sentence.probabilities)
        if sentence.gold == sentence.predicted or len(sentence.gold) != len(sentence.predicted):
            return
        wrong = sentence.wrong
        self._worst.add((wilson(len(wrong), len(words))[0], -sentence.number), sentence)
        if sentence.probabilities is not None:
            for t in wrong:
                self._confident.add((sentence.probabilities[t], -sentence.number, -t), (sentence, t))

    def worst(self) -> list[Tagged]:
        """Return the sentences with the highest density of errors, highest first."""
        return self._worst.kept()

    def confident(self) -> list[tuple[Tagged, int]]:
        """Return the wrong labels with the highest probability, highest first: sentence and token."""
        return self._confident.kept()

    def evaluation(self) -> Evaluation:
        """Return how good the labels are."""
        known = self._known if self._knows else None
        parts = fact_in(self.model.facts, str, "options", "parts")
        if parts is None:
            parts = find_separators(self.model.labels)
        return evaluate(self.gold, self.predicted, known, self._probabilities or None, parts=parts)


class Largest(Generic[Item]):
    """The items with the largest keys, of which no two are equal, at most `most`."""

    def __init__(self, most: int) -> None:
        self._most, self._heap = most, list[tuple[tuple[float, ...], Item]]()

    def add(self, key: tuple[float, ...], item: Item) -> None:
        """Keep an item while its key is among the largest."""
        if len(self._heap) < self._most:
            heapq.heappush(self._heap, (key, item))
        elif self._most and key > self._heap[0][0]:
            heapq.heapreplace(self._heap, (key, item))

    def kept(self) -> list[Item]:
        """Return the items, the one with the largest key first."""
        return [item for _, item in sorted(self._heap, key=lambda entry: entry[0], reverse=True)]


def _resolved(gold: Known, predicted: str) -> str:
    """Return the predicted label if a set of gold labels has it, or else the first label of the set."""
    if gold is None or isinstance(gold, str):
        return gold or ""
    return predicted if predicted in gold else min(gold)
