"""Every decoder on lattices of trained models and on synthetic ones; auto, growth, threads, deadlines.

One thread, unless two are named. Decoders take turns, and the best of their times counts; scores of exact answers are
checked before, in growth those of the first sample. The sentences of a set are decoded in one call; "alone" means one
call per sentence, which slows dense Viterbi down: in one call it processes several sentences in SIMD lanes.
What examines every edge, or most of them, is timed on some of the sentences, so times are compared per token.

The limit is a plain vectorised pass over the node scores, NumPy's: `max` of each sentence. For short sentences that is
mostly the cost of calling NumPy, so there is also one `max` over the scores of all sentences, "limit, one call".
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache, partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

import tagwright as tw
from benchmarks.frame import data
from benchmarks.frame.bench import Bench, MissingError
from benchmarks.frame.data import PRESETS, STORED, Lattices
from benchmarks.frame.plots import Curve
from benchmarks.frame.speeds import Timed, full, same_scores, scores_of
from benchmarks.frame.timing import best_of, interleaved
from tagwright.decoding.decode import Decoding

T = TypeVar("T")
OURS = ", our model"  # what the names of lattices end with whose model is not stored
ALONE = 50  # sentences that are decoded one per call
WORTH = 1e10  # edges; a decoder that examines all of them gets sentences with about this many
FORMS = ("dense", "sparse")
# These look at most of the matrix, and take long for each edge.
SLOW = {"carpediem", "astar:none", "astar:0", "astar:3", "astar:6", "astar:9", "iterative_astar"}


class Mode(NamedTuple):
    """How a set is decoded: k, the decoder, the form of edges, and whether each sentence is a call of its own."""

    k: int
    decoder: str
    form: str
    alone: bool = False

    def nodes(self, case: Lattices) -> list[np.ndarray]:
        """Return the sentences that are timed."""
        most = [len(case.nodes)]
        if self.alone:
            most.append(ALONE)
        if self.decoder in SLOW or (self.decoder == "viterbi" and self.k > 1):
            most.append(5)
        if self.form == "dense" and self.decoder == full(self.k):
            most.append(max(32, int(WORTH * len(case.nodes) / (case.tokens * case.L**2))))
        return case.nodes[: min(most)]

    def run(self, case: Lattices) -> Callable[[], list[Decoding]]:
        nodes, edges = self.nodes(case), case.edges(self.form)
        if self.alone:
            return lambda: [tw.decode(own, edges, self.k, self.decoder) for own in nodes]
        return lambda: tw.decode_batch(nodes, edges, self.k, self.decoder)


LIMIT, ONE_CALL = Mode(0, "limit", "-"), Mode(0, "limit, one call", "-")


def limits(case: Lattices) -> dict[Mode, Callable[[], Any]]:
    return {LIMIT: lambda: [own.max() for own in case.nodes], ONE_CALL: np.concatenate(case.nodes).max}


def refining(k: int) -> str:
    """Return the name of the papers' decoder that refines a chain."""
    return "staggered" if k == 1 else "iterative_viterbi_astar"


class Measured(NamedTuple):
    """A set of lattices, and all modes that were timed on it."""

    name: str
    L: int
    sentences: int
    tokens: int
    modes: dict[Mode, Timed]
    edges: str = ""

    @classmethod
    def of(cls, kept: dict[str, Any]) -> Measured:
        """Read what `measure` returned."""
        return cls(**kept | {"modes": {Mode(*mode): Timed(*timed) for mode, timed in kept["modes"]}})

    def us(self, *mode: Any) -> float:
        return self.modes[Mode(*mode)].us_token

    def refined(self, k: int, alone: bool = False) -> float:
        """Return the time of the papers' decoder that refines a chain, over the form of edges where it is faster."""
        return min(self.us(k, refining(k), form, alone) for form in FORMS)

    def auto(self, k: int, form: str, alone: bool = False) -> tuple[float, str]:
        """Return the time of `auto` / that of the better of its two choices, and why it is slower."""
        timed = {name: self.modes[Mode(k, name, form, alone)] for name in (full(k), "tree", "auto")}
        better = min((full(k), "tree"), key=lambda name: timed[name].us_token)
        taken = "tree" if timed["auto"].work == timed["tree"].work else full(k)
        if taken == better:
            why = f"it does there what {better} does, edge by edge; only the times differ, not the work"
        elif taken == "tree":
            why = "it tries tree, which sees only after some columns that nothing can be pruned"
        else:
            why = "small label sets, for which tree is not tried"
        return timed["auto"].us_token / timed[better].us_token, why


