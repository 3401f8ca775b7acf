"""`tagwright eval`: how good the labels of a model are."""

from __future__ import annotations

import json
from typing import Any

import click

from tagwright.cli.gold import collected, label_option
from tagwright.cli.options import COUNT, INPUT, OUTPUT, reading_options, tagging_options
from tagwright.cli.plot import check_picture, save_calibration

__all__ = ["evaluate"]


@click.command("eval")
@click.argument("source", metavar="GOLD", type=INPUT)
@label_option
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--most", type=COUNT, default=20, help="Number of labels to list.")
@click.option("--plot", "picture", type=OUTPUT, help="Draw the calibration into this file, as tagwright plot does.")
@tagging_options
@reading_options
def evaluate(
    source: str,
    label: str | None,
    as_json: bool,
    most: int,
    picture: str | None,
    model_path: str | None,
    decoder: str,
    threads: int,
    **asked: Any,
) -> None:
    """Tag GOLD and compare with the labels it has: accuracy, per-label and span F1, confusions.

    Of a CRF or HMM also the calibration: what share of the labels given with a probability of 80 % is right, and so on.

    \b
    Example:
      tagwright eval -m pos.safetensors test.txt.xz
      tagwright eval -m pos.safetensors test.txt.xz --json
    """
    if picture is not None:
        check_picture(picture)
    found = collected(source, label, model_path, decoder, threads, **asked)
    result = found.evaluation()
    if picture is not None:
        found.model.need_probabilities()
        save_calibration(picture, result)
    click.echo(json.dumps(result.as_dict(), ensure_ascii=False) if as_json else result.table(most))
