"""`tagwright report`: how good a model is, on one page or in one picture."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from tagwright.cli.eval import MOST, collected, model_names
from tagwright.cli.options import INPUT, OUTPUT, force_option, gold_options
from tagwright.cli.overwriting import check_inputs
from tagwright.data.output import is_stream
from tagwright.models.summary import size_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PLOTS = ("confusion", "calibration", "curve")
"""The pictures that --plot draws."""


@click.command()
@click.argument("sources", metavar="GOLD", nargs=-1, required=True, type=INPUT)
@click.option("-o", "--output", type=OUTPUT, help="The page, by default report.html; - is standard output.")
@click.option(
    "--plot",
    type=click.Choice(PLOTS),
    help="Draw one picture in place of the page, as PNG, SVG or PDF, as the name of -o ends. For curve, name models "
    "in place of GOLD: how their trainings went.",
)
@click.option("--title", hidden=True)
@click.option("--most", type=MOST, default=20, help="Number of labels in the table of confusions.")
@click.option(
    "--worst",
    type=click.IntRange(0, 100),
    default=20,
    help="Number of sentences to show: those with most errors for their length, or on which two models differ most.",
)
@force_option
@gold_options
def report(
    sources: tuple[str, ...],
    output: str | None,
    plot: str | None,
    title: str | None,
    most: int,
    worst: int,
    force: bool,
    **options: Any,
) -> None:
    """Tag GOLD, compare with the labels it has, and write a page of figures and pictures.

    One HTML file, which loads nothing and runs no script: accuracy and F1 with intervals, confusions of labels and of
    their parts with examples, span errors, words and sentences with most errors and the reasons of these, confident
    errors, accuracy by frequency and length, calibration, the learning curve. Two models are shown side by side and
    compared by paired tests. With --plot, one picture for a paper or a slide, which needs matplotlib: pip install
    'tagwright[plot]'.

    \b
    Example:
      tagwright report -m pos.safetensors test.txt.xz -o report.html
      tagwright report -m old.safetensors -m new.safetensors test.txt.xz -o report.html
      tagwright report -m pos.safetensors test.txt.xz --plot confusion -o confusion.svg --most 12
      tagwright report small.safetensors large.safetensors --plot curve -o curve.png
    """
    if plot is not None and output is None:
        raise click.UsageError("Missing option '-o': a file whose name ends in .png, .svg or .pdf")
    output = output or "report.html"
    paths = options["model_paths"]
    check_inputs(output, [*sources, *paths, options["dictionary"]], force)
    if plot is not None:
        _check_picture(output)
    if plot == "curve":
        _save(output, _curves(sources))
        return
    if len(sources) > 1:
        raise click.UsageError("several files; name one GOLD, or models with --plot curve")
    if plot is not None:
        if len(paths) > 1:
            raise click.UsageError(f"--plot {plot} draws one model; name two without --plot")
        _save(output, _picture(plot, sources[0], most, options))
        return
    from tagwright.reports.mistakes import MOST_CONFIDENT
    from tagwright.reports.report import Report

    names, gold = model_names(paths), "" if sources[0] == "-" else os.path.basename(sources[0])
    found = collected(sources[0], worst if len(paths) == 1 else 0, MOST_CONFIDENT, **options)
    if len(found) == 1:
        made = Report.of(found[0], title or names[0], gold, most)
    else:
        made = Report.of_two(found, names, gold, most, worst)
        made = dataclasses.replace(made, title=title or made.title)
    made.save(output)
    if not is_stream(output):
        result = made.evaluation
        size = size_text(os.path.getsize(output))
        shares = " and ".join(f"{own.token_accuracy:.2%}" for own in made.evaluations)
        click.echo(f"{output}: {size}; {shares} of {result.tokens:,} labels are right")


def _picture(plot: str, source: str, most: int, options: dict[str, Any]) -> Callable[[Figure], None]:
    """Return what draws the confusions or the calibration of a model."""
    from tagwright.evaluation.breakdown import confusion_of
    from tagwright.reports.plots import draw_calibration, draw_confusion

    [found] = collected(source, **options)
    if plot == "confusion":
        return functools.partial(draw_confusion, table=confusion_of(found.evaluation(), most))
    found.model.need_probabilities()
    calibration = found.evaluation().calibration
    if calibration is None:
        raise click.ClickException("--plot calibration needs the tokens of GOLD; leave out --tokenize")
    return functools.partial(draw_calibration, found=calibration)


def _curves(models: Sequence[str]) -> Callable[[Figure], None]:
    """Return what draws the training of models: error or objective, and the accuracy on --dev."""
    from tagwright.models.model import load
    from tagwright.reports.curves import curves_of
    from tagwright.reports.plots import draw_curves

    return functools.partial(draw_curves, models=[(os.path.basename(path), curves_of(load(path))) for path in models])


def _check_picture(output: str) -> None:
    """Raise what is wrong before minutes of tagging: no matplotlib, or an unknown ending."""
    from tagwright.reports.plots import form_of, need_matplotlib

    form_of(output)
    try:
        need_matplotlib()
    except ImportError as error:
        raise click.ClickException(str(error)) from None


def _save(output: str, draw: Callable[[Figure], None]) -> None:
    """Write a picture; warn where its font lacks letters."""
    from tagwright.reports.plots import form_of, save_picture

    if not save_picture(output, draw) and form_of(output) != "svg":
        text = "Warning: the font of the picture lacks some letters; in a file .svg, whoever opens it chooses the font"
        click.echo(text, err=True)