def check(found: list[Decoding], truth: list[Decoding], what: str) -> None:
    for one, right in zip(found, truth, strict=True):
        same_scores(one, scores_of(right), what)
    assert all(one.exact for one in found), what


def measure(
    bench: Bench, case: Lattices, modes: list[Mode], limit: bool = False, seconds: float = 0.3
) -> dict[str, Any]:
    """Check all modes of a k against the first one, which gets all sentences; time all; return JSON for Measured.of."""
    title, found = f"{case.name}, L = {case.L}", {}
    runs: dict[Mode, Callable[[], Any]] = {mode: mode.run(case) for mode in modes}
    truth: dict[int, list[Decoding]] = {}
    for mode in bench.bar(modes, f"{title}: check"):
        found[mode] = runs[mode]()
        if not mode.decoder.startswith("beam"):
            right = truth.setdefault(mode.k, found[mode])
            check(found[mode], right[: len(found[mode])], f"{title}, {mode}")
    if limit:
        runs |= limits(case)
    turns, seconds = ((1, 3), 0.02) if bench.quick else ((3, 30), seconds)
    every = interleaved(runs, turns, seconds, title).items()
    timed = [[mode, Timed.of(mode.nodes(case), min(times), found.get(mode))] for mode, times in every]
    about = {"name": case.name, "L": case.L, "sentences": len(case.nodes), "tokens": case.tokens}
    return about | {"modes": timed}


