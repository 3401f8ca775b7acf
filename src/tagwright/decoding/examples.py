"""Random scores such as trained models have, for demonstrations, tests and measurements."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["model_like"]


def model_like(
    T: int, L: int, seed: int = 0, edges_per_label: int = 30
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Return node scores (T, L) and edge scores (L, L) such as a trained perceptron has.

    Labels are numbered by a Zipf frequency; an edge has a score only if the pair would have been met in training
    (about `edges_per_label` per label, most of them between frequent labels); each token favours a few labels.
    """
    rng = np.random.default_rng(seed)
    frequency = 1.0 / np.arange(1, L + 1)
    frequency /= frequency.sum()
    edges = np.zeros((L, L), dtype=np.float32)
    met = edges_per_label * L
    previous, current = rng.choice(L, size=(2, met), p=frequency)
    edges[previous, current] = rng.normal(-0.3, 1.6, size=met)
    nodes = rng.normal(1.0, 2.5, size=(T, L))
    for column in nodes:
        likely = rng.choice(L, size=min(L, int(rng.integers(2, 6))), replace=False, p=frequency)
        column[likely] += rng.uniform(8.0, 20.0, size=len(likely))
        column[likely[0]] += rng.normal(18.0, 8.0)
    return nodes.astype(np.float32), edges
