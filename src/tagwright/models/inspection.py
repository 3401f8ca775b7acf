"""The weights of a model as records."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tagwright.models.file import Arrays


class FeatureWeight(NamedTuple):
    """The weight of a feature with a label."""

    feature: str
    label: str
    weight: float


class Transition(NamedTuple):
    """The weight of a label after another."""

    previous: str
    label: str
    weight: float


def feature_weights(labels: list[str], arrays: Arrays, label: str | None, top: int | None) -> list[FeatureWeight]:
    """Return the weights of largest magnitude, largest first; of one label, or of all."""
    of, weight = arrays["rows.label"], arrays["rows.weight"]
    if label is None:
        # Weights of parts of labels, whose numbers follow the labels', are not those of a label.
        mine = np.flatnonzero(of < len(labels))
    elif label in labels:
        mine = np.flatnonzero(of == labels.index(label))
    else:
        raise ValueError(f"the model has no label {label!r}")
    if top is not None:
        mine = mine[np.argsort(-np.abs(weight[mine]), kind="stable")[:top]]
    mine = mine[np.argsort(-weight[mine], kind="stable")]
    features = np.searchsorted(arrays["rows.end"], mine, side="right")
    ends, text = arrays["names.ends"], arrays["names.bytes"]
    made = []
    for entry, feature in zip(mine.tolist(), features.tolist(), strict=True):
        begin = int(ends[feature - 1]) if feature else 0
        name = text[begin : int(ends[feature])].tobytes().decode("utf-8", "replace")
        made.append(FeatureWeight(name, labels[of[entry]], float(weight[entry])))
    return made


def transitions(labels: list[str], arrays: Arrays) -> list[Transition]:
    """Return the weights of pairs of labels, largest first."""
    score = arrays["edges.score"]
    previous, current = arrays["edges.previous"], arrays["edges.current"]
    order = np.argsort(-score, kind="stable").tolist()
    return [Transition(labels[previous[n]], labels[current[n]], float(score[n])) for n in order]
