"""Sparse forward-backward beside exact sums: the experiments of Pal, Sutton and McCallum 2006, and larger ones.

Run `python benchmarks/pal2006.py`; `--quick` takes few sentences and iterations, `--only PART` a part alone. Tables
come out, `--csv DIR` writes them too, and `--plots DIR` draws learning curves where matplotlib is installed. Corpora
are looked for in ../shared/data, in $TAGWRIGHT_DATA or in --data; what is not there is said and left out. One thread,
BLAS too. Every training is run once and timed as a whole, reading of features and the start on a tenth of the corpus
included.

Our copy of the paper is scrambled in places. Sequences of length 75, 50 of them to train on and 50 to test on, and the
figures 9.6 and 20 of section 4.1 are what we make of it. It does not say how many symbols the HMMs have, nor how many
states in 4.1: we take 100 states, as in 4.2, and several numbers of symbols, since the figures depend on them.
"""

from __future__ import annotations

import importlib.util
import inspect
import itertools
import math
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import click
import numpy as np
from decoders import ROOT, best_of
from tagger import FOLDER, Corpus, MissingError, Run, apart, compare, expanded, kernel_mb, pycrfsuite
from threadpoolctl import threadpool_limits

import tagwright as tw

L2 = 0.1
TOLERANCE = 1e-4
ITERATIONS, QUICK_ITERATIONS = 40, 20
START = 0.1  # of the sentences are trained on first, as the paper does for NETtalk
STATES, LENGTH, SPARSE_SYMBOLS = 100, 75, 10
# Of these the last is taken for training: with fewer symbols even exact training ends below the 67.1 % that the
# paper calls low.
SYMBOLS = (100, 400, 1000)
LEAST_RATIO = 60.0  # calibration tries ratios from exp(-this) to 1
SAMPLE = 200  # sentences on which a ratio is calibrated
DENSE, ONE = "exact, dense", "exact, dense, one at a time"


class HiddenMarkov(NamedTuple):
    """A hidden Markov model as section 4.1 describes it, all start states equally likely."""

    transition: np.ndarray  # [i][j], i = previous state
    emission: np.ndarray  # [state][symbol]

    @classmethod
    def make(cls, rng: np.random.Generator, symbols: int) -> HiddenMarkov:
        """Transitions from a Dirichlet of 0.1; 3 of 4 states emit 10 symbols, the others nearly all alike."""
        emission = np.zeros((STATES, symbols))
        for state in emission:
            if rng.random() < 0.75:
                state[rng.choice(symbols, SPARSE_SYMBOLS, replace=False)] = rng.dirichlet(np.ones(SPARSE_SYMBOLS))
            else:
                state[:] = rng.dirichlet(np.full(symbols, 1e4))
        return cls(rng.dirichlet(np.full(STATES, 0.1), size=STATES), emission)

    def draw(self, rng: np.random.Generator) -> tuple[list[int], list[int]]:
        """States and symbols of a sequence."""
        states, symbols = [int(rng.integers(STATES))], []
        for _ in range(LENGTH):
            symbols.append(int(rng.choice(len(self.emission[0]), p=self.emission[states[-1]])))
            states.append(int(rng.choice(STATES, p=self.transition[states[-1]])))
        return states[:-1], symbols

    def nodes(self, symbols: list[int]) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.ascontiguousarray(np.log(self.emission[:, symbols]).T)

    def edges(self) -> tw.Edges:
        """Log transitions; those that underflowed are as good as impossible, but leave no beam without a path."""
        return tw.Edges(np.log(np.maximum(self.transition, math.exp(-60))), sparse=False)


class Found(NamedTuple):
    """What beam search with a rule found on all sequences."""

    rule: tw.KeepDivergence | tw.KeepSize | tw.KeepRatio
    labels: float  # a column, on average
    exact: float  # share of sequences whose best path has the exact score

    def row(self, name: str, symbols: int, paper: str) -> list[str]:
        return [name, f"{symbols}", str(self.rule), f"{self.labels:.1f}", f"{100 * self.exact:.1f}", paper]


def decode(run: Run, _: Path | None) -> None:
    """Section 4.1: how many labels a beam must keep to find the best path of synthetic HMMs.

    Each rule is tried from few labels to many until it finds the exact score, on all sequences or on 99 %.
    """
    models, sequences = (2, 20) if run.quick else (4, 25)
    rows = [row for symbols in SYMBOLS for row in needed(symbols, models, sequences)]
    title = (
        f"{models} HMMs of {STATES} states for each number of symbols, {sequences} sequences of {LENGTH} of each HMM"
    )
    header = ["rule", "symbols", "setting", "labels a column", "exact paths, %", "paper, labels"]
    run.show("decode", title, header, rows)


