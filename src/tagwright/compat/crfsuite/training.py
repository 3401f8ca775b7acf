"""The algorithms of CRFsuite over tagwright's objective and its log format.

The objective of ``lbfgs`` and ``l2sgd`` is CRFsuite's: the negative log-likelihood of all sentences, plus c2 times the
sum of squared weights, plus c1 times the sum of absolute weights.
"""

from __future__ import annotations

import math
import os
import time
from collections import deque
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt

from tagwright import _core
from tagwright.compat.crfsuite.data import Labelled, Sequences
from tagwright.compat.crfsuite.parameters import Algorithm
from tagwright.decoding.decoders import plan
from tagwright.models.linear import LinearModel

Floats = npt.NDArray[np.float64]
Values = dict[str, Any]
Lines = Iterator[tuple[Floats, list[str]]]
"""Weights after each iteration, and the lines of the log that describe it."""

_MARGIN = {"averaged-perceptron": "perceptron", "passive-aggressive": "passive_aggressive", "arow": "arow"}
_NO_FEATURES = -1020
"""CRFsuite's number for an optimization without variables."""


def train(
    data: Sequences,
    algorithm: Algorithm,
    values: Values,
    where: tuple[str | os.PathLike[str], int],
    run: tuple[Callable[[str], None], int],
) -> None:
    """Train on the sentences but for a group, log in CRFsuite's format, and write the model.

    where: the file, and the group that is held out. run: what receives the log, and the number of threads.
    """
    (path, holdout), (log, threads) = where, run
    if holdout >= 0:
        log(f"Holdout group: {holdout + 1}\n")
        log("\n")
    began = time.perf_counter()
    trained, held = data.split(holdout)
    labels = list(data.labels)
    corpus = _core.Corpus.read(trained.text, _core.Templates(), trained.labels, names=labels or [""])
    objective = _objective(corpus, values) if corpus.tokens else None
    features = objective.size if objective else 0
    _log_features(log, values, features, time.perf_counter() - began)
    log(f"{algorithm.title}\n")
    for name in list(values)[3:]:
        log(f"{name}: {_shown(values[name])}\n")
    log("\n")
    began = time.perf_counter()
    if objective is None:
        log(f"{algorithm.title} terminated with error code ({_NO_FEATURES})\n")
        arrays = _empty_weights(len(labels))
    else:
        margin = _MARGIN.get(algorithm.name)
        lines = (
            _margin(corpus, objective, margin, values) if margin else _lbfgs(objective, values, corpus, threads, log)
        )
        weights = np.zeros(features)
        for number, (weights, facts) in enumerate(lines, 1):
            log(f"***** Iteration #{number} *****\n")
            for line in facts:
                log(f"{line}\n")
            if held is not None:
                _evaluate(log, _model(labels, objective.model_weights(weights).arrays(), algorithm, values), held)
            log("\n")
        arrays = objective.model_weights(weights).arrays()
    log(f"Total seconds required for training: {time.perf_counter() - began:.3f}\n")
    log("\n")
    model = _model(labels, arrays, algorithm, values)
    _store(log, model, path, (features, corpus.features))


def _objective(corpus: _core.Corpus, values: Values) -> _core.BatchObjective:
    """Return the objective with the weights that CRFsuite generates features for."""
    least = values["feature.minfreq"]
    all_states, all_pairs = values["feature.possible_states"], values["feature.possible_transitions"]
    made = {every: _core.BatchObjective.make(corpus, all_pairs=every) for every in {all_states, all_pairs}}
    everyone = np.arange(corpus.sentences, dtype=np.int32)

    def frequent(every: bool) -> npt.NDArray[np.bool_]:
        counts = np.empty(made[every].size)
        made[every].observe(everyone, counts)
        kept: npt.NDArray[np.bool_] = counts >= least
        return kept

    # Attributes may have negative values, and frequencies below 0.
    if all_states == all_pairs and frequent(all_states).all():
        return made[all_states]
    keys = {**made[all_pairs].keys(), **{name: made[all_states].keys()[name] for name in ("rows.end", "rows.label")}}
    states = frequent(all_states)[: made[all_states].nodes]
    begin = np.concatenate([[0], np.cumsum(states)])
    keys["rows.end"] = begin[keys["rows.end"].astype(np.int64)].astype(np.uint64)
    keys["rows.label"] = keys["rows.label"][states]
    first = made[all_pairs].nodes
    pairs = frequent(all_pairs)[first : first + made[all_pairs].edges]
    for name in ("edges.previous", "edges.current"):
        keys[name] = keys[name][pairs]
    own = made[all_states]
    return _core.BatchObjective.shard(corpus, keys, own.grain, own.feature_grain())


