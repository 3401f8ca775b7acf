"""How good predicted labels are: accuracies, scores for each label, scores for spans, and what is confused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from tagwright import checks
from tagwright.table import table

__all__ = ["Evaluation", "Scores", "Spans", "evaluate"]

Sentences = Sequence[Sequence[str]]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

MOST_CONFUSIONS = 10  # that are printed

PREFIXES = "OBIESLUM"
SCHEMES = {"I": "IO", "BI": "BIO", "BIES": "IOBES", "BILU": "BILOU", "BMES": "BMES"}  # smallest first

# Whether prefix p before prefix t closes a span, and whether t after p opens one, where both have the same type.
CLOSES = np.array([[p in "ES" or (p in "BI" and t in "BSO") for t in PREFIXES] for p in PREFIXES])
OPENS = np.array([[t in "BS" or (t in "IE" and p in "OES") for t in PREFIXES] for p in PREFIXES])

# Where the span part of a label may be, in the order tried. A label without the separator has no span part.
PARTS: dict[str, Callable[[str], str]] = {
    "whole label": lambda label: label,
    'after "|"': lambda label: label.rpartition("|")[2] if "|" in label else "",
    'after ":"': lambda label: label.partition(":")[2],
}


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
    """Accuracy on the words met in training, and their count. None if there are none, or nobody said."""
    unknown: tuple[float, int] | None
    """The same for the other words."""
    confusions: list[tuple[str, str, int]]
    """Gold label, predicted label and how often, most frequent first."""

    def table(self, most: int = 20) -> str:
        """Lay everything out for people, in percent; at most `most` types and labels, and ten confusions."""
        checks.at_least_one("table(most=...)", most)
        blocks = [table(["measure", "of", "%"], self._summary())]
        if self.spans:
            where = "" if self.spans.part == "whole label" else f", {self.spans.part}"
            blocks.append(_scores_table(f"span ({self.spans.scheme}{where})", self.spans.types, most))
        blocks.append(_scores_table("label", self.labels, most))
        if self.confusions:
            rows = [[gold, predicted, f"{count:,}"] for gold, predicted, count in self.confusions]
            blocks.append(_cut_table(["gold", "predicted", "count"], rows, MOST_CONFUSIONS))
        return "\n\n".join(blocks)

    def _summary(self) -> list[list[str]]:
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
        return rows

    def as_dict(self) -> dict[str, Any]:
        """Give everything as dicts, lists, strings and finite numbers, for JSON."""
        found = asdict(self)
        for name in ("known", "unknown"):
            if found[name]:
                found[name] = dict(zip(("accuracy", "count"), found[name], strict=True))
        keys = ("gold", "predicted", "count")
        found["confusions"] = [dict(zip(keys, row, strict=True)) for row in self.confusions]
        return found


def evaluate(gold: Sentences, predicted: Sentences, known: Sequence[Sequence[bool]] | None = None) -> Evaluation:
    """Compare predicted with gold labels, both a list of label names for each sentence.

    known: for each word, whether it was met in training; splits the accuracy.

    Spans are scored where every gold label is O or PREFIX-TYPE, PREFIX being one of B I O E S L U M, and at least one
    is B, I, S or U. Joint labels count too: if not the whole labels, then the parts after their last "|"
    (``NN|B-NP``), or else those after their first ":" (``alarm_query:B-date``) may all be of that form. A predicted
    label that is not counts as O. The numbers are those of seqeval's default mode, as conlleval has it for BIO:

    * A span opens at B and S, at I and E after O, E or S, and wherever the type changes.
    * A span closes after E and S, after B and I before B, S or O, and wherever the type changes.

    So L, U and M only go on with a span of their type, as in seqeval: where a span of the same type follows at once,
    the two are merged or the first is lost. Rewrite L to E, U to S and M to I to have each counted.
    """
    lengths = _lengths(gold, predicted, "predicted labels")
    if not lengths.sum():
        raise ValueError("there are no tokens to evaluate")
    names = list(dict.fromkeys(chain(chain.from_iterable(gold), chain.from_iterable(predicted))))
    index = {name: y for y, name in enumerate(names)}
    truth, guess = (_numbers(map(index.__getitem__, chain.from_iterable(y))) for y in (gold, predicted))
    right = truth == guess
    met = None if known is None else _known(gold, known)
    labels = _all_scores(names, truth[right], truth, guess)
    return Evaluation(
        sentences=int((lengths > 0).sum()),
        tokens=len(truth),
        token_accuracy=float(right.mean()),
        sentence_accuracy=float(np.logical_and.reduceat(right, (lengths.cumsum() - lengths)[lengths > 0]).mean()),
        macro_f1=_mean_f1(labels),
        labels=labels,
        spans=_spans(names, truth, guess, lengths),
        known=None if met is None else _share(right[met]),
        unknown=None if met is None else _share(right[~met]),
        confusions=_confusions(names, truth[~right], guess[~right]),
    )


def _lengths(gold: Sentences, other: Sequence[Sequence[object]], what: str) -> Ints:
    """Count the tokens of each sentence, and check that the other has as many."""
    if any(isinstance(sentence, str) for sentence in chain(gold, other)):
        raise ValueError("give a list of labels for each sentence, not one string")
    if len(gold) != len(other):
        raise ValueError(f"{len(gold)} sentences in gold but {len(other)} of {what}")
    for s, (own, others) in enumerate(zip(gold, other, strict=True)):
        if len(own) != len(others):
            raise ValueError(f"sentence {s} has {len(own)} gold labels but {len(others)} {what}")
    return _numbers(map(len, gold))


def _numbers(values: Iterable[int]) -> Ints:
    return np.fromiter(values, dtype=np.int64)


def _known(gold: Sentences, known: Sequence[Sequence[bool]]) -> Bools:
    _lengths(gold, known, "marks in known")
    return np.fromiter(chain.from_iterable(known), dtype=np.bool_)


def _share(right: Bools) -> tuple[float, int] | None:
    return (float(right.mean()), len(right)) if len(right) else None


def _scores(name: str, right: int, support: int, predicted: int) -> Scores:
    precision = right / predicted if predicted else 0.0
    recall = right / support if support else 0.0
    f1 = 2 * precision * recall / (precision + recall) if right else 0.0
    return Scores(name, precision, recall, f1, support, predicted)


def _all_scores(names: Sequence[str], right: Ints, truth: Ints, guess: Ints) -> list[Scores]:
    """Score every name that occurs; the arrays hold numbers of names, `right` once for each that is right."""
    counts = [np.bincount(numbers, minlength=len(names)).tolist() for numbers in (right, truth, guess)]
    scores = [_scores(*row) for row in zip(names, *counts, strict=True)]
    occur = [own for own in scores if own.support or own.predicted]
    return sorted(occur, key=lambda own: (-own.support, own.name))


def _mean_f1(scores: Sequence[Scores]) -> float:
    return sum(own.f1 for own in scores) / len(scores) if scores else 0.0


def _confusions(names: Sequence[str], truth: Ints, guess: Ints) -> list[tuple[str, str, int]]:
    pairs, counts = np.unique(truth * len(names) + guess, return_counts=True)
    rows = [
        (names[pair // len(names)], names[pair % len(names)], count)
        for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True)
    ]
    return sorted(rows, key=lambda row: (-row[2], row[0], row[1]))


def _span_part(part: str) -> tuple[str, str] | None:
    """Split into prefix and type, or None if it is not O or PREFIX-TYPE. The type of O is "_", as in seqeval."""
    if part == "O":
        return "O", "_"
    prefix, _, kind = part.partition("-")
    return (prefix, kind) if len(prefix) == 1 and prefix in PREFIXES and kind else None


def _spans(names: Sequence[str], truth: Ints, guess: Ints, lengths: Ints) -> Spans | None:
    """Score the spans of the first part that has them in all gold labels."""
    gold = [names[y] for y in np.unique(truth)]
    for where, part in PARTS.items():
        read = [_span_part(part(label)) for label in gold]
        prefixes = {own[0] for own in read if own}
        if all(read) and prefixes & set("BISU"):
            parts = [_span_part(part(label)) or ("O", "_") for label in names]
            scheme = next((SCHEMES[own] for own in SCHEMES if prefixes <= {"O", *own}), "mixed")
            return _score_spans(scheme, where, parts, truth, guess, lengths)
    return None


def _score_spans(
    scheme: str, where: str, parts: Sequence[tuple[str, str]], truth: Ints, guess: Ints, lengths: Ints
) -> Spans:
    """Score spans, given the prefix and type of each label."""
    kinds = list(dict.fromkeys(["_", *(kind for _, kind in parts)]))
    number = {kind: k for k, kind in enumerate(kinds)}
    prefix_of = _numbers(PREFIXES.index(prefix) for prefix, _ in parts)
    kind_of = _numbers(number[kind] for _, kind in parts)

    # Each sentence is followed by one more O, so that no span leaves it.
    places = np.arange(len(truth)) + np.repeat(np.arange(len(lengths)), lengths)
    found = []
    for labels in (truth, guess):
        prefix, kind = np.zeros((2, len(truth) + len(lengths)), dtype=np.int64)
        prefix[places], kind[places] = prefix_of[labels], kind_of[labels]
        found.append((*_find_spans(prefix, kind), kind[:-1]))
    (gold_last, gold_first, gold_kind), (last, first, kind) = found

    right = gold_last & last & (gold_first == first) & (gold_kind == kind)
    types = _all_scores(kinds, kind[right], gold_kind[gold_last], kind[last])
    micro = _scores("all", int(right.sum()), int(gold_last.sum()), int(last.sum()))
    return Spans(scheme, where, micro, _mean_f1(types), types)


def _find_spans(prefix: Ints, kind: Ints) -> tuple[Bools, Ints]:
    """Find, for each token but the last, whether a span ends with it, and where the last span up to it began."""
    changes = kind[:-1] != kind[1:]
    closes = CLOSES[prefix[:-1], prefix[1:]] | (changes & (prefix[:-1] != 0))
    opens = OPENS[prefix[:-1], prefix[1:]] | (changes & (prefix[1:] != 0))
    first = np.zeros(len(prefix), dtype=np.int64)
    first[1:][opens] = np.flatnonzero(opens) + 1
    return closes, np.maximum.accumulate(first)[:-1]


def _percent(share: float) -> str:
    return f"{100 * share:.2f}"


def _cut_table(header: Sequence[str], rows: Sequence[Sequence[str]], most: int) -> str:
    text = table(header, rows[:most])
    return text if len(rows) <= most else f"{text}\n... and {len(rows) - most:,} more"


def _scores_table(what: str, scores: Sequence[Scores], most: int) -> str:
    rows = [
        [own.name, *map(_percent, (own.precision, own.recall, own.f1)), f"{own.support:,}", f"{own.predicted:,}"]
        for own in scores
    ]
    return _cut_table([what, "precision", "recall", "F1", "gold", "predicted"], rows, most)
