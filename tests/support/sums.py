"""Sums over the paths of a lattice by other means: enumeration, and plain NumPy in logarithms of float64.

psi_t(j) is exp(node score), with the start score in the first column and the stop score in the last. How this reads
Pal, Sutton and McCallum (2006), section 3:

* Forward: alpha_0 = psi_0, alpha_t(j) = psi_t(j) * sum of alpha_t-1(i) exp(e_t(i, j)) over the labels i that column
  t-1 kept. alpha is computed and stored for all labels; the rule takes it as the belief (beta is 1 so far) and
  says which labels send messages on.
* Backward: from the last column to the first the rule chooses anew, among all labels, by alpha_t(i) * beta_t(i):
  labels may be kept again. beta_t-1(i) = sum of exp(e_t(i, j)) psi_t(j) beta_t(j) over the labels j newly kept.
* log Z and the marginals are then the exact ones of the distribution restricted to paths whose label lies among the
  newly kept of every column. The paper takes them from the messages above, which do not quite agree with each other.

Equal beliefs: the lower label goes first. A label of belief zero is never kept. Zero means forbidden by -inf: in
logarithms nothing underflows. tagwright may lose sight of labels that are e^-640 below the best.

A rule is the name of its class and its arguments, such as ("KeepDivergence", 0.01, 4).
"""

import itertools
from typing import NamedTuple

import numpy as np

from support.brute_force import Case, paths


class Sums(NamedTuple):
    log_z: float
    nodes: np.ndarray  # (T, L)
    edges: np.ndarray  # (T-1, L, L)
    kept: np.ndarray  # (T,)
    close: bool = False  # whether rounding may have decided what was kept


def log_sum(scores: np.ndarray, axis: int = -1) -> np.ndarray:
    most = scores.max(axis=axis, keepdims=True)
    most[~np.isfinite(most)] = 0
    with np.errstate(divide="ignore"):
        return np.log(np.exp(scores - most).sum(axis=axis)) + most.squeeze(axis)


