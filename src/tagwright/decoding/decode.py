"""Decode any scores: `decode`, `decode_batch`, `paths` and `score`.

Conventions: T tokens, L labels, k answers. Node scores are (T, L). Edge scores are indexed [previous, current].
Scores are in the log domain: they are summed along a path, higher is better, -inf forbids.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeGuard, cast

import numpy as np
import numpy.typing as npt

from tagwright import _core, checks
from tagwright.constraints.allowed import AllowedLabels, read_allowed
from tagwright.constraints.constraints import Constraints
from tagwright.decoding.decoders import Decoder, DecoderRow, decoders, plan
from tagwright.decoding.edges import AS_IT_IS, Edges, FloatArray, ints, scores_of
from tagwright.decoding.padded import padded
from tagwright.decoding.tensors import is_tensor
from tagwright.markup import notebook_table, shortened

__all__ = ["Decoding", "Path", "Work", "decode", "decode_batch", "paths", "score"]

ActiveSets: TypeAlias = Sequence[Sequence[int]]
"""For each of the T-1 steps, the correction sets that are active."""

_LONGEST = 1e9  # seconds; a longer deadline is none, and clocks count no further
_FIRST_PATHS = 8  # that `paths` requests at first


class Path(NamedTuple):
    """One labelling of a sentence."""

    labels: npt.NDArray[np.int32]
    """The label of each token, (T,)."""
    score: float
    """start + node scores + edge scores + stop along the path, summed from left to right in double precision."""


class Work(NamedTuple):
    """Operations of a decoder, counted the same way in all of them."""

    rounds: int
    """Searches of a (coarse) lattice; 1 where nothing is iterated."""
    nodes: int
    """Labels or blocks (or partial paths that end in them) that were extended, over all rounds."""
    edges: int
    """Edge scores or bounds that were read, over all rounds."""


class Decoding(NamedTuple):
    """The answer for one sentence."""

    paths: list[Path]
    """Distinct paths, best first: k of them, or all there are (or, from a beam, all it found)."""
    exact: bool
    """Whether these are proven to be the best by what the decoder maximises (a column of `decoders()`); False for a
    beam, and where a deadline came first."""
    work: Work
    """Operations counted."""
    gap: float = 0.0
    """How far the score of the best path may lie above that of the first: 0 if exact, inf for a beam."""

    def _repr_html_(self) -> str:
        """Return a table of the paths for a notebook: rank, score, difference from the best, labels."""
        proof = "exact" if self.exact else f"not proven, gap {self.gap:.6g}"
        work = f"{self.work.rounds:,} rounds, {self.work.nodes:,} nodes, {self.work.edges:,} edges"
        best = self.paths[0].score if self.paths else 0.0
        rows = [
            [str(rank), f"{path.score:.6g}", f"{path.score - best:.6g}", shortened(path.labels.tolist())]
            for rank, path in enumerate(self.paths, 1)
        ]
        return notebook_table(["rank", "score", "difference", "labels"], rows, (3,), f"{proof}; {work}")


def decode(
    nodes: object,
    edges: object,
    k: int = 1,
    decoder: str | Decoder = "auto",
    *,
    active: ActiveSets | None = None,
    constraints: Constraints | None = None,
    allowed: AllowedLabels | None = None,
    deadline: float | None = None,
) -> Decoding:
    """Return the best path of one sentence, or the k best.

    Parameters
    ----------
    nodes : array-like of shape (T, L)
        Node scores: a float32 or float64 array, or any object that NumPy or DLPack can read. T may be 0.
    edges : Edges, array-like of shape (L, L) or (T-1, L, L), or sparse matrix of shape (L, L)
        Edge scores. Entries that a matrix of scipy.sparse does not store are forbidden; see `Edges`.
    k : int, default=1
        Number of paths.
    decoder : str or Decoder, default="auto"
        Name of a decoder, with an option as in ``"beam:16"`` or ``tw.Beam(width=16)``; `decoders` lists them.
    active : sequence of sequences of int, optional
        For each of the T-1 steps, the active sets of `Edges(corrections=...)`.
    constraints : Constraints, optional
        Rules that every path must satisfy. A tag dictionary needs the words: pass
        ``allowed=constraints.allowed(words)``.
    allowed : sequence, or boolean array of shape (T, L), optional
        For each token the allowed labels, or None if all are allowed. Node scores of other labels are not read.
    deadline : float, optional
        Seconds after which the best path found so far is returned, for the decoders `auto` and `tree`. The result then
        has one path, `exact` is False, and `gap` bounds how much better another path can be. One pass over the scores
        is always finished.

    Returns
    -------
    Decoding
        The paths, best first, and whether they are proven to be the best.

    Raises
    ------
    ValueError
        For scores that are NaN or +inf, shapes that do not match, or if there is no path.

    Examples
    --------
    >>> import tagwright as tw
    >>> found = tw.decode([[1.0, 0.0], [0.0, 0.5]], [[0.0, -1.0], [-1.0, 0.0]], k=2)
    >>> [(path.labels.tolist(), path.score) for path in found.paths]
    [([0, 0], 1.0), ([0, 1], 0.5)]

    """
    return _decode(one_lattice(nodes, edges, active, constraints, allowed), k, decoder, 1, deadline)[0]


def decode_batch(
    nodes: object,
    edges: object,
    k: int = 1,
    decoder: str | Decoder = "auto",
    *,
    threads: int = 1,
    active: Sequence[ActiveSets | None] | None = None,
    constraints: Constraints | None = None,
    allowed: Sequence[AllowedLabels | None] | None = None,
    deadline: float | None = None,
    lengths: object = None,
    mask: object = None,
) -> list[Decoding]:
    """Decode a batch of sentences in one native call. See `decode_arrays` for results as arrays.

    Parameters
    ----------
    nodes : list of arrays of shape (T, L), or array of shape (B, T, L)
        Node scores, one array per sentence or one padded array.
    edges : Edges, array-like, or list with one per sentence
        Edge scores.
    k, decoder, constraints, deadline
        As for `decode`; the deadline holds for each sentence.
    threads : int, default=1
        Number of threads over sentences. The results do not depend on it.
    active, allowed : list with one per sentence, optional
        As for `decode`.
    lengths : array-like of shape (B,), optional
        Number of tokens of each sentence of a padded array; T by default.
    mask : array-like of shape (B, T), optional
        Instead of `lengths`: true for tokens, false for the padding after them.

    Returns
    -------
    list of Decoding
        One per sentence.

    Raises
    ------
    ValueError
        As for `decode`; the message names the sentence.

    Examples
    --------
    >>> import tagwright as tw
    >>> found = tw.decode_batch([[[1.0, 0.0]], [[0.0, 2.0], [0.0, 1.0]]], [[0.0, -1.0], [-1.0, 0.0]])
    >>> [decoding.paths[0].labels.tolist() for decoding in found]
    [[0], [1, 1]]

    """
    given = many_lattices(nodes, edges, active, constraints, allowed, lengths, mask)
    return _decode(given, k, decoder, threads, deadline)


def paths(
    nodes: object,
    edges: object,
    decoder: str | Decoder = "auto",
    *,
    active: ActiveSets | None = None,
    constraints: Constraints | None = None,
    allowed: AllowedLabels | None = None,
) -> Iterator[Path]:
    """Yield the paths of one sentence, best first, until the caller stops or there are no more.

    The lattice is decoded again with a larger k when the caller needs more paths. Paths whose scores differ by no more
    than the rounding error of the sums may be in either order. A beam grows with k and may find a better path late.

    Parameters
    ----------
    nodes, edges, active, constraints, allowed
        As for `decode`.
    decoder : str or Decoder, default="auto"
        A decoder with k-best search.

    Yields
    ------
    Path
        Distinct paths, best first.

    Raises
    ------
    ValueError
        As for `decode`.

    Examples
    --------
    >>> import itertools, tagwright as tw
    >>> found = tw.paths([[1.0, 0.0], [0.0, 0.5]], [[0.0, -1.0], [-1.0, 0.0]])
    >>> [path.labels.tolist() for path in itertools.takewhile(lambda path: path.score >= 0.5, found)]
    [[0, 0], [0, 1], [1, 1]]

    """
    prepared = _edges(edges)
    yielded: set[bytes] = set()
    k = _FIRST_PATHS
    while True:
        decoding = decode(nodes, prepared, k, decoder, active=active, constraints=constraints, allowed=allowed)
        if not decoding.exact and plan(decoder).row.exact:
            raise ValueError(
                f"the next path is not proven within the limit of the constraints; there were {len(yielded)}"
            )
        found = decoding.paths
        for path in found:
            # Of paths with equal scores another round may find others first.
            if (key := path.labels.tobytes()) not in yielded:
                yielded.add(key)
                yield path
        if len(found) < k:
            return
        k *= 4


def score(nodes: object, edges: object, labels: object, *, active: ActiveSets | None = None) -> float:
    """Return the score of one path: start, nodes, edges and stop, summed from left to right in double precision.

    Parameters
    ----------
    nodes, edges, active
        As for `decode`.
    labels : sequence of int of length T
        The path.

    Returns
    -------
    float
        The score, as in `Path.score`.

    Raises
    ------
    ValueError
        For labels out of range, and in the cases of `decode`.

    Examples
    --------
    >>> import tagwright as tw
    >>> tw.score([[1.0, 0.0], [0.0, 0.5]], [[0.0, -1.0], [-1.0, 0.0]], [0, 1])
    0.5

    """
    prepared = _edges(edges)
    scores = _nodes(nodes, prepared.L, "nodes")
    path = ints("labels", labels)
    if len(path) != len(scores):
        raise ValueError(f"labels must name one label per token: {len(scores)} tokens, {len(path)} labels")
    if len(path) and not (path.min() >= 0 and path.max() < prepared.L):
        raise ValueError(f"labels go from 0 to {prepared.L - 1}")
    return _core.score(scores, prepared._core, _active_sets(active, len(scores)), path)


def _decode(given: Lattices, k: int, decoder: str | Decoder, threads: int, deadline: float | None) -> list[Decoding]:
    core, row, seconds = plan_of(decoder, k, threads, deadline)
    labels, scores, work = _core.decode(*given, core, int(k), int(threads), seconds)
    made = []
    at = path = 0
    # This loop may take as long as the native call. A named tuple's own __new__ is Python code, a tuple's is not.
    new = tuple.__new__
    for array, (count, rounds, node_count, edge_count, exact, gap) in zip(given.nodes, work, strict=True):
        T = len(array)
        found = []
        for score in scores[path : path + count]:
            found.append(new(Path, (labels[at : at + T], score)))
            at += T
        path += count
        counted = new(Work, (rounds, node_count, edge_count))
        made.append(new(Decoding, (found, row.exact and exact, counted, gap if row.exact else np.inf)))
    return made


def plan_of(
    decoder: str | Decoder, k: int, threads: int, deadline: float | None
) -> tuple[_core.Plan, DecoderRow, float]:
    """Check the arguments of a search; return the core's plan, the row of the decoder, and the deadline in seconds."""
    row, _, core = plan(decoder)
    checks.at_least_one("k", k)
    checks.at_least_one("threads", threads)
    if k > 1 and not row.kbest:
        able = ", ".join(other.name for other in decoders() if other.kbest)
        raise ValueError(f"decoder {row.name!r} gives one path only, and k is {k}; these give k: {able}")
    return core, row, np.inf if deadline is None else _seconds(deadline, row)


