"""What a model is, for people: `tagwright info`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tagwright.models.bidirectional import BidirectionalModel
from tagwright.models.model import Model
from tagwright.table import table

__all__ = ["SIZES", "array_size", "describe"]

SIZES = {"features": "rows.end", "weights": "rows.weight", "edges": "edges.score"}
"""What is counted, and in which array."""


def describe(model: Model, labels: int = 8, most: int = 5) -> str:
    """Say what a model is, its sizes, the strongest features of its first labels, and its strongest edges."""
    if isinstance(model, BidirectionalModel):
        heads = [
            f"{side}: {describe(part, labels, most)}" for side, part in (("left", model.left), ("right", model.right))
        ]
        return "\n\n".join([table(["model", ""], _summary(model)), *heads])
    parts = [table(["model", ""], _summary(model)), _strongest(model, labels, most), _edges(model, most)]
    if model.features:
        lines = [line for line in model.features.text.split("\n") if line.strip() and not line.startswith("#")]
        parts.insert(1, "templates: " + "  ".join(lines))
    if "attribution" in model.facts:
        parts.append(str(model.facts["attribution"]))
    return "\n\n".join(part for part in parts if part)


def array_size(model: Model, name: str) -> int:
    """Give the length of an array; of two models, that of both."""
    return sum(len(array) for key, array in model.arrays.items() if key in (name, f"left.{name}", f"right.{name}"))


def size_text(size: int) -> str:
    """Give a number of bytes as people read it."""
    return f"{size / 1e6:,.1f} MB" if size >= 1e6 else f"{size / 1e3:,.1f} kB"


def _summary(model: Model) -> list[list[str]]:
    facts, arrays = model.facts, model.arrays
    size = sum(array.nbytes for array in arrays.values())
    rows = [
        ["learner", str(facts.get("learner", "?"))],
        ["labels", f"{len(model.labels):,}"],
        *([name, f"{array_size(model, array):,}"] for name, array in SIZES.items()),
    ]
    rows[-1][1] += f" of {len(model.labels) ** 2:,}"
    if "corrections.set" in arrays:
        rows.append(["token-dependent edges", f"{len(arrays['corrections.set']):,}"])
    rows.append(["size", size_text(size)])
    if "sentences" in facts:
        rows.append(["trained on", f"{facts['sentences']:,} sentences, {facts['tokens']:,} tokens"])
    for name in ("epochs_done", "version"):
        if name in facts:
            rows.append([name.replace("_", " "), str(facts[name])])
    told: dict[str, Any] = {**facts.get("options", {}), **facts.get("data", {})}
    told["templates"] = told.pop("features", None)
    return rows + [[name.replace("_", " "), str(value)] for name, value in told.items() if value is not None]


def _strongest(model: Model, labels: int, most: int) -> str:
    """Give a table of the features with the largest weights of each of the first labels."""
    arrays = model.arrays
    ends, text = arrays["names.ends"], arrays["names.bytes"]
    rows = []
    # Weights of parts of labels have numbers beyond the labels'; they are not shown.
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
    """Give a table of the edges with the largest scores and of those with the smallest."""
    score = model.arrays["edges.score"]
    if not len(score):
        return ""
    order = np.argsort(-score, kind="stable")
    shown = order if len(order) <= 2 * most else np.concatenate([order[:most], order[-most:]])
    names = [
        f"{model.labels[model.arrays['edges.previous'][n]]} -> {model.labels[model.arrays['edges.current'][n]]}"
        for n in shown
    ]
    return table(["edge", "score"], [[name, f"{score[n]:.2f}"] for name, n in zip(names, shown, strict=True)])
