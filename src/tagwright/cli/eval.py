"""`tagwright eval`: how good the labels of a model are."""

from __future__ import annotations

import json
from typing import Any

import click

from tagwright.cli.options import COUNT, INPUT, reading_options, tagging_options
from tagwright.cli.tag import load_for_text, rows_of
from tagwright.data.reading import batches

__all__ = ["evaluate"]


@click.command("eval")
@click.argument("source", metavar="GOLD", type=INPUT)
@click.option("-l", "--label", help="Column of the right label; by default as in training.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--most", type=COUNT, default=20, help="Number of labels to list.")
@tagging_options
@reading_options
def evaluate(
    source: str,
    label: str | None,
    as_json: bool,
    most: int,
    model_path: str | None,
    decoder: str,
    threads: int,
    **asked: Any,
) -> None:
    """Tag GOLD and compare with the labels it has: accuracy, per-label and span F1, confusions.

    \b
    Example:
      tagwright eval -m pos.safetensors test.txt.xz
      tagwright eval -m pos.safetensors test.txt.xz --json
    """
    from tagwright.evaluation.evaluate import evaluate as compare

    model = load_for_text(model_path)
    asked["label"] = label or model.facts.get("data", {}).get("label", "last")
    gold: list[list[str]] = []
    predicted: list[list[str]] = []
    known: list[list[bool]] = []
    for batch in batches(source, columns=model.columns, **asked):
        predicted += model.tag_batch(rows_of(model, batch), decoder, threads)
        for sentence in batch:
            gold.append(sentence.labels or [])
            known.append([bool(model.knows(row[0])) for row in sentence.rows])
    tells = model.knows("") is not None
    result = compare(gold, predicted, known if tells else None)
    click.echo(json.dumps(result.as_dict(), ensure_ascii=False) if as_json else result.table(most))
