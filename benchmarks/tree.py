"""`tree` and `auto` beside dense Viterbi, the papers' decoders and the limit; growth, threads and deadlines.

Run `python benchmarks/tree.py`; `--quick` takes few sentences and sizes, `--only PART` a part alone. Tables come out,
`--csv DIR` writes them too, and `--plots DIR` draws growth where matplotlib is installed. Lattices are looked for in
../shared/lattices and corpora in ../shared/data, or in $TAGWRIGHT_DATA or --data and beside it; what is not there is
said and left out, and lattices of random scores are always there. One thread but where two are said. The sentences of a
set are decoded in one call; "alone" means a call a sentence, which dense Viterbi feels: in one call it takes several
sentences side by side. Decoders take turns, and the best of their times counts. Scores of exact answers are checked
before, in growth those of the first sample.

The limit is a plain vectorised pass over the node scores, NumPy's: `max` of each sentence. For short sentences that is
mostly the cost of calling NumPy, so there is also one `max` over the scores of all sentences, "limit, one call".
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import itertools
import os
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import click
import numpy as np
from decoders import REAL, ROOT, best_of, hmm, lattice_dir, real
from tagger import FOLDER, MissingError, Run
from tqdm import tqdm

import tagwright as tw

# Corpora and presets of our own models: plain perceptrons.
OWN = {"chunk_conll2000": "chunk", "slots_hwu64": "query", "morph_hu_nerkor": "morph", "morph_lv_lvtb": "morph"}
OWN["supertag_erg"] = "supertag"
EPOCHS, TESTED = 3, 500
ALONE = 50  # sentences that are decoded a call each
GROWN = "supertag_erg"
AUTO = 1.15  # times the better one of dense and tree, at most
MANY = 1000  # labels; the aims differ below and above
AGAINST_DENSE = dict(zip(REAL, (30, 60, 250, 2000), strict=True))
HEADER = ["k", "decoder", "edges", "sentences", "us/sentence", "us/token", "dense / it", "staggered / it", "it / limit"]
WORK = ["rounds", "nodes/token", "edges/token"]


class Case(NamedTuple):
    """Sentences whose scores lie one behind the other, over the same edges in two forms."""

    name: str
    nodes: list[np.ndarray]
    dense: tw.Edges
    sparse: tw.Edges

    @classmethod
    def make(cls, name: str, nodes: np.ndarray, lengths: list[int], scores: np.ndarray, own: Any = None) -> Case:
        split = np.split(nodes, np.cumsum(lengths)[:-1])
        sparse = tw.Edges(scores, sparse=True) if own is None else own
        return cls(name, split, tw.Edges(scores, sparse=False).prepare(), sparse.prepare())

    @property
    def tokens(self) -> int:
        return sum(map(len, self.nodes))

    def first(self, sentences: int) -> Case:
        return self._replace(nodes=self.nodes[:sentences])


class Way(NamedTuple):
    """A decoder, the form of edges it gets, and whether it gets a sentence a call."""

    decoder: str
    form: str
    alone: bool = False

    def run(self, case: Case, k: int) -> Callable[[], list[tw.Decoding]]:
        edges = case.dense if self.form == "dense" else case.sparse
        if self.alone:
            return lambda: [tw.decode(own, edges, k, self.decoder) for own in case.nodes]
        return lambda: tw.decode_batch(case.nodes, edges, k, self.decoder)


Key = tuple[int, Way]  # with k
Times = dict[Key, float]
FORMS = ("dense", "sparse")
LIMIT, ONE_CALL = (0, Way("limit", "-")), (0, Way("limit, one call", "-"))


def full(k: int) -> str:
    """What looks at every edge."""
    return "viterbi" if k == 1 else "viterbi_astar"


def refining(k: int) -> str:
    """The papers' decoder that refines a chain."""
    return "staggered" if k == 1 else "iterative_viterbi_astar"


def limits(nodes: list[np.ndarray]) -> dict[str, Callable[[], Any]]:
    return {"limit": lambda: [own.max() for own in nodes], "limit, one call": np.concatenate(nodes).max}


def shared(run: Run, name: str) -> Case:
    found = real(name, 10 if run.quick else 10_000)
    if found is None:
        raise MissingError(f"{lattice_dir() / name}.npz is not there")
    return Case.make(name, np.concatenate(found.nodes), [len(own) for own in found.nodes], found.scores)


