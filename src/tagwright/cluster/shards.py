"""A corpus in parts, each for a worker."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tagwright import _core

__all__ = ["Shard", "bounds_of", "shard_arrays", "shard_corpus"]

Shard = dict[str, Any]
"""What a worker makes its shard of: arrays, the numbers of labels, features and sets, and of its first sentence."""


def bounds_of(lengths: npt.NDArray[np.int64], workers: int, block: int = 1) -> list[int]:
    """Return where parts of about the same number of tokens begin, and where the last one ends.

    Each begins with a whole number of blocks of sentences. There may be fewer parts than workers, and none is empty.
    """
    ends = np.concatenate([[0], np.cumsum(lengths)])
    places = np.unique(np.append(np.arange(0, len(lengths), block), len(lengths)))
    wanted = ends[-1] * np.arange(1, workers) / workers
    nearest = places[np.abs(ends[places][:, None] - wanted[None, :]).argmin(axis=0)] if workers > 1 else []
    return sorted({0, *map(int, nearest), len(lengths)})


def shard_arrays(corpus: _core.Corpus, begin: int, end: int, L: int) -> Shard:
    """Return a part of a corpus as it is sent."""
    part = corpus.cut(np.arange(begin, end, dtype=np.int32))
    return {"arrays": part.arrays(), "L": L, "features": corpus.features, "sets": corpus.sets, "first": begin}


def shard_corpus(shard: Shard) -> _core.Corpus:
    """Return the corpus that was sent; its numbers stay where they are."""
    return _core.Corpus.opened(shard["arrays"], shard["L"], shard["features"], shard["sets"], first=shard["first"])
