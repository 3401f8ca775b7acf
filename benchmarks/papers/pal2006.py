"""Sparse forward-backward compared with exact sums: the experiments of Pal, Sutton and McCallum 2006, and larger ones.

One thread, BLAS too. Every training is run once and timed as a whole, reading of features and the start on a tenth of
the corpus included; 40 iterations of L-BFGS are the limit.

Our copy of the paper is scrambled in places. Sequences of length 75, 50 of them to train on and 50 to test on, and the
figures 9.6 and 20 of section 4.1 are our interpretation. It does not report the numbers of symbols of the HMMs, nor
those of states in 4.1: we take 100 states, as in 4.2, and several numbers of symbols, since the figures depend on them.
"""

from __future__ import annotations

import itertools
import math
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

import tagwright as tw
from benchmarks.frame import data, private, timing
from benchmarks.frame.bench import Bench, Corpus
from benchmarks.frame.plots import Curve
from benchmarks.peers import crfsuite as peer

L2 = 0.1
TOLERANCE = 1e-4
ITERATIONS, QUICK_ITERATIONS = 40, 8
START = 0.1  # of the sentences are trained on first, as the paper does for NETtalk
STATES, LENGTH = 100, 75
# Of these the last is taken for training: with fewer symbols even exact training ends below the 67.1 % that the
# paper calls low.
SYMBOLS = (100, 400, 1000)
LEAST_RATIO = 60.0  # calibration tries ratios from exp(-this) to 1
SAMPLE = 200  # sentences on which a ratio is calibrated

DENSE, SPARSE = "exact, dense", "exact, sparse edges"
TEN, LEAST = (f"min. divergence 0.005, at least {n}" for n in (10, 1))
FIXED, RATIO = "fixed 20", "ratio"
METHODS: dict[str, dict[str, Any]] = {
    DENSE: {"dense_edges": True},
    SPARSE: {},
    TEN: {"pruning": tw.KeepDivergence(0.005, at_least=10), "dense_edges": True},
    LEAST: {"pruning": tw.KeepDivergence(0.005, at_least=1), "dense_edges": True},
    FIXED: {"pruning": tw.KeepSize(20), "dense_edges": True},
    RATIO: {"dense_edges": True},  # `pruning` is found when another method has been trained
}


# --- how many labels a beam needs ---


class Found(NamedTuple):
    """The result of beam search with a rule on all sequences."""

    rule: str
    labels: float  # per column, on average
    exact: float  # share of sequences whose best path has the exact score


def decode(bench: Bench) -> None:
    """Section 4.1: how many labels a beam must keep to find the best path of synthetic HMMs.

    Each rule is tried from small to large sets of labels until it finds the exact score, on all sequences or on 99 %.
    """
    models, sequences = (1, 10) if bench.quick else (4, 25)
    paper = {"min. divergence, the paper's": "9.6", "fixed": "20 to 25", "ratio": "26.4"}
    rows, every = [], {}
    for symbols in SYMBOLS:
        kept = bench.step(f"{symbols} symbols", partial(needed, symbols, models, sequences))
        every[symbols] = {name: Found(*one) for name, one in kept.items()}
        for name, one in every[symbols].items():
            own = [one.rule, f"{one.labels:.1f}", f"{100 * one.exact:.1f}"]
            rows.append([name, f"{symbols}", *own, figure(paper, name)])
    title = (
        f"{models} HMMs of {STATES} states for each number of symbols, {sequences} sequences of {LENGTH} of each HMM"
    )
    header = ["rule", "symbols", "setting", "labels per column", "exact paths, %", "paper, labels"]
    bench.table("decode", title, header, rows)
    symbols_of = ", ".join(map(str, SYMBOLS))
    kept_by_paper = [found["min. divergence, the paper's"].labels for found in every.values()]
    bench.claim(
        "labels per column that divergence 0.001 keeps",
        f"HMMs of {symbols_of} symbols",
        ", ".join(f"{labels:.1f}" for labels in kept_by_paper),
        "9.6 (paper)",
        min(kept_by_paper) <= 9.6,
        "the paper does not report the number of symbols, and the more there are, the fewer labels are kept",
    )
    least = {
        rule: [found[f"{rule}, 100% exact"].labels for found in every.values()]
        for rule in ("min. divergence", "fixed size", "ratio")
    }
    bench.claim(
        "minimum divergence finds all best paths with the fewest labels",
        f"HMMs of {symbols_of} symbols",
        "; ".join(f"{rule} {', '.join(f'{labels:.1f}' for labels in own)}" for rule, own in least.items()),
        "9.6, fixed size 20 to 25, ratio 26.4 (paper)",
        all(own < min(others) for own, *others in zip(*least.values(), strict=True)),
        "a ratio needs hardly more",
    )