def trained(run: Run, name: str, cache: Path) -> tw.Model:
    """A perceptron; read from the cache where the same one was trained before."""
    path = run.data / name / "train.txt.xz"
    if not path.exists():
        raise MissingError(f"{path} is not there")
    few, epochs = (300, 1) if run.quick else (None, EPOCHS)
    options = f"{OWN[name]} {epochs} {few} {tw.__version__}".encode()
    kept = cache / f"{name}-{hashlib.sha256(path.read_bytes() + options).hexdigest()[:16]}.safetensors"
    if not kept.exists():
        learner = tw.Perceptron(OWN[name], epochs=epochs, seed=0)
        seconds, _ = best_of(lambda: learner.fit(*run.read(name, "train", few)), 1)
        click.echo(f"{name}: trained in {seconds:.1f} s")
        cache.mkdir(parents=True, exist_ok=True)
        learner.model_.save(kept)
    return tw.load(kept)


def ours(run: Run, name: str, cache: Path) -> Case:
    """Lattices of a model of our own: the first sentences of the test set."""
    model = trained(run, name, cache)
    X, _ = run.read(name, "test", 20)
    lattices = [model.lattice(tokens) for tokens in X[:TESTED]]
    assert all(one.switched_on is None for one in lattices)
    scores = np.zeros((len(model.labels),) * 2, "f4")
    scores[model.arrays["edges.previous"], model.arrays["edges.current"]] = model.arrays["edges.score"]
    lengths = [len(one.nodes) for one in lattices]
    return Case.make(f"{name}, ours", np.concatenate([one.nodes for one in lattices]), lengths, scores, model.edges)


def random(kind: str, L: int, sentences: int, T: int = 20) -> Case:
    """Normal scores of a type, or those of an HMM: flat label frequencies and sharp random transitions."""
    if kind == "HMM":
        _, nodes, scores = hmm(L, sentences)
    else:
        rng = np.random.default_rng(L)
        nodes = list(rng.normal(size=(sentences, T, L)).astype(kind))
        scores = rng.normal(size=(L, L)).astype(kind)
    edges = tw.Edges(scores, sparse=False).prepare()
    return Case(kind if kind == "HMM" else f"normal {kind}", nodes, edges, edges)


def interleaved(
    runs: dict[Any, Callable[[], Any]], turns: tuple[int, int], seconds: float, name: str
) -> dict[Any, list[float]]:
    """Times of each; all take turns, at least and at most so many. One that has had its seconds is not run again."""
    times: dict[Any, list[float]] = {key: [] for key in runs}
    for turn in tqdm(range(turns[1]), desc=name, disable=None, leave=False):
        for key, run in runs.items():
            if turn < turns[0] or sum(times[key]) < seconds:
                start = time.perf_counter()
                run()
                times[key].append(time.perf_counter() - start)
    return times


def check(found: list[tw.Decoding], truth: list[tw.Decoding], what: str) -> None:
    for one, right in zip(found, truth, strict=True):
        scores = [[path.score for path in own.paths] for own in (one, right)]
        np.testing.assert_allclose(*scores, rtol=1e-9, err_msg=what)
    assert all(one.exact for one in found), what


class Ratio(NamedTuple):
    """How `auto` compares with the better one of two decoders."""

    case: str
    L: int
    k: int
    how: str
    us: list[float]  # a sentence: all edges, tree, auto
    ratio: float


