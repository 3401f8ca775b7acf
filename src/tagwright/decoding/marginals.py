"""Sums over any scores: `marginals` gives log Z and the probability of every label and every edge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tagwright import _core, checks
from tagwright.decoding.decode import Lattices, SwitchedOn, many_lattices, one_lattice
from tagwright.decoding.keep import Keep, keep_arguments

__all__ = ["Marginals", "marginals", "marginals_batch"]


class Marginals(NamedTuple):
    """What the distribution over labellings, p(path) = exp(score - log Z), says of each token."""

    nodes: npt.NDArray[np.float64]
    """(T, L): the probability that token t has label y."""
    log_z: float
    """The logarithm of the sum of exp(score) over all paths, or over those of kept labels."""
    kept: npt.NDArray[np.int32]
    """(T,): how many labels each column held."""
    edges: npt.NDArray[np.float64] | None
    """(T-1, L, L): the probability that token t has label i and token t + 1 label j; where asked for."""


def marginals(
    nodes: object,
    edges: object,
    keep: Keep | None = None,
    *,
    with_edges: bool = False,
    switched_on: SwitchedOn | None = None,
) -> Marginals:
    """Return the sums over all paths of one sentence, by forward-backward, exact or sparse.

    Args:
        nodes: node scores (T, L), as for `decode`.
        edges: an `Edges`, or edge scores (L, L) or (T-1, L, L).
        keep: None for exact sums. `KeepDivergence`, `KeepSize` or `KeepRatio` for sparse forward-backward (Pal et al.
            2006, section 3): the rule chooses labels in each column, forward by alpha and then backward by alpha *
            beta, and the sums are the exact ones over the sequences of labels that were kept in the end. The latter
            differs from the paper, which takes its sums while the kept labels still change.
        with_edges: whether `edges` of the answer is filled: T * L * L numbers.
        switched_on: for each of the T-1 steps, the sets of `Edges(corrections=...)` that count there.

    Raises:
        ValueError: for scores that are NaN or +inf, shapes that do not fit, or no path at all.

    Example:
        >>> import tagwright as tw
        >>> found = tw.marginals([[1.0, 0.0], [0.0, 0.5]], [[0.0, -1.0], [-1.0, 0.0]])
        >>> found.nodes.round(3).tolist(), round(found.log_z, 3)
        ([[0.684, 0.316], [0.483, 0.517]], 1.854)

    """
    return _marginals(one_lattice(nodes, edges, switched_on), keep, with_edges, 1)[0]


def marginals_batch(
    nodes: Sequence[object],
    edges: object,
    keep: Keep | None = None,
    *,
    threads: int = 1,
    switched_on: Sequence[SwitchedOn | None] | None = None,
) -> list[Marginals]:
    """Return `marginals` of many sentences, with `threads` threads over the sentences."""
    return _marginals(many_lattices(nodes, edges, switched_on), keep, False, threads)


def _marginals(given: Lattices, keep: Keep | None, with_edges: bool, threads: int) -> list[Marginals]:
    rule = keep_arguments(keep)
    checks.at_least_one("threads", threads)
    found = _core.marginals(*given, rule, bool(with_edges), int(threads))
    return [Marginals(per_node, log_z, kept, per_edge) for per_node, per_edge, log_z, kept in found]
