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

    Parameters
    ----------
    nodes : array of shape (B, T, L)
        Node scores: float32 or float64, anything NumPy or DLPack can read, or a tensor of PyTorch.
    edges : Edges, array of shape (L, L), or list of one per sentence
        Edge scores.
    k : int
        How many paths.
    decoder : str or Decoder
        A name of `decoders()`, or a decoder with options, such as ``tw.Beam(width=16)``.
    lengths : array of shape (B,), optional
        How many tokens each sentence has; by default all have T.
    mask : array of bool of shape (B, T), optional
        In place of lengths: true for tokens, false for the padding behind them.
    threads : int
        How many threads share the sentences. The answers do not depend on it.
    constraints : Constraints, optional
        Rules that every path must satisfy.
    deadline : float, optional
        Seconds per sentence, as for `decode`.

    Returns
    -------
    PathArrays
        Labels, scores, and how many paths each sentence has.

    Raises
    ------
    ValueError
        For scores that are NaN or +inf, shapes that do not fit, a mask with holes, or no path at all.

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
