"""`tagwright info`: what a model is, and which decoders there are."""

from __future__ import annotations

import click
import numpy as np

from tagwright.cli.options import COUNT, FILE
from tagwright.decoding.decoders import decoders as decoder_rows
from tagwright.models.bidirectional import BidirectionalModel
from tagwright.models.facts import FORMATS, fact_in, unit_of
from tagwright.models.model import Model, load
from tagwright.models.summary import summary
from tagwright.table import table

__all__ = ["describe", "info"]


@click.command()
@click.argument("model", type=FILE, required=False)
@click.option("--labels", type=COUNT, default=8, help="Number of labels to show.")
@click.option("--most", type=COUNT, default=5, help="Number of features per label, and of edges.")
@click.option("--history", is_flag=True, help="Show every epoch or iteration of the training, not only some.")
@click.option("--decoders", is_flag=True, help="List the decoders in place of a model.")
def info(model: str | None, labels: int, most: int, history: bool, decoders: bool) -> None:
    """Describe MODEL, by default the included English one: sizes, how training went, strongest features and edges.

    With --decoders, list every decoder: its paper, whether it is exact, whether it returns k paths, and what it
    maximises.

    \b
    Example:
      tagwright info pos.safetensors
      tagwright info pos.safetensors --history
      tagwright info --decoders
    """
    click.echo(_decoders() if decoders else describe(load(model), labels, most, history))


def _decoders() -> str:
    rows = [
        [row.name, "yes" if row.exact else "no", "yes" if row.kbest else "no", row.maximises, row.paper]
        for row in decoder_rows()
    ]
    return table(["decoder", "exact", "k-best", "maximises", "paper"], rows, left=(0, 3, 4))


def describe(model: Model, labels: int = 8, most: int = 5, history: bool = False) -> str:
    """Return a model's sizes, options and history, the strongest features of its first labels, its strongest edges.

    `history` shows every epoch or iteration of the training instead of some.
    """
    parts = [table(["model", ""], summary(model)), _history(model, history)]
    if isinstance(model, BidirectionalModel):
        sides = (("left", model.left), ("right", model.right))
        parts += [f"{name}: {describe(side, labels, most, history)}" for name, side in sides]
        return "\n\n".join(part for part in parts if part)
    if model.features:
        lines = [line for line in model.features.text.split("\n") if line.strip() and not line.startswith("#")]
        parts.append("templates: " + "  ".join(lines))
    parts += [_strongest(model, labels, most), _edges(model, most), fact_in(model.facts, str, "attribution") or ""]
    return "\n\n".join(part for part in parts if part)


def _history(model: Model, whole: bool) -> str:
    """Return a table of the epochs or iterations: all of them, or the first, the last and some in between."""
    history = model.history
    if not history:
        return ""
    names = [name for name in FORMATS if any(name in fact for fact in history)]
    step = 1 if whole else next(s * 10**n for n in range(9) for s in (1, 2, 5) if len(history) <= 12 * s * 10**n)
    rows, seconds = [], 0.0
    for number, fact in enumerate(history, 1):
        seconds += fact.get("seconds", 0.0)
        if number in (1, len(history)) or number % step == 0:
            shown = {**fact, "seconds": seconds}
            rows.append([str(number), *(f"{shown[name]:{FORMATS[name]}}" if name in shown else "" for name in names)])
    header = [
        unit_of(model.facts),
        *("seconds in all" if name == "seconds" else name.replace("_", "-") for name in names),
    ]
    return table(header, rows, left=())


def _strongest(model: Model, labels: int, most: int) -> str:
    """Return a table of the features with the largest weights of each of the first labels."""
    arrays = model.arrays
    ends, text = arrays["names.ends"], arrays["names.bytes"]
    rows = []
    # Weights of parts of labels, whose numbers follow the labels', are not shown.
    for number, name in enumerate(model.labels[:labels]):
        mine = np.flatnonzero(arrays["rows.label"] == number)
        best = mine[np.argsort(-arrays["rows.weight"][mine], kind="stable")[:most]]
        for rank, entry in enumerate(best):
            feature = int(np.searchsorted(arrays["rows.end"], entry, side="right"))
            begin = int(ends[feature - 1]) if feature else 0
            shown = text[begin : int(ends[feature])].tobytes().decode("utf-8", "replace")
            rows.append([name if rank == 0 else "", f"{arrays['rows.weight'][entry]:.2f}", shown])
    return table(["label", "weight", "feature"], rows, left=(0, 2))


def _edges(model: Model, most: int) -> str:
    """Return a table of the edges with the largest and with the smallest scores."""
    score = model.arrays["edges.score"]
    if not len(score):
        return ""
    previous, current = model.arrays["edges.previous"], model.arrays["edges.current"]
    order = np.argsort(-score, kind="stable")
    shown = order if len(order) <= 2 * most else [*order[:most], *order[-most:]]
    rows = [[f"{model.labels[previous[n]]} -> {model.labels[current[n]]}", f"{score[n]:.2f}"] for n in shown]
    return table(["edge", "score"], rows)
