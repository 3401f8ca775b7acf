"""`tagwright plot`: pictures of confusions, trainings and probabilities."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from tagwright.cli.gold import MOST, collected, label_option
from tagwright.cli.options import FILE, INPUT, OUTPUT, Command, reading_options, tagging_options

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tagwright.evaluation.result import Evaluation

__all__ = ["check_picture", "plot", "save_calibration"]


@click.group(invoke_without_command=True)
@click.pass_context
def plot(context: click.Context) -> None:
    """Draw a picture for a paper or a slide: confusions, learning curves or calibration.

    The file is PNG, SVG or PDF, as its name ends. It needs matplotlib: pip install 'tagwright[plot]'.

    \b
    Example:
      tagwright plot confusion -m pos.safetensors test.txt.xz -o confusion.png
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def _picture(command: Command) -> Command:
    """Add the option that names the file."""
    text = "The picture: a file whose name ends in .png, .svg or .pdf."
    return click.option("-o", "--output", type=OUTPUT, required=True, help=text)(command)


def _of_gold(command: Command) -> Command:
    """Add the options of a model and the file that it is measured on."""
    return click.argument("source", metavar="GOLD", type=INPUT)(
        _picture(label_option(tagging_options(reading_options(command))))
    )


@plot.command()
@_of_gold
@click.option("--most", type=MOST, default=20, help="Number of labels.")
def confusion(source: str, output: str, most: int, **asked: Any) -> None:
    """Draw which labels are taken for which: those of the most frequent confusions of GOLD.

    \b
    Example:
      tagwright plot confusion -m pos.safetensors test.txt.xz -o confusion.svg --most 12
    """
    check_picture(output)
    from tagwright.evaluation.breakdown import confusion_of
    from tagwright.reports.plots import draw_confusion

    table = confusion_of(collected(source, **asked).evaluation(), most)
    save(output, functools.partial(draw_confusion, table=table))


@plot.command()
@click.argument("models", metavar="MODEL...", nargs=-1, required=True, type=FILE)
@_picture
def curve(models: tuple[str, ...], output: str) -> None:
    """Draw how training went, by epoch or iteration: error or objective, and the accuracy on --dev.

    Of several models, each is a line.

    \b
    Example:
      tagwright plot curve small.safetensors large.safetensors -o curve.png
    """
    check_picture(output)
    from tagwright.models.model import load
    from tagwright.reports.curves import curves_of
    from tagwright.reports.plots import draw_curves

    named = [(os.path.basename(path), curves_of(load(path))) for path in models]
    save(output, functools.partial(draw_curves, models=named))


@plot.command()
@_of_gold
def calibration(source: str, output: str, **asked: Any) -> None:
    """Draw how many labels are right of those with a probability of 80 %, and so on; for CRFs and HMMs.

    \b
    Example:
      tagwright plot calibration -m crf.safetensors test.txt.xz -o calibration.png
    """
    check_picture(output)
    found = collected(source, **asked)
    found.model.need_probabilities()
    save_calibration(output, found.evaluation())


def save_calibration(output: str, result: Evaluation) -> None:
    """Draw the calibration that was measured."""
    from tagwright.reports.plots import draw_calibration

    if result.calibration is not None:
        save(output, functools.partial(draw_calibration, found=result.calibration))


def check_picture(output: str) -> None:
    """Raise what is wrong before minutes of tagging: no matplotlib, or a name that says no form."""
    from tagwright.reports.plots import form_of, need_matplotlib

    form_of(output)
    try:
        need_matplotlib()
    except ImportError as error:
        raise click.ClickException(str(error)) from None


def save(output: str, draw: Callable[[Figure], None]) -> None:
    """Write a picture; warn where its font lacks letters."""
    from tagwright.reports.plots import form_of, save_picture

    if not save_picture(output, draw) and form_of(output) != "svg":
        text = "Warning: the font of the picture lacks some letters; in a file .svg, whoever opens it chooses the font"
        click.echo(text, err=True)
