"""Accuracy and calibration with default options, on dev and test data, and what they cost.

Presets and defaults were chosen on dev data only. chunk_conll2000 has none: the last tenth of its training sentences
takes their place, and is not trained on. Seconds are processor time of one thread.
"""

from __future__ import annotations

import functools
import lzma
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import tagwright as tw
from benchmarks.frame import data
from benchmarks.frame.bench import Bench, Corpus, MissingDataError
from benchmarks.peers import crfsuite
from tagwright.evaluation.result import Evaluation

PRESETS = data.PRESETS | {"g2p_nettalk": "g2p"}
CORPORA: tuple[str, ...] = (
    "pos_ewt", "g2p_nettalk", "slots_snips", "chunk_conll2000", "morph_lv_lvtb", "morph_hu_nerkor", "supertag_erg",
)  # fmt: skip
ENGLISH = ("pos_ewt", "slots_snips", "chunk_conll2000", "supertag_erg")
SEEDS = (0, 1, 2)
MOST_ERROR = 1.5  # percent
EPOCHS = {"supertag_erg": 5}  # of all learners; others have the default
CLASSES = (64, 256, 1024)
AIMS = {
    "pos_ewt": 95.5, "g2p_nettalk": 93.8, "slots_snips": 95.0, "chunk_conll2000": 94.6, "morph_lv_lvtb": 89.0,
    "morph_hu_nerkor": 96.0, "supertag_erg": 91.5,
}  # fmt: skip
"""Of the default CRF on test data, with classes where the text is English; of slots, F1."""

OTHERS: dict[str, Callable[..., Any]] = {
    "perceptron": tw.Perceptron,
    "CRF, nothing adapts": partial(
        tw.CRF, parts=None, margin=0.0, solver=tw.AdaGrad(rate=0.5, average_from=1, calibration=None)
    ),
    "CRF, no margin, no parts": partial(tw.CRF, parts=None, margin=0.0),
}
"""What the default CRF is compared with."""


@functools.lru_cache(maxsize=1)
def english_classes(bench: Bench) -> list[str]:
    """Return word classes of English text; the file's sentences are lines, split into tokens."""
    path = bench.data / "raw_en" / "text.txt.xz"
    if not path.exists():
        raise MissingDataError(f"{path} is missing")
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        text = [line.split() for line in lines]
    return tw.word_classes(text[:2_000] if bench.quick else text, sizes=list(CLASSES))


@functools.lru_cache(maxsize=1)
def splits(bench: Bench, corpus: str) -> dict[str, Corpus]:
    """Return sentences to train, to choose options and to test on."""
    X, y = bench.read(corpus, "train", 300)
    test = bench.read(corpus, "test", 100)
    if (bench.data / corpus / "dev.txt.xz").exists():
        return {"train": (X, y), "dev": bench.read(corpus, "dev", 100), "test": test}
    cut = len(X) * 9 // 10
    return {"train": (X[:cut], y[:cut]), "dev": (X[cut:], y[cut:]), "test": test}


def measured(model: tw.Model, X: list[Any], y: list[list[str]]) -> Evaluation:
    """Return how good the labels of a model are, and its probabilities where it has some."""
    first = [[token if isinstance(token, str) else token[0] for token in sentence] for sentence in X]
    found_words = [[model.knows(word) for word in words] for words in first]
    known = None if found_words[0][0] is None else [list(map(bool, own)) for own in found_words]
    if not model.probabilistic:
        return tw.evaluate(y, model.tag_batch(X), known)
    found = [one[0] for one in model.tag_kbest(X, 1, proba=True)]
    return tw.evaluate(y, [one.labels for one in found], known, [one.marginals or [] for one in found])


def trial(bench: Bench, corpus: str, make: Callable[..., Any], seed: int, classes: bool) -> dict[str, Any]:
    """Train with a seed; return accuracies and calibration errors in percent, and costs."""
    own = splits(bench, corpus)
    lists = {"classes": english_classes(bench)} if classes else None
    features = tw.Features(PRESETS[corpus], lists)
    learner = make(features, epochs=2 if bench.quick else EPOCHS.get(corpus, 10), seed=seed)
    began = time.process_time()
    data.fit(learner, own["train"])
    found: dict[str, Any] = {"seconds": time.process_time() - began}
    model = learner.model_
    with TemporaryDirectory() as folder:
        model.save(path := Path(folder) / "model.safetensors")
        found["MB"] = path.stat().st_size / 1e6
    X = own["test"][0]
    began = time.process_time()
    model.tag_batch(X)
    found["speed"] = sum(map(len, X)) / (time.process_time() - began)
    for split in ("dev", "test"):
        result = measured(model, *own[split])
        of_words = {"known": result.known, "unknown": result.unknown}
        found[split] = 100 * result.token_accuracy
        found |= {f"{split}, {name}": 100 * share[0] for name, share in of_words.items() if share is not None}
        found[f"{split}, error"] = None if result.calibration is None else 100 * result.calibration.error
        found[f"{split}, F1"] = None if result.spans is None else 100 * result.spans.micro.f1
        found[f"{split}, interval"] = [100 * bound for bound in result.intervals.get("token_accuracy", (0, 1))]
    return found


