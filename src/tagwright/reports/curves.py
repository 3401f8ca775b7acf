"""What a model keeps of its training, as curves to draw."""

from __future__ import annotations

from typing import NamedTuple

from tagwright.models.bidirectional import BidirectionalModel
from tagwright.models.facts import FORMATS, unit_of
from tagwright.models.model import Model

MEASURES = {
    "error": "training error",
    "objective": "objective",
    "log_likelihood": "log likelihood",
    "kept": "labels kept per token",
    "dev": "accuracy on dev",
}
"""Measures of a training that are drawn; `FORMATS` has the format of each."""

MOST_POINTS = 500  # of a curve; of more, evenly spaced ones are taken
LARGEST = 1e100  # beyond which differences overflow


class Curve(NamedTuple):
    """One thing that a training measured."""

    name: str
    """What, with its unit."""
    unit: str
    """What is counted: epochs or iterations."""
    points: list[tuple[int, float]]
    """Number of the epoch or iteration, from 1, and value; shares are in percent."""
    side: str = ""
    """Which of the two of a bidirectional model."""
    key: str = ""
    """What a history calls it."""


def curves_of(model: Model) -> list[Curve]:
    """Return the curves of a model's training: those that have two points that differ."""
    if isinstance(model, BidirectionalModel):
        sides = (("left", model.left), ("right", model.right))
        return [curve._replace(side=name) for name, side in sides for curve in curves_of(side)]
    history, unit = model.history, unit_of(model.facts)
    curves = []
    for key, name in MEASURES.items():
        is_share = FORMATS[key].endswith("%")
        scale = 100.0 if is_share else 1.0
        points = [
            (n, scale * fact[key]) for n, fact in enumerate(history, 1) if key in fact and abs(fact[key]) <= LARGEST
        ]
        if len({value for _, value in points}) > 1:
            curves.append(Curve(f"{name}, %" if is_share else name, unit, _thinned(points), key=key))
    return curves


def _thinned(points: list[tuple[int, float]]) -> list[tuple[int, float]]:
    step = -(-len(points) // MOST_POINTS)
    return points if step == 1 else [*points[:-1:step], points[-1]]
