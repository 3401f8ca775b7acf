"""`tagwright tag`: labels for a file or a pipe."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import click

from tagwright.cli.answers import ANSWERS, Answers
from tagwright.cli.options import COUNT, INPUT, OUTPUT, reading_options, tagging_options, tokenize_option
from tagwright.cli.raw_text import advised, tell_guess
from tagwright.constraints.constraints import Constraints
from tagwright.constraints.reading import labels_of_cell
from tagwright.data.conllu import FIELDS
from tagwright.data.output import is_standard_output, writing
from tagwright.data.reading import batches_or_answers
from tagwright.data.sentence import Form, Sentence
from tagwright.models.facts import fact_in, label_column, tokenizer_in
from tagwright.models.limits import scheme_constraints
from tagwright.models.linear import LinearModel
from tagwright.models.model import Model, load

__all__ = ["load_for_text", "rows_of", "tag"]

_SHARES = ("label", "all")
_MOST_MARGINALS = 1 << 21  # probabilities that are in memory at once


class _Tag(click.Command):
    """A command whose --proba may stand alone: what follows is its value only if it is one."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Write out the value where it is left out, but for what stands after --."""
        end = args.index("--") if "--" in args else len(args)
        read: list[str] = []
        for arg in args[:end]:
            if read and read[-1] == "--proba":
                read[-1] = f"--proba={arg if arg in _SHARES else _SHARES[0]}"
                if arg in _SHARES:
                    continue
            read.append(arg)
        if read and read[-1] == "--proba":
            read[-1] = f"--proba={_SHARES[0]}"
        return super().parse_args(ctx, read + args[end:])


@click.command(cls=_Tag)
@click.argument("source", metavar="[INPUT]", default="-", type=INPUT)
@click.option("-k", type=COUNT, default=1, help="Number of labellings per sentence, with their scores.")
@click.option(
    "--proba",
    type=click.Choice(_SHARES),
    help="Add probabilities: of each token's label, which --proba alone means, or of all labels; with -k also of each "
    "labelling.",
)
@click.option("--json", "as_json", is_flag=True, help="Write a JSON object per sentence, each on one line.")
@click.option("--diff", is_flag=True, help="With -k: write the best labelling, and where others differ.")
@click.option(
    "--spans",
    is_flag=True,
    help="Write spans in place of labels, each with its probability: those of the best labelling, or with -k the k "
    "most probable of any. With --json, add them.",
)
@click.option("-o", "--output", type=OUTPUT, default="-", help="Output file; - is standard output.")
@click.option(
    "-l", "--label", help="Where labels go in CoNLL-U; by default where they were in training, or else to XPOS."
)
@click.option(
    "--scheme", metavar="NAME[:PART]", help="Label scheme that labellings keep to: BIO, IOBES, ...; BIO:1 for part 1."
)
@click.option(
    "--dictionary",
    type=INPUT,
    help="File of lines of a word, a tab and the labels that it may have, with commas between them.",
)
@click.option(
    "--partial",
    is_flag=True,
    help="The last column of INPUT has the labels that a token may have, such as NN,VB; _ stands for any.",
)
@tagging_options
@tokenize_option("How text becomes tokens; auto: as the model was trained, or else between blanks.")
@click.option(
    "--no-split",
    "split",
    is_flag=True,
    flag_value=False,
    default=True,
    show_default=False,
    help="Take each line of text for one sentence; --tokenize english may find several in it.",
)
@reading_options
def tag(
    source: str,
    k: int,
    proba: str | None,
    as_json: bool,
    diff: bool,
    spans: bool,
    output: str,
    label: str | None,
    scheme: str | None,
    dictionary: str | None,
    partial: bool,
    model_path: str | None,
    decoder: str,
    threads: int,
    tokenize: str,
    **asked: Any,
) -> None:
    """Tag INPUT, by default standard input: write each line with its label as another column.

    INPUT has one token per line, or is CoNLL-U, or plain text with a sentence or paragraph per line, which --tokenize
    splits into tokens. With -k a line '# rank score' stands before each labelling. With --proba the probability of
    each label is one more column (in CoNLL-U, Prob= in MISC), and with -k that of the whole labelling and its logarithm
    replace the score. With --proba all the probability of every label follows, as label/probability.

    \b
    Example:
      echo "Time flies like an arrow." | tagwright tag -k 5
      echo "Time flies like an arrow." | tagwright tag -k 5 --diff
      tagwright tag -m pos.safetensors --json test.txt
      tagwright tag -m chunk.safetensors --scheme BIO test.txt
      tagwright tag -m pos.safetensors --threads 2 test.txt.xz -o tagged.txt
    """
    if diff and (as_json or proba == "all"):
        raise click.ClickException(f"--diff is for people; leave out {'--json' if as_json else 'all of --proba all'}")
    if diff and k < 2:
        raise click.ClickException("--diff compares labellings; ask for some with -k 2 or more")
    if spans and (diff or proba == "all"):
        raise click.ClickException(f"--spans and {'--diff' if diff else '--proba all'} do not go together")
    model = load_for_text(model_path)
    if proba or spans:
        model.need_probabilities()
    if label is None:
        trained = label_column(model.facts) or ""
        label = trained if trained.split("+")[0].lower() in FIELDS else "xpos"
    # Columns with blanks between them look like a sentence; a model that was trained on such columns expects them.
    width = fact_in(model.facts, int, "data", "blanks")
    asked |= {"fields": label, "widths": (width, width - 1) if width else ()}
    asked["tokenize"] = (tokenizer_in(model.facts) or "whitespace") if tokenize == "auto" else tokenize
    # Nothing here makes cycles, and looking for them takes longer than tagging with a small model.
    gc.disable()
    form = "json" if as_json else "spans" if spans else "diff" if diff else "text"
    answers = ANSWERS[form](model.labels, 1 if spans else k)
    # One most probable span is asked for in Python; -k 1 is what is asked for without -k.
    span_count = (k if k > 1 else None) if spans else 0
    limits = _Limits(model, scheme, dictionary, partial)
    short = form == "text" and k == 1 and not proba and not limits
    out = _tagged(model, answers, source, proba, span_count, decoder, threads, limits, asked, short)
    watched = not is_standard_output(output) and sys.stderr.isatty()
    with writing(output) as file:
        for piece in _watched(out) if watched else out:
            file.write(piece)


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