def needed(symbols: int, models: int, sequences: int) -> dict[str, Found]:
    """Return what each rule needs, by its name and the share of best paths that it must find."""
    rng = np.random.default_rng(0)
    lattices, best = [], []
    for _ in range(models):
        model = data.HiddenMarkov.make(rng, STATES, symbols)
        nodes = [model.nodes(model.draw(rng, LENGTH)[1]) for _ in range(sequences)]
        lattices.append((nodes, tw.Edges(model.scores(), sparse=False)))
        best += [found.paths[0].score for found in tw.decode_batch(*lattices[-1], decoder="viterbi")]

    def tried(rule: Any) -> Found:
        beam = tw.Beam(pruning=rule)
        found = [one for nodes, edges in lattices for one in tw.decode_batch(nodes, edges, decoder=beam)]
        same = [math.isclose(one.paths[0].score, exact, rel_tol=1e-9) for one, exact in zip(found, best, strict=True)]
        return Found(short(rule), sum(one.work.nodes for one in found) / (len(found) * LENGTH), float(np.mean(same)))

    every = {"min. divergence, the paper's": tried(tw.KeepDivergence(0.001, at_least=4))}
    grids: dict[str, list[Any]] = {
        "min. divergence": [tw.KeepDivergence(10 ** (-q / 4), at_least=4) for q in range(49)],
        "fixed size": [tw.KeepSize(n) for n in range(1, STATES + 1)],
        "ratio": [tw.KeepRatio(math.exp(-q / 2)) for q in range(1, 121)],
    }
    for name, rules in grids.items():
        made: Iterator[Found] = (tried(rule) for rule in rules)
        for share in (0.99, 1.0):
            first = next((one for one in made if one.exact >= share), Found("none of the grid", math.inf, 0.0))
            made = itertools.chain([first], made)  # the same setting may do for both
            every[f"{name}, {share:.0%} exact"] = first
    return every


def short(rule: Any) -> str:
    """Return a rule as it is written, with two digits."""
    return re.sub(r"\d+\.\d+(e-\d+)?", lambda number: f"{float(number[0]):.2g}", str(rule))


def figure(paper: dict[str, str], name: str) -> str:
    """Return the paper's figure for a rule or method, by how its name begins."""
    return next((figure for start, figure in paper.items() if name.startswith(start)), "-")


# --- trainings ---


class Training(NamedTuple):
    """A training that has ended, and its learner."""

    learner: tw.CRF
    seconds: float
    failed: bool  # whether a line search failed

    @property
    def steps(self) -> list[dict[str, float]]:
        """The iterations; where the first line search failed there is none."""
        return [fact for fact in self.learner.history_ if fact["seconds"] > 0]

    @property
    def each(self) -> list[float]:
        """Seconds of every iteration, the start left out."""
        return [fact["seconds"] for fact in self.steps]

    @property
    def kept(self) -> float:
        """Labels per token, over all iterations."""
        return float(np.mean([fact["kept"] for fact in self.learner.history_]))

    @property
    def ended(self) -> str:
        if isinstance(self.learner.solver, tw.AdaGrad):
            return "-"
        if self.failed:
            return "line search failed"
        return "limit" if len(self.steps) == self.learner.solver.max_iterations else "converged"