def shares(scores: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """exp(scores), scaled to sum to one."""
    weights = np.exp(scores - scores.max(axis=axes, keepdims=True))
    return weights / weights.sum(axis=axes, keepdims=True)


def columns(case: Case) -> np.ndarray:
    """log psi, (T, L)."""
    psi = case.nodes.astype(float)
    if len(psi):
        psi[0] += case.start
        psi[-1] += case.stop
    return psi


def enumerated(case: Case) -> Sums | None:
    """Exact sums, path by path; None without a path."""
    T, L = case.nodes.shape
    labels, scores = paths(case)
    if not len(scores):
        return None
    share = shares(scores, (0,))
    nodes = [np.bincount(y, share, L) for y in labels]
    edges = [np.bincount(i * L + j, share, L * L).reshape(L, L) for i, j in itertools.pairwise(labels)]
    shape = max(T - 1, 0), L, L
    return Sums(float(log_sum(scores)), np.reshape(nodes, (T, L)), np.reshape(edges, shape), np.full(T, L))


def exact(case: Case) -> Sums | None:
    """Forward-backward over all labels; None without a path."""
    T, L = case.nodes.shape
    return _sums(columns(case), case.steps, np.full(T, L))


def _sums(psi: np.ndarray, steps: np.ndarray, kept: np.ndarray) -> Sums | None:
    T, L = psi.shape
    if T == 0:
        return Sums(0.0, psi, np.zeros((0, L, L)), kept)
    alpha, beta = psi.copy(), np.zeros((T, L))
    for t in range(1, T):
        alpha[t] += log_sum(alpha[t - 1][:, None] + steps[t - 1], axis=0)
    for t in range(T - 1, 0, -1):
        beta[t - 1] = log_sum(steps[t - 1] + (psi[t] + beta[t]))
    log_z = float(log_sum(alpha[-1]))
    if log_z == -np.inf:
        return None
    edges = alpha[:-1, :, None] + steps[: T - 1] + (psi + beta)[1:, None, :]
    return Sums(log_z, shares(alpha + beta, (1,)), shares(edges, (1, 2)) if T > 1 else edges, kept)


def choose(beliefs: np.ndarray, rule: tuple, close: float) -> tuple[np.ndarray, bool]:
    """The labels that a rule keeps, given logarithms of beliefs; and whether a change of `close` keeps others."""
    order = np.argsort(-beliefs, kind="stable")
    order = order[beliefs[order] > -np.inf]
    if not len(order):
        return order, False
    best_first = beliefs[order]
    in_sight = int((best_first > best_first[0] - 640).sum())
    name, *options = rule

    def count(slack: float) -> int:
        if name == "KeepSize":
            n = options[0]
        elif name == "KeepRatio":
            n = int((best_first >= best_first[0] + np.log(options[0]) - slack).sum())
        else:
            mass = shares(best_first, (0,))
            lost = np.append(np.cumsum(mass[:0:-1])[::-1], 0.0)  # lost[n]: what n + 1 labels leave out
            n = 1 + int(np.argmax(np.append(-np.log1p(-lost[:-1]) <= options[0] + slack * (options[0] + 1e-3), True)))
            n = max(n, *options[1:], 1)
        return min(max(n, 1), len(order))

    n = count(0.0)
    near = n < len(order) and best_first[n - 1] - best_first[n] < close
    return order[:n], bool(n > in_sight or near or count(-close) != n or count(close) != n)


def kept_labels(psi: np.ndarray, steps: np.ndarray, chosen) -> np.ndarray | None:
    """The labels newly kept, (T, L), where chosen(beliefs, t) says which; None where a column keeps none."""
    T, L = psi.shape
    alpha, beta, on = psi.copy(), np.zeros(L), np.arange(L)
    for t in range(T):
        if t:
            alpha[t] += log_sum(alpha[t - 1][on][:, None] + steps[t - 1][on], axis=0)
        on = chosen(alpha[t], t)
        if not len(on):
            return None
    kept = np.zeros((T, L), dtype=bool)
    for t in range(T - 1, -1, -1):
        on = chosen(alpha[t] + beta, t)
        kept[t, on] = True
        if t:
            beta = log_sum(steps[t - 1][:, on] + (psi[t] + beta)[on])
    return kept


def sparse(case: Case, rule: tuple, close: float = 1e-9) -> Sums | None:
    """Sparse forward-backward as above; None if the kept labels leave no path."""
    psi, doubt = columns(case), False

    def chosen(beliefs: np.ndarray, t: int) -> np.ndarray:
        nonlocal doubt
        on, near = choose(beliefs, rule, close)
        doubt |= near
        return on

    kept = kept_labels(psi, case.steps, chosen)
    if kept is None:
        return None
    made = _sums(np.where(kept, psi, -np.inf), case.steps, kept.sum(axis=1))
    assert made is not None  # every label newly kept has one after it, so the first column's begin a path
    return made._replace(close=bool(doubt))


def beam(case: Case, rule: tuple, k: int, close: float = 1e-9) -> tuple[list[float], bool]:
    """Max-product: the scores of the k best paths, best first, that a beam with a rule finds (none where it loses
    every path), and whether rounding may have decided what was kept. Every kept label keeps k partial paths."""
    T = len(case.nodes)
    if T == 0:
        return [0.0], False
    doubt = False
    scores, ends = np.zeros(1), np.zeros(1, dtype=int)
    for t in range(T):
        longer = scores[:, None] + (case.steps[t - 1][ends] if t else case.start) + case.nodes[t].astype(float)
        longer = -np.sort(-longer, axis=0)[:k]
        on, near = choose(longer[0], rule, close)
        doubt |= near
        if not len(on):
            return [], doubt
        scores, ends = longer[:, on].ravel(), np.tile(on, len(longer))
        scores, ends = scores[scores > -np.inf], ends[scores > -np.inf]
    scores = scores + case.stop[ends]
    return sorted(scores[scores > -np.inf].tolist(), reverse=True)[:k], doubt


def bits(found):
    """Every bit of an answer."""
    parts = found.nodes, np.float64(found.log_z), found.kept.astype(np.int64)
    return b"".join(part.tobytes() for part in (parts if found.edges is None else (*parts, found.edges)))