class Bench:
    """What was asked for, and what was measured so far."""

    def __init__(self, run: Run, plots: Path | None, cache: Path) -> None:
        self.run, self.plots, self.cache = run, plots, cache
        self.measured: dict[str, tuple[int, Times]] = {}  # labels and times by name
        self.ratios: list[Ratio] = []
        self.gains: dict[str, list[float]] = {}  # of two threads, k = 1 and 5

    def cases(self) -> Iterator[Case]:
        for name, own in [*((name, False) for name in REAL), *((name, True) for name in OWN)]:
            try:
                yield ours(self.run, name, self.cache) if own else shared(self.run, name)
            except MissingError as missing:
                click.echo(f"left out: {missing}")

    def time(self, case: Case, ways: dict[int, list[Way]]) -> tuple[Times, dict[Key, list[tw.Decoding]]]:
        """Check the ways of each k against the first one, and time all of them and the limits; us a token, answers."""
        title, few, found = f"{case.name}, L = {case.dense.L}", case.first(ALONE), {}
        runs: dict[Key, Callable[[], Any]] = {
            (k, way): way.run(few if way.alone else case, k) for k, own in ways.items() for way in own
        }
        for k, way in tqdm(list(runs), desc=f"{title}: check", disable=None, leave=False):
            found[k, way] = runs[k, way]()
            if not way.decoder.startswith("beam"):
                check(found[k, way], found[k, ways[k][0]][: len(found[k, way])], f"{title}, k = {k}, {way}")
        runs |= {(0, Way(name, "-")): run for name, run in limits(case.nodes).items()}
        times = interleaved(runs, *(((1, 3), 0.02) if self.run.quick else ((2, 30), 1.2)), title)
        return {key: 1e6 * min(own) / (few if key[1].alone else case).tokens for key, own in times.items()}, found

    def compare(self, case: Case, k: int, us: Times, form: str, alone: bool, how: str) -> None:
        """Keep what `auto` took, and what it could have chosen."""
        each = [us[k, Way(name, form, alone)] * case.tokens / len(case.nodes) for name in (full(k), "tree", "auto")]
        self.ratios.append(Ratio(case.name, case.dense.L, k, how, each, each[2] / min(each[:2])))


def staggered(us: Times, k: int, alone: bool = False) -> float:
    """The faster one of both forms of edges."""
    return min(us[key] for form in FORMS if (key := (k, Way(refining(k), form, alone))) in us)


def row(case: Case, key: Key, us: Times, found: dict[Key, list[tw.Decoding]]) -> list[str]:
    """A line of the table of a set of lattices."""
    k, way = key
    few = case.first(ALONE) if way.alone else case
    name, each = way.decoder + ", alone" * way.alone, us[key] * few.tokens / len(few.nodes)
    line = [f"{k or '-'}", name, way.form, f"{len(few.nodes)}", f"{each:,.1f}", f"{us[key]:,.3f}"]
    if key not in found:
        return [*line, "-", "-", f"{us[key] / us[LIMIT]:,.2f}", *["-"] * len(WORK)]
    ratios = us[k, Way(full(k), "dense", way.alone)] / us[key], staggered(us, k, way.alone) / us[key]
    line += [f"{one:,.2f}" for one in (*ratios, us[key] / us[LIMIT])]
    rounds, nodes, edges = np.sum([one.work for one in found[key]], axis=0)
    return [*line, f"{rounds / len(few.nodes):.1f}", f"{nodes / few.tokens:,.1f}", f"{edges / few.tokens:,.0f}"]


def lattices(bench: Bench) -> None:
    """Every set of lattices by every decoder; "dense / it" says how many times faster it is than dense Viterbi.

    Above k = 1 Viterbi A* stands for dense Viterbi and iterative Viterbi A* for staggered, of which the faster form of
    edges counts. beam:1 is a greedy pass.
    """
    ways = {}
    for k in (1, 5, 50):
        ways[k] = [Way(name, form) for name in (full(k), refining(k), "tree", "auto") for form in FORMS]
        ways[k] += [Way("beam:1", "sparse"), Way(full(k), "dense", True)]
        ways[k] += [Way(name, "sparse", True) for name in (refining(k), "tree", "auto")]
    for case in bench.cases():
        L, (us, found) = case.dense.L, bench.time(case, ways)
        bench.measured[case.name] = L, us
        for k, form in itertools.product(ways, FORMS):
            bench.compare(case, k, us, form, False, f"{form} edges")
        title = f"{case.name}: {L:,} labels, {len(case.nodes):,} sentences, {case.tokens:,} tokens, {case.sparse!r}"
        rows = [row(case, key, us, found) for key in us]
        bench.run.show(f"lattices_{case.name.replace(', ', '_')}", title, [*HEADER, *WORK], rows)


