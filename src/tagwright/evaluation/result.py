"""What an evaluation finds: precision, recall and F1 of labels and spans, and its tables for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tagwright import checks
from tagwright.evaluation.calibration import Calibration
from tagwright.markup import join, notebook_table
from tagwright.table import table

__all__ = ["Evaluation", "Scores", "Spans", "all_scores", "mean_f1", "scores_of"]

Ints = npt.NDArray[np.int64]

Block: TypeAlias = tuple[list[str], list[list[str]], int]
"""Header and rows of a table, and how many of the rows are shown."""

MOST_LABELS = 20  # that are printed, of labels and of types of spans
MOST_CONFUSIONS = 10


@dataclass(frozen=True)
class Scores:
    """Precision, recall and F1 from 0 to 1; 0 where they are undefined."""

    name: str
    precision: float
    recall: float
    f1: float
    support: int
    """How many there are in gold."""
    predicted: int
    """How many were predicted."""


@dataclass(frozen=True)
class Spans:
    """Scores of whole spans: a predicted span is right if its first token, last token and type are."""

    scheme: str
    """By the prefixes in gold: "IO", "BIO", "IOBES", "BILOU", "BMES", or "mixed"."""
    part: str
    """Which part of the labels was read: 'whole label', 'after "|"' or 'after ":"'."""
    micro: Scores
    """All spans together."""
    macro: float
    """Mean F1 of the types."""
    types: list[Scores]
    """Every type in gold or predicted, most frequent in gold first."""


@dataclass(frozen=True)
class Evaluation:
    """What `evaluate` found. Shares are from 0 to 1."""

    sentences: int
    """Sentences of at least one token; empty ones count nowhere."""
    tokens: int
    token_accuracy: float
    sentence_accuracy: float
    """Share of the sentences in which every label is right."""
    macro_f1: float
    """Mean F1 of the labels."""
    labels: list[Scores]
    """Every label in gold or predicted, most frequent in gold first."""
    spans: Spans | None
    """None where the labels are not span labels."""
    known: tuple[float, int] | None
    """Accuracy on words observed in training, and their count; None if there are none, or if it is not known."""
    unknown: tuple[float, int] | None
    """The same for the other words."""
    confusions: list[tuple[str, str, int]]
    """Gold label, predicted label and how often, most frequent first."""
    calibration: Calibration | None = None
    """How good the probabilities of the predicted labels are. None if they were not given."""

    def table(self, most: int = MOST_LABELS) -> str:
        """Return tables of everything, in percent; at most `most` types and labels, and ten confusions."""
        checks.at_least_one("table(most=...)", most)
        return "\n\n".join(_cut_table(*block) for block in self._blocks(most))

    def _repr_html_(self) -> str:
        """Return the same tables for a notebook."""
        return join(notebook_table(header, rows, most=most) for header, rows, most in self._blocks(MOST_LABELS))

    def _blocks(self, most: int) -> list[Block]:
        """Return the header and the rows of each table, and how many rows are shown."""
        summary = self.summary()
        blocks: list[Block] = [(["measure", "of", "%"], summary, len(summary))]
        if self.spans:
            where = "" if self.spans.part == "whole label" else f", {self.spans.part}"
            blocks.append(_scores_block(f"span ({self.spans.scheme}{where})", self.spans.types, most))
        blocks.append(_scores_block("label", self.labels, most))
        if self.confusions:
            rows = [[gold, predicted, f"{count:,}"] for gold, predicted, count in self.confusions]
            blocks.append((["gold", "predicted", "count"], rows, MOST_CONFUSIONS))
        if self.calibration:
            rows = [
                [f"{own.low:.1f} - {own.high:.1f}", f"{own.tokens:,}", *map(_percent, (own.probability, own.accuracy))]
                for own in self.calibration.bins
            ]
            blocks.append((["probability", "tokens", "mean", "right"], rows, len(rows)))
        return blocks

    def summary(self) -> list[list[str]]:
        """Return the rows of the first table: a measure, of how many, and its value in percent."""
        rows = [
            ["sentence accuracy", f"{self.sentences:,}", _percent(self.sentence_accuracy)],
            ["token accuracy", f"{self.tokens:,}", _percent(self.token_accuracy)],
        ]
        for name, share in [("  known words", self.known), ("  unknown words", self.unknown)]:
            if share:
                rows.append([name, f"{share[1]:,}", _percent(share[0])])
        if self.spans:
            micro = self.spans.micro
            rows += [
                ["span precision", f"{micro.predicted:,}", _percent(micro.precision)],
                ["span recall", f"{micro.support:,}", _percent(micro.recall)],
                ["span F1", "", _percent(micro.f1)],
                ["span F1, mean of types", f"{len(self.spans.types):,}", _percent(self.spans.macro)],
            ]
        rows.append(["label F1, mean of labels", f"{len(self.labels):,}", _percent(self.macro_f1)])
        if self.calibration:
            rows.append(["calibration error", f"{self.tokens:,}", _percent(self.calibration.error)])
        return rows

    def as_dict(self) -> dict[str, Any]:
        """Return everything as dicts, lists, strings and finite numbers, for JSON."""
        found = asdict(self)
        for name in ("known", "unknown"):
            if found[name]:
                found[name] = dict(zip(("accuracy", "count"), found[name], strict=True))
        keys = ("gold", "predicted", "count")
        found["confusions"] = [dict(zip(keys, row, strict=True)) for row in self.confusions]
        return found


def scores_of(name: str, right: int, support: int, predicted: int) -> Scores:
    """Return the scores of one name: how many are right, in gold, and predicted."""
    precision = right / predicted if predicted else 0.0
    recall = right / support if support else 0.0
    f1 = 2 * precision * recall / (precision + recall) if right else 0.0
    return Scores(name, precision, recall, f1, support, predicted)


def all_scores(names: Sequence[str], right: Ints, truth: Ints, guess: Ints) -> list[Scores]:
    """Return the scores of every name that occurs, most frequent in gold first.

    The arrays hold numbers of names: of what is right, of all in gold, and of all predicted.
    """
    counts = [np.bincount(numbers, minlength=len(names)).tolist() for numbers in (right, truth, guess)]
    scores = [scores_of(*row) for row in zip(names, *counts, strict=True)]
    occur = [own for own in scores if own.support or own.predicted]
    return sorted(occur, key=lambda own: (-own.support, own.name))


def mean_f1(scores: Sequence[Scores]) -> float:
    """Return the mean of F1; 0 where there are no scores."""
    return sum(own.f1 for own in scores) / len(scores) if scores else 0.0


def _percent(share: float) -> str:
    return f"{100 * share:.2f}"


def _cut_table(header: Sequence[str], rows: Sequence[Sequence[str]], most: int) -> str:
    text = table(header, rows[:most])
    return text if len(rows) <= most else f"{text}\n... and {len(rows) - most:,} more"


def _scores_block(what: str, scores: Sequence[Scores], most: int) -> Block:
    rows = [
        [own.name, *map(_percent, (own.precision, own.recall, own.f1)), f"{own.support:,}", f"{own.predicted:,}"]
        for own in scores
    ]
    return [what, "precision", "recall", "F1", "gold", "predicted"], rows, most
