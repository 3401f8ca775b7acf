"""Pictures for papers and slides: confusions, learning curves and calibration, by matplotlib (extra `plot`).

Each function draws on a figure, and `save_picture` makes the figure and writes the file. Colours differ in lightness,
and lines in their marks too, so that pictures can be read in grey.
"""

from __future__ import annotations

import io
import math
import os
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tagwright.data.output import Target, writing
from tagwright.evaluation.breakdown import Confusion
from tagwright.evaluation.calibration import Calibration
from tagwright.markup import cut, visible
from tagwright.reports.charts import short
from tagwright.reports.curves import Curve

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMS = ("png", "svg", "pdf")
# Text is text, whatever it holds: a "$" begins no formula, and SVG keeps letters, which may be in fonts we lack. The
# same picture is the same file.
SETTINGS = {"text.parse_math": False, "svg.fonttype": "none", "svg.hashsalt": "tagwright", "font.size": 9}
LINES = [("#0b3c5d", "o", "-"), ("#d95f02", "s", "--"), ("#56b4e9", "^", "-."), ("#999999", "D", ":")]
DOTS = 200  # to the inch
LONGEST_NAME = 24  # characters
MOST_MARKS = 40  # on a line


def need_matplotlib() -> Any:
    """Return matplotlib; ImportError with instructions if it is not installed."""
    try:
        import matplotlib
    except ImportError:
        raise ImportError("pictures need matplotlib: pip install 'tagwright[plot]'") from None
    return matplotlib


def save_picture(path: Target, draw: Callable[[Figure], None], form: str | None = None) -> bool:
    """Draw a picture and write it; return whether the font had all letters.

    Parameters
    ----------
    path
        A file, ``"-"`` for standard output, or a binary file object.
    draw
        Draws on a figure, as the functions of this module do.
    form
        "png", "svg" or "pdf"; by default as the name of the file ends.

    """
    form = form or form_of(path)
    matplotlib = need_matplotlib()
    from matplotlib.figure import Figure

    # PDF has the time at which it was made, SVG too.
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form)
    made = io.BytesIO()
    with matplotlib.rc_context(SETTINGS), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        figure = Figure(layout="constrained")
        draw(figure)
        figure.savefig(made, format=form, dpi=DOTS, metadata=metadata, bbox_inches="tight")
    with writing(path) as file:
        file.write(made.getvalue())
    return not any("missing from font" in str(warning.message) for warning in caught)


def form_of(path: Target) -> str:
    """Return the form of a picture by the name of its file; ValueError where it has none of these."""
    name = os.fspath(path) if isinstance(path, str | os.PathLike) else ""
    form = os.path.splitext(name)[1].removeprefix(".").lower()
    if form not in FORMS:
        raise ValueError(f"{name}: a picture is a file whose name ends in {', '.join(f'.{one}' for one in FORMS)}")
    return form


def draw_confusion(figure: Figure, table: Confusion) -> None:
    """Draw a heat map: a row per gold label, the darker the larger its share of the row; the diagonal is framed."""
    from matplotlib.colors import PowerNorm
    from matplotlib.patches import Rectangle

    n = len(table.labels)
    size = 1.8 + 0.3 * n
    figure.set_size_inches(size + 0.8, size)
    axes = figure.add_subplot()
    shares = [[100 * table.share(g, p) for p in range(n + 1)] for g in range(n)]
    # A root makes rare confusions visible beside frequent ones.
    image = axes.imshow(shares, cmap="Blues", norm=PowerNorm(0.5, 0, 100), aspect="equal")
    for g, row in enumerate(table.counts):
        axes.add_patch(Rectangle((g - 0.5, g - 0.5), 1, 1, fill=False, edgecolor="black", linewidth=0.8))
        for p, count in enumerate(row):
            if count:
                ink = "white" if shares[g][p] > 30 else "black"
                axes.text(p, g, short(count), ha="center", va="center", color=ink, fontsize=6.5)
    names = [_name(label) for label in table.labels]
    axes.set_yticks(range(n), names, fontsize=8)
    axes.set_xticks(range(n + 1), [*names, "other"], fontsize=8, rotation=60, ha="right", rotation_mode="anchor")
    axes.set_xlabel(f"predicted label; numbers are tokens, {table.shown:,} of {table.wrong:,} mistakes")
    axes.set_ylabel("gold label")
    figure.colorbar(image, ax=axes, label="share of the row, %", shrink=0.7)


def draw_curves(figure: Figure, models: Sequence[tuple[str, Sequence[Curve]]]) -> None:
    """Draw what trainings measured, a panel per measure, a line per model; models: names and curves."""
    from matplotlib.ticker import MaxNLocator

    panels = dict.fromkeys(curve.name for _, curves in models for curve in curves)
    if not panels:
        raise ValueError("the model keeps no history of its training: it was counted, or made by an older tagwright")
    figure.set_size_inches(4.2 * len(panels), 3.2)
    for at, name in enumerate(panels, 1):
        axes = figure.add_subplot(1, len(panels), at)
        mine = [(model, curve) for model, curves in models for curve in curves if curve.name == name]
        for n, (model, curve) in enumerate(mine):
            color, mark, style = LINES[n % len(LINES)]
            label = f"{_name(model)}, {curve.side}" if curve.side else _name(model)
            every = max(len(curve.points) // MOST_MARKS, 1)
            x, y = zip(*curve.points, strict=True)
            axes.plot(x, y, color=color, marker=mark, linestyle=style, markevery=every, markersize=4, label=label)
        axes.set_xlabel(" or ".join(dict.fromkeys(curve.unit for _, curve in mine)))
        axes.set_ylabel(name)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(alpha=0.3)
        if len(mine) > 1:
            axes.legend(frameon=False, fontsize=8)


def draw_calibration(figure: Figure, found: Calibration) -> None:
    """Draw the share of right labels against their probability, and below how many tokens have it."""
    from matplotlib.ticker import StrMethodFormatter

    figure.set_size_inches(4.0, 5.0)
    top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    color, mark, _ = LINES[0]
    x, y = ([100 * value for value in values] for values in zip(*_points(found), strict=True))
    top.plot([0, 100], [0, 100], color="#999999", linestyle="--", label="calibrated")
    top.plot(x, y, color=color, marker=mark, label=f"model, error {found.error:.2%}")
    top.set_ylabel("right, %")
    top.set_ylim(-3, 103)
    top.legend(frameon=False, loc="lower right")
    heights = [own.tokens for own in found.bins]
    bottom.bar([50 * (own.low + own.high) for own in found.bins], heights, width=9, color=color)
    bottom.set_yscale("log")
    bottom.set_ylim(0.5, 10 ** math.ceil(math.log10(max(heights)) + 0.1))
    bottom.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    bottom.set_ylabel("tokens")
    bottom.set_xticks(range(0, 101, 20))
    figure.align_ylabels()
    bottom.set_xlabel("probability of the label, %")
    for axes in (top, bottom):
        axes.grid(alpha=0.3)


def _points(found: Calibration) -> list[tuple[float, float]]:
    return [(own.probability, own.accuracy) for own in found.bins]


def _name(text: str) -> str:
    return cut(visible(text), LONGEST_NAME)
