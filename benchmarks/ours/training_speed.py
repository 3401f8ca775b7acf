"""Trainings: epochs of CRFs compared with those of perceptrons, threads, default learners, and all of supertag_erg."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np

import tagwright as tw
from benchmarks.frame import data, private, timing
from benchmarks.frame.bench import Bench
from tagwright.learners.examples import Examples
from tagwright.learners.online import OnlineTraining

SENTENCES, EPOCHS = 2_000, 5
CORPORA = ("pos_ewt", "chunk_conll2000", "morph_lv_lvtb", "slots_snips", "supertag_erg")
SEEDS = (0, 1, 2)
BEST_PERCEPTRON = 90.76  # token accuracy of the best one on supertag_erg's test set: margin, and parts of labels


def epochs(bench: Bench) -> None:
    """Epochs of different trainings over the same sentences, taking turns; processor time of one thread.

    A ratio is of the sum over all epochs, the first one included, in which nearly all labels are about as likely.
    """
    own = bench.step("supertag_erg", partial(timed_epochs, bench))
    rows = []
    for name, seconds in own["seconds"].items():
        per_token = [1e6 * second / own["tokens"] for second in seconds]
        figures = (f"{per_token[0]:.1f}", f"{per_token[-1]:.1f}", f"{sum(seconds):.2f}")
        rows.append([name, *figures, f"{100 * own['dev'][name]:.2f}"])
    title = f"supertag_erg: {EPOCHS} epochs over {own['sentences']:,} sentences, {own['labels']:,} labels"
    header = ["training", "us/token, first epoch", "us/token, last epoch", "s", "dev %"]
    bench.table("epochs", title, header, rows)
    first = sum(own["seconds"]["perceptron"])
    for name in ("CRF, the default", "CRF, divergence 0.5"):
        ratio, last = (sum(own["seconds"][name]) / first), own["seconds"][name][-1] / own["seconds"]["perceptron"][-1]
        found = f"{ratio:.2f}; the last epoch {last:.2f}"
        bench.claim(f"epochs of {name} / perceptron", "supertag_erg", found, "at most 1.5", ratio <= 1.5)
        exact = sum(own["seconds"]["CRF, exact"]) / sum(own["seconds"][name])
        gain = 100 * (own["dev"][name] - own["dev"]["CRF, exact"])
        holds = exact >= 4 and gain >= -0.2
        bench.claim(
            f"epochs of CRF, exact / {name}", "supertag_erg", f"{exact:.1f}, dev {gain:+.2f}", "4, within 0.2", holds
        )


def timed_epochs(bench: Bench) -> dict[str, Any]:
    """Return the processor seconds of each epoch of each training, and the accuracies on dev data."""
    X, y = (part[:SENTENCES] for part in bench.read("supertag_erg", "train", 100))
    dev = tuple(part[:1000] for part in bench.read("supertag_erg", "dev", 100))
    learners = {
        "perceptron": tw.Perceptron("supertag"),
        "CRF, exact": tw.CRF("supertag", solver=tw.AdaGrad(l2=0.1), pruning="exact"),
        "CRF, the default": tw.CRF("supertag"),
        "CRF, divergence 0.5": tw.CRF("supertag", pruning=tw.KeepDivergence(0.5)),
    }
    runs = {name: OnlineTraining(learner, Examples(X, y)) for name, learner in learners.items()}
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for epoch in range(EPOCHS):
        order = np.random.default_rng([0, epoch]).permutation(len(X)).astype(np.int32)
        for name, run in runs.items():
            began = time.process_time()
            run.trainer.run(order, 1)
            run.trainer.end_epoch()
            seconds[name].append(time.process_time() - began)
    models = {name: run.model(run.trainer.average(), EPOCHS) for name, run in runs.items()}
    return {
        "seconds": seconds,
        "dev": {name: accuracy(model, *dev) for name, model in models.items()},
        "tokens": sum(map(len, X)),
        "sentences": len(X),
        "labels": len(runs["perceptron"].labels),
    }


def accuracy(model: tw.Model, X: Any, y: Any) -> float:
    """Return the share of tokens whose label is right."""
    return tw.evaluate(y, model.tag_batch(X)).token_accuracy


def threads(bench: Bench) -> None:
    """An epoch of the default CRF with one thread and with two, taking turns; wall-clock time, best of several."""

    def work() -> dict[str, Any]:
        X, y = (part[: 4 * SENTENCES] for part in bench.read("supertag_erg", "train", 100))
        runs = {n: OnlineTraining(tw.CRF("supertag", threads=n), Examples(X, y)) for n in (1, 2)}
        best = dict.fromkeys(runs, float("inf"))
        for epoch in range(3 if bench.quick else 7):
            order = np.random.default_rng([0, epoch]).permutation(len(X)).astype(np.int32)
            for n, run in runs.items():
                began = time.perf_counter()
                run.trainer.run(order, n)
                if epoch:  # the first one is another kind of work
                    best[n] = min(best[n], time.perf_counter() - began)
                run.trainer.end_epoch()
        arrays = [run.trainer.average().arrays(0.0, "") for run in runs.values()]
        assert all(np.array_equal(arrays[0][name], arrays[1][name]) for name in arrays[0])
        return {"one": best[1], "two": best[2]}

    own = bench.step("supertag_erg", work)
    ratio = own["one"] / own["two"]
    bench.claim("one thread / two, a CRF epoch", "supertag_erg", f"{ratio:.2f}", "at least 1.8", ratio >= 1.8)


def defaults(bench: Bench) -> None:
    """The default CRF and the default perceptron; means of three seeds, processor time of training with one thread."""
    rows = []
    steps = {
        f"{corpus}, {kind}": partial(timing.apart, fitted, bench, corpus, kind)
        for corpus in CORPORA
        for kind in ("perceptron", "crf")
    }
    found = bench.steps(steps)
    for corpus in CORPORA:
        mine, other = found[f"{corpus}, crf"], found[f"{corpus}, perceptron"]
        gain = mine["test"] - other["test"]
        ratio = mine["seconds"] / other["seconds"]
        figures = [f"{own['test']:.2f}" for own in (other, mine)] + [f"{gain:+.2f}"]
        times = [f"{own['seconds']:.1f}" for own in (other, mine)] + [f"{ratio:.2f}"]
        rows.append([corpus, f"{mine['labels']:,}", *figures, *times])
        bench.claim(
            "default CRF compared with the default perceptron",
            corpus,
            f"{gain:+.2f} points, {ratio:.2f} of its time",
            "as accurate, 3 times its time",
            gain >= 0 and ratio <= 3,
        )
    header = ["corpus", "labels", "perceptron, test %", "CRF, test %", "gain", "perceptron, s", "CRF, s", "ratio"]
    bench.table("defaults", f"Default learners, means of {len(SEEDS)} seeds", header, rows)


def fitted(bench: Bench, corpus: str, kind: str) -> dict[str, float]:
    """Train with each seed and test; in a process of its own."""
    train, test = (bench.read(corpus, split, 100) for split in ("train", "test"))
    made = tw.CRF if kind == "crf" else tw.Perceptron
    accuracies, seconds, labels = [], [], 0
    for seed in SEEDS[: 1 if bench.quick else None]:
        began = time.process_time()
        learner = made(data.PRESETS[corpus], seed=seed, progress=False).fit(*train)
        seconds.append(time.process_time() - began)
        accuracies.append(100 * learner.score(*test))
        labels = len(learner.model_.labels)
    return {"test": float(np.mean(accuracies)), "seconds": float(np.mean(seconds)), "labels": labels}


def divergence(bench: Bench) -> None:
    """Minimum divergence in stochastic training compared with exact sums over all edges by L-BFGS; processor time.

    Pal et al. (2006) compare the two within L-BFGS, as `pal2006` does.
    """
    aims = {"g2p_nettalk": 1.0, "chunk_conll2000": 0.25}
    steps = {
        f"{corpus}, {kind}": partial(timing.apart, summed, bench, corpus, kind)
        for corpus in aims
        for kind in ("divergence", "exact")
    }
    found, rows = bench.steps(steps), []
    for corpus, aim in aims.items():
        few, exact = found[f"{corpus}, divergence"], found[f"{corpus}, exact"]
        ratio, gain = few["seconds"] / exact["seconds"], few["test"] - exact["test"]
        figures = [f"{own['seconds']:.1f}" for own in (few, exact)] + [f"{own['test']:.2f}" for own in (few, exact)]
        rows.append([corpus, f"{few['labels']}", *figures, f"{ratio:.3f}"])
        what, holds = "divergence 0.1 by AdaGrad / exact, dense, by L-BFGS", ratio < aim and gain >= -0.2
        bench.claim(what, corpus, f"{ratio:.2f}, accuracy {gain:+.2f}", f"below {aim}, accuracy within 0.2", holds)
    header = ["corpus", "labels", "divergence, s", "exact, s", "divergence, test %", "exact, test %", "ratio"]
    bench.table("divergence", "Minimum divergence and exact sums over all edges", header, rows)


def summed(bench: Bench, corpus: str, kind: str) -> dict[str, float]:
    """Train and test; in a process of its own."""
    train, test = (bench.read(corpus, split, 300) for split in ("train", "test"))
    features = "g2p" if corpus == "g2p_nettalk" else "chunk"
    if corpus == "g2p_nettalk":  # letters only
        train, test = (([[row[:1] for row in rows] for rows in X], y) for X, y in (train, test))
    learner = tw.CRF(features, solver="adagrad", pruning=tw.KeepDivergence(0.1))
    if kind == "exact":
        learner = private.crf(features, dense_edges=True, l2=0.1, tolerance=1e-4, progress=False)
    began = time.process_time()
    learner.fit(*train)
    seconds = time.process_time() - began
    return {"seconds": seconds, "test": 100 * learner.score(*test), "labels": len(learner.model_.labels)}


def headline(bench: Bench) -> None:
    """All of supertag_erg, 45,867 sentences with 3,282 labels, by the default CRF on one core; reading included."""
    own = bench.step("supertag_erg", partial(timing.apart, whole, bench))
    minutes, gigabytes = own["seconds"] / 60, own["peak"] / 1024
    found = f"{minutes:.1f} minutes, {gigabytes:.2f} GB, {own['test']:.2f} %"
    holds = minutes <= 6 and gigabytes <= 2 and own["test"] >= BEST_PERCEPTRON
    about = f"supertag_erg, {own['sentences']:,} sentences, {own['labels']:,} labels"
    bench.claim("the default CRF", about, found, f"6 minutes, 2 GB, {BEST_PERCEPTRON} %", holds)


def whole(bench: Bench) -> dict[str, float]:
    """Train and test; in a process of its own, so that its peak of memory is that of training."""
    began = time.process_time()
    X, y = bench.read("supertag_erg", "train", 200)
    learner = tw.CRF("supertag").fit(X, y)
    seconds = time.process_time() - began
    peak = timing.kernel_mb("status")["VmHWM"]
    test = 100 * learner.score(*bench.read("supertag_erg", "test", 100))
    labels = len(learner.model_.labels)
    return {"seconds": seconds, "peak": peak, "test": test, "sentences": len(X), "labels": labels}


PARTS = (epochs, threads, divergence, defaults, headline)