def needed(symbols: int, models: int, sequences: int) -> list[list[str]]:
    rng = np.random.default_rng(0)
    lattices, best = [], []
    for _ in range(models):
        model = HiddenMarkov.make(rng, symbols)
        lattices.append(([model.nodes(model.draw(rng)[1]) for _ in range(sequences)], model.edges()))
        best += [found.paths[0].score for found in tw.decode_batch(*lattices[-1], decoder="viterbi")]

    def tried(rule: Any) -> Found:
        beam = tw.Beam(keep=rule)
        found = [one for nodes, edges in lattices for one in tw.decode_batch(nodes, edges, decoder=beam)]
        same = [math.isclose(one.paths[0].score, exact, rel_tol=1e-9) for one, exact in zip(found, best, strict=True)]
        return Found(rule, sum(one.work.nodes for one in found) / (len(found) * LENGTH), float(np.mean(same)))

    paper = tw.KeepDivergence(0.001, at_least=4)
    rows = [tried(paper).row("min. divergence, the paper's", symbols, "9.6")]
    grids: dict[str, tuple[list[Any], str]] = {
        "min. divergence": ([tw.KeepDivergence(10 ** (-q / 4), at_least=4) for q in range(49)], "-"),
        "fixed size": ([tw.KeepSize(n) for n in range(1, STATES + 1)], "20 to 25"),
        "ratio": ([tw.KeepRatio(math.exp(-q / 2)) for q in range(1, 121)], "26.4"),
    }
    for name, (rules, figure) in grids.items():
        made = (tried(rule) for rule in rules)
        for share in (0.99, 1.0):
            first = next((one for one in made if one.exact >= share), None)
            if first is None:
                rows.append([f"{name}, {share:.0%} exact", f"{symbols}", "none of the grid", "-", "-", figure])
                break
            made = itertools.chain([first], made)  # the same setting may do for both
            rows.append(first.row(f"{name}, {share:.0%} exact", symbols, figure))
    return rows


class Trained(NamedTuple):
    """One training."""

    method: str
    learner: tw.CRF
    seconds: float
    failed: bool  # whether a line search failed

    @property
    def steps(self) -> list[dict[str, float]]:
        """The iterations; where the first line search failed there is none."""
        return [fact for fact in self.learner.history_ if fact["seconds"] > 0]

    @property
    def each(self) -> float:
        """Seconds an iteration, the start left out."""
        return sum(fact["seconds"] for fact in self.steps) / max(1, len(self.steps))

    @property
    def kept(self) -> float:
        """Labels a token, over all iterations."""
        return float(np.mean([fact["kept"] for fact in self.learner.history_]))

    @property
    def ended(self) -> str:
        if self.failed:
            return "line search failed"
        return "limit" if len(self.steps) == self.learner.max_iterations else "converged"

    def times(self) -> np.ndarray:
        """Seconds at the end of each iteration, what came before the first one included."""
        seconds = np.array([fact["seconds"] for fact in self.steps])
        return self.seconds - seconds.sum() + np.cumsum(seconds)


def limit(run: Run) -> int:
    return QUICK_ITERATIONS if run.quick else ITERATIONS


