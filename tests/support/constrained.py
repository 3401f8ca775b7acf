"""Lattices under constraints, and the same lattices with -inf wherever a rule forbids: the truth by other means."""

from typing import NamedTuple

import numpy as np

import tagwright as tw
from support.brute_force import Case
from support.lattices import draw_case, draw_patterns, draw_shape

PREFIXES = {
    "BIO": "OBI",
    "IOB1": "OBI",
    "IOBES": "OBIES",
    "BIOES": "OBIES",
    "BILOU": "OBILU",
    "BMES": "OBMES",
    "IO": "OI",
}


class Constrained(NamedTuple):
    """Lattice and constraints as tagwright is given them, and `truth`: one with -inf in their place.

    `parts` holds the operands of `constraints`, in the order in which they were combined.
    """

    case: Case
    constraints: tw.Constraints | None
    allowed: list[list[int] | None] | None
    truth: Case
    parts: list[tw.Constraints]

    def arguments(self) -> dict:
        return {"active": self.case.active, "constraints": self.constraints, "allowed": self.allowed}


def follows(scheme: str, before: str | None, after: str | None) -> bool:
    """Whether a label may follow another by the words of the scheme; None: before the first, behind the last token."""
    p, x = (before or "O").partition("-")[::2]
    q, y = (after or "O").partition("-")[::2]
    if scheme == "IO":
        return True
    if scheme == "BIO":
        return q != "I" or (p in "BI" and x == y)
    if scheme == "IOB1":
        return q != "B" or (p in "BI" and x == y)
    inside = p in "BIM"  # a span is open
    goes_on = q in "IMEL"
    return (goes_on and x == y) if inside else not goes_on


def draw_labels(rng, L: int) -> tuple[str, list[str]]:
    """A scheme and L of its labels, in any order; one of them can be alone in a sentence."""
    scheme = str(rng.choice(list(PREFIXES)))
    names = ["O"] + [f"{p}-{x}" for x in "XYZWVUTS" for p in PREFIXES[scheme] if p != "O"]
    some = [names[0], *rng.permutation(names[1:])[: L - 1]]
    return scheme, [str(name) for name in rng.permutation(some)]


def draw_lists(rng, T: int, L: int) -> list[list[int] | None]:
    few = rng.random()
    return [None if rng.random() < few else rng.permutation(L)[: rng.integers(1, L + 1)].tolist() for _ in range(T)]


def draw(rng, form: str, kind: str, ngram: str, runs: bool = False) -> Constrained:
    """Draw a lattice with rules for pairs, single pairs, first and last labels, and lists of allowed labels.

    runs: with ngrams of three and four labels.
    """
    T, L = draw_shape(rng)
    case = draw_case(rng, form, kind, ngram, T, L, draw_patterns(rng, kind, L) if runs else None)
    nodes, steps = case.nodes.astype(float), case.steps.copy()
    start, stop = case.start.copy(), case.stop.copy()
    made, labels = [], None
    for _ in range(rng.integers(0, 3)):
        scheme, parts = draw_labels(rng, L)
        # Joint labels, whose parts may each have a rule.
        labels = parts if labels is None else [f"{one}|{other}" for one, other in zip(labels, parts, strict=True)]
        made.append((scheme, parts))
        may = np.array([[follows(scheme, i, j) for j in parts] for i in parts])
        steps[:, ~may] = -np.inf
        start[[not follows(scheme, None, j) for j in parts]] = -np.inf
        stop[[not follows(scheme, i, None) for i in parts]] = -np.inf
    labels = [str(y) for y in range(L)] if labels is None else labels
    few = [tw.Constraints(labels, scheme, part=n) for n, (scheme, _) in enumerate(made)]
    if rng.random() < 0.5:
        pairs = rng.integers(0, L, size=(rng.integers(0, L + 1), 2))
        options = {"forbid": [(labels[i], labels[j]) for i, j in pairs]}
        steps[:, pairs[:, 0], pairs[:, 1]] = -np.inf
        for name, ends in (("start", start), ("stop", stop)):
            if rng.random() < 0.3:
                some = rng.permutation(L)[: rng.integers(1, L + 1)]
                options[name] = [labels[y] for y in some]
                ends[np.setdiff1d(np.arange(L), some)] = -np.inf
        few.append(tw.Constraints(labels, **options))
    constraints = None
    few = [few[n] for n in rng.permutation(len(few))]  # the order of operands changes nothing
    for part in few:
        constraints = part if constraints is None else constraints & part
    allowed = draw_lists(rng, T, L) if rng.random() < 0.6 else None
    given = case
    if allowed is not None:
        outside = np.ones((T, L), bool)
        for t, own in enumerate(allowed):
            outside[t, slice(None) if own is None else own] = False
        nodes[outside] = -np.inf
        # Its content is not read.
        given = case._replace(
            nodes=np.where(outside & (rng.random((T, L)) < 0.3), np.nan, case.nodes).astype(case.nodes.dtype)
        )
    return Constrained(given, constraints, allowed, Case(nodes, None, None, steps, start, stop, case.ngrams), few)