def _lbfgs(
    objective: _core.BatchObjective, values: Values, corpus: _core.Corpus, threads: int, log: Callable[[str], None]
) -> Lines:
    """Minimise the regularized negative log-likelihood; stop as CRFsuite does."""
    from threadpoolctl import threadpool_limits

    from tagwright.learners.batch import Lbfgs, Objective

    solver = SimpleNamespace(l1=values.get("c1", 0.0), l2=values["c2"])
    # What the objective of a batch training reads.
    run: Any = SimpleNamespace(
        solver=solver,
        trainer=objective,
        sums=objective,
        learner=SimpleNamespace(threads=threads),
        check_stop=lambda: None,
    )
    calls = 0

    class Counted(Objective):
        def __call__(self, w: Floats) -> tuple[float, Floats]:
            nonlocal calls
            calls += 1
            return super().__call__(w)

    why = "the maximum number of iterations"
    with threadpool_limits(1, user_api="blas"):
        own = Counted(run, np.arange(corpus.sentences, dtype=np.int32), None)
        descent = Lbfgs(own, np.zeros(objective.size))
        descent.pairs = deque(maxlen=max(1, values.get("num_memories", 6)))
        past = [descent.value]
        for _ in range(values["max_iterations"]):
            calls, began = 0, time.perf_counter()
            if not descent.step():
                why = "convergence"
                break
            w = descent.weights
            norm = math.sqrt(float(w @ w))
            yield (
                w,
                [
                    f"Loss: {descent.value:f}",
                    f"Feature norm: {norm:f}",
                    f"Error norm: {own.norm:f}",
                    f"Active features: {np.count_nonzero(w)}",
                    f"Line search trials: {calls}",
                    f"Line search step: {descent.length:f}",
                    f"Seconds required for this iteration: {time.perf_counter() - began:.3f}",
                ],
            )
            past.append(descent.value)
            if own.norm < values.get("epsilon", 1e-5) * max(1.0, norm):
                why = "convergence"
                break
            period = values["period"]
            if 0 < period < len(past) and past[-1 - period] - past[-1] < values["delta"] * abs(past[-1]):
                why = "the stopping criteria"
                break
    log(f"L-BFGS terminated with {why}\n")


def _margin(corpus: _core.Corpus, objective: _core.BatchObjective, kind: str, values: Values) -> Lines:
    """Train online, in epochs of shuffled sentences."""
    trainer = _core.MarginTrainer.make(
        corpus, objective, kind, {name: values[name] for name in values if name in _RULE}
    )
    rng = np.random.default_rng(0)
    averaged = kind == "perceptron" or (kind == "passive_aggressive" and values["averaging"])
    for _ in range(values["max_iterations"]):
        began = time.perf_counter()
        loss = trainer.epoch(rng.permutation(corpus.sentences).astype(np.int32))
        weights = trainer.average() if averaged else trainer.weights()
        yield (
            weights,
            [
                f"Loss: {loss:f}",
                f"Feature norm: {math.sqrt(float(weights @ weights)):f}",
                f"Seconds required for this iteration: {time.perf_counter() - began:.3f}",
            ],
        )
        mean, least = loss / corpus.sentences, values["epsilon"]
        if mean < least or (kind == "arow" and mean == least):
            return


_RULE = ("type", "c", "error_sensitive", "variance", "gamma")