def auto(bench: Bench) -> None:
    """`auto` against the better one of Viterbi (above k = 1, Viterbi A*) and tree over the same edges.

    On random scores with dense edges, in one call or a call a sentence, 20 tokens (HMMs: 25), and on all lattices that
    were measured before.
    """
    sizes = (64, 200, 500) if bench.run.quick else (64, 100, 128, 200, 300, 500, 1000)
    for kind, L in itertools.product(("float32", "float64", "HMM"), sizes):
        case = random(kind, L, 8 if bench.run.quick else max(16, min(64, 20_000 // L)))
        for k, alone in itertools.product((1, 5), (False, True)):
            us, _ = bench.time(case, {k: [Way(name, "dense", alone) for name in (full(k), "tree", "auto")]})
            bench.compare(case, k, us, "dense", alone, "alone" if alone else "one call")
    rows = [[r.case, f"{r.L}", f"{r.k}", r.how, *(f"{us:,.1f}" for us in r.us), f"{r.ratio:.2f}"] for r in bench.ratios]
    header = ["scores", "L", "k", "how", "all edges, us/sentence", "tree", "auto", "auto / better one"]
    bench.run.show("auto", f"Aim: at most {AUTO}", header, rows)


class Point(NamedTuple):
    """Several times of one method at one size, us a token."""

    x: int
    method: str
    median: float
    low: float
    high: float


def grown(x: int, cases: Iterable[Case], k: int = 1) -> list[Point]:
    """A time of each case, the best of its turns; their median and quartiles."""
    ways = {
        "tree": Way("tree", "sparse"),
        "tree, dense edges": Way("tree", "dense"),
        "dense Viterbi, Viterbi A*": Way(full(k), "dense"),
        "staggered, iterative Viterbi A*": Way(refining(k), "sparse"),
    }
    every: dict[str, list[float]] = {}
    for number, case in enumerate(cases):
        runs: dict[str, Callable[[], Any]] = {name: way.run(case, k) for name, way in ways.items()}
        if number == 0:
            truth = Way(full(k), "sparse").run(case, k)()
            for name, run in runs.items():
                check(run(), truth, f"{name}, {x}")
        runs["limit"] = limits(case.nodes)["limit"]
        for name, times in interleaved(runs, (1, 10), 0.1, f"{x}").items():
            every.setdefault(name, []).append(1e6 * min(times) / case.tokens)
    return [Point(x, name, *np.quantile(own, [0.5, 0.25, 0.75])) for name, own in every.items()]


def growth(bench: Bench) -> None:
    """Growth with L, T and k on supertag_erg: medians and quartiles of several samples; k-best decoders above k = 1.

    With L: random subsets of the labels, another one each time, the same scores otherwise. With T: sentences joined end
    to end and cut into pieces of T, from another place each time. With k: other sentences each time.
    """
    quick, rng = bench.run.quick, np.random.default_rng(0)
    whole = shared(bench.run._replace(quick=False), GROWN)
    with np.load(lattice_dir() / f"{GROWN}.npz") as stored:
        scores = stored["edges"]
    every, L = np.concatenate(whole.nodes), whole.dense.L
    samples, count, tokens = (2, 3, 100) if quick else (7, 20, 600)

    def subset(size: int) -> Case:
        own, nodes = np.sort(rng.choice(L, size, replace=False)), whole.nodes[:count]
        cut = np.ascontiguousarray(np.concatenate(nodes)[:, own])
        return Case.make("", cut, [len(one) for one in nodes], np.ascontiguousarray(scores[np.ix_(own, own)]))

    def pieces(T: int) -> Case:
        wanted = max(1, tokens // T)
        begin = int(rng.integers(0, len(every) - wanted * T + 1))
        return whole._replace(nodes=np.split(every[begin : begin + wanted * T], wanted))

    sizes = (100, 800, L) if quick else (100, 200, 400, 800, 1600, L)
    found = [point for size in sizes for point in grown(size, (subset(size) for _ in range(samples)))]
    report(bench, "growth_labels", f"Growth with L: {GROWN}, {count} sentences", "labels", found)
    lengths = (10, 50) if quick else (10, 20, 50, 100, 200, 500, 1000)
    found = [point for T in lengths for point in grown(T, (pieces(T) for _ in range(samples)))]
    report(bench, "growth_tokens", f"Growth with T: {GROWN}, {L:,} labels", "tokens a sentence", found)
    ks = (1, 5, 50) if quick else (1, 2, 5, 10, 20, 50, 100, 200)
    cases = [whole._replace(nodes=whole.nodes[q * count : (q + 1) * count]) for q in range(samples)]
    found = [point for k in ks for point in grown(k, cases, k)]
    report(bench, "growth_k", f"Growth with k: {GROWN}, {L:,} labels, {count} sentences", "k", found)


def report(bench: Bench, name: str, title: str, what: str, points: list[Point]) -> None:
    limit = {point.x: point.median for point in points if point.method == "limit"}
    rows = [[f"{p.x}", p.method, *(f"{us:,.3f}" for us in p[2:]), f"{p.median / limit[p.x]:,.2f}"] for p in points]
    header = [what, "method", "us/token, median", "lower quartile", "upper quartile", "it / limit"]
    bench.run.show(name, title, header, rows)
    if bench.plots:
        draw(bench.plots / f"{name}.png", title, what, points)


def draw(path: Path, title: str, what: str, points: list[Point]) -> None:
    """Write a figure: medians, with quartiles as bars."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(9, 5.5))
    methods = dict.fromkeys(point.method for point in points)
    for method, colour in zip(methods, ("tab:green", "tab:olive", "black", "tab:red", "tab:blue"), strict=True):
        _, _, middle, low, high = zip(*(point for point in points if point.method == method), strict=True)
        xs, bars = [point.x for point in points if point.method == method], np.abs(np.array([low, high]) - middle)
        label = "limit: one NumPy pass over the node scores" if method == "limit" else method
        line = "--" if method == "limit" else "-"
        axes.errorbar(xs, middle, bars, fmt="." + line, color=colour, capsize=3, label=label)
    axes.set(xscale="log", yscale="log", xlabel=what, ylabel="microseconds a token", title=title)
    axes.set_xticks(xs, [f"{x:,}" for x in xs])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def threads(bench: Bench) -> None:
    """Two threads against one: tree over sparse edges, all sentences in one call."""
    if (os.cpu_count() or 1) < 2:
        raise MissingError("there is one core only")
    rows = []
    for case in bench.cases():
        for k in (1, 5):
            decode = partial(tw.decode_batch, case.nodes, case.sparse, k, "tree")
            runs = {n: partial(decode, threads=n) for n in (1, 2)}
            times = interleaved(runs, (2, 4 if bench.run.quick else 60), 2, case.name)
            one, two = (min(times[n]) for n in (1, 2))
            bench.gains.setdefault(case.name, []).append(one / two)
            each = [f"{1e6 * own / len(case.nodes):,.1f}" for own in (one, two)]
            rows.append([case.name, f"{case.dense.L}", f"{k}", f"{len(case.nodes)}", *each, f"{one / two:.2f}"])
    header = ["lattices", "L", "k", "sentences", "one, us/sentence", "two, us/sentence", "one / two"]
    if rows:
        bench.run.show("threads", "Aim: at least 1.8; the answers' Python objects are made by one thread", header, rows)


def deadline(bench: Bench) -> None:
    """What a deadline costs: a call a sentence, one path. The gap is what is promised, the distance what is true.

    The hard lattice is of normal scores, which no bound prunes.
    """
    quick = bench.run.quick
    cases = [random("float32", 1000 if quick else 3000, 5 if quick else 20, 25)]
    try:
        cases.append(shared(bench.run, GROWN))
    except MissingError as missing:
        click.echo(f"left out: {missing}")
    rows = []
    for case, decoder in itertools.product(cases, ("tree", "auto")):
        best = [one.paths[0].score for one in tw.decode_batch(case.nodes, case.sparse, 1, "viterbi")]
        for seconds in (0.0, 0.0005, 0.001, 0.002, 0.005, 0.01, None):
            found, times = [], []
            for own in case.nodes:
                start = time.perf_counter()
                found.append(tw.decode(own, case.sparse, decoder=decoder, deadline=seconds))
                times.append(time.perf_counter() - start)
            gaps = np.array([one.gap for one in found])
            distances = np.array([right - one.paths[0].score for one, right in zip(found, best, strict=True)])
            slack = 1e-9 * np.abs(best)
            assert ((distances >= -slack) & (distances <= gaps + slack)).all(), "a gap that is none"
            line = [case.name, f"{case.dense.L}", decoder, "none" if seconds is None else f"{1e3 * seconds:g}"]
            line += [f"{100 * np.mean([one.exact for one in found]):.0f}", f"{gaps.mean():.4g}"]
            line += [f"{distances.mean():.4g}", f"{1e3 * np.mean(times):.3f}", f"{1e3 * np.max(times):.3f}"]
            rows.append(line)
    header = ["lattices", "L", "decoder", "deadline, ms", "exact, %", "mean gap", "mean distance", "mean ms", "most ms"]
    title = ", ".join(f"{case.name}: {len(case.nodes)} sentences" for case in cases)
    bench.run.show("deadline", title, header, rows)


def aims(bench: Bench) -> list[list[str]]:
    """What was aimed at, and what was measured."""
    lines: list[list[str]] = []

    def add(what: str, limit: float, got: float, more: str, most: bool = False) -> None:
        reached = got <= limit if most else got >= limit
        aim = f"at {'most' if most else 'least'} {limit:,g}"
        lines.append([what, aim, f"{got:,.2f}", "yes" if reached else "no", more])

    for name, (L, us) in bench.measured.items():
        (sparse, dense), (sparse5, dense5) = ([us[k, Way("tree", form)] for form in FORMS[::-1]] for k in (1, 5))
        if least := AGAINST_DENSE.get(name.removesuffix(", ours")):
            base, alone = us[1, Way("viterbi", "dense")], us[1, Way("viterbi", "dense", True)]
            more = f"dense {base / dense:,.1f}; both alone {alone / us[1, Way('tree', 'sparse', True)]:,.1f}"
            add(f"dense Viterbi / tree, {name}", least, base / sparse, more)
        base = staggered(us, 1)
        add(f"staggered / tree, {name}", 5 if L < MANY else 10, base / sparse, f"dense {base / dense:,.2f}")
        more = f"dense {dense / us[LIMIT]:,.1f}; limit in one call {sparse / us[ONE_CALL]:,.1f}"
        add(f"tree / limit, {name}", 10 if L < MANY else 5, sparse / us[LIMIT], more, True)
        add(f"tree, k = 5 / k = 1, {name}", 2, sparse5 / sparse, f"dense {dense5 / dense:.2f}", True)
        if L > MANY:
            base, own = (us[5, Way("viterbi_astar", form)] for form in FORMS)
            more = f"dense {base / dense5:,.1f}; Viterbi A* over sparse edges {own / sparse5:,.1f}"
            add(f"Viterbi A* / tree, k = 5, {name}", 50, base / sparse5, more)
    for name, (first, fifth) in bench.gains.items():
        add(f"tree, one thread / two, {name}", 1.8, first, f"k = 5: {fifth:.2f}")
    if bench.ratios:
        worst = max(bench.ratios, key=lambda own: own.ratio)
        above = sum(own.ratio > AUTO for own in bench.ratios)
        more = f"{worst.case}, L = {worst.L}, k = {worst.k}, {worst.how}; above in {above} of {len(bench.ratios)}"
        add("auto / better one of dense and tree, worst", AUTO, worst.ratio, more, True)
    return sorted(lines, key=lambda line: line[0].partition(",")[0])


PARTS = {part.__name__: part for part in (lattices, auto, growth, threads, deadline)}


@click.command()
@click.option("--quick", is_flag=True, help="Few sentences, few sizes: to see that all runs.")
@click.option("--only", type=click.Choice(list(PARTS)), multiple=True, help="This part; may be given several times.")
@click.option("--data", type=FOLDER, envvar="TAGWRIGHT_DATA", default=ROOT.parent / "shared" / "data", help="Corpora.")
@click.option("--cache", type=FOLDER, help="Keep trained models here; by default they are gone at the end.")
@click.option("--csv", "folder", type=FOLDER, help="Write the tables here too.")
@click.option("--plots", type=FOLDER, help="Draw growth here; needs matplotlib.")
def main(
    quick: bool, only: tuple[str, ...], data: Path, cache: Path | None, folder: Path | None, plots: Path | None
) -> None:
    """Measure tree and auto, part by part, and show what was aimed at."""
    os.environ["TAGWRIGHT_DATA"] = str(data)  # lattices are looked for beside it
    if plots and importlib.util.find_spec("matplotlib") is None:
        click.echo("no figures: matplotlib is not installed (pip install matplotlib)")
        plots = None
    with TemporaryDirectory() as place:
        bench = Bench(Run(quick, False, 0, data, folder), plots, cache or Path(place))
        for name in [part for part in PARTS if part in (only or PARTS)]:
            note = "\n(quick: not to be held against the aims)" * quick
            click.echo(f"\n{name}: {inspect.getdoc(PARTS[name])}{note}")
            try:
                PARTS[name](bench)
            except MissingError as missing:
                click.echo(f"left out: {missing}")
        if lines := aims(bench):
            title = "Aims: tree over sparse edges, as trained models have; dense: the same figure over dense ones"
            bench.run.show("aims", title, ["figure", "aim", "measured", "reached", "beside it"], lines)


if __name__ == "__main__":
    main()
