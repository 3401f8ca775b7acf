"""Dual decomposition: two searches that are made to agree (Wang, Zong and Xue 2013, section 3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tagwright import _core, checks

SCHEDULES = ("falling", "constant")

Prices = npt.NDArray[np.float64]
"""(T, L): what is added to a model's score for each label of each token."""


class Agreement(NamedTuple):
    """What two models agreed on."""

    labels: list[Any]
    """One per token: names, or numbers where there are only numbers."""
    score: float | None
    """The sum of both models' scores, without prices; None where they were not given."""
    agreed: bool
    """Whether both models gave these labels in the end."""
    rounds: int
    """Number of rounds; 1 where the models agreed at once."""
    disputed: list[int]
    """Tokens on which they still differed in the last round."""
    certain: bool
    """Whether no labelling has a higher sum of both scores: both searches were exact, and they agreed."""


def dual_decomposition(
    left: Callable[[Prices], Sequence[int]],
    right: Callable[[Prices], Sequence[int]],
    T: int,
    L: int,
    rounds: int = 30,
    step: float = 0.5,
    schedule: str = "falling",
    *,
    score: Callable[[list[int]], float] | None = None,
    exact: bool = False,
) -> Agreement:
    """Return the labels that two searches agree on (Algorithm 2); all it needs of them is labels for prices.

    Prices are 0 at first. In each round both return their best labels, `left` with prices mu and `right` with -mu.
    Where they differ, mu falls by a step at the label of `left` and rises by it at that of `right`.

    Parameters
    ----------
    left
        A function from prices (T, L), which it adds to its scores of labels, to its best labels, one per token.
    right
        The same for the other model.
    T
        Number of tokens.
    L
        Number of labels.
    rounds
        The largest number of rounds.
    step
        How far prices move (the paper's delta).
    schedule
        "constant" moves them by the step in every round, as the paper does; "falling" by step / n in the n-th round in
        which the token is in dispute.
    score
        The sum of both models' scores of labels, without prices. Where they do not agree, the better of the last
        round's two answers is taken by it; without it, that of `left`.
    exact
        Whether both searches are exact; an agreement is then certain to be the best.

    Examples
    --------
    >>> import numpy as np, tagwright as tw
    >>> left, right = np.array([[3.0, 2.0]]), np.array([[0.0, 2.0]])
    >>> best = lambda scores: lambda prices: (scores + prices).argmax(axis=1)
    >>> tw.dual_decomposition(best(left), best(right), 1, 2).labels
    [1]

    """
    check_options(rounds, step, schedule)
    checks.at_least_zero("T", T)
    checks.at_least_one("L", L)
    first, second, done, agreed, disputed = _core.agree(
        left, right, int(T), int(L), (int(rounds), float(step), schedule)
    )
    labels: list[int] = first.tolist()
    total = None if score is None else float(score(labels))
    if not agreed and score is not None and total is not None:
        others: list[int] = second.tolist()
        its = float(score(others))
        if its > total:
            labels, total = others, its
    return Agreement(labels, total, agreed, done, disputed, bool(agreed and exact))


def check_options(rounds: int, step: float, schedule: str) -> None:
    """Check the options of dual decomposition."""
    checks.at_least_one("rounds", rounds)
    checks.above_zero("step", step)
    checks.one_of("schedule", schedule, sorted(SCHEDULES))