def _model(labels: list[str], arrays: dict[str, Any], algorithm: Algorithm, values: Values) -> LinearModel:
    learner = "perceptron" if algorithm.name in _MARGIN else "crf"
    options = {"algorithm": algorithm.name, **values}
    return LinearModel(labels or [""], None, arrays, {"learner": learner, "options": options})


def _empty_weights(L: int) -> dict[str, Any]:
    return _core.Weights.from_arrays(
        max(1, L),
        {
            "names.slots": np.zeros(8, np.uint64),
            "names.ends": np.empty(0, np.uint32),
            "names.bytes": np.empty(0, np.uint8),
            "rows.end": np.empty(0, np.uint64),
            "rows.label": np.empty(0, np.uint16),
            "rows.weight": np.empty(0, np.float32),
            "edges.previous": np.empty(0, np.uint16),
            "edges.current": np.empty(0, np.uint16),
            "edges.score": np.empty(0, np.float32),
        },
    ).arrays()


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(int(value))
    return f"{value:f}" if isinstance(value, float) else str(value)


def _log_features(log: Callable[[str], None], values: Values, features: int, seconds: float) -> None:
    log("Feature generation\n")
    log("type: CRF1d\n")
    for name in list(values)[:3]:
        log(f"{name}: {_shown(values[name])}\n")
    for step in range(51):
        log("." if step % 5 else str(step // 5))
    log("\n")
    log(f"Number of features: {features}\n")
    log(f"Seconds required: {seconds:.3f}\n")
    log("\n")


def _evaluate(log: Callable[[str], None], model: LinearModel, held: Labelled) -> None:
    """Log how well the held-out sentences are tagged."""
    L, numbers = len(model.labels), {name: n for n, name in enumerate(model.labels)}
    found = model._core.tag(held.text, model.edges._core, plan("auto").core, 1, model.labels)
    lengths = held.text.lengths()
    flat = np.array([numbers[name] for sentence in found for name in sentence], np.int64)
    right = flat == held.labels
    counts = np.stack([np.bincount(of, minlength=L) for of in (held.labels[right], flat, held.labels)], axis=1)
    shares = []
    log("Performance by label (#match, #model, #ref) (precision, recall, F1):\n")
    for name, (match, predicted, reference) in zip(model.labels, counts.tolist(), strict=True):
        own = "******, ******, ******"
        if predicted or reference:
            precision, recall = match / max(1, predicted), match / max(1, reference)
            shares.append((precision, recall, 2 * precision * recall / (precision + recall) if match else 0.0))
            own = ", ".join(f"{share:.4f}" for share in shares[-1])
        else:
            shares.append((0.0, 0.0, 0.0))
        log(f"    {name}: ({match}, {predicted}, {reference}) ({own})\n")
    macro = ", ".join(f"{share:f}" for share in np.mean(shares, axis=0))
    log(f"Macro-average precision, recall, F1: ({macro})\n")
    whole = sum(bool(own.all()) for own in np.split(right, np.cumsum(lengths)[:-1])) if len(lengths) else 0
    for what, good, of in (("Item", int(right.sum()), len(right)), ("Instance", whole, len(lengths))):
        log(f"{what} accuracy: {good} / {of} ({good / max(1, of):.4f})\n")


def _store(
    log: Callable[[str], None], model: LinearModel, path: str | os.PathLike[str], sizes: tuple[int, int]
) -> None:
    """Write the model and log what it has."""
    if not os.fspath(path):
        return
    began = time.perf_counter()
    log("Storing the model\n")
    arrays = model.arrays
    active = len(arrays["rows.weight"]) + len(arrays["edges.score"])
    log(f"Number of active features: {active} ({sizes[0]})\n")
    log(f"Number of active attributes: {len(arrays['rows.end'])} ({sizes[1]})\n")
    log(f"Number of active labels: {len(model.labels)} ({len(model.labels)})\n")
    model.save(path)
    log(f"Seconds required: {time.perf_counter() - began:.3f}\n")
    log("\n")
