"""Padded batches, as neural networks make them: scores (B, T, L) and how many of the T tokens each sentence has."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from tagwright import checks
from tagwright.decoding.edges import AS_IT_IS, FloatArray, array_of, no_mask, scores_of

Lengths: TypeAlias = npt.NDArray[np.int64]


class Padded(NamedTuple):
    """B sentences of up to T tokens."""

    nodes: FloatArray
    """(B, T, L)."""
    lengths: Lengths
    """(B,): tokens of each sentence; what is behind them is padding."""

    def sentences(self) -> list[FloatArray]:
        """Return the scores of each sentence, (its tokens, L), without copies."""
        return [nodes[:length] for nodes, length in zip(self.nodes, self.lengths, strict=True)]


def padded(nodes: object, lengths: object, mask: object) -> Padded:
    """Read a padded batch. Without lengths and mask, every sentence has T tokens."""
    scores = scores_of("nodes", nodes)
    if scores.ndim != 3:
        raise ValueError(f"nodes with lengths= or mask= must be one array of shape (B, T, L), not {scores.shape}")
    return Padded(scores, lengths_of(scores.shape[0], scores.shape[1], lengths, mask))


def lengths_of(B: int, T: int, lengths: object = None, mask: object = None) -> Lengths:
    """Return how many tokens each of B sentences has; `mask` is (B, T) and true for tokens, false for padding."""
    if lengths is not None and mask is not None:
        raise ValueError("give lengths or mask, not both")
    if lengths is not None:
        return _checked_lengths(B, T, lengths)
    if mask is None:
        return _alike(B, T)
    no_mask("mask", mask)
    there = array_of("mask", mask)
    if there.shape != (B, T):
        raise ValueError(f"mask must have shape (B, T) = ({B}, {T}), not {there.shape}")
    if there.dtype != np.bool_:
        known = np.isin(there, (0, 1)) if there.dtype.kind in "iuf" else np.zeros(there.shape, bool)
        if not known.all():
            b, t = (int(n) for n in np.argwhere(~known)[0])
            value = checks.shown(there[b, t].item())
            raise ValueError(f"mask must hold True and False, or 1 and 0; token {t} of sentence {b} has {value}")
        there = there.astype(np.bool_)
    counts: Lengths = np.count_nonzero(there, axis=1).astype(np.int64)
    holes = np.arange(T) < counts[:, None]
    if not np.array_equal(holes, there):
        b = int(np.argmax((holes != there).any(axis=1)))
        hole = int(np.argmin(there[b]))
        after = hole + int(np.argmax(there[b, hole:]))
        raise ValueError(
            f"mask has a hole: in sentence {b} token {hole} is masked and token {after} is not; "
            "tokens come first, padding behind them"
        )
    return counts


@lru_cache(maxsize=16)
def _alike(B: int, T: int) -> Lengths:
    lengths = np.full(B, T, dtype=np.int64)
    lengths.setflags(write=False)
    return lengths


def _checked_lengths(B: int, T: int, lengths: object) -> Lengths:
    no_mask("lengths", lengths)
    array: npt.NDArray[Any] = array_of("lengths", lengths)
    if array.shape != (B,) or (B and array.dtype.kind not in "iu"):
        raise ValueError(f"lengths must be whole numbers, one per sentence: ({B},), not {array.shape} {array.dtype}")
    wrong = (array < 0) | (array > T)
    if wrong.any():
        b = int(np.argmax(wrong))
        raise ValueError(f"sentence {b} has length {array[b]}, but the array has room for 0 to {T} tokens")
    return np.ascontiguousarray(array, dtype=np.int64)


def to_fill(what: str, out: object, shape: tuple[int, ...]) -> FloatArray:
    """Check an array that is to be filled."""
    if not isinstance(out, np.ndarray) or out.dtype not in AS_IT_IS or out.shape != shape:
        raise ValueError(f"{what} must be a float32 or float64 array of shape {shape}")
    if not (out.flags.c_contiguous and out.flags.writeable and out.flags.aligned):
        raise ValueError(f"{what} must be writeable and contiguous")
    return out
