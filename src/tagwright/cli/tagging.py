"""How `tag` treats one input, in this process or in another: the model, the options, and the output in pieces."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from tagwright.cli.answers import WRITERS, Answer
from tagwright.cli.options import rules_of
from tagwright.constraints.constraints import Constraints
from tagwright.constraints.reading import labels_of_cell
from tagwright.data.conllu import FIELDS
from tagwright.data.reading import batches_or_answers
from tagwright.data.sentence import Form, Sentence
from tagwright.data.tokens import unsplit
from tagwright.data.upos import PENN, UPOS
from tagwright.models.facts import fact_in, label_column, tokenizer_in
from tagwright.models.limits import scheme_constraints
from tagwright.models.linear import LinearModel
from tagwright.models.model import Model, load
from tagwright.models.tagging import Tagging
from tagwright.models.upos import universal_tags

_MOST_MARGINALS = 1 << 21  # probabilities that are in memory at once


@dataclass(frozen=True)
class TagOptions:
    """The options of `tag` that decide what is written; the names are those of the command line."""

    model_path: str | None
    k: int
    proba: str | None
    as_json: bool
    to: str | None
    spans: bool
    label: str | None
    scheme: str | None
    once: tuple[str, ...]
    at_most: tuple[tuple[str, int], ...]
    at_least: tuple[tuple[str, int], ...]
    same: int | None
    dictionary: str | None
    partial: bool
    decoder: str
    threads: int
    tokenize: str
    split: bool
    format: str
    comments: bool

    @property
    def writer(self) -> str:
        """The name of the output form."""
        return "json" if self.as_json else "spans" if self.spans else self.to or "lines"

    def check(self) -> None:
        """Refuse options that contradict each other."""
        if self.to is not None and self.writer != self.to:
            raise click.ClickException(f"--to {self.to} and --{self.writer} do not go together")
        if self.to == "diff" and self.proba == "all":
            raise click.ClickException("--to diff has no place for all probabilities; use --proba")
        if self.to == "diff" and self.k < 2:
            raise click.ClickException("--to diff compares labellings; request several with -k 2 or more")
        if self.spans and self.proba == "all":
            raise click.ClickException("--spans and --proba all do not go together")
        if self.to == "slash" and self.proba:
            raise click.ClickException("--to slash has no place for probabilities; leave out --proba")


def load_for_text(path: str | None) -> Model:
    """Return a model whose features come from text."""
    model = load(path)
    if model.features is None:
        raise click.ClickException(f"{path}: a model of ready-made features, which files do not have; use it in Python")
    return model


def tokenizer_of(model: Model, tokenize: str) -> str:
    """Return the tokeniser for a model; ``"auto"`` is the one that it was trained with, or else between blanks."""
    return (tokenizer_in(model.facts) or "whitespace") if tokenize == "auto" else tokenize


def rows_of(model: Model, batch: Sequence[Sentence]) -> list[list[list[str]]]:
    """Return the tokens of a batch, after a check that they have the columns that the model reads."""
    first = batch[0]
    width = len(first.rows[0])
    if width < model.columns:
        number = first.first + first.at[0]
        own = "1 column" if width == 1 else f"{width} columns"
        raise first.form.error(number, f"{own}, but the model's {model.reader(width)}")
    return [sentence.rows for sentence in batch]


def constraints_of(model: Model, options: Mapping[str, Any]) -> Constraints | None:
    """Return the constraints of `limit_options` for a model's labels."""
    scheme, dictionary = options["scheme"], options["dictionary"]
    own = None if scheme is None else scheme_constraints(scheme, model.labels)
    more: list[dict[str, Any]] = [] if dictionary is None else [{"words": dictionary}]
    if rules := rules_of(options):
        more.append(rules)
    for one in more:
        made = Constraints(model.labels, **one)
        own = made if own is None else own & made
    return own


