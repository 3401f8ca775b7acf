"""Summaries of a model and of a labelling in a few rows: for `tagwright info`, reports and notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tagwright.features.vectors import Vectors
from tagwright.markup import Html, notebook_table
from tagwright.models.facts import OWN, fact_in

if TYPE_CHECKING:
    from tagwright.models.model import Model, Tagging

_SIZES = {"features": "rows.end", "weights": "rows.weight", "edges": "edges.score", "ngrams": "ngrams.score"}
"""What is counted, and in which array; ngrams only where there are some."""


def array_sizes(model: Model) -> dict[str, int]:
    """Return the numbers of features, weights, edges and ngrams; of a bidirectional model, those of both sides."""
    sizes = {
        name: sum(len(held) for key, held in model.arrays.items() if key in (array, f"left.{array}", f"right.{array}"))
        for name, array in _SIZES.items()
    }
    return {name: size for name, size in sizes.items() if size or name != "ngrams"}


def size_text(size: int) -> str:
    """Return a number of bytes in kB or MB."""
    return f"{size / 1e6:,.1f} MB" if size >= 1e6 else f"{size / 1e3:,.1f} kB"


def summary(model: Model) -> list[list[str]]:
    """Return names and values: learner, sizes, what it was trained on, options, and the user's own facts."""
    facts, arrays = model.facts, model.arrays
    rows = [
        ["learner", str(fact_in(facts, object, "learner") or "?")],
        ["labels", f"{len(model.labels):,}"],
        *([name, f"{number:,}"] for name, number in array_sizes(model).items()),
    ]
    edges = next(row for row in rows if row[0] == "edges")
    edges[1] += f" of {len(model.labels) ** 2:,}"
    if "corrections.set" in arrays:
        rows.append(["token-dependent edges", f"{len(arrays['corrections.set']):,}"])
    rows.append(["size", size_text(sum(array.nbytes for array in arrays.values()))])
    lists = model.features.lists if model.features else {}
    for name, own in lists.items():
        if isinstance(own, Vectors):
            rows.append([f"vectors {name}", f"{len(own):,} words, {own.dimensions:,} dimensions"])
    sentences, tokens = fact_in(facts, int, "sentences"), fact_in(facts, int, "tokens")
    if sentences is not None and tokens is not None:
        rows.append(["trained on", f"{sentences:,} sentences, {tokens:,} tokens"])
    shown: dict[str, Any] = {name: fact_in(facts, object, name) for name in ("epochs_done", "temperature", "version")}
    for part in ("options", "data"):
        given = fact_in(facts, object, part)
        shown |= given if isinstance(given, dict) else {part: given}  # users may put anything there
    shown["templates"] = shown.pop("features", None)
    shown |= {name: value for name, value in (fact_in(facts, dict) or {}).items() if name not in OWN}
    return rows + [[str(name).replace("_", " "), str(value)] for name, value in shown.items() if value is not None]


def tagging_table(tagging: Tagging) -> Html:
    """Return a table of a labelling for a notebook: a row per token."""
    shares = [[f"{share:.4f}"] for share in tagging.marginals or ()]
    rows = [
        [str(t), label, *share]
        for t, (label, share) in enumerate(zip(tagging.labels, shares or [[]] * len(tagging.labels), strict=True))
    ]
    whole = "" if tagging.probability is None else f", probability {tagging.probability:.4g}"
    header = ["token", "label", *(["probability"] if shares else [])]
    return notebook_table(header, rows, (1,), f"score {tagging.score:.6g}{whole}")
