"""Label n-grams: exact decoding of orders 2 and 3 compared with order 1 and a beam; and the gain in accuracy.

Models are averaged perceptrons and CRFs with the same features and seeds; those of order 2 and 3 have a weight for
every label n-gram that occurs at least three times in training. Times are CPU time of one thread, the best of several,
measured in alternation. Scores are those of models; every answer is checked first.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import tagwright as tw
from benchmarks.frame import data
from benchmarks.frame.bench import Bench
from benchmarks.ours.constraints import turns

CORPORA = ("pos_ewt", "chunk_conll2000", "morph_lv_lvtb", "morph_hu_nerkor", "supertag_erg")
PRESETS = data.PRESETS
SENTENCES = 5_000  # of the training set, so that all orders and seeds take less than an hour
MIN_PATTERN = 3
EPOCHS = 10
SEEDS = (0, 1, 2)
MANY = 319  # labels from which on exact order 2 is to cost at most 2.5 times order 1


def learner(kind: str, corpus: str, order: int, epochs: int, seed: int = 0, start: Any = False) -> Any:
    made = {"perceptron": tw.Perceptron, "CRF": tw.CRF}[kind]
    return made(
        PRESETS[corpus],
        epochs=epochs,
        seed=seed,
        order=order,
        min_ngram_count=MIN_PATTERN,
        warm_start=start,
        progress=False,
    )


def perceptron(bench: Bench, corpus: str, order: int) -> tw.Model:
    """Return a perceptron trained with all labels, from the cache if possible."""
    epochs = 2 if bench.quick else EPOCHS

    def train() -> tuple[Any, Any]:
        return learner("perceptron", corpus, order, epochs), data.covering(*bench.read(corpus, "train", 400), SENTENCES)

    return data.kept_model(bench, f"orders-{corpus}-{order}", corpus, f"order {order} {MIN_PATTERN} {epochs}", train)


def case_of(bench: Bench, model: tw.Model, corpus: str, most: int = 300) -> tuple[list[np.ndarray], tw.Edges, int]:
    """Return the node scores of test sentences, the model's edges, and the number of tokens."""
    X, _ = bench.read(corpus, "test", 30)
    nodes = [model.lattice(sentence).nodes for sentence in X[:most] if sentence]
    return nodes, model.edges, sum(map(len, nodes))


def speed(bench: Bench) -> None:
    """Microseconds per token of exact decoding, orders 1 to 3."""

    def measure(corpus: str) -> dict[str, float]:
        found: dict[str, float] = {}
        runs = {}
        tokens = 0
        for order in (1, 2, 3):
            model = perceptron(bench, corpus, order)
            nodes, edges, tokens = case_of(bench, model, corpus)
            found["labels"], found[f"ngrams {order}"] = edges.L, edges.ngrams
            few = nodes[:20]
            right = [tw.decode(own, edges, 5, "viterbi") for own in few]
            for one, other in zip(tw.decode_batch(few, edges, 5), right, strict=True):
                if not np.allclose([p.score for p in one.paths], [p.score for p in other.paths], rtol=1e-9):
                    raise AssertionError("the best paths differ")
            answers = tw.decode_batch(nodes, edges)
            found[f"nodes {order}"] = sum(own.work.nodes for own in answers) / tokens
            for k in (1, 5) if order < 3 else (1,):
                runs[f"order {order} k={k}"] = lambda n=nodes, e=edges, k=k: tw.decode_batch(n, e, k)
        for name, took in turns(runs, 12, 0.5 if bench.quick else 3).items():
            found[name] = 1e6 * took / tokens
        return found

    found = bench.steps({corpus: lambda c=corpus: measure(c) for corpus in CORPORA})
    rows = []
    for corpus, own in found.items():
        one, two, three = (own[f"order {order} k=1"] for order in (1, 2, 3))
        rows.append(
            [
                corpus,
                f"{own['labels']:,}",
                f"{own['ngrams 2']:,}",
                f"{own['ngrams 3']:,}",
                f"{one:.2f}",
                f"{two:.2f}",
                f"{two / one:.2f}",
                f"{own['order 2 k=5'] / two:.2f}",
                f"{three:.2f}",
                f"{own['nodes 2']:.1f}",
            ]
        )
        if own["labels"] >= MANY:
            why = "hot labels are followed once per past; sentences whose bounds leak are left to Viterbi over contexts"
            bench.claim(
                "order 2 at most 2.5 times order 1", corpus, f"{two / one:.2f}", "<= 2.5", two / one <= 2.5, why
            )
        k5 = own["order 2 k=5"] / two
        bench.claim("order 2: k = 5 at most 2.5 times k = 1", corpus, f"{k5:.2f}", "<= 2.5", k5 <= 2.5)
    head = [
        "corpus", "labels", "runs of 3", "runs of 3 and 4", "order 1: us/token", "order 2: us/token", "2 / 1",
        "k=5 / k=1", "order 3: us/token", "states per token, order 2",
    ]  # fmt: skip
    bench.table("speed", "Exact decoding of given scores, `auto`", head, rows)


