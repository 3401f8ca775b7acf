"""The temperature of a CRF: weights divided by it make probabilities agree with the share of labels that is right.

One number is fitted to labelled sentences that training has not read (Guo et al. 2017, section 4.2). The weights are
divided by it rather than stored beside it, so that the score of a labelling is the logarithm of its probability, up to
log Z, wherever a model is used; a positive factor changes no comparison of scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tagwright.elementary import exp, log
from tagwright.models.facts import fact_in
from tagwright.models.file import Arrays
from tagwright.models.model import Model
from tagwright.models.tagging import TagOptions

TOKENS = 5_000
"""Tokens that one number is fitted to."""
_SCORES = ("rows.weight", "edges.score", "corrections.score", "ngrams.score")
_LEAST, _MOST = 0.2, 10.0
_EVALUATIONS = 14  # of the golden section, which leave an interval of half a percent
_PRIOR = 5.0  # times log(T)^2 is added to the loss: few tokens, or only right ones, ask for no extreme temperature
_SURE = 1e-6  # probabilities closer to 0 or 1 count as this
_GOLDEN = (5**0.5 - 1) / 2


def scaled(arrays: Arrays, factor: float) -> Arrays:
    """Return the arrays of a model with all its scores times a factor."""
    return {name: array * np.float32(factor) if name in _SCORES else array for name, array in arrays.items()}


def temperature_of(model: Model) -> float:
    """Return what the weights of a model were divided by."""
    found = fact_in(model.facts, float, "temperature")
    return found if found is not None and _LEAST <= found <= _MOST else 1.0


def calibrated(model: Model, temperature: float) -> Model:
    """Return the model with its weights divided by a temperature, which its facts name."""
    if temperature == 1:
        return model
    facts = {**model.facts, "temperature": temperature}
    return type(model)(model.labels, model.features, scaled(model.arrays, 1 / temperature), facts)


def fitted_temperature(model: Model, X: Sequence[Any], y: Sequence[Sequence[str]], threads: int = 1) -> float:
    """Return the temperature that makes the probabilities of a model's labels most likely, given which are right.

    That is the least binary log loss over tokens, with a weak prior for 1. Labels that training did not have are wrong.
    """
    few = _spread(X)
    X, y = [X[s] for s in few], [y[s] for s in few]
    if not X or not model.has_probabilities():
        return 1.0
    options = TagOptions(threads=threads, proba=True)

    def loss(logarithm: float) -> float:
        arrays = scaled(model.arrays, 1 / float(exp(np.array([logarithm]))[0]))
        own = type(model)(model.labels, model.features, arrays, model.facts)
        found = [one.taggings[0] for one in own.tag_results(X, options)]
        shares = np.array([share for one in found for share in one.marginals or ()])
        pairs = ((a, b) for one, gold in zip(found, y, strict=True) for a, b in zip(one.labels, gold, strict=True))
        right = np.array([a == b for a, b in pairs])
        shares = np.clip(shares, _SURE, 1 - _SURE)
        return _PRIOR * logarithm**2 - float(log(np.where(right, shares, 1 - shares)).sum())

    low, high = (float(log(np.array([bound]))[0]) for bound in (_LEAST, _MOST))
    at = [high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)]
    losses = [loss(at[0]), loss(at[1])]
    for _ in range(_EVALUATIONS - 2):
        if losses[0] <= losses[1]:
            high = at[1]
            at, losses = [high - _GOLDEN * (high - low), at[0]], [0.0, losses[0]]
            losses[0] = loss(at[0])
        else:
            low = at[0]
            at, losses = [at[1], low + _GOLDEN * (high - low)], [losses[1], 0.0]
            losses[1] = loss(at[1])
    return round(float(exp(np.array([(low + high) / 2]))[0]), 3)


def _spread(X: Sequence[Any]) -> list[int]:
    """Return the numbers of sentences, evenly spaced, that have about as many tokens as one number needs."""
    tokens = sum(map(len, X))
    step = max(1.0, tokens / TOKENS)
    count = max(1, int(len(X) / step)) if tokens else 0
    return [int(n * len(X) / count) for n in range(count)]