class Tagger:
    """A model that tags files by the options of `tag`."""

    def __init__(self, options: TagOptions) -> None:
        self._options = options
        self._model = model = load_for_text(options.model_path)
        if options.proba or options.spans:
            model.need_probabilities()
        trained = label_column(model.facts) or ""
        label = options.label or (trained if trained.split("+")[0].lower() in FIELDS else "xpos")
        # Columns with blanks between them look like a sentence; a model that was trained on such columns expects them.
        width = fact_in(model.facts, int, "data", "blanks")
        self._reading: dict[str, Any] = {
            "format": options.format,
            "comments": options.comments,
            "split": options.split,
            "fields": label,
            "widths": (width, width - 1) if width else (),
            "tokenize": tokenizer_of(model, options.tokenize),
        }
        self._upos = _upos_for(model, label, trained) if options.label else []
        self._writer = WRITERS[options.writer](model.labels, 1 if options.spans else options.k, label)
        # In Python k=1 requests the one most probable span; -k 1 is the default and stands for the best labelling.
        self._spans = (options.k if options.k > 1 else None) if options.spans else 0
        self._constraints = constraints_of(model, vars(options))
        self._number = {name: y for y, name in enumerate(model.labels)}
        # Whether the core may answer blocks of plain files.
        limited = self._constraints is not None or options.partial
        self._native = options.writer == "lines" and options.k == 1 and not (options.proba or limited or self._upos)

    def pieces(self, source: str) -> Iterator[bytes]:
        """Yield each batch of a file, tagged."""
        # Nothing here makes cycles, and looking for them takes longer than tagging with a small model.
        gc.disable()
        model, options = self._model, self._options
        most = _MOST_MARGINALS // len(model.labels) if options.proba == "all" else None
        read = batches_or_answers(source, self._answer, columns=model.columns, empty_ok=source == "-", **self._reading)
        for batch in with_notes(read, model, self._reading["tokenize"]):
            if isinstance(batch, bytes):
                yield batch
                continue
            for part in _parts(batch, most):
                yield "".join(map(self._writer.text, self._answers(part))).encode()

    def _answers(self, batch: list[Sentence]) -> Iterator[Answer]:
        model, options = self._model, self._options
        X, threads = rows_of(model, batch), options.threads
        limits: dict[str, Any] = {"constraints": self._constraints, "allowed": self._allowed(batch)}
        if self._spans != 0:
            both = model.tag_spans(X, self._spans, options.decoder, threads, **limits)
            return (Answer(own, [best], None, spans) for own, (best, spans) in zip(batch, both, strict=True))
        found = model.tag_kbest(X, self._writer.k, options.decoder, threads, bool(options.proba), **limits)
        if self._upos:
            found = self._with_upos(X, found)
        every = options.proba == "all"
        marginals = model.marginals(X, threads=threads, **limits) if every else [None] * len(batch)
        return map(Answer, batch, found, marginals)

    def _with_upos(self, X: list[list[list[str]]], found: list[list[Tagging]]) -> list[list[Tagging]]:
        """Return the labellings with UPOS tags, or with both tags as a joint label, in place of Penn tags."""
        words = [[row[0] for row in rows] for rows in X]
        repeated = [own for own, some in zip(words, found, strict=True) for _ in some]
        penn = [own.labels for some in found for own in some]
        upos = iter(universal_tags(repeated, penn, self._options.threads))

        def named(labels: list[str]) -> list[str]:
            parts = {"xpos": labels, "upos": next(upos)}
            return ["|".join(both) for both in zip(*(parts[field] for field in self._upos), strict=True)]

        return [[own._replace(labels=named(own.labels)) for own in some] for some in found]

    def _answer(self, form: Form, block: bytes) -> bytes | None:
        """Return a block of lines with labels, by the core alone; None where it has to be read here."""
        lines = form.line_format() if self._native else None
        if lines is None or not isinstance(self._model, LinearModel):
            return None
        answer = self._model.tag_lines(block, lines, self._options.decoder, self._options.threads)
        if answer is not None:
            _print_note(form)
        return answer

    def _allowed(self, batch: Sequence[Sentence]) -> list[list[list[str] | None]] | None:
        """Return the labels that the last column allows, with --partial."""
        if not self._options.partial:
            return None
        columns = self._model.columns
        for own in batch:
            if own.rows and len(own.rows[0]) <= columns:
                what = f"--partial needs labels in a column behind the {columns} that the model reads"
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


def _upos_for(model: Model, label: str, trained: str) -> list[str]:
    """Return the requested fields if UPOS tags are to be derived from Penn tags, else none; refuse other labels."""
    fields = label.lower().split("+")
    if "upos" not in fields or "upos" in trained.lower().split("+") or {*model.labels} <= UPOS:
        return []
    if {*fields} <= {"upos", "xpos"} and {*model.labels} <= PENN:
        return fields
    some = ", ".join(model.labels[:5])
    remedy = "write them with --label xpos, or train a model on --label upos"
    raise click.ClickException(f"--label {label}: the model's labels ({some}) are not UPOS tags; {remedy}")


Batch = TypeVar("Batch", list[Sentence], list[Sentence] | bytes)
"""Sentences, or the output of sentences that are answered already."""


def with_notes(batches: Iterable[Batch], model: Model, tokenize: str) -> Iterator[Batch]:
    """Yield the same; report on standard error what was guessed of the file, and text whose tokens are not split."""
    looking = (
        tokenize == "whitespace" and tokenizer_in(model.facts) in (None, "english") and model.knows("") is not None
    )
    for batch in batches:
        if not isinstance(batch, bytes):
            _print_note(batch[-1].form)
            if looking and (warning := _unsplit(batch, model)):
                click.echo(f"Warning: {warning}", err=True)
                looking = False
        yield batch


def _print_note(form: Form) -> None:
    if form.note:
        click.echo(f"Note: {form.note}", err=True)
        form.note = ""


def _unsplit(batch: list[Sentence], model: Model) -> str:
    """Return a warning about the first token of text of which the model knows the pieces only, or nothing."""
    for sentence in batch:
        if sentence.spans is not None and (pieces := unsplit(sentence.lines[0], lambda word: bool(model.knows(word)))):
            place, known = f"{sentence.form.request.file}:{sentence.first}", " and ".join(map(repr, pieces))
            remedy = "use --tokenize english for raw English, or --tokenize none if the text is tokenised"
            return f"{place}: {''.join(pieces)!r} is one token, but the model knows {known}; {remedy}"
    return ""


def _parts(batch: list[Sentence], most: int | None) -> Iterator[list[Sentence]]:
    """Yield the sentences of a batch in parts of at most this many tokens, or of one sentence; None: all at once."""
    begin = tokens = 0
    for at, sentence in enumerate(batch):
        tokens += len(sentence.rows)
        if most is not None and at > begin and tokens > most:
            yield batch[begin:at]
            begin, tokens = at, len(sentence.rows)
    yield batch[begin:]