def peer(bench: Bench, corpus: str) -> dict[str, Any]:
    """Train python-crfsuite with the same features; its training has no seed."""
    crfsuite.required()
    own = splits(bench, corpus)
    features = tw.Features(PRESETS[corpus])
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.crfsuite"
        X, y = own["train"]
        began = time.process_time()
        crfsuite.lbfgs(data.expanded(features, X), y, 3 if bench.quick else 100, path)
        found: dict[str, Any] = {"seconds": time.process_time() - began, "MB": path.stat().st_size / 1e6}
        tagger = crfsuite.opened(path)
        for split in ("dev", "test"):
            X, y = own[split]
            rows = data.expanded(features, X)
            began = time.process_time()
            tagged = [tagger.tag(sentence) for sentence in rows]
            found["speed"] = sum(map(len, X)) / (time.process_time() - began)
            result = tw.evaluate(y, tagged)
            found[split] = 100 * result.token_accuracy
            found[f"{split}, F1"] = None if result.spans is None else 100 * result.spans.micro.f1
            found[f"{split}, interval"] = [100 * bound for bound in result.intervals.get("token_accuracy", (0, 1))]
    return found


def compare(bench: Bench, name: str, title: str, works: dict[tuple[str, str], list[Callable[[], Any]]]) -> None:
    """Make a table of trainings of a corpus by what is trained, each with one or all seeds."""
    steps = {
        f"{corpus}: {shown} {seed}": work
        for (corpus, shown), own in works.items()
        for seed, work in enumerate(own[: 1 if bench.quick else len(own)])
    }
    found = bench.steps(steps)
    rows = []
    for corpus, shown in works:
        own = [found[key] for seed in SEEDS if (key := f"{corpus}: {shown} {seed}") in found]
        if not own:
            continue

        def mean(what: str, form: str = ".2f", own: list[dict[str, Any]] = own) -> str:
            values = [one[what] for one in own if one.get(what) is not None]
            return format(float(np.mean(values)), form) if values else "-"

        spread = f"{np.std([one['test'] for one in own]):.2f}"
        low, high = np.mean([one["test, interval"] for one in own], axis=0)
        error = mean("test, error")
        rows.append([
            corpus, shown, mean("dev"), mean("test"), spread, f"{low:.2f} to {high:.2f}", mean("test, F1"),
            mean("test, known"), mean("test, unknown"), error, mean("seconds", ".1f"), mean("speed", ",.0f"),
            mean("MB", ".1f"),
        ])  # fmt: skip
        if shown != ("CRF, classes" if corpus in ENGLISH else "CRF"):
            continue
        limit = f"at most {MOST_ERROR}"
        bench.claim("calibration error in percent", f"{corpus}, {shown}", error, limit, float(error) <= MOST_ERROR)
        reached = mean("test, F1" if corpus == "slots_snips" else "test")
        aim = AIMS[corpus]
        bench.claim("accuracy with default options", f"{corpus}, {shown}", reached, f"{aim}", float(reached) >= aim)
    header = ["corpus", "learner", "dev", "test", "±", "95 % interval", "F1", "known", "unknown", "ECE", "fit, s"]
    bench.table(name, title, [*header, "tokens/s", "MB"], rows)


def defaults(bench: Bench) -> None:
    """The default CRF, with and without word classes."""
    works = {}
    for corpus in CORPORA:
        works[corpus, "CRF"] = [partial(trial, bench, corpus, tw.CRF, seed, False) for seed in SEEDS]
        if corpus in ENGLISH:
            works[corpus, "CRF, classes"] = [partial(trial, bench, corpus, tw.CRF, seed, True) for seed in SEEDS]
    compare(bench, "defaults", "Token accuracy and calibration error in percent, default options", works)


def others(bench: Bench) -> None:
    """Other learners and options, and python-crfsuite, with the same features."""
    works: dict[tuple[str, str], list[Callable[[], Any]]] = {}
    for corpus in CORPORA:
        for kind, make in OTHERS.items():
            works[corpus, kind] = [partial(trial, bench, corpus, make, SEEDS[0], False)]
        if corpus in ("pos_ewt", "g2p_nettalk", "slots_snips"):  # it needs hours for the others
            works[corpus, "python-crfsuite"] = [partial(peer, bench, corpus)]
    compare(bench, "others", "The same for other learners and options, one seed", works)


PARTS = {part.__name__: part for part in (defaults, others)}
