"""Accuracy and calibration of default and of chosen options, on dev and test data, and what they cost.

Options were chosen on dev data only. chunk_conll2000 has none: the last tenth of its training sentences takes their
place, and is not trained on. Seconds are processor time of one thread.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import tagwright as tw
from benchmarks.frame import data
from benchmarks.frame.bench import Bench, Corpus
from tagwright.evaluation.result import Evaluation

PRESETS = data.PRESETS | {"g2p_nettalk": "g2p"}
CORPORA: tuple[str, ...] = (
    "pos_ewt", "g2p_nettalk", "slots_snips", "chunk_conll2000", "morph_lv_lvtb", "morph_hu_nerkor", "supertag_erg",
)  # fmt: skip
SEEDS = (0, 1, 2)
MOST_ERROR = 1.5  # percent
EPOCHS = {"supertag_erg": 5}  # of all learners; others have the default
CHOSEN: dict[str, dict[str, Any]] = {
    "chunk_conll2000": {"parts": "|", "margin": 4.0},
    "morph_lv_lvtb": {"parts": "", "margin": 4.0},
    "supertag_erg": {"parts": "+", "margin": 8.0},
}
"""Options for labels that consist of parts, which are measured beside the defaults."""

LEARNERS: dict[str, Callable[..., Any]] = {
    "perceptron": tw.Perceptron,
    "CRF, rate=0.5": partial(tw.CRF, solver=tw.AdaGrad(rate=0.5, average_from=1, calibration=None)),
    "CRF": tw.CRF,
    "CRF, held-out": partial(tw.CRF, solver=tw.AdaGrad(calibration="held-out")),
}


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


def trial(bench: Bench, corpus: str, make: Callable[..., Any], seed: int, options: dict[str, Any]) -> dict[str, Any]:
    """Train with a seed; return accuracies and calibration errors in percent, and costs."""
    own = splits(bench, corpus)
    learner = make(PRESETS[corpus], epochs=2 if bench.quick else EPOCHS.get(corpus, 10), seed=seed, **options)
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
    return found


def compare(
    bench: Bench, name: str, title: str, runs: dict[str, tuple[str, Callable[..., Any], dict[str, Any]]]
) -> None:
    """Make a table of trainings, each with all seeds."""
    seeds = SEEDS[:1] if bench.quick else SEEDS
    works = {
        f"{shown} {seed}": partial(trial, bench, corpus, make, seed, options)
        for shown, (corpus, make, options) in runs.items()
        for seed in seeds
    }
    found = bench.steps(works)
    rows = []
    for shown, (corpus, _, _) in runs.items():
        own = [found[key] for seed in seeds if (key := f"{shown} {seed}") in found]
        if not own:
            continue

        def mean(what: str, form: str = ".2f", own: list[dict[str, Any]] = own) -> str:
            values = [one[what] for one in own if one.get(what) is not None]
            return format(float(np.mean(values)), form) if values else "-"

        spread = f"{np.std([one['test'] for one in own]):.2f}"
        rows.append([
            corpus, shown.removeprefix(corpus).strip(), mean("dev"), mean("test"), spread, mean("test, known"),
            mean("test, unknown"), mean("dev, error"), mean("test, error"), mean("seconds", ".1f"),
            mean("speed", ",.0f"), mean("MB", ".1f"),
        ])  # fmt: skip
        error = mean("test, error")
        if error != "-":
            bench.claim(
                "calibration error in percent", shown, error, f"at most {MOST_ERROR}", float(error) <= MOST_ERROR
            )
    header = ["corpus", "learner", "dev", "test", "±", "known", "unknown", "ECE dev", "ECE test", "fit, s", "tokens/s"]
    bench.table(name, title, [*header, "MB"], rows)


def defaults(bench: Bench) -> None:
    """Learners with default options."""
    runs = {f"{corpus} {kind}": (corpus, make, {}) for corpus in CORPORA for kind, make in LEARNERS.items()}
    compare(bench, "defaults", "Token accuracy and calibration error in percent, default options", runs)


def chosen(bench: Bench) -> None:
    """CRFs with the options that are best on dev data."""
    runs = {
        f"{corpus} {' '.join(f'{name}={value!r}' for name, value in options.items())}": (
            corpus,
            LEARNERS["CRF, held-out"],
            options,
        )
        for corpus, options in CHOSEN.items()
    }
    compare(bench, "chosen", "Token accuracy and calibration error in percent, options by dev data", runs)


PARTS = {part.__name__: part for part in (defaults, chosen)}
