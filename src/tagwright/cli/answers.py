"""The output forms of `tag`: lines with labels, CoNLL-U, word/TAG, JSON, spans, and differences of the k best."""

from __future__ import annotations

import abc
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tagwright.data.conllu import Conllu
from tagwright.data.reading import text
from tagwright.data.sentence import Request, Sentence
from tagwright.decoding.spans import Span
from tagwright.models.model import Tagging
from tagwright.models.tagging import finite, labelling, share


@dataclass(frozen=True)
class Answer:
    """What is known of a sentence once it is tagged."""

    sentence: Sentence
    taggings: Sequence[Tagging]
    """Its labellings, best first."""
    marginals: npt.NDArray[np.float32] | None = None
    """(T, L): the probability of every label of every token, if requested."""
    spans: Sequence[Span] | None = None
    """If requested."""


class Writer(abc.ABC):
    """Writes answers in one form; fields: where labels go in CoNLL-U (upos, xpos, feats or a joint)."""

    def __init__(self, labels: Sequence[str], k: int, fields: str) -> None:
        self.labels, self.k, self.fields = labels, k, fields

    @abc.abstractmethod
    def text(self, answer: Answer) -> str:
        """Return the text of a sentence, with what separates it from the next."""


class Lines(Writer):
    """The lines of the input with labels; with k > 1 once per labelling, after a line ``# rank score`` as in CRF++.

    With probabilities, that line has the probability and its logarithm in place of the score. All probabilities are
    one more cell per label, ``label/probability``, as CRF++ writes them with ``-v2``.
    """

    def text(self, answer: Answer) -> str:
        """Return the sentence once per labelling."""
        cells = None
        if answer.marginals is not None:
            rows = answer.marginals.tolist()
            cells = [[f"{name}/{p:.6f}" for name, p in zip(self.labels, row, strict=True)] for row in rows]
        sentence = self.written(answer.sentence)
        pieces = []
        for rank, tagging in enumerate(answer.taggings):
            if self.k > 1:
                pieces.append(f"# {rank} {_value(tagging)}\n")
            pieces.append(text(sentence, tagging.labels, tagging.marginals, cells))
        return "".join(pieces)

    def written(self, sentence: Sentence) -> Sentence:
        """Return the sentence whose lines are written: as it was read."""
        return sentence


class ConlluLines(Lines):
    """CoNLL-U from any input; text keeps its own text and where blanks are missing (``SpaceAfter=No``)."""

    def written(self, sentence: Sentence) -> Sentence:
        """Return the sentence as CoNLL-U without labels."""
        form = sentence.form
        if isinstance(form, Conllu):
            return sentence
        lines = [line for line in sentence.lines if form.is_comment(line, form.request)]
        misc = ["_"] * len(sentence.rows)
        if (offsets := sentence.offsets) is not None and offsets:
            lines.append(f"# text = {' '.join(sentence.lines[0][offsets[0][0] : offsets[-1][1]].split())}")
            for t in range(len(offsets) - 1):
                if offsets[t][1] == offsets[t + 1][0]:
                    misc[t] = "SpaceAfter=No"
        first = len(lines)
        for number, (row, note) in enumerate(zip(sentence.rows, misc, strict=True), 1):
            lines.append("\t".join([str(number), row[0], *"_" * 7, note]))
        at = list(range(first, len(lines)))
        request = Request(form.request.file, fields=self.fields)
        return Sentence(sentence.rows, None, lines, at, sentence.first, Conllu("", sentence.first, request))


class SlashLines(Writer):
    """A line per sentence of ``word/TAG``; with k > 1 a line per labelling, after a line ``# rank score``."""

    def text(self, answer: Answer) -> str:
        """Return a line per labelling."""
        words = [row[0] for row in answer.sentence.rows]
        pieces = []
        for rank, tagging in enumerate(answer.taggings):
            if self.k > 1:
                pieces.append(f"# {rank} {_value(tagging)}\n")
            pieces.append(" ".join(map("/".join, zip(words, tagging.labels, strict=True))) + "\n")
        return "".join(pieces)


class Json(Writer):
    """One JSON object per line and sentence; `docs/command_line.md` has its keys."""

    def text(self, answer: Answer) -> str:
        """Return a line of JSON."""
        sentence = answer.sentence
        rows, form = sentence.rows, sentence.form
        payload: dict[str, Any] = {"line": sentence.first, "tokens": [row[0] for row in rows]}
        if sentence.offsets is not None:
            payload["offsets"] = sentence.offsets
        if any(len(row) > 1 for row in rows):
            payload["columns"] = rows
        if comments := [line for line in sentence.lines if form.is_comment(line, form.request)]:
            payload["comments"] = comments
        payload |= labelling(answer.taggings[0])
        if answer.spans is not None:
            payload["spans"] = [
                span._asdict() | {"log_probability": finite(span.log_probability)} for span in answer.spans
            ]
        if answer.marginals is not None:
            shares = answer.marginals.tolist()
            payload["distributions"] = [dict(zip(self.labels, map(share, row), strict=True)) for row in shares]
        if self.k > 1:
            payload["kbest"] = list(map(labelling, answer.taggings))
        return json.dumps(payload, ensure_ascii=False, allow_nan=False) + "\n"


class SpanLines(Writer):
    """A line per span: its first and its last token, counted from 1, its label, its probability and its words."""

    def text(self, answer: Answer) -> str:
        """Return the spans, and an empty line after them."""
        lines = [
            [
                str(span.start + 1),
                str(span.end),
                span.label or "_",
                f"{span.probability:.6f}",
                " ".join(row[0] for row in answer.sentence.rows[span.start : span.end]),
            ]
            for span in answer.spans or ()
        ]
        return "".join("\t".join(line) + "\n" for line in lines) + "\n"


class Differences(Writer):
    """The best labelling in full; of each other one its rank, score and distance, and the tokens where it differs."""

    def text(self, answer: Answer) -> str:
        """Return the best labelling, and what the others have in its place."""
        sentence, (best, *others) = answer.sentence, answer.taggings
        pieces = [f"# 0 {_value(best)}\n", text(sentence, best.labels, best.marginals)]
        for rank, other in enumerate(others, 1):
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


WRITERS: dict[str, type[Writer]] = {
    "lines": Lines,
    "conllu": ConlluLines,
    "slash": SlashLines,
    "json": Json,
    "spans": SpanLines,
    "diff": Differences,
}


def _value(tagging: Tagging) -> str:
    """Return the score; or the probability, as CRF++ has it, and its logarithm, since that of long sentences is 0."""
    if tagging.probability is None or tagging.log_probability is None:
        return f"{tagging.score:.6f}"
    return f"{tagging.probability:.6f} {tagging.log_probability:.6f}"
