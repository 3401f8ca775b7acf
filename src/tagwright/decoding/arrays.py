"""Decoding of padded batches into arrays: `decode_arrays`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tagwright import _core
from tagwright.constraints.constraints import Constraints
from tagwright.decoding.decode import edges_of_all, plan_of, under
from tagwright.decoding.decoders import Decoder
from tagwright.decoding.padded import padded

__all__ = ["PathArrays", "decode_arrays"]


class PathArrays(NamedTuple):
    """The paths of a batch, best first."""

    labels: npt.NDArray[np.int32]
    """(B, k, T): the label of each token; -1 behind the last token, and where there are fewer than k paths."""
    scores: npt.NDArray[np.float64]
    """(B, k): the score of each path, as `Path.score` has it; -inf where there are fewer than k."""
    counts: npt.NDArray[np.int32]
    """(B,): how many paths each sentence has."""


def decode_arrays(
    nodes: object,
    edges: object,
    k: int = 1,
    decoder: str | Decoder = "auto",
    *,
    lengths: object = None,
    mask: object = None,
    threads: int = 1,
    constraints: Constraints | None = None,
    deadline: float | None = None,
) -> PathArrays:
    """Return the best paths of a padded batch as arrays: `decode_batch` without an object per path.

    Args:
        nodes: node scores (B, T, L): float32 or float64, anything NumPy or DLPack can read, or a tensor of PyTorch.
        edges: an `Edges`, edge scores (L, L), or a list of one per sentence.
        k: how many paths.
        decoder: a name of `decoders()` or a decoder with options, such as ``tw.Beam(width=16)``.
        lengths: (B,), how many tokens each sentence has; by default all have T.
        mask: (B, T), in place of lengths: true for tokens, false for the padding behind them.
        threads: how many threads share the sentences. The answers do not depend on it.
        constraints: rules that every path must keep to.
        deadline: seconds per sentence, as for `decode`.

    Raises:
        ValueError: for scores that are NaN or +inf, shapes that do not fit, a mask with holes, or no path at all.

    Example:
        >>> import numpy as np, tagwright as tw
        >>> nodes = np.array([[[1.0, 0.0], [0.0, 0.5]], [[0.0, 2.0], [9.0, 9.0]]])
        >>> found = tw.decode_arrays(nodes, np.array([[0.0, -1.0], [-1.0, 0.0]]), lengths=[2, 1])
        >>> found.labels.tolist(), found.scores.tolist()
        ([[[0, 0]], [[1, -1]]], [[1.0], [2.0]])

    """
    given = padded(nodes, lengths, mask)
    B, T, L = given.nodes.shape
    plan, _, seconds = plan_of(decoder, k, threads, deadline)
    prepared = edges_of_all(edges, B)
    for own in prepared:
        if own.L != L:
            raise ValueError(f"nodes are for {L} labels, but the edges are for {own.L}")
    labels = np.empty((B, k, T), dtype=np.int32)
    scores = np.empty((B, k))
    counts = np.empty(B, dtype=np.int32)
    cores = [under(own, constraints, None) for own in prepared]
    _core.fill_paths(
        given.nodes, given.lengths, cores, plan, int(k), int(threads), seconds, labels.ravel(), scores.ravel(), counts
    )
    return PathArrays(labels, scores, counts)