def trained(method: str, features: str | None, train: Corpus, iterations: int, **options: Any) -> Trained:
    """Train; that sparse sums led a line search astray is a result here, not a warning."""
    learner = tw.CRF(features, l2=L2, tolerance=TOLERANCE, max_iterations=iterations, progress=False, **options)
    # With more threads BLAS, which L-BFGS calls, waits for a core that others use, longer than sums take.
    with threadpool_limits(1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        seconds, _ = best_of(lambda: learner.fit(*train), 1)
    said = [str(warning.message) for warning in caught]
    made = Trained(method, learner, seconds, any("line search" in message for message in said))
    for message in said:
        if "line search" not in message:
            click.echo(f"  {method}: {message}")
    return made


def reported(made: Trained) -> Trained:
    click.echo(
        f"  {made.method}: {made.seconds:.1f} s, {len(made.steps)} iterations, {made.ended}, kept {made.kept:.1f}"
    )
    return made


def exact_objective(model: tw.Model, X: list[Any], y: list[list[str]]) -> float:
    """The objective of a model's weights, summed exactly, whatever they were trained with."""
    number = {label: n for n, label in enumerate(model.labels)}
    weights = [model.arrays[name].astype(float) for name in ("rows.weight", "edges.score")]
    value = L2 * sum(float(own @ own) for own in weights)
    for tokens, labels in zip(X, y, strict=True):
        nodes, edges, _ = model.lattice(tokens)
        value += tw.marginals(nodes, edges).log_z - tw.score(nodes, edges, [number[label] for label in labels])
    return value


def same_size(kept_by: Callable[[tw.KeepRatio], float], target: float, tries: int) -> tw.KeepRatio:
    """The ratio that keeps as many labels as another rule does; log r is halved, the nearest try is taken."""
    low, high = -LEAST_RATIO, 0.0
    tried = []
    for _ in range(tries):
        rule = tw.KeepRatio(math.exp((low + high) / 2))
        kept = kept_by(rule)
        tried.append((abs(kept - target), rule))
        low, high = ((low + high) / 2, high) if kept > target else (low, (low + high) / 2)
    return min(tried, key=lambda pair: pair[0])[1]


def kept_on_sample(model: tw.Model, X: list[Any], rule: tw.KeepRatio) -> float:
    sample = [model.lattice(tokens).nodes for tokens in X[:: max(1, len(X) // SAMPLE)]]
    return float(np.concatenate([one.kept for one in tw.marginals_batch(sample, model.edges, rule)]).mean())


class Curve(NamedTuple):
    """A line of a figure."""

    method: str
    seconds: Sequence[float]
    value: Sequence[float]


# The first that a method's name holds.
COLOURS = {
    "exact": "black",
    "at least 1 ": "tab:purple",
    "divergence": "tab:blue",
    "fixed": "tab:orange",
    "ratio": "tab:red",
    "auto": "tab:green",
}
STYLES = {"sparse edges": "--", "one at a time": ":", "larger": "-."}


def draw(folder: Path, name: str, title: str, what: str, curves: list[Curve]) -> None:
    """Write a figure of learning curves."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(11, 5.5))
    for curve in curves:
        named = curve.method.replace(",", " ") + " "
        colour = next(colour for part, colour in COLOURS.items() if part in named)
        style = next((style for part, style in STYLES.items() if part in named), "-")
        axes.plot(curve.seconds, curve.value, style, marker=".", color=colour, alpha=0.8, label=curve.method)
    axes.set(xscale="log", xlabel="training time (seconds)", ylabel=what, title=title)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1.01, 1))
    folder.mkdir(parents=True, exist_ok=True)
    figure.tight_layout()
    figure.savefig(folder / f"{name}.png", dpi=120)
    plt.close(figure)


TRAINING = [
    "method",
    "s",
    "iterations",
    "s/iteration",
    "ended",
    "labels kept",
    "objective, its own",
    "objective, exact",
]


def training_row(made: Trained, exact: float) -> list[str]:
    if made.learner.keep is None:
        assert math.isclose(exact, made.learner.objective_, rel_tol=1e-4), f"{made.method}: sums are not exact"
    row = [made.method, f"{made.seconds:.2f}", f"{len(made.steps)}", f"{made.each:.3f}", made.ended]
    return [*row, f"{made.kept:.1f}", f"{made.learner.objective_:,.1f}", f"{exact:,.1f}"]


def points(iterations: int) -> list[int]:
    """Few iterations, close together at first: each costs a training up to there."""
    return sorted({round(1.6**q) for q in range(1 + int(math.log(iterations, 1.6)))} | {iterations})


def synthetic(run: Run, plots: Path | None) -> None:
    """Section 4.2: CRFs trained on sequences of a 100-state HMM, whose symbols are the only features.

    All start from weights of 0. The larger fixed beam and the ratio keep as many labels, on average over a training,
    as minimum divergence does; the ratio was found by trainings that are not in the times. Beams take one sentence at a
    time. The curves show the exact objective, from trainings that were stopped on the way.
    """
    rng = np.random.default_rng(1)
    model, count = HiddenMarkov.make(rng, SYMBOLS[-1]), 20 if run.quick else 50
    drawn = [model.draw(rng) for _ in range(2 * count)]
    X = [[f"x{symbol}" for symbol in symbols] for _, symbols in drawn]
    y = [[f"y{state}" for state in states] for states, _ in drawn]
    train, test = (X[:count], y[:count]), (X[count:], y[count:])
    features = "U0:%x[0,0]\nB\n"

    def fit(method: str, **options: Any) -> Trained:
        return trained(method, features, train, limit(run), **options)

    # These rules keep more than a quarter of the labels, and with lanes such sentences would be summed exactly.
    alone: dict[str, Any] = {"dense_edges": True, "lanes": False}
    settings: dict[str, dict[str, Any]] = {
        DENSE: {"dense_edges": True},
        ONE: alone,
        "exact, sparse edges": {},
        "min. divergence 0.5, at least 30": {"keep": tw.KeepDivergence(0.5, at_least=30), **alone},
        "fixed 30": {"keep": tw.KeepSize(30), **alone},
    }
    every = {method: reported(fit(method, **options)) for method, options in settings.items()}
    target = every["min. divergence 0.5, at least 30"].kept
    ratio = same_size(lambda rule: fit("", keep=rule, **alone).kept, target, 6 if run.quick else 10)
    more = {
        f"fixed {round(target)}, the larger": {"keep": tw.KeepSize(round(target)), **alone},
        f"ratio {ratio.r:.1e}": {"keep": ratio, **alone},
        "auto": {"keep": "auto", "dense_edges": True},
        "auto, sparse edges": {"keep": "auto"},
    }
    every |= {method: reported(fit(method, **options)) for method, options in more.items()}
    settings |= more
    rows = []
    for made in every.values():
        got, best = (100 * every[method].learner.score(*test) for method in (made.method, DENSE))
        ratios = [f"{made.seconds / every[method].seconds:.2f}" for method in (DENSE, ONE)]
        paper = "67.1" if made.method.startswith("ratio") else "-"
        own = training_row(made, exact_objective(made.learner.model_, *train))
        rows.append([*own, f"{got:.2f}", f"{got - best:+.2f}", *ratios, paper])
    about = f"{count} sequences of {LENGTH} to train on, {count} to test on; {STATES} states, {SYMBOLS[-1]} symbols"
    title = (
        f"{about}; l2 {L2}, tolerance {TOLERANCE}; the paper's exact and minimum divergence: equal, a quarter of time"
    )
    header = [*TRAINING, "test %", "- exact", "s / dense", "s / one at a time", "paper, test %"]
    run.show("synthetic", title, header, rows)
    if plots:
        curves = []
        for made in every.values():
            at = points(len(made.steps)) if made.steps else []
            options = settings[made.method]
            models = [trained("", features, train, n, **options).learner.model_ for n in at[:-1]]
            models += [made.learner.model_] * bool(at)
            values = [-exact_objective(own, *train) for own in models]
            curves.append(Curve(made.method, [made.times()[n - 1] for n in at], values))
        draw(plots, "synthetic", about, "exact log-likelihood of the training set, less penalty", curves)


NOTE = """
All begin on a tenth of the sentences, which is in the time. "s / one at a time" is against what the paper had: dense
sums, a sentence after the other. The ratio is to keep as many labels as minimum divergence with at least 10 in the
end: found on a sample, with the weights that one ended with. With 64 labels or more, sentences of which a rule keeps
more than a quarter are summed exactly, and count as if all were kept."""


def real(
    run: Run,
    plots: Path | None,
    name: str,
    features: str,
    train: Corpus,
    test: Corpus,
    paper: dict[str, str],
    slow: bool = False,
) -> None:
    """Train a corpus by every method, show the table and draw the curves. slow: what takes longest is left out."""
    click.echo(NOTE)

    def fit(method: str, **options: Any) -> Trained:
        return reported(trained(method, features, train, limit(run), start_on=START, **options))

    divergence = "min. divergence 0.005, at least"
    ten, one = (tw.KeepDivergence(0.005, at_least=n) for n in (10, 1))
    like = fit(f"{divergence} 10", keep=ten, dense_edges=True)
    every = [
        fit(DENSE, dense_edges=True),
        *([] if slow else [fit(ONE, dense_edges=True, lanes=False)]),
        fit("exact, sparse edges"),
        like,
        fit(f"{divergence} 1", keep=one, dense_edges=True),
    ]
    if not slow:
        every.append(fit("fixed 20", keep=tw.KeepSize(20), dense_edges=True))
        kept = like.learner.history_[-1]["kept"]
        ratio = same_size(lambda rule: kept_on_sample(like.learner.model_, train[0], rule), kept, 20)
        every.append(fit(f"ratio {ratio.r:.1e}", keep=ratio, dense_edges=True))
    every += [
        fit("auto", keep="auto", dense_edges=True),
        *([] if slow else [fit(f"{divergence} 10, sparse edges", keep=ten)]),
        fit(f"{divergence} 1, sparse edges", keep=one),
        fit("auto, sparse edges", keep="auto"),
    ]
    best = 100 * every[0].learner.score(*test)
    rows = []
    for made in every:
        got = 100 * made.learner.score(*test)
        ratios = [f"{made.seconds / other.seconds:.3f}" for other in every if other.method in (DENSE, ONE)]
        figure = next((figure for start, figure in paper.items() if made.method.startswith(start)), "-")
        own = training_row(made, exact_objective(made.learner.model_, *train))
        rows.append([*own, f"{got:.2f}", f"{got - best:+.2f}", *ratios, *([figure] if paper else [])])
    labels = len(every[0].learner.model_.labels)
    about = f"{name}: {len(train[0]):,} sentences, {labels} labels"
    title = f"{about}; l2 {L2}, tolerance {TOLERANCE}, first on {START:.0%} of the sentences"
    against = ["s / dense"] if slow else ["s / dense", "s / one at a time"]
    header = [*TRAINING, "test %", "- exact", *against, *(["paper, test %"] if paper else [])]
    run.show(name, title, header, rows)
    if plots:
        curves = [Curve(m.method, m.times().tolist(), [-step["objective"] for step in m.steps]) for m in every]
        draw(plots, name, about, "log-likelihood less penalty, as the method sums it", curves)


def words(run: Run, split: str, column: int | None) -> Corpus:
    """NETtalk with letters only, which is all that may be seen; labels from another column than the last."""
    X, y = run.read("g2p_nettalk", split, 1000)
    assert tw.Features("g2p").columns == 1
    if column is not None:
        y = [[row[column] for row in rows] for rows in X]
    return [[row[:1] for row in rows] for rows in X], y


PAPER = {
    "exact": "91.6",
    "min. divergence 0.005, at least 10": "91.7",
    "fixed": "85.7",
    "ratio": "could not take a step",
}


def nettalk(run: Run, plots: Path | None) -> None:
    """Section 4.2: letters to phones. The paper had 19,075 words to train on; its features it does not say."""
    real(run, plots, "nettalk", "g2p", words(run, "train", None), words(run, "test", None), PAPER)


def stress(run: Run, plots: Path | None) -> None:
    """Letters to phones with stress: three times as many labels."""
    real(run, plots, "stress", "g2p", words(run, "train", 2), words(run, "test", 2), {})


def chunk(run: Run, plots: Path | None) -> None:
    """Chunks and parts of speech, joint."""
    train, test = (run.read("chunk_conll2000", split, 300) for split in ("train", "test"))
    real(run, plots, "chunk", "chunk", train, test, {}, slow=True)


def crfsuite(run: Run, _: Path | None) -> None:
    """An iteration of L-BFGS in python-crfsuite and in ours, over the same weights; the best one of a few.

    Theirs is the time between the messages of two iterations, so their first one is not counted.
    """
    if pycrfsuite is None:
        raise MissingError("python-crfsuite is not installed (pip install python-crfsuite)")
    X, y = run.read("chunk_conll2000", "train", 300)
    train = expanded(X)
    began: list[float] = []

    class Timed(pycrfsuite.Trainer):  # type: ignore[misc, name-defined]
        def message(self, message: str) -> None:
            if message.startswith("***** Iteration"):
                began.append(time.perf_counter())
            super().message(message)

    trainer = Timed("lbfgs", {"c1": 0, "c2": L2, "max_iterations": 5 if run.quick else 3}, verbose=False)
    for features, labels in zip(train, y, strict=True):
        trainer.append(features, labels)
    with TemporaryDirectory() as folder:
        trainer.train(str(Path(folder) / "model.crfsuite"))
    theirs = min(np.diff(began))
    click.echo(f"  python-crfsuite: {theirs:.2f} s an iteration")
    rows = []
    for name, options in (("sparse edges, the default", {}), ("dense edges", {"dense_edges": True})):
        made = trained(name, None, (train, y), 10, **options)
        ours = min(fact["seconds"] for fact in made.steps)
        click.echo(f"  {name}: {ours:.2f} s an iteration")
        rows.append(compare(f"s/iteration, ours with {name}", theirs, ours, None if options else 20))
    model = made.learner.model_
    weights = len(model.arrays["rows.weight"]) + len(model.arrays["edges.score"])
    rows.append(["weights", f"{trainer.logparser.featgen_num_features:,}", f"{weights:,}", "-", "-", "-"])
    title = f"chunk_conll2000: {len(X):,} sentences, {len(model.labels)} labels, l2 {L2}"
    run.show("crfsuite", title, ["figure", "python-crfsuite", "tagwright", "ratio", "aim", "reached"], rows)


SUPERTAG: dict[str, dict[str, Any]] = {
    "exact, sparse edges": {},
    "auto": {"keep": "auto"},
    "AdaGrad, exact": {"solver": "adagrad", "epochs": 10},
}


def covering(X: list[Any], y: list[list[str]], count: int) -> Corpus:
    """So many sentences that have all labels: the first one that has a label, and then the first of the others."""
    met: set[str] = set()
    needed = []
    for s, labels in enumerate(y):
        if not met.issuperset(labels):
            needed.append(s)
            met.update(labels)
    chosen = set(needed)
    chosen.update(itertools.islice((s for s in range(len(y)) if s not in chosen), max(0, count - len(chosen))))
    return [X[s] for s in sorted(chosen)], [y[s] for s in sorted(chosen)]


def supertagged(run: Run, method: str) -> list[str]:
    """Train and test in a process of its own, whose peak until training has ended is that of training."""
    train = covering(*run.read("supertag_erg", "train", 200), 5000)
    iterations = QUICK_ITERATIONS if run.quick else 40
    made = trained(method, "supertag", train, iterations, min_count=2, **SUPERTAG[method])
    peak = kernel_mb("status")["VmHWM"]
    X, y = run.read("supertag_erg", "test", 200)
    got, labels = 100 * made.learner.score(X[:1000], y[:1000]), len(made.learner.model_.labels)
    row = [method, f"{len(train[0]):,}", f"{labels:,}", f"{made.seconds:.1f}", f"{len(made.steps)}", f"{made.each:.2f}"]
    ended = "-" if made.learner.solver == "adagrad" else made.ended
    return [*row, ended, f"{made.kept:.1f}", f"{peak:,.0f}", f"{made.learner.objective_:,.0f}", f"{got:.2f}"]


def supertag(run: Run, _: Path | None) -> None:
    """Many labels: time, memory and accuracy, each method in a process of its own. The peak counts the corpus.

    AdaGrad's iterations are epochs, and its objective is that of weights which changed along the way.
    """
    rows = []
    for method in SUPERTAG:
        rows.append(apart(supertagged, run, method))
        click.echo(f"  {method}: {rows[-1][3]} s")
    title = f"supertag_erg, min_count 2, l2 {L2}, tolerance {TOLERANCE}; tested on the first 1,000 sentences of test"
    header = ["method", "sentences", "labels", "s", "iterations", "s/iteration", "ended", "labels kept", "peak MB"]
    run.show("supertag", title, [*header, "objective, its own", "test %"], rows)


PARTS = {part.__name__: part for part in (decode, synthetic, nettalk, stress, chunk, crfsuite, supertag)}


@click.command()
@click.option("--quick", is_flag=True, help="Few sentences, few iterations: to see that all runs.")
@click.option("--only", type=click.Choice(list(PARTS)), multiple=True, help="This part; may be given several times.")
@click.option("--data", type=FOLDER, envvar="TAGWRIGHT_DATA", default=ROOT.parent / "shared" / "data", help="Corpora.")
@click.option("--csv", "folder", type=FOLDER, help="Write the tables here too.")
@click.option("--plots", type=FOLDER, help="Draw learning curves here; needs matplotlib.")
def main(quick: bool, only: tuple[str, ...], data: Path, folder: Path | None, plots: Path | None) -> None:
    """Repeat the paper's experiments, part by part, and show the paper's figures beside ours."""
    run = Run(quick, False, 0, data, folder)
    if plots and importlib.util.find_spec("matplotlib") is None:
        click.echo("no figures: matplotlib is not installed (pip install matplotlib)")
        plots = None
    for name in only or PARTS:
        click.echo(f"\n{name}: {inspect.getdoc(PARTS[name])}" + "\n(quick: not to be held against the aims)" * quick)
        try:
            PARTS[name](run, plots)
        except MissingError as missing:
            click.echo(f"left out: {missing}")


if __name__ == "__main__":
    main()
