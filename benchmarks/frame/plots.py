"""Figures whose lines carry their names, so that they need no legend and no colour."""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

# (colour, dashes, marker): distinguishable in greyscale by dashes, markers and darkness. Ours are heavy.
LOOKS: dict[str, list[tuple[Any, ...]]] = {
    "ours": [("black", "-", "o"), ("#1f5fa8", (0, (6, 1.5)), "s"), ("#2f9464", "-", "^"), ("#7a3e9d", "-.", "D")],
    "other": [
        ("#a8430b", "--", "v"),
        ("#ad7100", "-.", "P"),
        ("#8c564b", (0, (5, 1)), "X"),
        ("#5f5f5f", (0, (3, 1, 1, 1)), "d"),
        ("#b03060", (0, (1, 1)), "<"),
        ("#4f6f8f", (0, (8, 3)), ">"),
    ],
    "limit": [("#7a7a7a", ":", "")],
}


class Curve(NamedTuple):
    """A line of a figure."""

    label: str
    xs: Sequence[float]
    ys: Sequence[float]
    low: Sequence[float] | None = None  # lower ends of bars, such as quartiles; `high` has the upper ends
    high: Sequence[float] | None = None
    kind: str = "ours"  # "ours", "other" or "limit"


def available() -> bool:
    return importlib.util.find_spec("matplotlib") is not None


def draw(
    path: Path, title: str, curves: list[Curve], xlabel: str, ylabel: str, *,
    scales: str = "linear-linear", ylim: tuple[float, float] | None = None,
) -> None:  # fmt: skip
    """Write a PNG; scales: of x and y, such as "log-linear"; with "log-log" ticks are where the points are."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.ticker import FuncFormatter

    figure, axes = plt.subplots(figsize=(7, 5))
    looks = {kind: itertools.cycle(each) for kind, each in LOOKS.items()}
    ends = []
    for curve in curves:
        colour, dashes, marker = next(looks[curve.kind])
        style: dict[str, Any] = {"color": colour, "linestyle": dashes, "marker": marker, "markersize": 6}
        style["linewidth"] = 1.4 if curve.kind != "ours" else 2.2 if ends else 3.2
        style["markerfacecolor"] = colour if curve.kind == "ours" else "white"
        if curve.low is not None and curve.high is not None:
            bars = np.abs(np.array([curve.low, curve.high]) - curve.ys)
            axes.errorbar(curve.xs, curve.ys, bars, capsize=3, **style)
        else:
            axes.plot(curve.xs, curve.ys, **style)
        ends.append((curve, colour))
    xscale, yscale = scales.split("-")
    axes.set(xscale=xscale, yscale=yscale, xlabel=xlabel, ylabel=ylabel)
    axes.set_title(title, loc="left")
    if scales == "log-log":
        axes.set_xticks(max((curve.xs for curve in curves), key=len))
    axes.minorticks_off()
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    if ylim is not None:
        axes.set_ylim(*ylim)
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    name_lines(figure, axes, ends)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110, bbox_inches="tight")
    plt.close(figure)


def name_lines(figure: Any, axes: Any, ends: list[tuple[Curve, str]]) -> None:
    """Write each curve's name at its height in the right margin, a single point's next to it; names do not overlap."""
    figure.canvas.draw()
    placed = [(*axes.transData.transform((curve.xs[-1], curve.ys[-1])), curve, colour) for curve, colour in ends]
    lines = sorted((end for end in placed if len(end[2].xs) > 1), key=lambda end: end[1])
    heights, gap = np.array([y for _, y, _, _ in lines]), 0.155 * figure.dpi  # pixels
    for _ in range(500):  # neighbours that are too close push each other apart
        push = np.maximum(0, gap - np.diff(heights)) / 2
        heights[:-1] -= push
        heights[1:] += push
    places = {end[2].label: (axes.bbox.x1 + 14, height) for end, height in zip(lines, heights, strict=True)}
    for x, y, curve, colour in placed:
        axes.annotate(
            curve.label,
            (curve.xs[-1], curve.ys[-1]),
            xytext=axes.transData.inverted().transform(places.get(curve.label, (x + 10, y))),
            fontsize=9.5,
            color=colour,
            weight="bold" if curve.kind == "ours" else "normal",
            va="center",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.6, "alpha": 0.5, "shrinkA": 1, "shrinkB": 4},
        )