def _tagged(
    model: Model,
    answers: Answers,
    source: str,
    proba: str | None,
    spans: int | None,
    decoder: str,
    threads: int,
    limits: _Limits,
    asked: dict[str, Any],
    short: bool,
) -> Iterator[bytes]:
    """Yield each batch, tagged.

    spans: how many, None for those of the best labelling, 0 for none; short: whether blocks of plain files may be
    answered by the core alone.
    """

    def shortcut(form: Form, block: bytes) -> bytes | None:
        lines = form.lines() if short else None
        if lines is None or not isinstance(model, LinearModel):
            return None
        answer = model.tag_lines(block, lines, decoder, threads)
        if answer is not None:
            tell_guess(form)
        return answer

    most = _MOST_MARGINALS // len(model.labels) if proba == "all" else None
    read = batches_or_answers(source, shortcut, columns=model.columns, empty_ok=source == "-", **asked)
    for batch in advised(read, model, asked["tokenize"]):
        if isinstance(batch, bytes):
            yield batch
            continue
        for part in _parts(batch, most):
            X = rows_of(model, part)
            under = limits.of(part)
            if spans != 0:
                both = model.tag_spans(X, spans, decoder, threads, **under)
                pieces = (answers.text(own, [best], None, its) for own, (best, its) in zip(part, both, strict=True))
                yield "".join(pieces).encode()
                continue
            found = model.tag_kbest(X, answers.k, decoder, threads, proba is not None, **under)
            marginals = model.marginals(X, threads=threads, **under) if proba == "all" else [None] * len(part)
            yield "".join(map(answers.text, part, found, marginals)).encode()


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


def _watched(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the same, with a progress bar that counts lines."""
    from tqdm import tqdm

    with tqdm(unit=" lines", unit_scale=True) as bar:
        for piece in pieces:
            bar.update(piece.count(b"\n"))
            yield piece