def _seconds(deadline: float, row: DecoderRow) -> float:
    if not checks.is_number(deadline) or not deadline >= 0:
        raise ValueError(f"deadline must be a number of seconds of at least 0, not {checks.shown(deadline)}")
    if not row.deadline:
        able = " and ".join(other.name for other in decoders() if other.deadline)
        raise ValueError(f"decoder {row.name!r} cannot stop at a deadline; {able} can")
    return float(min(deadline, _LONGEST))


class Lattices(NamedTuple):
    """Arguments of the core's functions: the lattices of sentences."""

    nodes: list[FloatArray]
    edges: list[_core.Edges]
    """One for all, or one per sentence."""
    active: list[list[list[int]] | None] | None
    allowed: _core.AllowedLists | None


def one_lattice(
    nodes: object,
    edges: object,
    active: ActiveSets | None,
    constraints: Constraints | None = None,
    allowed: AllowedLabels | None = None,
) -> Lattices:
    """Return the lattice of one sentence for the core."""
    own = _edges(edges)
    arrays = [_nodes(nodes, own.L, "nodes")]
    on = None if active is None else [_active_sets(active, len(arrays[0]))]
    lists = read_allowed(None if allowed is None else [allowed], [len(arrays[0])], [own.L])
    return Lattices(arrays, [under(own, constraints, lists)], on, lists)


