"""What `tag` does with one input, in this process or in another: the model, the options, and the answers in pieces."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import click

from tagwright.cli.answers import ANSWERS
from tagwright.cli.raw_text import advised, tell_guess
from tagwright.constraints.constraints import Constraints
from tagwright.constraints.reading import labels_of_cell
from tagwright.data.conllu import FIELDS
from tagwright.data.reading import batches_or_answers
from tagwright.data.sentence import Form, Sentence
from tagwright.models.facts import fact_in, label_column, tokenizer_in
from tagwright.models.limits import scheme_constraints
from tagwright.models.linear import LinearModel
from tagwright.models.model import Model, load

__all__ = ["Tagger", "Wanted", "load_for_text", "rows_of"]

_MOST_MARGINALS = 1 << 21  # probabilities that are in memory at once


@dataclass(frozen=True)
class Wanted:
    """What `tag` is asked for, wherever its input comes from and its output goes to; the names are those of options."""

    model_path: str | None
    k: int
    proba: str | None
    as_json: bool
    diff: bool
    spans: bool
    label: str | None
    scheme: str | None
    dictionary: str | None
    partial: bool
    decoder: str
    threads: int
    tokenize: str
    split: bool
    format: str
    comments: bool

    def check(self) -> None:
        """Refuse options that do not go together."""
        if self.diff and (self.as_json or self.proba == "all"):
            what = "--json" if self.as_json else "all of --proba all"
            raise click.ClickException(f"--diff is for people; leave out {what}")
        if self.diff and self.k < 2:
            raise click.ClickException("--diff compares labellings; ask for some with -k 2 or more")
        if self.spans and (self.diff or self.proba == "all"):
            other = "--diff" if self.diff else "--proba all"
            raise click.ClickException(f"--spans and {other} do not go together")


def load_for_text(path: str | None) -> Model:
    """Return a model whose features come from text."""
    model = load(path)
    if model.features is None:
        raise click.ClickException(f"{path}: a model of ready-made features, which files do not have; use it in Python")
    return model


def rows_of(model: Model, batch: Sequence[Sentence]) -> list[list[list[str]]]:
    """Return the tokens of a batch, after a check that they have the columns that the model reads."""
    first = batch[0]
    width = len(first.rows[0])
    if width < model.columns:
        number = first.first + first.at[0]
        own = "1 column" if width == 1 else f"{width} columns"
        raise first.form.error(number, f"{own}, but the model's {model.reader(width)}")
    return [sentence.rows for sentence in batch]


class Tagger:
    """A model that tags files as it is asked to."""

    def __init__(self, wanted: Wanted) -> None:
        """Open the model; refuse what it does not have."""
        self._wanted = wanted
        self._model = model = load_for_text(wanted.model_path)
        if wanted.proba or wanted.spans:
            model.need_probabilities()
        label = wanted.label
        if label is None:
            trained = label_column(model.facts) or ""
            label = trained if trained.split("+")[0].lower() in FIELDS else "xpos"
        # Columns with blanks between them look like a sentence; a model that was trained on such columns expects them.
        width = fact_in(model.facts, int, "data", "blanks")
        auto = wanted.tokenize == "auto"
        self._asked: dict[str, Any] = {
            "format": wanted.format,
            "comments": wanted.comments,
            "split": wanted.split,
            "fields": label,
            "widths": (width, width - 1) if width else (),
            "tokenize": (tokenizer_in(model.facts) or "whitespace") if auto else wanted.tokenize,
        }
        form = "json" if wanted.as_json else "spans" if wanted.spans else "diff" if wanted.diff else "text"
        self._answers = ANSWERS[form](model.labels, 1 if wanted.spans else wanted.k)
        # One most probable span is asked for in Python; -k 1 is what is asked for without -k.
        self._spans = (wanted.k if wanted.k > 1 else None) if wanted.spans else 0
        self._limits = _Limits(model, wanted.scheme, wanted.dictionary, wanted.partial)
        # Whether blocks of plain files may be answered by the core alone.
        self._short = form == "text" and wanted.k == 1 and not wanted.proba and not self._limits

    def pieces(self, source: str) -> Iterator[bytes]:
        """Yield each batch of a file, tagged."""
        # Nothing here makes cycles, and looking for them takes longer than tagging with a small model.
        gc.disable()
        model, wanted, answers = self._model, self._wanted, self._answers
        most = _MOST_MARGINALS // len(model.labels) if wanted.proba == "all" else None
        read = batches_or_answers(source, self._shortcut, columns=model.columns, empty_ok=source == "-", **self._asked)
        for batch in advised(read, model, self._asked["tokenize"]):
            if isinstance(batch, bytes):
                yield batch
                continue
            for part in _parts(batch, most):
                X = rows_of(model, part)
                under = self._limits.of(part)
                if self._spans != 0:
                    both = model.tag_spans(X, self._spans, wanted.decoder, wanted.threads, **under)
                    pieces = (answers.text(own, [best], None, its) for own, (best, its) in zip(part, both, strict=True))
                    yield "".join(pieces).encode()
                    continue
                found = model.tag_kbest(X, answers.k, wanted.decoder, wanted.threads, bool(wanted.proba), **under)
                every = wanted.proba == "all"
                marginals = model.marginals(X, threads=wanted.threads, **under) if every else [None] * len(part)
                yield "".join(map(answers.text, part, found, marginals)).encode()

    def _shortcut(self, form: Form, block: bytes) -> bytes | None:
        lines = form.lines() if self._short else None
        if lines is None or not isinstance(self._model, LinearModel):
            return None
        answer = self._model.tag_lines(block, lines, self._wanted.decoder, self._wanted.threads)
        if answer is not None:
            tell_guess(form)
        return answer


class _Limits:
    """What the command line says of labels beside the model."""

    def __init__(self, model: Model, scheme: str | None, dictionary: str | None, partial: bool) -> None:
        self._constraints: Constraints | None = None
        if scheme is not None:
            self._constraints = scheme_constraints(scheme, model.labels)
        if dictionary is not None:
            words = Constraints(model.labels, words=dictionary)
            self._constraints = words if self._constraints is None else self._constraints & words
        self._partial, self._columns = partial, model.columns
        self._number = {name: y for y, name in enumerate(model.labels)}

    def __bool__(self) -> bool:
        """Return whether anything is said."""
        return self._constraints is not None or self._partial

    def of(self, batch: Sequence[Sentence]) -> dict[str, Any]:
        """Return what limits the sentences of a batch, as models take it."""
        return {"constraints": self._constraints, "allowed": self._lists(batch) if self._partial else None}

    def _lists(self, batch: Sequence[Sentence]) -> list[list[list[str] | None]]:
        for own in batch:
            if own.rows and len(own.rows[0]) <= self._columns:
                what = f"--partial wants labels in a column behind the {self._columns} that the model reads"
                raise own.form.error(own.first + own.at[0], what)
        return [[self._labels(own, t) for t in range(len(own.rows))] for own in batch]

    def _labels(self, sentence: Sentence, t: int) -> list[str] | None:
        cell = sentence.rows[t][-1]
        if cell == "_":
            return None
        labels = labels_of_cell(cell, self._number)
        unknown = next((name for name in labels if name not in self._number), None)
        if unknown is not None:
            raise sentence.form.error(sentence.first + sentence.at[t], f"the model has no label {unknown!r}")
        return labels


def _parts(batch: list[Sentence], most: int | None) -> Iterator[list[Sentence]]:
    """Yield the sentences of a batch, as many at a time as have so many tokens, at least one; None: all at once."""
    begin = tokens = 0
    for at, sentence in enumerate(batch):
        tokens += len(sentence.rows)
        if most is not None and at > begin and tokens > most:
            yield batch[begin:at]
            begin, tokens = at, len(sentence.rows)
    yield batch[begin:]
