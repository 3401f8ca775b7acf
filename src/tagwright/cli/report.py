"""`tagwright report`: how good a model is, on one page."""

from __future__ import annotations

import os
from typing import Any

import click

from tagwright.cli.gold import MOST, collected, label_option
from tagwright.cli.options import INPUT, OUTPUT, reading_options, tagging_options
from tagwright.cli.overwriting import check_inputs, force_option
from tagwright.data.output import is_stream
from tagwright.models.summary import size_text

__all__ = ["report"]


@click.command()
@click.argument("source", metavar="GOLD", type=INPUT)
@click.option("-o", "--output", type=OUTPUT, default="report.html", help="The page; - is standard output.")
@click.option("--title", help="Title of the page; by default the name of the model.")
@click.option("--most", type=MOST, default=20, help="Number of labels in the table of confusions.")
@click.option("--worst", type=click.IntRange(0, 100), default=20, help="Number of sentences to show, the worst first.")
@label_option
@force_option
@tagging_options
@reading_options
def report(source: str, output: str, title: str | None, most: int, worst: int, force: bool, **asked: Any) -> None:
    """Tag GOLD, compare with the labels it has, and write a page of figures and pictures.

    One HTML file, which loads nothing and runs no script: accuracy, F1, confusions, accuracy by frequency of labels and
    length of sentences, calibration, the learning curve, and the worst sentences with the reasons of their mistakes.

    \b
    Example:
      tagwright report -m pos.safetensors test.txt.xz -o report.html
    """
    from tagwright.reports.report import Report

    check_inputs(output, [source, asked["model_path"]], force)
    found = collected(source, worst=worst, **asked)
    named = os.path.basename(asked["model_path"] or "the included model of English")
    made = Report.of(found, title or named, "" if source == "-" else os.path.basename(source), most)
    made.save(output)
    if not is_stream(output):
        result = made.evaluation
        size = size_text(os.path.getsize(output))
        click.echo(f"{output}: {size}; {result.token_accuracy:.2%} of {result.tokens:,} labels are right")
