"""Samples of the distribution over labellings that scores describe: `sample`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tagwright import _core, checks
from tagwright.constraints.allowed import AllowedLabels
from tagwright.constraints.constraints import Constraints
from tagwright.decoding.decode import SwitchedOn, one_lattice

__all__ = ["sample"]


def sample(
    nodes: object,
    edges: object,
    n: int = 1,
    seed: int = 0,
    *,
    active: SwitchedOn | None = None,
    constraints: Constraints | None = None,
    allowed: AllowedLabels | None = None,
) -> npt.NDArray[np.int32]:
    """Return n labellings of one sentence, drawn from p(path) = exp(score - log Z).

    Forward filtering, backward sampling: exact sums from left to right once, then each labelling from its last label to
    its first. The draws are independent, and a path may come more than once. Labelling r depends on the seed and on r
    only: with a larger n, the first ones are the same.

    Args:
        nodes: node scores (T, L), as for `decode`.
        edges: an `Edges`, or edge scores (L, L) or (T-1, L, L).
        n: how many labellings.
        seed: a whole number; another one gives other labellings.
        active: for each of the T-1 steps, the sets of `Edges(corrections=...)` that count there.
        constraints: rules, as for `decode`: labellings that do not keep to them have probability 0.
        allowed: for each token the labels it may have, as for `decode`.

    Returns:
        Labels, (n, T).

    Raises:
        ValueError: for scores that are NaN or +inf, shapes that do not fit, or no path at all.

    Example:
        >>> import tagwright as tw
        >>> drawn = tw.sample([[1.0, 0.0], [0.0, 0.5]], [[0.0, -1.0], [-1.0, 0.0]], n=1000, seed=1)
        >>> drawn.shape, bool(abs((drawn[:, 0] == 0).mean() - 0.684) < 0.05)
        ((1000, 2), True)

    """
    checks.at_least_one("n", n)
    checks.seed(seed)
    given = one_lattice(nodes, edges, active, constraints, allowed)
    if n * given.nodes[0].shape[0] >= 2**40:
        raise ValueError(f"n is {n:,}: so many labellings of {len(given.nodes[0]):,} tokens are beyond any memory")
    state = np.random.SeedSequence(seed).generate_state(1, np.uint64)
    return _core.sample(*given, int(n), int(state[0]))
