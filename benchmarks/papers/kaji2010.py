"""Kaji et al. 2010: staggered decoding (SD), with and without column-wise expansion; their tables compared with ours.

For averaged perceptrons, as the paper has, and for HMMs. CoNLL-2000 is the paper's corpus; pos_ewt stands for the Penn
Treebank, supertag_erg (3,282 labels) for its HPSG supertags (2,602). One thread, one sentence per call, features not
counted. Machines and programs differ: compare ratios of decoders, not times.
"""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import tagwright as tw
from benchmarks.frame import data, private
from benchmarks.frame.bench import Bench
from benchmarks.frame.data import PRESETS
from benchmarks.frame.speeds import Choice, digits, measured
from benchmarks.papers.huang2012 import WHY

LEARNERS = ("perceptron", "hmm")
TASKS = {"pos_ewt": 0, "chunk_conll2000": 1, "supertag_erg": 2}  # and the paper's columns
ROWS = {
    "Viterbi": [Choice("viterbi")],
    "CarpeDiem": [Choice("carpediem")],
    "SD": [Choice("staggered:all")],
    "SD+C-EXP": [Choice("staggered")],
    "tree (ours)": [Choice("tree", "sparse")],
    "auto (ours)": [Choice("auto", "sparse")],
}
PAPER = {  # Table 1, sentences per second
    "Viterbi": (4000, 77, 1.1),
    "CarpeDiem": (8600, 51, 0.26),
    "SD": (8800, 850, 121),
    "SD+C-EXP": (14_000, 1600, 300),
}
PAPER_BEAM = (18_000, 2400, 180)  # Table 4
PAPER_ROUNDS = {"SD": (6.02, 8.15, 10.0), "SD+C-EXP": (6.12, 8.62, 10.6)}
PAPER_ACCURACY = (97.08, 93.21, 91.20)
PAPER_TRAINING = ("100 s / 37 s = 2.7", "20 min / 1.5 min = 13", "100 h / 5.3 h = 19")
WITHIN = 0.1  # points of accuracy that a beam may lose
DECODERS = ("viterbi", "staggered", "auto")  # for training, the baseline first
SUBSET = 2000  # sentences of supertag_erg: with all of them dense Viterbi would take hours


def decoding(bench: Bench) -> None:
    """Tables 1, 2 and 4: sentences per second, rounds, and beams that are as accurate; the paper's in brackets."""
    works = {
        f"{learner} {corpus}": partial(_decoding, bench, learner, corpus) for learner in LEARNERS for corpus in TASKS
    }
    made = bench.steps(works)
    corpora = [corpus for corpus in TASKS if f"perceptron {corpus}" in made]
    found = {(learner, corpus): made[f"{learner} {corpus}"] for learner in LEARNERS for corpus in corpora}
    header = ["model", "decoder", *corpora]
    for number, title, of, paper, names in (
        (1, "Table 1: sentences per second (in brackets: the paper's)", "per_second", PAPER, list(ROWS)),
        (2, "Table 2: rounds per sentence (in brackets: the paper's)", "rounds", PAPER_ROUNDS, ["SD", "SD+C-EXP"]),
    ):
        rows = []
        for learner, row in itertools.product(LEARNERS, names):
            values = {corpus: found[learner, corpus]["speed"][row][of] for corpus in corpora}
            cells = [cell(value, learner, paper.get(row), corpus) for corpus, value in values.items()]
            rows.append([learner, row, *cells])
        bench.table(f"table{number}", title, header, rows)
    rows = []
    for learner in LEARNERS:
        for corpus in corpora:
            own = found[learner, corpus]
            speed = {row: own["speed"][row]["per_second"] for row in ("Viterbi", "SD+C-EXP", "auto (ours)", "beam")}
            figures = [cell(speed[row], learner, (PAPER | {"beam": PAPER_BEAM}).get(row), corpus) for row in speed]
            exact = cell(own["exact"], learner, PAPER_ACCURACY, corpus, "{:.2f}")
            rows.append([learner, corpus, f"{own['width']}", exact, f"{own['beam']:.2f}", *figures])
            claims(bench, learner, corpus, speed)
    header = ["model", "corpus", "beam width", "accuracy, exact", "accuracy, beam"]
    header += ["Viterbi", "SD+C-EXP", "auto (ours)", "beam"]
    title = (
        f"Table 4: sentences per second compared with a beam of the least width (1, 2, 4, ...) "
        f"within {WITHIN} points of exact"
    )
    bench.table("table4", f"{title} (in brackets: the paper's)", header, rows)


def _decoding(bench: Bench, learner: str, corpus: str) -> dict[str, Any]:
    own = data.lattices(bench, corpus, learner)
    width, exact, beam = calibrated(own)
    speed = measured(bench, own, ROWS | {"beam": [Choice(f"beam:{width}")]})
    return {"width": width, "exact": exact, "beam": beam, "speed": speed}


