"""Figures: lines with labels and units."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np


class Curve(NamedTuple):
    """A line of a figure."""

    label: str
    xs: Sequence[float]
    ys: Sequence[float]
    low: Sequence[float] | None = None
    """Lower ends of bars, such as quartiles; `high` has the upper ends."""
    high: Sequence[float] | None = None
    style: str = "-"
    colour: str | None = None


def available() -> bool:
    return importlib.util.find_spec("matplotlib") is not None


def draw(
    path: Path,
    title: str,
    curves: list[Curve],
    xlabel: str,
    ylabel: str,
    *,
    xscale: str = "linear",
    yscale: str = "linear",
    xticks: Sequence[float] | None = None,
    levels: Sequence[tuple[float, str]] = (),
    ylim: tuple[float, float] | None = None,
) -> None:
    """Write a PNG; levels are (y, what) of thin lines across."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(11, 6))
    for number, curve in enumerate(curves):
        style: dict[str, Any] = {"color": curve.colour or f"C{number % 10}", "label": curve.label}
        style |= {"linestyle": curve.style, "marker": ".", "alpha": 0.85}
        if curve.low is not None and curve.high is not None:
            bars = np.abs(np.array([curve.low, curve.high]) - curve.ys)
            axes.errorbar(curve.xs, curve.ys, bars, capsize=3, **style)
        else:
            axes.plot(curve.xs, curve.ys, **style)
    for level, what in levels:
        axes.axhline(level, color="grey", linewidth=0.8)
        axes.annotate(what, (0, level), xycoords=("axes fraction", "data"), fontsize="small", color="grey")
    axes.set(xscale=xscale, yscale=yscale, xlabel=xlabel, ylabel=ylabel, title=title)
    if xticks is not None:
        axes.set_xticks(xticks, [f"{x:,}" for x in xticks])
        axes.minorticks_off()
    if ylim is not None:
        axes.set_ylim(*ylim)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1.01, 1))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)
