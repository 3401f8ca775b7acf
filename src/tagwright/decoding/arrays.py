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


class PathArrays(NamedTuple):
    """The paths of a batch, best first."""

    labels: npt.NDArray[np.int32]
    """(B, k, T): the label of each token; -1 in the padding, and if there are fewer than k paths."""
    scores: npt.NDArray[np.float64]
    """(B, k): the score of each path; -inf if there are fewer than k."""
    counts: npt.NDArray[np.int32]
    """(B,): the number of paths of each sentence."""


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
    """Decode a padded batch into arrays, without an object per path.

    Parameters
    ----------
    nodes : array-like of shape (B, T, L)
        Node scores; tensors of PyTorch are accepted.
    edges, k, decoder, lengths, mask, threads, constraints, deadline
        As for `decode_batch`.

    Returns
    -------
    PathArrays
        Labels and scores, padded, and the number of paths of each sentence.

    Raises
    ------
    ValueError
        As for `decode_batch`, and for masks with holes.

    Examples
    --------
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
    outputs = (labels.ravel(), scores.ravel(), counts)
    _core.fill_paths(given.nodes, given.lengths, cores, plan, int(k), int(threads), seconds, outputs)
    return PathArrays(labels, scores, counts)
