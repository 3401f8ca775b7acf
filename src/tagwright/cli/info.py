"""`tagwright info`: what a model is."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from tagwright.cli.options import COUNT, FILE
from tagwright.models.bidirectional import BidirectionalModel
from tagwright.models.model import Model, load
from tagwright.table import table

__all__ = ["array_sizes", "describe", "info", "size_text"]

_SIZES = {"features": "rows.end", "weights": "rows.weight", "edges": "edges.score"}
"""What is counted, and in which array."""


@click.command()
@click.argument("model", type=FILE, required=False)
@click.option("--labels", type=COUNT, default=8, help="Number of labels to show.")
@click.option("--most", type=COUNT, default=5, help="Number of features per label, and of edges.")
def info(model: str | None, labels: int, most: int) -> None:
    """Describe MODEL, by default the included English one: sizes, strongest features and edges.

    \b
    Example:
      tagwright info pos.safetensors
    """
    click.echo(describe(load(model), labels, most))


def describe(model: Model, labels: int = 8, most: int = 5) -> str:
    """Return a model's sizes and options, the strongest features of its first labels, and its strongest edges."""
    parts = [table(["model", ""], _summary(model))]
    if isinstance(model, BidirectionalModel):
        sides = (("left", model.left), ("right", model.right))
        return "\n\n".join([*parts, *(f"{name}: {describe(side, labels, most)}" for name, side in sides)])
    if model.features:
        lines = [line for line in model.features.text.split("\n") if line.strip() and not line.startswith("#")]
        parts.append("templates: " + "  ".join(lines))
    parts += [_strongest(model, labels, most), _edges(model, most), str(model.facts.get("attribution", ""))]
    return "\n\n".join(part for part in parts if part)


def array_sizes(model: Model) -> dict[str, int]:
    """Return the numbers of features, weights and edges; of a bidirectional model, those of both sides."""
    return {
        name: sum(len(held) for key, held in model.arrays.items() if key in (array, f"left.{array}", f"right.{array}"))
        for name, array in _SIZES.items()
    }


def size_text(size: int) -> str:
    """Return a number of bytes in kB or MB."""
    return f"{size / 1e6:,.1f} MB" if size >= 1e6 else f"{size / 1e3:,.1f} kB"


def _summary(model: Model) -> list[list[str]]:
    facts, arrays = model.facts, model.arrays
    rows = [
        ["learner", str(facts.get("learner", "?"))],
        ["labels", f"{len(model.labels):,}"],
        *([name, f"{number:,}"] for name, number in array_sizes(model).items()),
    ]
    rows[-1][1] += f" of {len(model.labels) ** 2:,}"
    if "corrections.set" in arrays:
        rows.append(["token-dependent edges", f"{len(arrays['corrections.set']):,}"])
    rows.append(["size", size_text(sum(array.nbytes for array in arrays.values()))])
    if "sentences" in facts:
        rows.append(["trained on", f"{facts['sentences']:,} sentences, {facts['tokens']:,} tokens"])
    for name in ("epochs_done", "version"):
        if name in facts:
            rows.append([name.replace("_", " "), str(facts[name])])
    told: dict[str, Any] = {**facts.get("options", {}), **facts.get("data", {})}
    told["templates"] = told.pop("features", None)
    return rows + [[name.replace("_", " "), str(value)] for name, value in told.items() if value is not None]


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
    width = max((len(row[2]) for row in rows), default=0)
    return table(["label", "weight", "feature".ljust(width)], [[*row[:2], row[2].ljust(width)] for row in rows])


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