def edges_of_all(edges: object, sentences: int) -> list[Edges]:
    """Return the edges of a batch: one for all, or one per sentence."""
    if not sentences and isinstance(edges, list | tuple) and not edges:
        return []
    # One matrix may be written as nested lists, whose first row has one dimension.
    if isinstance(edges, list | tuple) and edges and (isinstance(edges[0], Edges) or np.ndim(edges[0]) != 1):
        if len(edges) != sentences:
            raise ValueError(f"{sentences} sentences but {len(edges)} edges; give one, or one per sentence")
        return [_edges(own, f"edges of sentence {s}: ") for s, own in enumerate(edges)]
    return [_edges(edges)]


def many_lattices(
    given: object,
    edges: object,
    active: Sequence[ActiveSets | None] | None,
    constraints: Constraints | None = None,
    allowed: Sequence[AllowedLabels | None] | None = None,
    lengths: object = None,
    mask: object = None,
) -> Lattices:
    """Return the lattices of many sentences for the core; `given` is a list of arrays or a padded array."""
    if lengths is None and mask is None and not is_tensor(given):
        nodes: list[Any] = list(cast("Iterable[object]", given))
    else:
        nodes = padded(given, lengths, mask).sentences()
    prepared = edges_of_all(edges, len(nodes))
    if active is not None and len(active) != len(nodes):
        raise ValueError(f"{len(nodes)} sentences but active for {len(active)}")
    sizes = [own.L for own in prepared]
    arrays = [
        own if _is_ready(own, L) else _nodes(own, L, f"nodes of sentence {s}")
        for s, (own, L) in enumerate(zip(nodes, sizes * len(nodes) if len(sizes) == 1 else sizes, strict=True))
    ]
    on = None if active is None else [_active_sets(own, len(array)) for own, array in zip(active, arrays, strict=False)]
    lists = read_allowed(allowed, [len(array) for array in arrays], sizes)
    return Lattices(arrays, [under(own, constraints, lists) for own in prepared], on, lists)