class Result(NamedTuple):
    """The result of a training."""

    method: str
    sentences: int
    labels: int
    seconds: float
    each: list[float]  # seconds of every iteration, the start left out
    objectives: list[float]  # after every iteration, as the method sums them
    kept: float
    ended: str
    objective: float
    exact: float  # the objective of the weights it ended with, summed exactly
    test: float  # accuracy on test data, in percent
    curve: Sequence[tuple[int, float]] = ()  # (iterations, exact objective) on the way
    ratio: float = 0.0  # the ratio that keeps as many labels, where it was looked for

    def times(self) -> np.ndarray:
        """Seconds at the end of each iteration, what came before the first one included."""
        return self.seconds - sum(self.each) + np.cumsum(self.each)


def limit(bench: Bench) -> int:
    return QUICK_ITERATIONS if bench.quick else ITERATIONS


def trained(features: str | None, train: Corpus, iterations: int | None, **options: Any) -> Training:
    """Train; a failed line search (because of sparse sums) or too few iterations are results here, not warnings."""
    own = {"solver": "lbfgs", "tolerance": TOLERANCE, "max_iterations": iterations}
    if options.get("solver") == "adagrad":
        own = {}
    learner = private.crf(features, l2=L2, **{**own, **options})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        seconds = data.fit(learner, train)
    messages = [str(warning.message) for warning in caught if "before it converged" not in str(warning.message)]
    failed = [message for message in messages if "line search" in message]
    assert failed == messages, messages
    return Training(learner, seconds, bool(failed))


def result(method: str, made: Training, train: Corpus, test: Corpus) -> Result:
    """Return everything that tables and figures need of a training."""
    learner = made.learner
    exact = exact_objective(learner.model_, *train)
    if learner.pruning in (None, "exact"):
        assert math.isclose(exact, learner.objective_, rel_tol=1e-4), f"{method}: sums are not exact"
    return Result(
        method=method,
        sentences=len(train[0]),
        labels=len(learner.model_.labels),
        seconds=made.seconds,
        each=made.each,
        objectives=[fact["objective"] for fact in made.steps],
        kept=made.kept,
        ended=made.ended,
        objective=learner.objective_,
        exact=exact,
        test=100 * learner.score(*test),
    )


def kept_result(bench: Bench, name: str, work: Callable[[], Result]) -> Result:
    """Run a training as a step, and return its result."""

    def measured() -> dict[str, Any]:
        own = work()
        counted = f"{own.seconds:.1f} s, {len(own.each)} iterations, {own.ended}, kept {own.kept:.1f}"
        bench.say(f"  {own.method}: {counted}")
        return own._asdict()

    return Result(**bench.step(name, measured))


def exact_objective(model: tw.Model, X: list[Any], y: list[list[str]]) -> float:
    """Return the objective of a model's weights, summed exactly, whatever they were trained with."""
    number = {label: n for n, label in enumerate(model.labels)}
    weights = [model.arrays[name].astype(float) for name in ("rows.weight", "edges.score")]
    value = L2 * sum(float(own @ own) for own in weights)
    for tokens, labels in zip(X, y, strict=True):
        nodes, edges, _ = model.lattice(tokens)
        value += tw.marginals(nodes, edges).log_z - tw.score(nodes, edges, [number[label] for label in labels])
    return value


def same_size(kept_by: Callable[[tw.KeepRatio], float], target: float, tries: int) -> float:
    """Return the ratio that keeps as many labels as another rule, by bisection of log r; the nearest try is taken."""
    low, high = -LEAST_RATIO, 0.0
    tried = []
    for _ in range(tries):
        middle = (low + high) / 2
        kept = kept_by(tw.KeepRatio(math.exp(middle)))
        tried.append((abs(kept - target), math.exp(middle)))
        low, high = (middle, high) if kept > target else (low, middle)
    return min(tried)[1]


