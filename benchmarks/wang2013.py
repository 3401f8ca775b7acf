"""Maxent Markov models in two directions, and both made to agree: the experiments of Wang, Zong and Xue 2013.

Run `python benchmarks/wang2013.py`; `--quick` takes few sentences and iterations, `--only TASK` one task alone. Tables
come out, `--csv DIR` writes them too, and `--plots DIR` draws the convergence where matplotlib is installed. `--models
DIR` keeps the trained models, and takes those that are there already. Corpora are looked for in ../shared/data, in
$TAGWRIGHT_DATA or in --data; what is not there is said and left out. One thread. Times of tagging are CPU seconds, the
least of several runs; training is run once.

`--dev` measures on dev data, of chunk_conll2000 on the last tenth of the training set, which is then not trained on.
Templates of chunking and the schedule of steps were chosen that way; l2 was not tuned. The paper's corpora are others,
but for CoNLL-2000: POS is Penn Treebank there, segmentation CTB 5.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from decoders import ROOT
from tagger import FOLDER, Corpus, MissingError, Run, at_least

import tagwright as tw
from tagwright.features import PRESETS

try:
    from nltk.tag.perceptron import PerceptronTagger
except ImportError:
    PerceptronTagger = None

ROUNDS, STEP, BEAM = 30, 0.5, 20  # the paper's
SHOWN = (1, 2, 3, 5, 10, 20, 30)
SIDES = {"left to right": "right", "right to left": "left"}


def runs(prefix: str, column: int, first: int, last: int, n: int) -> str:
    """Templates for every run of n neighbours between two rows."""
    rows = range(first, last - n + 2)
    cells = ["/".join(f"%x[{row + q},{column}]" for q in range(n)) for row in rows]
    return "".join(f"{prefix}{q}:{cell}\n" for q, cell in enumerate(cells))


# After Tsuruoka and Tsujii (2005), whose templates the paper has, without those that look at labels to come.
HISTORY = "UY1:%y[-1]\nUY2:%y[-2]/%y[-1]\nUYW:%y[-1]/%x[0,0]\nUYV:%y[-2]/%y[-1]/%x[0,0]\n"
CHUNK = (
    runs("UA", 0, -2, 2, 1) + runs("UB", 0, -1, 1, 2) + runs("UC", 1, -2, 2, 1) + runs("UD", 1, -2, 2, 2)
    + runs("UE", 1, -2, 2, 3) + HISTORY
    + "UYP:%y[-1]/%x[0,1]\nUYQ:%y[-2]/%y[-1]/%x[0,1]\nUYB:%y[-1]/%x[-1,0]/%x[0,0]\nUYC:%y[-1]/%x[-1,1]/%x[0,1]\n"
    + "UYD:%y[-1]/%x[0,1]/%x[1,1]\nUYN:%y[-1]/%x[1,0]\n"
)  # fmt: skip


class Task(NamedTuple):
    """A corpus, what is learnt from it, and what the paper has for such a task."""

    corpus: str
    label: str
    templates: str
    l2: float
    measure: str
    paper: tuple[float, float, float]
    differing: str
    """Tokens on which the paper's two directions differ, of all."""
    aim: float | None = None
    gains: bool = True
    """Whether both together should be better than the better one, or just as good."""

    def read(self, run: Run, split: str, few: int) -> Corpus:
        path = run.data / self.corpus / f"{split}.txt.xz"
        if not path.exists():
            raise MissingError(f"{path} is not there")
        X, y = tw.read(path, label=self.label)
        return (X[:few], y[:few]) if run.quick else (X, y)

    def corpora(self, run: Run) -> tuple[Corpus, Corpus]:
        """What is trained on, and what is measured on."""
        X, y = self.read(run, "train", 400)
        if run.dev and not (run.data / self.corpus / "dev.txt.xz").exists():
            cut = len(X) * 9 // 10
            return (X[:cut], y[:cut]), (X[cut:], y[cut:])
        return (X, y), self.read(run, "dev" if run.dev else "test", 200)

    def score(self, gold: list[list[str]], predicted: list[list[str]]) -> float:
        """Accuracy of tokens, or F1 of spans; words are spans, too."""
        if self.measure == "accuracy":
            return 100 * tw.evaluate(gold, predicted).token_accuracy
        if self.measure == "F1 of words":
            gold, predicted = ([[f"{y}-W" for y in labels] for labels in side] for side in (gold, predicted))
        spans = tw.evaluate(gold, predicted).spans
        return 100 * spans.micro.f1 if spans else 0.0


