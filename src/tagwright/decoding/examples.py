"""Random scores that resemble those of trained models, for demonstrations, tests and benchmarks."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def model_like(
    T: int, L: int, seed: int = 0, edges_per_label: int = 30
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Return node scores (T, L) and edge scores (L, L) such as a trained perceptron has.

    Label frequencies follow Zipf's law. Only pairs observed in a simulated training corpus have edge scores, about
    `edges_per_label` per label and mostly between frequent labels. Each token has two to five likely labels.
    """
    rng = np.random.default_rng(seed)
    frequency = 1.0 / np.arange(1, L + 1)
    frequency /= frequency.sum()
    edges = np.zeros((L, L), dtype=np.float32)
    observed = edges_per_label * L
    previous, current = rng.choice(L, size=(2, observed), p=frequency)
    edges[previous, current] = rng.normal(-0.3, 1.6, size=observed)
    nodes = rng.normal(1.0, 2.5, size=(T, L))
    for column in nodes:
        likely = rng.choice(L, size=min(L, int(rng.integers(2, 6))), replace=False, p=frequency)
        column[likely] += rng.uniform(8.0, 20.0, size=len(likely))
        column[likely[0]] += rng.normal(18.0, 8.0)
    return nodes.astype(np.float32), edges