def as_large(model: tw.Model, X: list[Any], target: float) -> float:
    """Return the ratio that keeps this many labels of a sample, with the weights of a model."""
    sample = [model.lattice(tokens).nodes for tokens in X[:: max(1, len(X) // SAMPLE)]]

    def kept_by(rule: tw.KeepRatio) -> float:
        return float(np.concatenate([one.kept for one in tw.marginals_batch(sample, model.edges, rule)]).mean())

    return same_size(kept_by, target, 20)


def show(bench: Bench, name: str, title: str, every: Sequence[Result], paper: dict[str, str], note: str) -> None:
    """Make the table of some trainings, of which one is exact, dense."""
    of = {own.method: own for own in every}
    against = {f"s / {method.split(', ')[-1]}": of[method].seconds for method in (DENSE,) if method in of}
    header = ["method", "s", "iterations", "s/iteration", "ended", "labels kept", "objective, its own"]
    header += ["objective, exact", "test %", "- exact", *against, *["paper, test %"] * bool(paper)]
    rows = []
    for own in every:
        each = sum(own.each) / max(1, len(own.each))
        row = [own.method, f"{own.seconds:.2f}", f"{len(own.each)}", f"{each:.3f}", own.ended, f"{own.kept:.1f}"]
        row += [f"{own.objective:,.1f}", f"{own.exact:,.1f}", f"{own.test:.2f}", f"{own.test - of[DENSE].test:+.2f}"]
        row += [f"{own.seconds / seconds:.3f}" for seconds in against.values()]
        rows.append([*row, *[figure(paper, own.method)] * bool(paper)])
    bench.table(name, f"{title}; l2 {L2}, tolerance {TOLERANCE}", header, rows, note)


def draw(bench: Bench, name: str, title: str, what: str, lines: dict[str, tuple[list[float], list[float]]]) -> None:
    """Draw learning curves: what each method reached, against seconds."""
    kinds = {method: "ours" if "sparse edges" in method else "other" for method in lines}
    curves = [Curve(method, *line, kind=kinds[method]) for method, line in lines.items()]
    bench.figure(name, title, curves, "training time (seconds)", what, scales="log-linear")


def quarter(bench: Bench, corpus: str, whose: str, sparse: Result, exact: Sequence[Result], why: str) -> None:
    """Claim a quarter of the time of the first exact training, without loss; ratios to the others are added."""
    against = exact[0]
    ratio, gain = sparse.seconds / against.seconds, sparse.test - against.test
    others = "".join(f" ({sparse.seconds / other.seconds:.2f} of {other.method})" for other in exact[1:])
    bench.claim(
        f"time of {sparse.method} / {against.method}",
        f"{corpus}, {sparse.labels} labels",
        f"{ratio:.2f}{others}, accuracy {gain:+.2f}",
        f"0.25, accuracy within 0.2 ({whose})",
        ratio <= 0.25 and gain >= -0.2,
        why,
    )


# --- a synthetic HMM ---


def points(iterations: int) -> list[int]:
    """Return few iterations, close together at first: each needs a training of its own."""
    return sorted({round(1.6**q) for q in range(1 + int(math.log(iterations, 1.6)))} | {iterations})


def synthetic(bench: Bench) -> None:
    """Section 4.2: CRFs trained on sequences of a 100-state HMM, whose symbols are the only features.

    All start from weights of 0. The larger fixed beam and the ratio keep as many labels, on average over a training,
    as minimum divergence does; the ratio was found by trainings that are not in the times. Beams take one sentence at a
    time. The curves show the exact objective, from trainings that were stopped on the way.
    """
    rng = np.random.default_rng(1)
    model, count = data.HiddenMarkov.make(rng, STATES, SYMBOLS[-1]), 10 if bench.quick else 50
    drawn = [model.draw(rng, LENGTH) for _ in range(2 * count)]
    X = [[f"x{symbol}" for symbol in symbols] for _, symbols in drawn]
    y = [[f"y{state}" for state in states] for states, _ in drawn]
    train, test = (X[:count], y[:count]), (X[count:], y[count:])
    divergence = "min. divergence 0.5, at least 30"
    dense = METHODS[DENSE]

    def fit(iterations: int, **options: Any) -> Training:
        return trained("U0:%x[0,0]\nB\n", train, iterations, **options)

    def work(method: str, **options: Any) -> Result:
        made = fit(limit(bench), **options)
        own = result(method, made, train, test)
        at = points(len(made.steps)) if made.steps else []
        curve = [(n, exact_objective(fit(n, **options).learner.model_, *train)) for n in at[:-1]]
        curve += [(n, own.exact) for n in at[-1:]]
        ratio = 0.0
        if method == divergence:
            tries = 4 if bench.quick else 10
            ratio = same_size(lambda rule: fit(limit(bench), pruning=rule, **dense).kept, made.kept, tries)
        return own._replace(curve=curve, ratio=ratio)

    def step(method: str, **options: Any) -> Result:
        return kept_result(bench, method, partial(work, method, **options))

    every = [step(method, **METHODS[method]) for method in (DENSE, SPARSE)]
    sparse = step(divergence, pruning=tw.KeepDivergence(0.5, at_least=30), **dense)
    larger = round(sparse.kept)
    every += [
        sparse,
        step("fixed 30", pruning=tw.KeepSize(30), **dense),
        step(f"fixed {larger}, the larger", pruning=tw.KeepSize(larger), **dense),
        step(f"ratio {sparse.ratio:.1e}", pruning=tw.KeepRatio(sparse.ratio), **dense),
    ]
    about = f"{count} sequences of {LENGTH} to train on, {count} to test on; {STATES} states, {SYMBOLS[-1]} symbols"
    show(bench, "synthetic", about, every, {"ratio": "67.1"}, "")
    lines = {}
    for own in every:
        at = [n for n, _ in own.curve]
        lines[own.method] = ([own.times()[n - 1] for n in at], [-value for _, value in own.curve])
    draw(bench, "synthetic", about, "exact log-likelihood of the training set, less penalty", lines)
    why = "with a beam of 30 of 100 labels, choosing its labels costs more than it saves"
    quarter(bench, "synthetic HMM", "paper", sparse, [every[0]], why)


# --- corpora ---

# Notes of tables on methods.
NOTES = {
    DENSE: f"All begin on {START:.0%} of the sentences, which is in the time. *Dense* is what the paper had: sums over "
    "all pairs of labels, one sentence after the other.",
    SPARSE: "*Sparse edges* sums over the pairs of labels that have a weight, eight sentences in SIMD lanes.",
    RATIO: "The ratio is to keep as many labels as minimum divergence with at least 10 in the end: found on a sample, "
    "with the weights that one ended with.",
}
LANES = (
    "features cost the same for all methods, and early iterations keep nearly all labels; what saves more, without any "
    "loss, is not to sum over edges that have no weight"
)


def real(
    bench: Bench,
    name: str,
    features: str,
    corpus: Callable[[str], Corpus],
    methods: Sequence[str],
    paper: dict[str, str],
) -> dict[str, Result]:
    """Train a corpus by every method, show the table and draw the curves; `corpus` reads train or test."""
    read = cache(corpus)  # where every step was kept, nothing is read

    def work(method: str, named: str, options: dict[str, Any]) -> Result:
        train, test = read("train"), read("test")
        made = trained(features, train, limit(bench), start_on=START, **options)
        own = result(named, made, train, test)
        if method == TEN and RATIO in methods:
            own = own._replace(ratio=as_large(made.learner.model_, train[0], made.learner.history_[-1]["kept"]))
        return own

    every: dict[str, Result] = {}
    for method in methods:
        options, named = METHODS[method], method
        if method == RATIO:
            ratio = every[TEN].ratio
            options, named = {"pruning": tw.KeepRatio(ratio), **options}, f"ratio {ratio:.1e}"
        every[method] = kept_result(bench, method, partial(work, method, named, options))
    first = every[DENSE]
    about = f"{name}: {first.sentences:,} sentences, {first.labels} labels"
    note = " ".join(own for method, own in NOTES.items() if method in every)
    show(bench, name, about, list(every.values()), paper, note)
    lines = {own.method: (own.times().tolist(), [-value for value in own.objectives]) for own in every.values()}
    draw(bench, name, about, "log-likelihood less penalty, as the method sums it", lines)
    return every


def words(bench: Bench, column: int | None, split: str) -> Corpus:
    """Return NETtalk with letters only, and labels from the last column or another one."""
    X, y = bench.read("g2p_nettalk", split, 500)
    assert tw.Features("g2p").columns == 1
    if column is not None:
        y = [[row[column] for row in rows] for rows in X]
    return [[row[:1] for row in rows] for rows in X], y


def nettalk(bench: Bench) -> None:
    """Section 4.2: letters to phones. The paper had 19,075 words to train on, and does not name its features."""
    paper = {"exact": "91.6", TEN: "91.7", "fixed": "85.7", "ratio": "could not take a step"}
    methods = (DENSE, SPARSE, TEN, FIXED, RATIO)
    made = real(bench, "nettalk", "g2p", partial(words, bench, None), methods, paper)
    exact, sparse, fixed = made[DENSE], made[TEN], made[FIXED]
    why = "with a small label set, selecting labels costs more than it saves"
    quarter(bench, "NETtalk", "paper", sparse, [exact], why)
    other = "the features are not the paper's, which are not known"
    for own, least, whose in ((exact, 91.6, "paper"), (exact, 92.3, "aim"), (sparse, 91.7, "paper")):
        bench.claim(
            f"accuracy of {own.method}", "NETtalk", f"{own.test:.2f}", f"{least} ({whose})", own.test >= least, other
        )
    bench.claim(
        "a fixed beam loses accuracy, minimum divergence does not",
        "NETtalk",
        f"{fixed.test:.2f}, {sparse.test:.2f}, exact {exact.test:.2f}",
        "85.7, 91.7, exact 91.6 (paper)",
        sparse.test - exact.test >= -0.2 and fixed.test - exact.test < -0.2,
        "the right labels are always kept here, so that fixed sizes and ratios train as well as the others",
    )


def stress(bench: Bench) -> None:
    """Letters to phones with stress: three times as many labels."""
    methods = (DENSE, SPARSE, LEAST)
    made = real(bench, "stress", "g2p", partial(words, bench, 2), methods, {})
    quarter(bench, "NETtalk with stress", "aim", made[LEAST], [made[DENSE]], LANES)


def chunk(bench: Bench) -> None:
    """Chunks and parts of speech, joint."""
    read = partial(bench.read, "chunk_conll2000", few=100)
    made = real(bench, "chunk", "chunk", read, (DENSE, SPARSE, LEAST), {})
    quarter(bench, "chunk_conll2000, joint", "aim", made[LEAST], [made[DENSE]], LANES)


# --- python-crfsuite, and many labels ---


def crfsuite(bench: Bench) -> None:
    """An iteration of L-BFGS in python-crfsuite and in ours, over the same weights; the best one of a few.

    Theirs is the time between the messages of two iterations, so their first one is not counted.
    """

    @cache
    def read() -> Corpus:
        X, y = data.covering(*bench.read("chunk_conll2000", "train", 100), 3000)
        return peer.expanded(X), y

    def ours() -> dict[str, Any]:
        made = trained(None, read(), 5)
        arrays = made.learner.model_.arrays
        weights = len(arrays["rows.weight"]) + len(arrays["edges.score"])
        counted = {"sentences": len(read()[0]), "labels": len(made.learner.model_.labels), "weights": weights}
        return {"seconds": min(made.each), **counted}

    theirs = bench.step("python-crfsuite", lambda: peer.iteration(*read(), L2))
    rows = []
    own = bench.step("sparse edges, the default", ours)
    rows.append(peer.compare("s/iteration", theirs["seconds"], own["seconds"]))
    ratio = theirs["seconds"] / own["seconds"]
    what = "python-crfsuite's time per iteration of L-BFGS / ours"
    bench.claim(what, "chunk_conll2000, joint", f"{ratio:.1f}", "at least 20 (aim)", ratio >= 20)
    rows.append(["weights", f"{theirs['weights']:,}", f"{own['weights']:,}", "-"])
    title = f"chunk_conll2000: {own['sentences']:,} sentences that have all {own['labels']} labels, l2 {L2}"
    bench.table("crfsuite", title, ["figure", "python-crfsuite", "tagwright", "ratio"], rows)


SUPERTAG: dict[str, dict[str, Any]] = {
    SPARSE: {"iterations": 20},
    "AdaGrad, exact": {"iterations": None, "solver": "adagrad", "pruning": "exact", "epochs": 10},
}


def supertagged(bench: Bench, method: str) -> dict[str, Any]:
    """Train and test; in a process of its own, so that its peak of memory is that of training."""
    train = data.covering(*bench.read("supertag_erg", "train", 50), 5000)
    options = SUPERTAG[method]
    if bench.quick:
        options = {key: 2 if key in ("iterations", "epochs") and value else value for key, value in options.items()}
    made = trained("supertag", train, min_count=2, **options)
    own = {"peak": timing.kernel_mb("status")["VmHWM"], "sentences": len(train[0]), "seconds": made.seconds}
    X, y = bench.read("supertag_erg", "test", 50)
    learner = made.learner
    return {
        **own,
        "labels": len(learner.model_.labels),
        "each": made.each,
        "ended": made.ended,
        "objective": learner.objective_,
        "test": 100 * learner.score(X[:1000], y[:1000]),
    }


def supertag(bench: Bench) -> None:
    """Many labels: time, memory and accuracy, each method in a process of its own. The peak counts the corpus.

    AdaGrad's iterations are epochs, and its objective is that of weights which changed along the way.
    """
    rows = []
    for method in SUPERTAG:
        own = bench.step(method, partial(timing.apart, supertagged, bench, method))
        row = [method, f"{own['sentences']:,}", f"{own['labels']:,}", f"{own['seconds']:.1f}", f"{len(own['each'])}"]
        row += [f"{np.mean(own['each']):.2f}", own["ended"], f"{own['peak']:,.0f}"]
        rows.append([*row, f"{own['objective']:,.0f}", f"{own['test']:.2f}"])
        bench.claim(
            f"training by {method}",
            f"supertag_erg, {own['sentences']:,} sentences, {own['labels']:,} labels",
            f"{own['seconds'] / 60:.1f} minutes, {own['peak'] / 1024:.2f} GB",
            "minutes (at most 10), 4 GB (aim)",
            own["seconds"] <= 600 and own["peak"] <= 4096,
        )
    title = f"supertag_erg, min_count 2, l2 {L2}, tolerance {TOLERANCE}; tested on the first 1,000 sentences of test"
    header = ["method", "sentences", "labels", "s", "iterations", "s/iteration", "ended", "peak MB"]
    bench.table("supertag", title, [*header, "objective, its own", "test %"], rows)


PARTS = {part.__name__: part for part in (decode, synthetic, nettalk, stress, chunk, crfsuite, supertag)}