TASKS = {
    "pos": Task(
        corpus="pos_ewt",
        label="last",
        templates=PRESETS["pos"] + HISTORY,
        l2=0.3,
        measure="accuracy",
        paper=(96.83, 96.84, 97.15),
        differing="2,384 of 129,654",
    ),
    "chunk": Task(
        corpus="chunk_conll2000",
        label="3",
        templates=CHUNK,
        l2=0.3,
        measure="F1 of chunks",
        paper=(93.42, 93.37, 93.61),
        differing="980 of 47,377",
        aim=93.3,
    ),
    "cws": Task(
        corpus="cws_gsd",
        label="last",
        templates=PRESETS["cws"] + HISTORY,
        l2=0.3,
        measure="F1 of words",
        paper=(97.67, 97.55, 97.65),
        differing="48 of 13,738",
        gains=False,
    ),
}


class Side(NamedTuple):
    """A model of one direction, and what it took to train it."""

    model: tw.Model
    seconds: float | None
    iterations: int


def trained(run: Run, task: Task, name: str, direction: str, train: Corpus, models: Path | None) -> Side:
    path = models / f"{name}_{direction}.safetensors" if models else None
    if path and path.exists():
        model = tw.load(path)
        return Side(model, model.facts.get("seconds"), model.facts["iterations_done"])
    learner = tw.MEMM(
        task.templates, direction=direction, history=2, beam=BEAM, l2=task.l2, max_iterations=20 if run.quick else None
    )
    began = time.perf_counter()
    learner.fit(*train)
    seconds = time.perf_counter() - began
    click.echo(f"  {name}, direction {direction}: {seconds:.0f} s, {len(learner.history_)} iterations")
    learner.model_.facts["seconds"] = seconds
    if path:
        path.parent.mkdir(parents=True, exist_ok=True)
        learner.model_.save(path)
    return Side(learner.model_, seconds, len(learner.history_))


