"""How `tag` writes its answers: as text with labels, as JSON, as spans, or as the differences between the k best."""

from __future__ import annotations

import abc
import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tagwright.data.reading import text
from tagwright.data.sentence import Sentence
from tagwright.decoding.spans import Span
from tagwright.models.as_json import finite, labelling, share
from tagwright.models.model import Tagging

__all__ = ["ANSWERS", "Answers"]

Marginals = npt.NDArray[np.float32] | None
"""(T, L), the probability of every label of every token; None unless all were asked for."""


class Answers(abc.ABC):
    """A way to write the labellings of a sentence.

    Args:
        labels: the names of a model's labels, in its order.
        k: how many labellings were asked for.

    """

    def __init__(self, labels: Sequence[str], k: int) -> None:
        """Keep what is the same for all sentences."""
        self.labels, self.k = labels, k

    @abc.abstractmethod
    def text(
        self,
        sentence: Sentence,
        taggings: Sequence[Tagging],
        marginals: Marginals,
        spans: Sequence[Span] | None = None,
    ) -> str:
        """Return what is written for a sentence; taggings: its labellings, best first; spans: where asked for."""


class Tagged(Answers):
    """The lines of the input with labels; with k > 1 once per labelling, after a line ``# rank score`` as in CRF++.

    Where there are probabilities, that line has the probability and its logarithm in place of the score.
    All probabilities are one more cell per label, ``label/probability``, as CRF++ writes them with ``-v2``.
    """

    def text(
        self,
        sentence: Sentence,
        taggings: Sequence[Tagging],
        marginals: Marginals,
        spans: Sequence[Span] | None = None,
    ) -> str:
        """Return the sentence once per labelling."""
        cells = None
        if marginals is not None:
            cells = [
                [f"{name}/{p:.6f}" for name, p in zip(self.labels, row, strict=True)] for row in marginals.tolist()
            ]
        pieces = []
        for rank, tagging in enumerate(taggings):
            if self.k > 1:
                pieces.append(f"# {rank} {_value(tagging)}\n")
            pieces.append(text(sentence, tagging.labels, tagging.marginals, cells))
        return "".join(pieces)


class Json(Answers):
    """One JSON object per line and sentence; `docs/command_line.md` has its keys."""

    def text(
        self,
        sentence: Sentence,
        taggings: Sequence[Tagging],
        marginals: Marginals,
        spans: Sequence[Span] | None = None,
    ) -> str:
        """Return a line of JSON."""
        rows, form = sentence.rows, sentence.form
        told: dict[str, Any] = {"line": sentence.first, "tokens": [row[0] for row in rows]}
        if sentence.offsets is not None:
            told["offsets"] = sentence.offsets
        if any(len(row) > 1 for row in rows):
            told["columns"] = rows
        if comments := [line for line in sentence.lines if form.is_comment(line, form.request)]:
            told["comments"] = comments
        told |= labelling(taggings[0])
        if spans is not None:
            told["spans"] = [self._span(span) for span in spans]
        if marginals is not None:
            told["distributions"] = [dict(zip(self.labels, map(share, row), strict=True)) for row in marginals.tolist()]
        if self.k > 1:
            told["kbest"] = list(map(labelling, taggings))
        return json.dumps(told, ensure_ascii=False, allow_nan=False) + "\n"

    def _span(self, span: Span) -> dict[str, Any]:
        return span._asdict() | {"log_probability": finite(span.log_probability)}


class SpanLines(Answers):
    """A line per span: its first and its last token, counted from 1, its label, its probability and its words."""

    def text(
        self,
        sentence: Sentence,
        taggings: Sequence[Tagging],
        marginals: Marginals,
        spans: Sequence[Span] | None = None,
    ) -> str:
        """Return the spans, and an empty line behind them."""
        lines = [
            [
                str(span.start + 1),
                str(span.end),
                span.label or "_",
                f"{span.probability:.6f}",
                " ".join(row[0] for row in sentence.rows[span.start : span.end]),
            ]
            for span in spans or ()
        ]
        return "".join("\t".join(line) + "\n" for line in lines) + "\n"


class Differences(Answers):
    """The best labelling in full; of each other one its rank, score and distance, and the tokens where it differs."""

    def text(
        self,
        sentence: Sentence,
        taggings: Sequence[Tagging],
        marginals: Marginals,
        spans: Sequence[Span] | None = None,
    ) -> str:
        """Return the best labelling, and what the others have in its place."""
        best = taggings[0]
        pieces = [f"# 0 {_value(best)}\n", text(sentence, best.labels, best.marginals)]
        for rank, other in enumerate(taggings[1:], 1):
            pieces.append(f"# {rank} {_value(other)} {other.score - best.score:.6f}\n")
            differ = [t for t, (own, its) in enumerate(zip(best.labels, other.labels, strict=True)) if own != its]
            rows = [[str(t + 1), sentence.rows[t][0], best.labels[t], "->", other.labels[t]] for t in differ]
            if other.marginals is not None:
                rows = [[*row, f"{other.marginals[t]:.6f}"] for t, row in zip(differ, rows, strict=True)]
            widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
            for number, *row in rows:
                cells = [number.rjust(widths[0]), *(c.ljust(w) for c, w in zip(row, widths[1:], strict=True))]
                pieces.append("  ".join(cells).rstrip() + "\n")
            pieces.append("\n")
        return "".join(pieces)


ANSWERS: dict[str, type[Answers]] = {"text": Tagged, "json": Json, "spans": SpanLines, "diff": Differences}


def _value(tagging: Tagging) -> str:
    """Return the score; or the probability, as CRF++ has it, and its logarithm, since that of long sentences is 0."""
    if tagging.probability is None or tagging.log_probability is None:
        return f"{tagging.score:.6f}"
    return f"{tagging.probability:.6f} {tagging.log_probability:.6f}"
