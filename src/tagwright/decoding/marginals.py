"""Log Z, marginal probabilities and samples, by forward-backward: `marginals`, `marginals_batch`, `sample`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from tagwright import _core, checks
from tagwright.constraints.allowed import AllowedLabels
from tagwright.constraints.constraints import Constraints
from tagwright.decoding.decode import ActiveSets, Lattices, edges_of_all, many_lattices, one_lattice, under
from tagwright.decoding.edges import Edges, FloatArray, array_of, ints
from tagwright.decoding.keep import Keep, keep_arguments
from tagwright.decoding.padded import padded, to_fill


class BatchMarginals(NamedTuple):
    """Sums over a padded batch, as returned by `marginals_batch(..., edge_counts=...)`."""

    nodes: FloatArray
    """(B, T, L): the probability of each label of each token, 0 in the padding; with labels, the derivatives."""
    log_z: npt.NDArray[np.float64]
    """(B,): log Z of each sentence."""
    edge_counts: npt.NDArray[np.float64]
    """(L, L) or one per pair: the expected number of times that an edge occurs in the batch; with labels, the
    derivatives."""
    log_likelihood: npt.NDArray[np.float64] | None
    """(B,): the log-likelihood of the labels, where they are given."""


class Marginals(NamedTuple):
    """Marginals of the distribution over labellings, p(path) = exp(score - log Z)."""

    nodes: npt.NDArray[np.float64]
    """(T, L): the probability that token t has label y."""
    log_z: float
    """The logarithm of the sum of exp(score) over all paths, or over those that were not pruned."""
    kept: npt.NDArray[np.int32]
    """(T,): the number of labels that each column kept."""
    edges: npt.NDArray[np.float64] | None
    """(T-1, L, L): the probability that token t has label i and token t + 1 label j; where requested."""
    entropy: float = 0.0
    """Entropy of the labelling, -sum p(path) log p(path), in nats: 0 where one path has all the probability."""


@checks.renamed(keep="pruning")
def marginals(
    nodes: object,
    edges: object,
    pruning: Keep | None = None,
    *,
    with_edges: bool = False,
    active: ActiveSets | None = None,
    constraints: Constraints | None = None,
    allowed: AllowedLabels | None = None,
) -> Marginals:
    """Compute log Z and the probabilities of labels of one sentence, by exact or sparse forward-backward.

    Parameters
    ----------
    nodes : array-like of shape (T, L)
        Node scores, as for `decode`.
    edges : Edges or array-like of shape (L, L) or (T-1, L, L)
        Edge scores.
    pruning : KeepDivergence, KeepSize, KeepRatio or None, default=None
        None for exact sums; otherwise the pruning rule of sparse forward-backward (Pal et al. 2006, section 3). The
        rule chooses labels in each column, forward by alpha and then backward by alpha * beta, and the sums are the
        exact ones over the sequences of labels that remain. This differs from the paper, which computes its sums while
        the set of labels still changes.
    with_edges : bool, default=False
        Whether to fill `edges` of the result, T * L * L numbers.
    active, constraints, allowed : optional
        As for `decode`. Labellings that the limits exclude have probability 0.

    Returns
    -------
    Marginals
        Node probabilities, log Z, entropy, and edge probabilities where requested.

    Raises
    ------
    ValueError
        For scores that are NaN or +inf, shapes that do not match, or if there is no path.

    Examples
    --------
    >>> import tagwright as tw
    >>> found = tw.marginals([[1.0, 0.0], [0.0, 0.5]], [[0.0, -1.0], [-1.0, 0.0]])
    >>> found.nodes.round(3).tolist(), round(found.log_z, 3)
    ([[0.684, 0.316], [0.483, 0.517]], 1.854)

    """
    return _marginals(one_lattice(nodes, edges, active, constraints, allowed), pruning, with_edges, 1)[0]


@overload
def marginals_batch(
    nodes: object,
    edges: object,
    pruning: Keep | None = None,
    *,
    threads: int = 1,
    active: Sequence[ActiveSets | None] | None = None,
    constraints: Constraints | None = None,
    allowed: Sequence[AllowedLabels | None] | None = None,
    lengths: object = None,
    mask: object = None,
) -> list[Marginals]: ...


@overload
def marginals_batch(
    nodes: object,
    edges: object,
    pruning: Keep | None = None,
    *,
    threads: int = 1,
    constraints: Constraints | None = None,
    lengths: object = None,
    mask: object = None,
    edge_counts: str | tuple[object, object],
    labels: object = None,
    out: FloatArray | None = None,
) -> BatchMarginals: ...


@checks.renamed(keep="pruning")
def marginals_batch(
    nodes: object,
    edges: object,
    pruning: Keep | None = None,
    *,
    threads: int = 1,
    active: Sequence[ActiveSets | None] | None = None,
    constraints: Constraints | None = None,
    allowed: Sequence[AllowedLabels | None] | None = None,
    lengths: object = None,
    mask: object = None,
    edge_counts: str | tuple[object, object] | None = None,
    labels: object = None,
    out: FloatArray | None = None,
) -> list[Marginals] | BatchMarginals:
    """Compute log Z and the probabilities of labels of many sentences.

    Parameters
    ----------
    nodes : list of array-like of shape (T, L), or array-like of shape (B, T, L)
        Node scores, one array per sentence or one padded array.
    edges : Edges or array-like of shape (L, L)
        Edge scores; without `edge_counts`, also a list of one per sentence.
    pruning : optional
        Pruning rule, as for `marginals`.
    threads : int, default=1
        Number of threads that share the sentences. The result does not depend on it.
    active, constraints, allowed, lengths, mask : optional
        As for `decode_batch`. Labellings that the limits exclude have probability 0.
    edge_counts : "sum" or pair of arrays, optional
        "sum" for the expected number of times that each edge occurs in the whole batch, (L, L); or the pairs of labels
        to be counted, as two arrays (previous, current). The result is then one `BatchMarginals`, and nothing of size
        T * L * L is allocated. It needs a padded array and one matrix of edges.
    labels : array-like of shape (B, T), optional
        The right labels. Then `nodes` of the result are the derivatives of the sum of log-likelihoods with respect to
        the node scores (1 at the right label, less its probability), `edge_counts` those with respect to the edge
        scores, and `log_likelihood` is filled.
    out : float32 or float64 array of shape (B, T, L), optional
        Array into which `nodes` of the result is written.

    Returns
    -------
    list of Marginals, or BatchMarginals
        The latter if `edge_counts` is given.

    Raises
    ------
    ValueError
        For invalid scores, shapes that do not match, or a sentence without a path.

    Examples
    --------
    >>> import numpy as np, tagwright as tw
    >>> nodes, edges = np.zeros((2, 3, 2)), np.array([[0.0, -1.0], [-1.0, 0.0]])
    >>> found = tw.marginals_batch(nodes, edges, lengths=[3, 1], edge_counts="sum")
    >>> found.edge_counts.round(3).tolist(), found.nodes[1].tolist()
    ([[0.731, 0.269], [0.269, 0.731]], [[0.5, 0.5], [0.0, 0.0], [0.0, 0.0]])

    """
    if edge_counts is None:
        if labels is not None or out is not None:
            raise ValueError("labels and out need edge_counts='sum' or the pairs that are to be counted")
        given_all = many_lattices(nodes, edges, active, constraints, allowed, lengths, mask)
        return _marginals(given_all, pruning, False, threads)
    if active is not None or allowed is not None:
        raise ValueError("edge_counts cannot be taken with active or allowed; sum Marginals.edges instead")
    checks.at_least_one("threads", threads)
    given = padded(nodes, lengths, mask)
    B, T, L = given.nodes.shape
    (prepared,) = edges_of_all(edges, 1) if not isinstance(edges, Edges) else [edges]
    if prepared._core.is_stepwise:
        raise ValueError("edge_counts need one matrix of edges for all steps, not one per step")
    if prepared.L != L:
        raise ValueError(f"nodes are for {L} labels, but the edges are for {prepared.L}")
    pairs = _pairs(edge_counts, L)
    counts = np.empty((L, L) if pairs is None else len(pairs))
    filled = np.empty((B, T, L)) if out is None else to_fill("out", out, (B, T, L))
    tags = None if labels is None else _tags(labels, B, T)
    log_z, scores = np.empty(B), np.empty(0 if tags is None else B)
    weight = 1.0 if tags is None else -1.0
    core, inputs = under(prepared, constraints, None), (None, tags, weight, np.empty(0))
    outputs: Any = (log_z, scores, filled, counts.reshape(-1), pairs, None, None)
    _core.fill_sums(given.nodes, given.lengths, core, inputs, keep_arguments(pruning), False, outputs, int(threads))
    return BatchMarginals(filled, log_z, counts, None if tags is None else scores - log_z)


def _pairs(edge_counts: object, L: int) -> _core.Pairs | None:
    if isinstance(edge_counts, str):
        checks.one_of("edge_counts", edge_counts, ("sum",))
        return None
    if not isinstance(edge_counts, tuple | list) or len(edge_counts) != 2:
        raise ValueError("edge_counts must be 'sum' or two arrays of labels: previous and current")
    return _core.Pairs(L, ints("edge_counts[0]", edge_counts[0]), ints("edge_counts[1]", edge_counts[1]))


def _tags(labels: object, B: int, T: int) -> npt.NDArray[np.int64]:
    array = array_of("labels", labels)
    if array.shape != (B, T) or (array.size and array.dtype.kind not in "iu"):
        raise ValueError(f"labels must be whole numbers of shape (B, T) = ({B}, {T}), not {array.shape} {array.dtype}")
    return np.ascontiguousarray(array, dtype=np.int64)


def _marginals(given: Lattices, pruning: Keep | None, with_edges: bool, threads: int) -> list[Marginals]:
    rule = keep_arguments(pruning)
    checks.at_least_one("threads", threads)
    found = _core.marginals(*given, rule, bool(with_edges), int(threads))
    return [Marginals(per_node, log_z, kept, per_edge, entropy) for per_node, per_edge, log_z, entropy, kept in found]


def sample(
    nodes: object,
    edges: object,
    n: int = 1,
    seed: int = 0,
    *,
    active: ActiveSets | None = None,
    constraints: Constraints | None = None,
    allowed: AllowedLabels | None = None,
) -> npt.NDArray[np.int32]:
    """Draw n labellings of one sentence from p(path) = exp(score - log Z).

    Forward filtering, backward sampling: one exact forward pass, then each labelling is drawn from its last label to
    its first. Draws are independent and with replacement. Draw r depends on the seed and r only, so that a larger n
    extends the same sequence.

    Parameters
    ----------
    nodes : array-like of shape (T, L)
        Node scores, as for `decode`.
    edges : Edges or array-like of shape (L, L) or (T-1, L, L)
        Edge scores.
    n : int, default=1
        Number of labellings.
    seed : int, default=0
        Seed of the random numbers.
    active, constraints, allowed : optional
        As for `decode`. Labellings that the limits exclude have probability 0.

    Returns
    -------
    ndarray of shape (n, T)
        The labels of each draw.

    Raises
    ------
    ValueError
        For scores that are NaN or +inf, shapes that do not match, or if there is no path.

    Examples
    --------
    >>> import tagwright as tw
    >>> drawn = tw.sample([[1.0, 0.0], [0.0, 0.5]], [[0.0, -1.0], [-1.0, 0.0]], n=1000, seed=1)
    >>> drawn.shape, bool(abs((drawn[:, 0] == 0).mean() - 0.684) < 0.05)
    ((1000, 2), True)

    """
    checks.at_least_one("n", n)
    checks.seed(seed)
    given = one_lattice(nodes, edges, active, constraints, allowed)
    if n * given.nodes[0].shape[0] >= 2**40:
        raise ValueError(f"n is {n:,}: as many labellings of {len(given.nodes[0]):,} tokens do not fit into memory")
    state = np.random.SeedSequence(seed).generate_state(1, np.uint64)
    return _core.sample(*given, int(n), int(state[0]))