def cpu_of(work: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """The least CPU seconds of several runs, and the answer."""
    least = float("inf")
    for _ in range(repeats):
        began = time.process_time()
        answer = work()
        least = min(least, time.process_time() - began)
    return least, answer


class Measured(NamedTuple):
    """What came of a task."""

    accuracy: list[str]
    differing: list[str]
    speed: list[str]
    curves: dict[str, list[tw.Agreement]]


def measured(run: Run, name: str, models: Path | None) -> Measured:
    task = TASKS[name]
    train, (X, y) = task.corpora(run)
    sides = {side: trained(run, task, name, direction, train, models) for side, direction in SIDES.items()}
    one, other = (side.model for side in sides.values())
    both = tw.Bidirectional(one, other, ROUNDS, STEP).fit().model_
    repeats = 2 if run.quick else 5
    seconds, predicted = zip(*(cpu_of(lambda m=model: m.tag_batch(X), repeats) for model in (one, other)), strict=True)
    joint_seconds, agreed = cpu_of(lambda: both.agree(X), repeats)
    scores = [task.score(y, labels) for labels in (*predicted, [found.labels for found in agreed])]

    tokens = sum(map(len, X))
    differing = sum(a != b for pair in zip(*predicted, strict=True) for a, b in zip(*pair, strict=True))
    gain = scores[2] - max(scores[:2])
    reached = gain > 0 if task.gains else gain >= 0
    aims = [f"gain {'above' if task.gains else 'at least'} 0", "yes" if reached else "no"]
    rows = [task.corpus, task.measure, *(f"{score:.2f}" for score in scores), f"{gain:+.2f}", *aims]
    rows += [*at_least(scores[2], task.aim), *(f"{figure:.2f}" for figure in task.paper)]

    cost = joint_seconds / np.mean(seconds)
    each = [f"{tokens / np.mean(seconds):,.0f}", f"{tokens / joint_seconds:,.0f}", f"{cost:.2f}"]
    speed = [task.corpus, f"{len(train[0]):,}", *_training(sides), *each, "at most 4", "yes" if cost <= 4 else "no"]
    proven = [float(np.mean(model.proven(X))) for model in (one, other)]
    disputed = [task.corpus, f"{tokens:,}", f"{differing:,}", f"{100 * differing / tokens:.2f}", task.differing]
    disputed += [f"{100 * share:.2f}" for share in (*proven, np.mean([found.certain for found in agreed]))]
    curves = {schedule: both.agree(X, schedule=schedule) for schedule in ("falling", "constant")}
    return Measured(rows, disputed, speed, curves)


def _training(sides: dict[str, Side]) -> list[str]:
    seconds = [side.seconds for side in sides.values()]
    told = " and ".join("-" if own is None else f"{own:.0f}" for own in seconds)
    return [told, " and ".join(str(side.iterations) for side in sides.values())]


def curve(found: list[tw.Agreement], only_disputed: bool) -> list[float]:
    """Percent of sentences that agree after 1, 2, ... rounds; of all, or of those that do not agree at once."""
    counted = [one for one in found if one.rounds > 1 or not only_disputed]
    return [100 * float(np.mean([one.agreed and one.rounds <= r for one in counted])) for r in range(1, ROUNDS + 1)]


def convergence(run: Run, made: dict[str, Measured], plots: Path | None) -> None:
    rows, lines = [], []
    for name, one in made.items():
        for schedule, found in one.curves.items():
            for which in ("all", "in dispute"):
                points = curve(found, which != "all")
                aims = ["-", "-"]
                if schedule == "falling":
                    aims = [f"{'yes' if points[r - 1] > least else 'no'}" for r, least in ((10, 80), (30, 95))]
                shown = [f"{points[r - 1]:.2f}" for r in SHOWN]
                rows.append([TASKS[name].corpus, schedule, which, *shown, *aims])
                lines.append((f"{name}, {schedule}, {which}", points))
    header = ["corpus", "schedule", "sentences", *(f"{r} rounds" for r in SHOWN), "over 80 in 10", "over 95 in 30"]
    title = f"Percent of sentences that agree (step {STEP}); the paper: over 80 in 10"
    run.show("wang2013_convergence", title, header, rows)
    if plots:
        draw(lines, plots)


def draw(lines: list[tuple[str, list[float]]], folder: Path) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(10, 5.5))
    colours = {"pos": "tab:blue", "chunk": "tab:orange", "cws": "tab:green"}
    for name, points in lines:
        task, schedule, which = name.split(", ")
        style = {"falling": "-", "constant": ":"}[schedule]
        axes.plot(
            range(1, ROUNDS + 1), points, style, marker="." if which == "all" else "x", markersize=4,
            color=colours[task], alpha=0.85, label=name,
        )  # fmt: skip
    axes.axhline(80, color="grey", linewidth=0.8)
    axes.axhline(95, color="grey", linewidth=0.8)
    axes.set(xlabel="rounds", ylabel="sentences that agree (%)", ylim=(0, 101), title="Dual decomposition, step 0.5")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small", loc="upper left", bbox_to_anchor=(1.01, 1))
    folder.mkdir(parents=True, exist_ok=True)
    figure.tight_layout()
    figure.savefig(folder / "bidirectional.png", dpi=120)
    plt.close(figure)