def optional(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


# --- lattices of models ---


def on_each_set(bench: Bench, work: Callable[[Lattices], dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the results of work on stored lattices and on those of our own models, without those that are missing."""

    def on(name: str) -> dict[str, Any]:
        corpus = name.removesuffix(OURS)
        if corpus == name:
            return work(data.stored(bench, name))
        return work(replace(data.lattices(bench, corpus), name=name))

    names = [*STORED, *(corpus + OURS for corpus in PRESETS)]
    return list(bench.steps({name: partial(on, name) for name in names}).values())


def claim_all(
    bench: Bench, what: str, where: str, got: dict[str, tuple[float, float]], why: str, most: bool = False
) -> None:
    """Make one claim of several figures, each with its limit by name; it holds where all of them do."""
    if not got:
        return
    measured = ", ".join(f"{name.removesuffix(OURS)} {figure:,.2f}" for name, (figure, _) in got.items())
    limits = [f"{limit:,g}" for _, limit in got.values()]
    against = f"at {'most' if most else 'least'} {', '.join(limits if len(set(limits)) > 1 else limits[:1])}"
    holds = all(figure <= limit if most else figure >= limit for figure, limit in got.values())
    bench.claim(what, where, measured, against, holds, why)


STORED_ONES, OUR_OWN = "stored lattices", "our models"


def grouped(by_name: dict[str, T]) -> dict[str, dict[str, T]]:
    """Return two groups: stored lattices, and those of our models."""
    groups: dict[str, dict[str, T]] = {STORED_ONES: {}, OUR_OWN: {}}
    for name, own in by_name.items():
        groups[OUR_OWN if name.endswith(OURS) else STORED_ONES][name] = own
    return groups


class Aim(NamedTuple):
    """A ratio that is an aim on sets of lattices."""

    what: str
    ratio: Callable[[Measured], float]
    limit: dict[str, float] | tuple[float, float]  # by corpus, or below and above MANY labels
    why: str = ""
    most: bool = False
    k: int = 1
    fewest: int = 0  # labels

    def of(self, own: Measured) -> float | None:
        """Return the aim on a set; None where there is none."""
        if isinstance(self.limit, dict):
            return self.limit.get(own.name.removesuffix(OURS))
        return self.limit[own.L > MANY] if self.fewest < own.L else None

    def claim(self, bench: Bench, where: str, sets: list[Measured]) -> None:
        got = {own.name: (self.ratio(own), aim) for own in sets if (aim := self.of(own)) is not None}
        claim_all(bench, f"{self.what}, k = {self.k}", where, got, self.why, self.most)


def by_corpus(*limits: float, names: tuple[str, ...] = STORED) -> dict[str, float]:
    return dict(zip(names, limits, strict=True))


MANY = 1000  # labels; some aims differ below and above
FASTER = "dense Viterbi became three to six times faster after the target was set"
STEPS = f"{FASTER}; the remaining cost of staggered decoding is many small steps and calls, not edges"
AND_STAGGERED = "staggered decoding became four to five times faster after the target was set"
TREE_AIMS = [
    Aim(
        "dense Viterbi / tree",
        lambda own: own.us(1, "viterbi", "dense") / own.us(1, "tree", "sparse"),
        by_corpus(30, 60, 250, 2000),
        f"{FASTER}; on 3,282 labels 2,000 times as fast would be less than reading the scores takes",
    ),
    Aim("staggered / tree", lambda own: own.refined(1) / own.us(1, "tree", "sparse"), (5, 10), AND_STAGGERED),
    Aim(
        "tree / limit",
        lambda own: own.us(1, "tree", "sparse") / own.us(*LIMIT),
        (10, 5),
        "bounds need a pass over all labels, too, with two additions each, and what they leave is summed: twice as "
        "many labels per token for Latvian tags as for supertags",
        most=True,
    ),
    Aim(
        "tree, k paths / one path",
        lambda own: own.us(5, "tree", "sparse") / own.us(1, "tree", "sparse"),
        (2, 2),
        "the fifth best path of a short sentence is often far below the best, so more is left to sum, and at times so "
        "much that Viterbi A* takes over",
        most=True,
        k=5,
    ),
    Aim(
        "dense Viterbi A* / tree",
        lambda own: own.us(5, "viterbi_astar", "dense") / own.us(5, "tree", "sparse"),
        (50, 50),
        "the fifth best path may be so far below the best that a sentence is left to Viterbi A*",
        k=5,
        fewest=MANY,
    ),
]
PAPER_AIMS = [
    Aim(
        "Viterbi over dense edges / over sparse edges, alone",
        lambda own: own.us(1, "viterbi", "dense", True) / own.us(1, "viterbi", "sparse", True),
        by_corpus(2, 5, 10, 40),
    ),
    Aim(
        "dense Viterbi / staggered, alone",
        lambda own: own.us(1, "viterbi", "dense", True) / own.refined(1, True),
        by_corpus(4, 10, 10, 100),
        STEPS,
    ),
    Aim(
        "dense Viterbi A* / iterative Viterbi A*, alone",
        lambda own: own.us(5, "viterbi_astar", "dense", True) / own.refined(5, True),
        by_corpus(5, 5, 5, names=STORED[1:]),
        f"{FASTER}; ten rounds are many for a few tokens, and a fifth of the time is spent on the first floor",
        k=5,
    ),
]
AUTO = 1.15  # times the better one of Viterbi and tree, at most


def claim_auto(bench: Bench, where: str, found: dict[str, tuple[float, str]]) -> None:
    """Claim the worst ratio of `auto`."""
    worst = max(found, key=lambda name: found[name][0])
    (ratio, why), above = found[worst], sum(ratio > AUTO for ratio, _ in found.values())
    measured = f"{ratio:.2f} ({worst}); above in {above} of {len(found)}"
    what = "auto / better one of Viterbi and tree, worst"
    bench.claim(what, where, measured, f"at most {AUTO}", ratio <= AUTO, why)


def modes_of(k: int) -> list[Mode]:
    """Return every decoder that matters; beam:1 is a greedy pass, but keeps k labels if k paths are requested."""
    modes = [Mode(k, name, form) for name in (full(k), refining(k), "tree", "auto") for form in FORMS[::-1]]
    modes += [Mode(k, name, form, True) for name in (full(k), refining(k)) for form in FORMS]
    modes += [Mode(k, name, "sparse", True) for name in ("tree", "auto")]
    return [*modes, Mode(k, "beam:1", "sparse")] if k == 1 else modes


def summary(bench: Bench, k: int, name: str, found: list[Measured]) -> None:
    """Make a table with a row per set of lattices: times and their ratios."""
    rows = []
    for own in found:
        all_edges, tree = [own.us(k, full(k), form) for form in FORMS], [own.us(k, "tree", form) for form in FORMS]
        refined, limit = own.refined(k), own.us(*LIMIT)
        ratios = [all_edges[0] / tree[1], refined / tree[1], tree[1] / limit, tree[1] / own.us(*ONE_CALL)]
        row = [own.name, f"{own.L:,}", *(f"{us:,.2f}" for us in (*all_edges, refined, *tree, limit))]
        rows.append([*row, *(f"{ratio:,.1f}" for ratio in ratios)])
    viterbi, refined_by = ("Viterbi", "staggered") if k == 1 else ("Viterbi A*", "iterative Viterbi A*")
    header = ["lattices", "L", f"{viterbi}, dense", f"{viterbi}, sparse", refined_by, "tree, dense", "tree, sparse"]
    header += ["limit", f"dense {viterbi} / tree", f"{refined_by} / tree", "tree / limit", "tree / limit, one call"]
    note = "Ratios are those of tree over sparse edges, which trained models have."
    bench.table(name, f"k = {k}: microseconds per token, all sentences in one call", header, rows, note)


def line(own: Measured, mode: Mode, timed: Timed) -> list[str]:
    """Return a row of the table of everything."""
    how = mode.decoder + ", alone" * mode.alone
    row = [own.name, f"{own.L:,}", f"{mode.k or '-'}", how, mode.form, f"{timed.sentences}"]
    row += [f"{timed.us_sentence:,.1f}", f"{timed.us_token:,.3f}"]
    ratios: list[float | None] = [None, None]
    if mode.k:
        ratios = [own.us(mode.k, full(mode.k), "dense", mode.alone), own.refined(mode.k, mode.alone)]
    row += ["-" if base is None else f"{base / timed.us_token:,.2f}" for base in ratios]
    row += [f"{timed.us_token / own.us(*LIMIT):,.2f}", optional(timed.rounds, ".1f")]
    return [*row, optional(timed.nodes, ",.1f"), optional(timed.edges, ",.0f")]


def lattices(bench: Bench) -> None:
    """Lattices of stored and of our own models, by every decoder that matters.

    Above k = 1 Viterbi A* stands for dense Viterbi and iterative Viterbi A* for staggered, of which the faster form of
    edges counts.
    """
    modes = [mode for k in (1, 5, 50) for mode in modes_of(k)]

    def work(case: Lattices) -> dict[str, Any]:
        return measure(bench, case, modes, limit=True) | {"edges": repr(case.sparse)}

    found = [Measured.of(kept) for kept in on_each_set(bench, work)]
    for k, name in ((1, "one_path"), (5, "five_paths"), (50, "fifty_paths")):
        summary(bench, k, name, found)
    header = ["lattices", "L", "k", "decoder", "edges", "sentences", "us/sentence", "us/token"]
    header += ["dense / it", "staggered / it", "it / limit", "rounds", "nodes/token", "edges/token"]
    rows = [line(own, mode, timed) for own in found for mode, timed in own.modes.items()]
    sizes = [f"{own.name}: {own.sentences:,} sentences, {own.tokens:,} tokens, {own.edges}" for own in found]
    title = 'Everything; "dense / it" is the speed-up over dense Viterbi'
    bench.table("lattices_all", title, header, rows, "; ".join(sizes))
    for where, group in grouped({own.name: own for own in found}).items():
        for aim in TREE_AIMS:
            aim.claim(bench, where, list(group.values()))
        if where == STORED_ONES:
            for aim in PAPER_AIMS:
                aim.claim(bench, where, list(group.values()))
    each = itertools.product(found, (1, 5, 50), FORMS)
    claim_auto(bench, "lattices of models", {f"{o.name}, k = {k}, {form}": o.auto(k, form) for o, k, form in each})


def both_threads(bench: Bench, case: Lattices) -> dict[str, Any]:
    """Return the seconds of one thread and of two, k = 1 and 5."""
    found, load = [], os.getloadavg()[0]
    for k in (1, 5):
        decode = partial(tw.decode_batch, case.nodes, case.sparse, k, "tree")
        runs: dict[int, Callable[[], Any]] = {n: partial(decode, threads=n) for n in (1, 2)}
        times = interleaved(runs, (2, 4 if bench.quick else 60), 1, case.name)
        found.append([k, *(min(times[n]) for n in (1, 2))])
    return {"name": case.name, "L": case.L, "sentences": len(case.nodes), "times": found, "load": load}


def threads(bench: Bench) -> None:
    """Two threads against one: tree over sparse edges, all sentences in one call.

    The load is that of the last minute before; above 1, other work took part of the second core.
    """
    if (os.cpu_count() or 1) < 2:
        raise MissingError("there is one core only")
    rows, gains = [], dict[int, dict[str, tuple[float, float]]]()
    for own in on_each_set(bench, partial(both_threads, bench)):
        for k, one, two in own["times"]:
            each = [f"{1e6 * seconds / own['sentences']:,.1f}" for seconds in (one, two)]
            rows.append([own["name"], f"{own['L']:,}", f"{k}", f"{own['sentences']}", *each, f"{one / two:.2f}"])
            rows[-1].append(f"{own['load']:.1f}")
            gains.setdefault(k, {})[own["name"]] = one / two, 1.8
    header = ["lattices", "L", "k", "sentences", "one, us/sentence", "two, us/sentence", "one / two", "load"]
    bench.table("threads", "tree, one thread and two", header, rows)
    for where, group in grouped(gains[1]).items():
        why = "the answers' Python objects are made by one thread; the load shows whether other processes used a core"
        claim_all(bench, "tree, one thread / two, k = 1", where, group, why)


# --- synthetic lattices ---

SIZES = (45, 300, 1000, 3000)
KINDS: dict[str, Callable[[int, int], Lattices]] = {
    make.__name__: make for make in (data.model_like, data.hmm, data.normal)
}
MOST_LABELS = 1100  # for those of SLOW
ONE_BEST = [
    "viterbi", "staggered", "staggered:all", "tree", "auto", "beam:1", "beam:8", "carpediem", "astar:none", "astar:0",
    "astar:3", "astar:6", "astar:9", "iterative_astar",
]  # fmt: skip
K_BEST = ["viterbi_astar", "iterative_viterbi_astar", "tree", "auto", "beam:5", "astar:6", "viterbi"]


def every_mode(L: int) -> list[Mode]:
    """Return every decoder, alone; over both forms of edges where it treats them differently."""
    modes = []
    for k, names in ((1, ONE_BEST), (5, K_BEST)):
        for name in names:
            if L <= MOST_LABELS or not (name in SLOW or (name == "viterbi" and k > 1)):
                forms = FORMS if name in (full(k), "tree", "auto") else FORMS[:1]
                modes += [Mode(k, name, form, True) for form in forms]
    return modes


def synthetic(bench: Bench) -> None:
    """Every decoder on synthetic lattices, one call per sentence; ratios are speed-ups over dense Viterbi.

    model_like: Zipf label frequencies, sparse edges, a few likely labels per token, as in `tagwright demo`. hmm: random
    HMMs as in Pal et al. 2006, section 4.1; flat label frequencies and sharp transitions. normal: independent normal
    scores, which no bound prunes. Ratios of k = 5, too, are to dense Viterbi of one path.
    """
    sizes = SIZES[:2] if bench.quick else SIZES
    rows = []

    def timed_on(make: Callable[[int, int], Lattices], L: int) -> dict[str, Any]:
        return measure(bench, make(L, 8), every_mode(L))

    for kind, make in KINDS.items():
        found = {L: Measured.of(bench.step(f"{kind} {L}", partial(timed_on, make, L))) for L in sizes}
        for own in found.values():
            base = own.us(*BASE)
            for mode, timed in own.modes.items():
                row = [kind, f"{own.L:,}", f"{mode.k}", mode.decoder, mode.form, f"{timed.sentences}"]
                row += [f"{timed.us_sentence:,.0f}", f"{base / timed.us_token:.2f}", optional(timed.edges, ",.0f")]
                rows.append([*row, optional(timed.nodes, ",.0f"), optional(timed.rounds, ".1f")])
        for k in (1, 5):
            short = []
            for mode in (mode for mode in found[sizes[0]].modes if mode.k == k):
                ratios = [own.us(*BASE) / own.us(*mode) if mode in own.modes else None for own in found.values()]
                name = mode.decoder + ", sparse edges" * (mode.form == "sparse")
                short.append([name, *(optional(ratio, ",.2f") for ratio in ratios)])
            title = f"{kind}, k = {k}: dense Viterbi / it, by number of labels"
            bench.table(f"synthetic_{kind}_k{k}", title, ["decoder", *(f"{L:,}" for L in sizes)], short)
    header = ["scores", "L", "k", "decoder", "edges", "sentences", "us/sentence", "dense Viterbi / it"]
    header += ["edges/token", "nodes/token", "rounds"]
    bench.table("synthetic_all", "Everything; sentences of 25 tokens", header, rows)


BASE = Mode(1, "viterbi", "dense", True)


def choosing(bench: Bench, kind: str, L: int) -> dict[str, Any]:
    """Time `auto` and what it chooses from, in one call and alone, over dense edges."""
    sentences = 8 if bench.quick else max(16, min(64, 20_000 // L))
    case = data.hmm(L, sentences) if kind == "hmm" else data.normal(L, sentences, 20, kind)
    names = {k: (full(k), "tree", "auto") for k in (1, 5)}
    modes = [Mode(k, name, "dense", alone) for alone in (False, True) for k in names for name in names[k]]
    return measure(bench, case, modes, seconds=0.5)


def auto(bench: Bench) -> None:
    """`auto` against the better one of Viterbi (above k = 1, Viterbi A*) and tree on random scores, dense edges.

    Normal scores of two types and HMMs, sentences of 20 tokens (HMMs: 25).
    """
    sizes = (64, 200, 500) if bench.quick else (64, 100, 128, 200, 300, 500, 1000)
    rows, compared = [], {}
    for kind, L in itertools.product(("float32", "float64", "hmm"), sizes):
        own = Measured.of(bench.step(f"{kind} {L}", partial(choosing, bench, kind, L)))
        name = kind if kind == "hmm" else f"normal {kind}"
        for k, alone in itertools.product((1, 5), (False, True)):
            each = [own.modes[Mode(k, decoder, "dense", alone)].us_sentence for decoder in (full(k), "tree", "auto")]
            how = "alone" if alone else "one call"
            ratio, _ = compared[f"{name}, L = {L}, k = {k}, {how}"] = own.auto(k, "dense", alone)
            rows.append([name, f"{L:,}", f"{k}", how, *(f"{us:,.1f}" for us in each), f"{ratio:.2f}"])
    header = ["scores", "L", "k", "how", "all edges, us/sentence", "tree", "auto", "auto / better one"]
    bench.table("auto", "auto on random scores", header, rows)
    claim_auto(bench, "random scores", compared)


# --- growth and deadlines ---

GROWN = "supertag_erg"
METHODS = {  # and how they are drawn
    "tree": "ours",
    "tree, dense edges": "ours",
    "dense Viterbi, Viterbi A*": "other",
    "staggered, iterative Viterbi A*": "other",
    "limit": "limit",
}


def grown(bench: Bench, cases: Iterable[Lattices], k: int = 1) -> dict[str, list[float]]:
    """Return median and quartiles by method, in microseconds per token, over the best time of each case."""
    ways = (("tree", "sparse"), ("tree", "dense"), (full(k), "dense"), (refining(k), "sparse"))
    every: dict[str, list[float]] = {}
    for number, case in enumerate(cases):
        runs: dict[str, Callable[[], Any]] = dict(zip(METHODS, (Mode(k, *way).run(case) for way in ways), strict=False))
        if number == 0:
            truth = Mode(k, full(k), "sparse").run(case)()
            for name, run in runs.items():
                check(run(), truth, f"{name}, k = {k}, L = {case.L}")
        runs["limit"] = limits(case)[LIMIT]
        for name, times in interleaved(runs, (1, 2 if bench.quick else 10), 0.1, case.name).items():
            every.setdefault(name, []).append(1e6 * min(times) / case.tokens)
    return {name: np.quantile(own, [0.5, 0.25, 0.75]).tolist() for name, own in every.items()}


def show(bench: Bench, name: str, title: str, what: str, points: dict[int, dict[str, list[float]]]) -> None:
    """Make a table of medians, and a figure with quartiles."""
    rows = [[f"{x:,}", *(f"{own[method][0]:,.3f}" for method in METHODS)] for x, own in points.items()]
    bench.table(name, f"{title}; microseconds per token, medians", [what, *METHODS], rows)
    curves = []
    for method, kind in METHODS.items():
        middle, low, high = zip(*(own[method] for own in points.values()), strict=True)
        curves.append(Curve(method, list(points), middle, low, high, kind))
    bench.figure(name, title, curves, what, "microseconds per token, quartiles", scales="log-log")


def growth(bench: Bench) -> None:
    """Growth with L, T and k on supertag_erg: medians and quartiles of several samples; k-best decoders above k = 1.

    With L: random subsets of the labels, another one each time, the same scores otherwise. With T: sentences joined end
    to end and cut into pieces of T, from another place each time. With k: other sentences each time.
    """
    whole = cache(partial(data.stored, bench, GROWN))
    samples, count, tokens = (2, 3, 100) if bench.quick else (5, 10, 500)
    L = bench.step("labels", lambda: whole().L)

    def subsets(size: int) -> Iterable[Lattices]:
        rng, nodes = np.random.default_rng(size), whole().nodes[:count]
        for _ in range(samples):
            own = np.sort(rng.choice(L, size, replace=False))
            scores = np.ascontiguousarray(whole().scores[np.ix_(own, own)])
            yield Lattices.make(f"{size} labels", [one[:, own] for one in nodes], scores)

    def pieces(T: int) -> Iterable[Lattices]:
        rng, drawn = np.random.default_rng(T), max(1, tokens // T)
        every = np.concatenate(whole().nodes)
        for _ in range(samples):
            begin = int(rng.integers(0, len(every) - drawn * T + 1))
            yield whole().over(np.split(every[begin : begin + drawn * T], drawn))

    sizes = (100, 800, L) if bench.quick else (100, 200, 400, 800, 1600, L)
    lengths = (10, 50) if bench.quick else (10, 20, 50, 100, 200, 500, 1000)
    ks = (1, 5, 50) if bench.quick else (1, 2, 5, 10, 20, 50, 100, 200)
    found = {x: bench.step(f"labels {x}", partial(grown, bench, subsets(x))) for x in sizes}
    show(bench, "growth_labels", f"Growth with L: {GROWN}, {count} sentences", "labels", found)
    found = {T: bench.step(f"tokens {T}", partial(grown, bench, pieces(T))) for T in lengths}
    show(bench, "growth_tokens", f"Growth with T: {GROWN}, {L:,} labels", "tokens per sentence", found)
    some = partial(map, lambda q: whole().over(whole().nodes[q * count : (q + 1) * count]), range(samples))
    found = {k: bench.step(f"k = {k}", partial(grown, bench, some(), k)) for k in ks}
    show(bench, "growth_k", f"Growth with k: {GROWN}, {L:,} labels, {count} sentences", "k", found)


def waited(case: Lattices) -> list[list[str]]:
    """Return the rows of the table of deadlines; `tw.Edges` chooses the form of edges."""
    rows, edges = [], tw.Edges(case.scores).prepare()
    best = [one.paths[0].score for one in tw.decode_batch(case.nodes, edges, 1, "viterbi")]
    for seconds in (0.0, 0.0005, 0.001, 0.002, 0.005, 0.01, None):
        found, times = [], []
        for own in case.nodes:
            start = time.perf_counter()
            found.append(tw.decode(own, edges, deadline=seconds))
            times.append(time.perf_counter() - start)
        gaps = np.array([one.gap for one in found])
        distances = np.array([right - one.paths[0].score for one, right in zip(found, best, strict=True)])
        slack = 1e-9 * np.abs(best)
        assert ((distances >= -slack) & (distances <= gaps + slack)).all(), "a gap that is none"
        row = [case.name, f"{case.L:,}", "auto", "none" if seconds is None else f"{1e3 * seconds:g}"]
        row += [f"{100 * np.mean([one.exact for one in found]):.0f}", f"{gaps.mean():.4g}", f"{distances.mean():.4g}"]
        rows.append([*row, f"{1e3 * np.mean(times):.3f}", f"{1e3 * np.max(times):.3f}"])
    return rows


def deadline(bench: Bench) -> None:
    """What a deadline costs: one call per sentence, one path. The gap is what is promised, the distance what is true.

    The hard lattice is of normal scores, which no bound prunes.
    """
    hard = partial(data.normal, *((1000, 5) if bench.quick else (3000, 20)))
    rows = bench.step("normal", lambda: waited(hard()))
    try:
        rows += bench.step(GROWN, lambda: waited(data.stored(bench, GROWN)))
    except MissingError as missing:
        bench.left_out(missing)
    header = ["lattices", "L", "decoder", "deadline, ms", "exact, %", "mean gap", "mean distance", "mean ms", "most ms"]
    bench.table("deadline", "Decoding with a deadline", header, rows)


# --- basics ---


def numpy_ratio(L: int, repeats: int) -> float:
    """Return how many times faster dense Viterbi is than the NumPy recursion, on the same float32 scores."""
    case = data.normal(L, 1, 20)
    nodes, scores = case.nodes[0], case.scores

    def recursion() -> float:
        alpha = nodes[0]
        for column in nodes[1:]:
            alpha = (alpha[:, None] + scores).max(0) + column
        return float(alpha.max())

    theirs, value = best_of(recursion, repeats)
    ours, found = best_of(lambda: tw.decode(nodes, case.dense, decoder="viterbi"), 5 * repeats)
    np.testing.assert_allclose(found.paths[0].score, value, rtol=1e-5)
    return theirs / ours


def batch_ratio(L: int, repeats: int) -> float:
    """Return how many times faster a batch of 32 sentences is, per sentence, than one at a time."""
    case = data.normal(L, 32, 10)
    together, a = best_of(Mode(1, "viterbi", "dense").run(case), repeats, 20)
    alone, b = best_of(Mode(1, "viterbi", "dense", True).run(case), repeats, 20)
    assert [f.paths[0].score for f in a] == [f.paths[0].score for f in b]
    return alone / together


def import_seconds() -> float:
    code = "import time; t = time.perf_counter(); import tagwright; print(time.perf_counter() - t)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(5)]
    return min(float(ran.stdout) for ran in runs)


def staggered_edges(bench: Bench, name: str) -> float:
    """Return the edges per token that staggered decoding examines; counted, so the same on every machine."""
    case = data.stored(bench, name)
    found = tw.decode_batch(case.nodes, case.dense, 1, "staggered")
    return sum(one.work.edges for one in found) / case.tokens


MOST_EDGES = by_corpus(5000, 6000, 60000, 45000)
CACHE = (
    "at 319 labels a sixth of the time is the call and the way back through the lattice; at 1,024 the matrix is read "
    "at the speed of the third-level cache, and nothing that examines every edge can do much better"
)


def basics(bench: Bench) -> None:
    """Dense Viterbi against the NumPy recursion, batched against unbatched, edges examined, import."""
    repeats, rows = 5 if bench.quick else 15, []

    def note(what: str, where: str, got: float, form: str, limit: str, holds: bool, why: str = "") -> None:
        rows.append([f"{what}, {where}" if where else what, format(got, form)])
        bench.claim(what, where, format(got, form), limit, holds, why)

    for L in (319, 1024, 3000):
        got = bench.step(f"NumPy {L}", partial(numpy_ratio, L, repeats))
        note("NumPy recursion / dense Viterbi", f"L = {L:,}", got, ".1f", "at least 8", got >= 8, CACHE)
    got = bench.step("batch", partial(batch_ratio, 3000, repeats))
    note("dense Viterbi, one at a time / a batch of 32", "L = 3,000", got, ".2f", "at least 2", got >= 2)
    for name, most in MOST_EDGES.items():
        try:
            got = bench.step(f"edges {name}", partial(staggered_edges, bench, name))
            note("staggered, edges per token", name, got, ",.0f", f"at most {most:,}", got <= most)
        except MissingError as missing:
            bench.left_out(missing)
    got = bench.step("import", import_seconds)
    note("import tagwright, seconds", "", got, ".2f", "under 0.3", got < 0.3)
    bench.table("basics", "Basics", ["figure", "measured"], rows)


PARTS = {part.__name__: part for part in (basics, lattices, synthetic, auto, growth, threads, deadline)}
