"""`tagwright explain`: why a token has its label."""

from __future__ import annotations

import json
from typing import Any

import click

from tagwright.cli.options import COUNT, INPUT, model_option, reading_options, tokenize_option
from tagwright.cli.tagging import load_for_text, rows_of, tokenizer_of, with_notes
from tagwright.data.reading import batches
from tagwright.models.explanation import Explanation, explanation_json, shortened
from tagwright.models.model import Model
from tagwright.table import table

Row = list[list[str]]


@click.command()
@click.argument("source", metavar="[INPUT]", default="-", type=INPUT)
@model_option
@click.option("--sentence", "number", type=COUNT, default=1, help="Number of the sentence in the file, from 1 on.")
@click.option(
    "--token",
    help="The token: its number in the sentence, from 1 on, or the word; by default the first about which the second "
    "best labelling differs from the best.",
)
@click.option(
    "--label", "labels", multiple=True, help="A label to explain, may be repeated; by default the best and its rival."
)
@click.option("--most", type=COUNT, default=10, help="Number of features to show.")
@click.option("--json", "as_json", is_flag=True, help="Write everything as one JSON object.")
@tokenize_option("How text becomes tokens; auto: as the model was trained, or else between blanks.")
@reading_options
def explain(
    source: str,
    model_path: str | None,
    number: int,
    token: str | None,
    labels: tuple[str, ...],
    most: int,
    as_json: bool,
    tokenize: str,
    **reading: Any,
) -> None:
    """Explain why a token of INPUT, by default of standard input, has its label and not its rival.

    What the token's features add to the score of a label, and the edges to its neighbours' labels. Features that make
    the largest difference come first. The rival is the label of the best labelling that has another one there.

    \b
    Example:
      echo "Time flies like an arrow." | tagwright explain --token flies
      tagwright explain -m pos.safetensors test.txt --sentence 3 --token 2 --label NN --label VB
    """
    model = load_for_text(model_path)
    reading["tokenize"] = tokenizer_of(model, tokenize)
    rows = _sentence(model, source, number, reading)
    found = model.explain(rows, _place(model, rows, token), list(labels) or None)
    if as_json:
        click.echo(json.dumps(explanation_json(found), ensure_ascii=False, allow_nan=False))
        return
    click.echo(_heading(found, len(rows)))
    click.echo(f"\n{_features(found, most)}")
    if found.unknown:
        click.echo(f"\nnot in the model: {'  '.join(found.unknown)}")


def _sentence(model: Model, source: str, number: int, reading: dict[str, Any]) -> Row:
    count = 0
    for batch in with_notes(batches(source, columns=model.columns, **reading), model, reading["tokenize"]):
        if number <= count + len(batch):
            return rows_of(model, batch)[number - count - 1]
        count += len(batch)
    raise click.ClickException(f"--sentence {number}: there {'is' if count == 1 else 'are'} only {count}")


def _place(model: Model, rows: Row, token: str | None) -> int:
    """Return the index of the requested token."""
    words = [row[0] for row in rows]
    if token is None:
        best, *others = (found.labels for found in model.tag_kbest([rows], 2)[0])
        return next((t for other in others for t, name in enumerate(other) if name != best[t]), 0)
    if token in words:
        return words.index(token)
    if token.isascii() and token.isdigit() and 1 <= int(token) <= len(words):
        return int(token) - 1
    raise click.ClickException(f"--token {token!r}: neither a word of the sentence nor a number from 1 to {len(words)}")


def _heading(found: Explanation, tokens: int) -> str:
    where = f"{found.word}, token {found.token + 1} of {tokens}"
    first, *others = found.reasons
    if len(others) != 1:
        return where
    return f"{where}: {first.label} rather than {others[0].label}, by {found.margin:.6f}"


def _features(found: Explanation, most: int) -> str:
    """Return a table of what features and edges add to each label, and of their sums; features also in words."""
    two = len(found.reasons) == 2
    lines = [
        [
            row.name, row.words if row.words != row.name else "", *(f"{x:.4f}" for x in row.scores),
            *([f"{row.scores[0] - row.scores[1]:+.4f}"] if two else []),
        ]
        for row in shortened(found, most)
    ]  # fmt: skip
    head = ["", "", *(reason.label for reason in found.reasons), *(["difference"] if two else [])]
    if not any(line[1] for line in lines):
        head, lines = [head[0], *head[2:]], [[line[0], *line[2:]] for line in lines]
    return table(head, lines, left=(0, 1) if len(head) > len(found.reasons) + 1 + two else (0,))
