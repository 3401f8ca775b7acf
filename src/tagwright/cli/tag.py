"""`tagwright tag`: labels for a file or a pipe."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import click

from tagwright.cli.options import COUNT, INPUT, reading_options, tagging_options
from tagwright.data.conllu import FIELDS
from tagwright.data.reading import batches, text
from tagwright.data.sentence import Sentence
from tagwright.models.file import replacing
from tagwright.models.model import Model, load

__all__ = ["load_for_text", "rows_of", "tag"]


@click.command()
@click.argument("source", metavar="[INPUT]", default="-", type=INPUT)
@click.option("-k", type=COUNT, default=1, help="Number of labellings per sentence, with their scores.")
@click.option("--proba", is_flag=True, help="Add probabilities: of each label, and with -k of each labelling.")
@click.option("-o", "--output", type=INPUT, default="-", help="Output file; - is standard output.")
@click.option(
    "-l", "--label", help="Where labels go in CoNLL-U; by default where they were in training, or else to XPOS."
)
@tagging_options
@reading_options
def tag(
    source: str,
    k: int,
    proba: bool,
    output: str,
    label: str | None,
    model_path: str | None,
    decoder: str,
    threads: int,
    **asked: Any,
) -> None:
    """Tag INPUT, by default standard input: write each line with its label as another column.

    INPUT has one token per line, or is CoNLL-U, or plain text with a sentence per line. With -k a line '# rank score'
    stands before each labelling. With --proba the probability of each label is one more column (in CoNLL-U, Prob= in
    MISC), and with -k that of the whole labelling replaces the score, as CRF++ writes it.

    \b
    Example:
      echo "Would service be voluntary or compulsory ?" | tagwright tag -k 5
      tagwright tag -m pos.safetensors --threads 2 test.txt.xz -o tagged.txt
    """
    model = load_for_text(model_path)
    if proba:
        model.need_probabilities()
    trained = model.facts.get("data", {})
    if label is None:
        label = trained["label"] if trained.get("label", "").split("+")[0].lower() in FIELDS else "xpos"
    # Columns with blanks between them look like a sentence; a model that was trained on such columns expects them.
    width = trained.get("blanks")
    asked |= {"fields": label, "widths": (width, width - 1) if width else ()}
    # Nothing here makes cycles, and looking for them takes longer than tagging with a small model.
    gc.disable()
    out = _tagged(model, source, k, proba, decoder, threads, asked)
    if output == "-":
        for piece in out:
            sys.stdout.write(piece)
            sys.stdout.flush()
        return
    with replacing(output) as beside, open(beside, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(_watched(out) if sys.stderr.isatty() else out)


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
        raise first.form.error(number, f"{width} column(s), but the model reads {model.columns}")
    return [sentence.rows for sentence in batch]


def _tagged(
    model: Model, source: str, k: int, proba: bool, decoder: str, threads: int, asked: dict[str, Any]
) -> Iterator[str]:
    """Yield the text of each batch, tagged."""
    for batch in batches(source, columns=model.columns, empty_ok=source == "-", **asked):
        found = model.tag_kbest(rows_of(model, batch), k, decoder, threads, proba)
        pieces = []
        for sentence, taggings in zip(batch, found, strict=True):
            for rank, tagging in enumerate(taggings):
                if k > 1:
                    shown = tagging.score if tagging.probability is None else tagging.probability
                    pieces.append(f"# {rank} {shown:.6f}\n")
                pieces.append(text(sentence, tagging.labels, tagging.marginals))
        yield "".join(pieces)


def _watched(pieces: Iterator[str]) -> Iterator[str]:
    """Yield the same, with a progress bar that counts lines."""
    from tqdm import tqdm

    with tqdm(unit=" lines", unit_scale=True) as bar:
        for piece in pieces:
            bar.update(piece.count("\n"))
            yield piece