def beams(bench: Bench) -> None:
    """A beam that is as accurate as exact order 2."""

    def measure(corpus: str) -> dict[str, float]:
        model = perceptron(bench, corpus, 2)
        nodes, edges, tokens = case_of(bench, model, corpus)
        exact = [own.paths[0].score for own in tw.decode_batch(nodes, edges)]
        width, missed = 1, 1.0
        while missed > 0 and width < 256:
            width *= 2
            found = [own.paths[0].score for own in tw.decode_batch(nodes, edges, decoder=f"beam:{width}")]
            missed = sum(b < a - 1e-6 * abs(a) for a, b in zip(exact, found, strict=True)) / len(exact)
            if missed <= 0.002:
                break
        runs = {
            "exact": lambda: tw.decode_batch(nodes, edges),
            "beam": lambda: tw.decode_batch(nodes, edges, decoder=f"beam:{width}"),
        }
        took = turns(runs, 6, 0.5 if bench.quick else 3)
        return {"labels": edges.L, "width": width, "missed": missed} | {n: 1e6 * s / tokens for n, s in took.items()}

    found = bench.steps({corpus: lambda c=corpus: measure(c) for corpus in CORPORA})
    rows = [
        [
            corpus, f"{own['labels']:,}", f"{own['width']}", f"{100 * own['missed']:.2f}", f"{own['exact']:.2f}",
            f"{own['beam']:.2f}",
        ]
        for corpus, own in found.items()
    ]  # fmt: skip
    head = ["corpus", "labels", "beam", "sentences not best, %", "exact: us/token", "beam: us/token"]
    note = "The narrowest beam, of 2, 4, 8, ..., that has the best path of all sentences but two in a thousand."
    bench.table("beams", "Order 2: exact compared with a beam of the same quality", head, rows, note)


def accuracy(bench: Bench) -> None:
    """Accuracy and training time of orders 1, 2 and 3, perceptrons and CRFs."""
    epochs = 2 if bench.quick else EPOCHS
    seeds = SEEDS[:1] if bench.quick else SEEDS
    hows = {"1": (1, False), "2": (2, False), "2 after 1": (2, True), "3": (3, False)}

    train: dict[str, Any] = {}

    def measure(kind: str, corpus: str, how: str, seed: int) -> dict[str, float]:
        order, staged = hows[how]
        if corpus not in train:
            train.clear()  # one corpus at a time
            train[corpus] = data.covering(*bench.read(corpus, "train", 200), SENTENCES)
        X, y = train[corpus]
        began = time.process_time()
        start: Any = learner(kind, corpus, 1, epochs // 2, seed).fit(X, y).model_ if staged else False
        fitted = learner(kind, corpus, order, epochs - epochs // 2 if staged else epochs, seed, start).fit(X, y)
        seconds = time.process_time() - began
        return {"seconds": seconds, "accuracy": data.share(fitted.predict(X_test[corpus]), y_test[corpus])}

    X_test, y_test = {}, {}
    for corpus in CORPORA:
        X_test[corpus], y_test[corpus] = bench.read(corpus, "test", 50)
    better: dict[str, list[str]] = {}
    rows = []
    for kind in ("perceptron", "CRF"):
        for corpus in CORPORA:
            found = {}
            for how in hows:
                if how == "3" and kind == "CRF" and corpus not in ("pos_ewt", "chunk_conll2000"):
                    continue  # these take longest
                some = seeds if how != "3" else seeds[:1]
                found[how] = [
                    bench.step(
                        f"{kind} {corpus} order {how} seed {seed}",
                        lambda k=kind, c=corpus, h=how, s=seed: measure(k, c, h, s),
                    )
                    for seed in some
                ]
            means = {how: float(np.mean([own["accuracy"] for own in all_])) for how, all_ in found.items()}
            took = {how: float(np.mean([own["seconds"] for own in all_])) for how, all_ in found.items()}
            row = [kind, corpus]
            for how in hows:
                if how not in found:
                    row += ["", ""]
                    continue
                values = [own["accuracy"] for own in found[how]]
                spread = f" ± {(max(values) - min(values)) / 2:.2f}" if len(values) > 1 else ""
                row += [f"{means[how]:.2f}{spread}", f"{took[how]:.0f}"]
            rows.append(row)
            if means["2"] > means["1"]:
                better.setdefault(kind, []).append(corpus)
            if kind == "CRF":
                ratio = took["2"] / took["1"]
                bench.claim(
                    "CRF: order 2 trains in at most 4 times order 1", corpus, f"{ratio:.1f}", "<= 4", ratio <= 4
                )
        won = better.get(kind, [])
        where = f"{kind}: {', '.join(won)}"
        bench.claim("order 2 is more accurate on four of five", where, str(len(won)), ">= 4", len(won) >= 4)
    head = ["learner", "corpus"]
    for how in hows:
        head += [f"order {how}: accuracy", "s"]
    note = (
        f"{SENTENCES:,} sentences of each training set that have all labels, {EPOCHS} epochs ({EPOCHS // 2} and "
        f"{EPOCHS // 2} where order 2 is warm-started from order 1), means of three seeds and half the range; "
        "order 3: one seed. s: CPU seconds of training."
    )
    bench.table("accuracy", "Token accuracy, %", head, rows, note)


PARTS = {"speed": speed, "beams": beams, "accuracy": accuracy}