def nltk_beside_us(run: Run, models: Path | None) -> None:
    """NLTK's averaged perceptron on the same sentences, trained with its own defaults."""
    if PerceptronTagger is None:
        raise MissingError("NLTK is not installed (pip install nltk)")
    task = TASKS["pos"]
    (X, y), (test, gold) = task.corpora(run)
    words, held = ([[row[0] for row in sentence] for sentence in side] for side in (X, test))
    peer = PerceptronTagger(load=False)
    began = time.perf_counter()
    peer.train([list(zip(*pair, strict=True)) for pair in zip(words, y, strict=True)], nr_iter=1 if run.quick else 5)
    peer_training = time.perf_counter() - began
    peer_seconds, tagged = cpu_of(lambda: [peer.tag(sentence) for sentence in held], 3)
    model = trained(run, task, "pos", "right", (X, y), models)
    seconds, predicted = cpu_of(lambda: model.model.tag_batch(held), 5)
    tokens = sum(map(len, held))
    ratio = peer_seconds / seconds
    peer_labels = [[label for _, label in sentence] for sentence in tagged]
    theirs = [f"{peer_training:.0f}", f"{tokens / peer_seconds:,.0f}", f"{task.score(gold, peer_labels):.2f}", "1.0"]
    ours = ["-" if model.seconds is None else f"{model.seconds:.0f}", f"{tokens / seconds:,.0f}"]
    ours += [f"{task.score(gold, predicted):.2f}", f"{ratio:.1f}", *at_least(ratio, 5)]
    rows = [["NLTK's perceptron", *theirs, "-", "-"], ["MEMM, left to right", *ours]]
    header = ["tagger", "s of training", "tokens/s", "accuracy", "times as fast", "aim", "reached"]
    run.show("wang2013_nltk", f"pos_ewt, {tokens:,} tokens", header, rows)


@click.command()
@click.option("--quick", is_flag=True, help="Few sentences, few iterations: to see that all runs.")
@click.option("--only", type=click.Choice(list(TASKS)), multiple=True, help="This task; may be given several times.")
@click.option("--dev", is_flag=True, help="Measure on dev data: to choose options.")
@click.option("--data", type=FOLDER, envvar="TAGWRIGHT_DATA", default=ROOT.parent / "shared" / "data", help="Corpora.")
@click.option("--csv", "folder", type=FOLDER, help="Write the tables here too.")
@click.option("--plots", type=FOLDER, help="Draw the convergence here; needs matplotlib.")
@click.option("--models", type=FOLDER, help="Keep models here, and use those that are there.")
def main(
    quick: bool,
    only: tuple[str, ...],
    dev: bool,
    data: Path,
    folder: Path | None,
    plots: Path | None,
    models: Path | None,
) -> None:
    """Repeat the paper's experiments, and show the paper's figures beside ours."""
    run = Run(quick, dev, 0, data, folder)
    if plots and importlib.util.find_spec("matplotlib") is None:
        click.echo("no figures: matplotlib is not installed (pip install matplotlib)")
        plots = None
    if quick:
        click.echo("(quick: not to be held against the aims)")
    made: dict[str, Measured] = {}
    for name in only or TASKS:
        try:
            made[name] = measured(run, name, models)
        except MissingError as missing:
            click.echo(f"left out: {missing}")
    ours = ["left to right", "right to left", "bidirectional"]
    header = ["corpus", "measure", *ours, "gain", "aim", "reached", "aim", "reached"]
    header += [f"paper, {one}" for one in ours]
    run.show("wang2013_accuracy", "Table 1 of the paper", header, [one.accuracy for one in made.values()])
    header = ["corpus", "tokens", "differing", "%", "paper", *(f"exact %, {one}" for one in ours)]
    title = "Table 2 of the paper: tokens on which the directions differ; and answers that are proven to be the best"
    run.show("wang2013_differing", title, header, [one.differing for one in made.values()])
    convergence(run, made, plots)
    header = ["corpus", "sentences", "s of training", "iterations", "tokens/s, one", "tokens/s, both", "cost of both"]
    title = "One thread; cost: bidirectional tagging, one direction's being 1"
    run.show("wang2013_speed", title, [*header, "aim", "reached"], [one.speed for one in made.values()])
    if "pos" in made:
        try:
            nltk_beside_us(run, models)
        except MissingError as missing:
            click.echo(f"left out: {missing}")


if __name__ == "__main__":
    main()