def under(edges: Edges, constraints: Constraints | None, allowed: _core.AllowedLists | None) -> _core.Edges:
    """Return the core's edges under constraints, whose tag dictionary needs `allowed`."""
    if constraints is None:
        return edges._core
    if not isinstance(constraints, Constraints):
        raise ValueError(f"constraints must be tw.Constraints, not {checks.shown(constraints)}")
    if constraints.words is not None and allowed is None:
        raise ValueError(
            "the constraints have a tag dictionary, which needs words; give allowed=constraints.allowed(words)"
        )
    return edges.constrained(constraints)


def _active_sets(active: ActiveSets | None, T: int) -> list[list[int]] | None:
    """Return the active sets of each step; reads at most one step too many, which the core refuses."""
    if active is None:
        return None
    try:
        steps = [[operator.index(s) for s in step] for step in itertools.islice(active, T + 1)]
    except TypeError:
        raise ValueError("active must list, for each step, the numbers of the active sets") from None
    for t, step in enumerate(steps):
        if any(abs(s) >= 2**31 for s in step):
            raise ValueError(f"active names a set beyond 2**31 at step {t}")
    return steps


def _edges(edges: object, where: str = "") -> Edges:
    if isinstance(edges, Edges):
        return edges
    try:
        return Edges(edges)
    except ValueError as error:
        raise ValueError(f"{where}{error}") from None


def _is_ready(scores: object, L: int) -> TypeGuard[FloatArray]:
    """Return whether these are (T, L) scores that the core reads without a copy."""
    if type(scores) is not np.ndarray or scores.dtype not in AS_IT_IS or scores.ndim != 2 or scores.shape[1] != L:
        return False
    flags = scores.flags
    return flags.c_contiguous and flags.aligned


def _nodes(nodes: object, L: int, what: str) -> FloatArray:
    array = scores_of(what, nodes)
    if array.shape == (0,):
        array = array.reshape(0, L)
    if array.ndim != 2:
        raise ValueError(f"{what} must have shape (T, L), not {array.shape}")
    if array.shape[1] != L:
        raise ValueError(f"{what} are for {array.shape[1]} labels, but the edges are for {L}")
    return array
