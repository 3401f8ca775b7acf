"""`tagwright eval`: how good the labels of a model are."""

from __future__ import annotations

import json
from typing import Any

import click

from tagwright.cli.gold import collected
from tagwright.cli.options import COUNT, INPUT, gold_options

__all__ = ["evaluate"]


@click.command("eval")
@click.argument("source", metavar="GOLD", type=INPUT)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option("--most", type=COUNT, default=20, help="Number of labels to list.")
@gold_options
def evaluate(source: str, as_json: bool, most: int, **options: Any) -> None:
    """Tag GOLD and compare with the labels it has: accuracy, per-label and span F1, confusions.

    Of a CRF or HMM also the calibration: what share of the labels given with a probability of 80 % is right, and so on.

    \b
    Example:
      tagwright eval -m pos.safetensors test.txt.xz
      tagwright eval -m pos.safetensors test.txt.xz --json
    """
    result = collected(source, **options).evaluation()
    click.echo(json.dumps(result.as_dict(), ensure_ascii=False) if as_json else result.table(most))
