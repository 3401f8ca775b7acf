"""Random labellings from the distribution that scores define: `sample`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tagwright import _core, checks
from tagwright.constraints.allowed import AllowedLabels
from tagwright.constraints.constraints import Constraints
from tagwright.decoding.decode import ActiveSets, one_lattice


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