def cell(value: float, learner: str, paper: tuple[float, ...] | None, corpus: str, form: str = "") -> str:
    """Return our figure, and for perceptrons the paper's in brackets."""
    own = form.format(value) if form else digits(value)
    return f"{own} ({paper[TASKS[corpus]]:g})" if paper and learner == "perceptron" else own


def calibrated(own: data.Lattices) -> tuple[int, float, float]:
    """Return the least beam width 1, 2, 4, ... that is nearly as accurate as exact decoding, and both accuracies."""
    exact, width = own.accuracy(tw.decode_batch(own.nodes, own.sparse)), 1
    while True:
        beam = own.accuracy(tw.decode_batch(own.nodes, own.sparse, decoder=tw.Beam(width)))
        if exact - beam < WITHIN or width >= own.L:
            return width, exact, beam
        width *= 2


def claims(bench: Bench, learner: str, corpus: str, speed: dict[str, float]) -> None:
    column, where = TASKS[corpus], f"{learner}, {corpus}"
    staggered, viterbi, beam = speed["SD+C-EXP"], speed["Viterbi"], speed["beam"]
    if learner == "perceptron":
        theirs = PAPER["SD+C-EXP"][column] / PAPER["Viterbi"][column]
        ratio = staggered / viterbi
        bench.claim("SD+C-EXP / Viterbi", where, f"{ratio:.3g}", f"paper: {theirs:.3g}", ratio >= theirs, WHY)
    best = max(staggered, speed["auto (ours)"])
    why = "auto proves that there is no better labelling; a beam does not"
    what = "exact decoding is as fast as a beam that is as accurate"
    bench.claim(what, where, f"{digits(best)}/s", f"beam: {digits(beam)}/s", best >= beam, why)


def training(bench: Bench) -> None:
    """Table 3: training a perceptron with dense Viterbi and with the decoders that prune; the weights are the same.

    pos_ewt and chunk_conll2000: whole, the stated epochs. supertag_erg: one epoch on 2,000 sentences and one
    that has every label of the corpus, since the whole of it would take dense Viterbi hours per epoch. Training is in
    double precision for every decoder, which is half as fast for dense Viterbi as the float32 of tagging.
    """
    rows = []
    epochs = {corpus: 1 if bench.quick or corpus == "supertag_erg" else 3 for corpus in TASKS}
    made = bench.steps({f"{c} {d}": partial(_train, bench, c, d, epochs[c]) for c in TASKS for d in DECODERS})
    for corpus in TASKS:
        if f"{corpus} {DECODERS[0]}" not in made:
            continue
        found = {decoder: made[f"{corpus} {decoder}"] for decoder in DECODERS}
        base = found["viterbi"]
        for decoder, own in found.items():
            same = own["weights"] == base["weights"]
            assert same, f"{corpus}: {decoder} ends with other weights than dense Viterbi"
            ratio = base["seconds"] / own["seconds"]
            figures = [f"{own['seconds']:.2f}", f"{ratio:.1f}"]
            figures += [f"{own['epoch']:.2f}", f"{base['epoch'] / own['epoch']:.1f}"]
            theirs = PAPER_TRAINING[TASKS[corpus]] if decoder == "staggered" else "-"
            name = "viterbi (dense)" if decoder == "viterbi" else decoder
            rows.append(
                [corpus, f"{own['labels']:,}", f"{own['sentences']:,}", f"{epochs[corpus]}", name, *figures, theirs]
            )
            if decoder != "viterbi":
                least = (2.7, 13, 19)[TASKS[corpus]]
                why = (
                    "with 49 labels several rounds cost more than one pass over the matrix"
                    if corpus == "pos_ewt"
                    else "features and node scores, equal for all decoders, are a large share of the remaining time"
                )
                what = f"training with {decoder}, times as fast as with dense Viterbi"
                bench.claim(what, corpus, f"{ratio:.1f}", f"paper: {least}", ratio >= least, why)
    header = ["corpus", "labels", "sentences", "epochs", "decoder", "s of training", "ratio", "s per epoch", "ratio"]
    note = "The paper trains 10 epochs of its whole corpora. The weights are the same for all decoders, bit for bit."
    bench.table("table3", "Table 3: training time", [*header, "paper, Viterbi / SD+C-EXP"], rows, note)


def _train(bench: Bench, corpus: str, decoder: str, epochs: int) -> dict[str, Any]:
    X, y = bench.read(corpus, "train", 100)
    if corpus == "supertag_erg":
        every = sorted({label for labels in y for label in labels})
        X, y = [*X[:SUBSET], [["x"] * len(X[0][0])] * len(every)], [*y[:SUBSET], every]
    dense = True if decoder == "viterbi" else None
    learner = private.perceptron(PRESETS[corpus], epochs=epochs, seed=0, decoder=decoder, dense_edges=dense)
    seconds = data.fit(learner, (X, y))
    epoch = min(fact["seconds"] for fact in learner.history_)
    counted = {"labels": len(learner.model_.labels), "sentences": len(X), "weights": data.digest(learner.model_)}
    return {"seconds": seconds, "epoch": epoch, **counted}


PARTS = {part.__name__: part for part in (decoding, training)}
