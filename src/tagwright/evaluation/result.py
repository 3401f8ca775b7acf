"""What an evaluation finds: precision, recall and F1 of labels and spans, and its tables for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tagwright import checks
from tagwright.cached import cached_property
from tagwright.evaluation.calibration import Calibration
from tagwright.evaluation.parts import LabelParts, compare_parts
from tagwright.evaluation.resampling import SentenceCounts, intervals
from tagwright.evaluation.span_errors import KINDS, SpanError, SpanList, span_errors
from tagwright.label_parts import find_separators
from tagwright.markup import join, notebook_table
from tagwright.table import table

if TYPE_CHECKING:
    from tagwright.evaluation.comparison import Comparison

__all__ = ["Evaluation", "Figure", "Scores", "Spans", "all_scores", "mean_f1", "scores_of"]

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
    wrong: tuple[SpanList, SpanList, list[str]] | None = field(default=None, repr=False, compare=False)
    """Gold spans that are not predicted, predicted spans that are not gold, and the names of their types."""

    @cached_property
    def errors(self) -> list[SpanError]:
        """Every span that is wrong, and what is wrong with it, in the order of the text."""
        return [] if self.wrong is None else span_errors(*self.wrong)

    @property
    def error_counts(self) -> dict[str, dict[str, int]]:
        """How many errors of each kind there are, by type; types with most errors first."""
        counts: dict[str, Counter[str]] = {}
        for error in self.errors:
            counts.setdefault(error.type, Counter())[error.kind] += 1
        ordered = sorted(counts.items(), key=lambda row: (-row[1].total(), row[0]))
        return {name: {kind: own[kind] for kind in KINDS} for name, own in ordered}


@dataclass(frozen=True)
class Figure:
    """One of the figures that sum up an evaluation."""

    key: str
    """As in `Evaluation.intervals`."""
    name: str
    value: float
    count: int | None
    """Of how many it is a share or a mean."""
    noun: str
    """What they are."""


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
    separators: str | None = None
    """The characters between the parts of labels, empty if each character is one; None: as found in the labels."""
    counts: SentenceCounts | None = field(default=None, repr=False, compare=False)
    """What each sentence of at least one token adds to the figures that have intervals."""
    right: npt.NDArray[np.bool_] | None = field(default=None, repr=False, compare=False)
    """[token]: whether its label is right."""

    @cached_property
    def intervals(self) -> dict[str, tuple[float, float]]:
        """95 % intervals of figures, by the percentile bootstrap over sentences; none with fewer than ten sentences.

        The figures are shares of tokens, sentences and spans. Means over labels or types have no interval: those that
        are rare would be missing in many resamples. Nor has the calibration error, which is larger in resamples.
        """
        return {} if self.counts is None else intervals(self.counts)

    @cached_property
    def parts(self) -> LabelParts | None:
        """Where labels are wrong, by part; None if labels have no parts."""
        names = [own.name for own in self.labels]
        separators = find_separators(names) if self.separators is None else self.separators
        if separators is None:
            return None
        right = {own.name: round(own.recall * own.support) for own in self.labels}
        return compare_parts(right, self.confusions, separators)

    def compare(self, other: Evaluation) -> Comparison:
        """Compare with the labels of another model for the same sentences, by paired tests.

        Parameters
        ----------
        other : Evaluation
            Differences are its figures minus those of this evaluation.

        Returns
        -------
        Comparison
            Figures of both, differences, intervals and p.

        Raises
        ------
        ValueError
            If the sentences are not the same.

        Examples
        --------
        >>> import tagwright as tw
        >>> gold = [["DT", "NN"]] * 20
        >>> first = tw.evaluate(gold, [["DT", "VB"]] * 20)
        >>> print(first.compare(tw.evaluate(gold, gold)).table(["old", "new"]))
        measure                   of    old     new  difference    95 % interval       p
        ------------------------  --  -----  ------  ----------  ---------------  ------
        sentence accuracy         20   0.00  100.00     +100.00  +100.00 +100.00  0.0001
        token accuracy            40  50.00  100.00      +50.00    +50.00 +50.00  0.0001
        label F1, mean of labels      33.33  100.00      +66.67
        """
        from tagwright.evaluation.comparison import compare

        return compare(self, other)

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
        shown = ["measure", "of", "%", "95 % interval"]
        blocks: list[Block] = [(shown[: len(summary[0])], summary, len(summary))]
        if self.spans:
            where = "" if self.spans.part == "whole label" else f", {self.spans.part}"
            blocks.append(_scores_block(f"span ({self.spans.scheme}{where})", self.spans.types, most))
            if self.spans.errors:
                rows = [[name, *(f"{n:,}" for n in own.values())] for name, own in self.spans.error_counts.items()]
                blocks.append((["wrong spans", *KINDS], rows, most))
        blocks.append(_scores_block("label", self.labels, most))
        if self.confusions:
            rows = [[gold, predicted, f"{count:,}"] for gold, predicted, count in self.confusions]
            blocks.append((["gold", "predicted", "count"], rows, MOST_CONFUSIONS))
        if self.parts and self.confusions:
            rows = [
                [own.name, _percent(own.accuracy), f"{own.tokens:,}", f"{own.wrong:,}"]
                for own in self.parts.parts
                if own.wrong
            ]
            blocks.append((["part of the label", "accuracy", "tokens", "wrong"], rows, MOST_CONFUSIONS))
        if self.calibration:
            rows = [
                [f"{own.low:.1f} - {own.high:.1f}", f"{own.tokens:,}", *map(_percent, (own.probability, own.accuracy))]
                for own in self.calibration.bins
            ]
            blocks.append((["probability", "tokens", "mean", "right"], rows, len(rows)))
        return blocks

    @property
    def figures(self) -> list[Figure]:
        """The figures that sum it up."""
        rows = [
            Figure("sentence_accuracy", "sentence accuracy", self.sentence_accuracy, self.sentences, "sentence"),
            Figure("token_accuracy", "token accuracy", self.token_accuracy, self.tokens, "token"),
        ]
        for key, share in (("known", self.known), ("unknown", self.unknown)):
            if share:
                rows.append(Figure(key, f"{key} words", share[0], share[1], "token"))
        if self.spans:
            micro, types = self.spans.micro, len(self.spans.types)
            rows += [
                Figure("span_precision", "span precision", micro.precision, micro.predicted, "predicted span"),
                Figure("span_recall", "span recall", micro.recall, micro.support, "gold span"),
                Figure("span_f1", "span F1", micro.f1, None, self.spans.scheme),
                Figure("span_macro_f1", "span F1, mean of types", self.spans.macro, types, "type"),
            ]
        rows.append(Figure("macro_f1", "label F1, mean of labels", self.macro_f1, len(self.labels), "label"))
        if self.calibration:
            rows.append(Figure("calibration", "calibration error", self.calibration.error, self.tokens, "token"))
        return rows

    def summary(self) -> list[list[str]]:
        """Return the rows of the first table: a measure, of how many, its value in percent, and its interval."""
        rows = []
        for own in self.figures:
            name = f"  {own.name}" if own.key in ("known", "unknown") else own.name
            ends = self.intervals.get(own.key)
            interval = [] if not self.intervals else ["{} - {}".format(*map(_percent, ends)) if ends else ""]
            rows.append([name, "" if own.count is None else f"{own.count:,}", _percent(own.value), *interval])
        return rows

    def as_dict(self) -> dict[str, Any]:
        """Return everything as dicts, lists, strings and finite numbers, for JSON."""
        found = asdict(replace(self, counts=None, right=None, spans=self.spans and replace(self.spans, wrong=None)))
        for name in ("counts", "right", "separators"):
            del found[name]
        for name in ("known", "unknown"):
            if found[name]:
                found[name] = dict(zip(("accuracy", "count"), found[name], strict=True))
        found["confusions"] = _named(self.confusions)
        if self.spans:
            del found["spans"]["wrong"]
            found["spans"]["errors"] = self.spans.error_counts
        found["parts"] = None
        if self.parts:
            rows = [
                {"name": own.name, "tokens": own.tokens, "wrong": own.wrong, "confusions": _named(own.confusions)}
                for own in self.parts.parts
            ]
            found["parts"] = {"separators": self.parts.separators, "parts": rows}
        found["intervals"] = {name: list(ends) for name, ends in self.intervals.items()}
        return found


def _named(confusions: Sequence[tuple[str, str, int]]) -> list[dict[str, Any]]:
    return [dict(zip(("gold", "predicted", "count"), row, strict=True)) for row in confusions]


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
