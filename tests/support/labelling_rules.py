"""Rules about whole labellings, drawn at random, and what they mean, in plain Python."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import tagwright as tw
from support.brute_force import Case, all_paths
from support.constrained import PREFIXES, draw_lists, follows
from support.lattices import draw_case, draw_patterns, draw_shape

RULES = ("once", "once all", "at_most", "at_least", "same", "accept", "several")


def spans(labels: list[str]) -> list[str]:
    """The types of the spans of a labelling, one entry per span."""
    found, inside = [], ""
    for label in labels:
        prefix, _, name = label.partition("-")
        if prefix != "O" and not (prefix in "IMEL" and inside == name):
            found.append(name)
        inside = name if prefix in "BIM" else ""
    return found


def runs(labels: list[str]) -> list[str]:
    """The labels of a labelling's longest contiguous runs, one entry per run."""
    return [label for t, label in enumerate(labels) if t == 0 or labels[t - 1] != label]


class Ruled(NamedTuple):
    """A lattice under rules; truth: the paths that satisfy them, best first; case: the lattice with -inf for limits."""

    case: Case
    limits: dict[str, Any]
    truth: list[tuple[float, tuple[int, ...]]]
    limited: Case
    satisfies: Callable[[list[str]], bool]


def draw_rules(rng, rule: str, names: list[str], units: Callable, joint: bool) -> tuple[dict[str, Any], list[Callable]]:
    """The arguments of `tw.Constraints`, and predicates over the parts of labels that have units, and over labels."""
    options: dict[str, Any] = {}
    checks: list[Callable] = []
    some = [str(name) for name in rng.permutation(names)[: rng.integers(0, len(names) + 1)]]
    if rule in ("once", "once all") or (rule == "several" and rng.random() < 0.5):
        options["once"] = True if rule == "once all" else some
        among = names if rule == "once all" else some
        checks.append(lambda own, _: all(units(own).count(name) <= 1 for name in among))
    if rule == "at_most" or (rule == "several" and rng.random() < 0.5):
        most = {name: int(rng.integers(0, 4)) for name in some}
        options["at_most"] = most
        checks.append(lambda own, _: all(units(own).count(name) <= n for name, n in most.items()))
    if rule == "at_least" or (rule == "several" and rng.random() < 0.5):
        least = {name: int(rng.integers(0, 3)) for name in some[:2]}
        options["at_least"] = least
        checks.append(lambda own, _: all(units(own).count(name) >= n for name, n in least.items()))
    if rule == "same" or (rule == "several" and joint and rng.random() < 0.3):
        options["same"] = 0
        checks.append(lambda _, whole: len({label.partition("|")[0] for label in whole}) <= 1)
    if rule == "accept" or (rule == "several" and rng.random() < 0.3):
        turn = int(rng.integers(2, 4))
        options["accept"] = lambda whole: sum(map(len, set(whole))) % turn == 0
        checks.append(lambda _, whole: sum(map(len, set(whole))) % turn == 0)
    return options, checks


def draw_ruled(rng, rule: str, form: str, kind: str, pattern: str, ngrams: bool = False) -> Ruled:
    """Draw a lattice of labels with or without spans, joint or not, with rules, a scheme and lists of labels."""
    T, L = draw_shape(rng, 6)
    case = draw_case(rng, form, kind, pattern, T, L, draw_patterns(rng, kind, L) if ngrams else None)
    nodes, steps = case.nodes.astype(float), case.steps.copy()
    start, stop = case.start.copy(), case.stop.copy()
    scheme = str(rng.choice(list(PREFIXES))) if rng.random() < 0.6 else None
    if scheme:
        names = [f"{p}-{x}" for x in "XYZWVU" for p in PREFIXES[scheme] if p != "O"]
        own = ["O", *map(str, rng.permutation(names))]
    else:
        own = [*"abcdefgh"]
    joint = rule == "same" or rng.random() < 0.3
    pairs = [f"{first}|{label}" for label in own for first in "pq"] if joint else own
    labels = [str(name) for name in rng.permutation(pairs)[:L]]
    parts = [label.rpartition("|")[2] for label in labels]
    if joint and not scheme:
        counted, units = labels, runs
    else:
        counted, units = parts, spans if scheme else runs
    kinds = list(dict.fromkeys(label.partition("-")[2] if scheme else label for label in counted if label != "O"))
    options, checks = draw_rules(rng, rule, kinds, units, joint)
    if scheme and rng.random() < 0.5:
        options |= {"scheme": scheme, "part": 1 if joint else None}
        steps[:, [[not follows(scheme, i, j) for j in parts] for i in parts]] = -np.inf
        start[[not follows(scheme, None, j) for j in parts]] = -np.inf
        stop[[not follows(scheme, i, None) for i in parts]] = -np.inf
    elif scheme and not any(label[0] in "BISU" for label in parts):  # not recognised as labels of spans
        options, checks = {}, []
    allowed = draw_lists(rng, T, L) if rng.random() < 0.4 else None
    for t, few in enumerate(allowed or []):
        if few is not None:
            nodes[t, np.setdiff1d(np.arange(L), few)] = -np.inf
    limited = Case(nodes, None, None, steps, start, stop, case.ngrams)

    def satisfies(whole: list[str]) -> bool:
        own = [label.rpartition("|")[2] for label in whole] if counted is parts else whole
        return all(check(own, whole) for check in checks)

    truth = [path for path in all_paths(limited) if not T or satisfies([labels[y] for y in path[1]])]
    limits = {"constraints": tw.Constraints(labels, **options), "allowed": allowed, "active": case.active}
    return Ruled(case, limits, truth, limited, satisfies)
