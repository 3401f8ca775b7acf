"""Maxent Markov models made by hand or at random, and a plain account of what they say."""

import itertools
import math

import numpy as np

from support.corpora import weights_of
from support.flat import memm
from tagwright import _core
from tagwright.features.templates import Features
from tagwright.models.memm import MemmModel

TEMPLATES = "U:%x[0,0]\nUV:%x[-1,0]\nUY1:%y[-1]\nUY2:%y[-2]/%y[-1]\nUYW:%y[-1]/%x[0,0]\n"


def made(labels, templates, weights, direction="right", beam=20, spans=False, dictionary=None):
    """A model with these weights: {(feature, label): weight}; dictionary: {word: labels}."""
    names = sorted({feature for feature, _ in weights})
    rows = [sorted((labels.index(y), w) for (f, y), w in weights.items() if f == name) for name in names]
    index = ("slots", "ends", "bytes")
    arrays = dict(zip((f"names.{part}" for part in index), _core.index_arrays(names), strict=True))
    arrays["rows.end"] = np.cumsum([len(row) for row in rows], dtype=np.uint64)
    arrays["rows.label"] = np.array([y for row in rows for y, _ in row], np.uint16)
    arrays["rows.weight"] = np.array([w for row in rows for _, w in row], np.float32)
    for part, kind in (("previous", np.uint16), ("current", np.uint16), ("score", np.float32)):
        arrays[f"edges.{part}"] = np.empty(0, kind)
    if dictionary:
        allowed = [sorted(labels.index(y) for y in names) for names in dictionary.values()]
        words = _core.index_arrays(list(dictionary))
        arrays |= zip((f"dictionary.{part}" for part in index), words, strict=True)
        arrays["dictionary.end"] = np.cumsum([len(row) for row in allowed], dtype=np.uint64)
        arrays["dictionary.label"] = np.array([y for row in allowed for y in row], np.uint16)
    facts = {"learner": "memm", "memm": {"direction": direction, "beam": beam, "spans": spans}}
    return MemmModel(labels, Features(templates), arrays, facts)


def at_random(seed, labels=("A", "B", "C"), words="abc", templates=TEMPLATES, scale=1.5, **options):
    """A model with random weights for every feature that words and labels can make."""
    rng = np.random.default_rng(seed)
    names = {"_B-1", "_B-2", *labels}
    cells = {"_B-1", "_B+1", *words}
    features = set()
    for line in templates.split():
        prefix, _, body = line.partition(":")
        kinds = [names if "%y" in part else cells for part in body.split("/")]
        features |= {f"{prefix}:{'/'.join(own)}" for own in itertools.product(*kinds)}
    weights = {(name, y): float(rng.normal() * scale) for name in sorted(features) for y in labels}
    return made(list(labels), templates, weights, **options)


def features_of(templates, words, path, t):
    """The features of token t with the labels before it, by a plain reading of simple templates."""
    found = []
    for line in templates.split():
        prefix, _, body = line.partition(":")
        cells = []
        for part in body.split("/"):
            row = int(part.partition("[")[2].rstrip("]").split(",")[0])
            from_ = path if "%y" in part else words
            at = t + row
            beyond = f"_B-{-at}" if at < 0 else f"_B+{at - len(words) + 1}"
            cells.append(from_[at] if 0 <= at < len(words) else beyond)
        found.append(f"{prefix}:{'/'.join(cells)}")
    return found


def log_probability(model, words, path, weights=None):
    """Equations 2 and 3, word by word."""
    weights = weights_of(model)[0] if weights is None else weights
    if model.leftward:
        words, path = words[::-1], path[::-1]
    total = 0.0
    for t in range(len(words)):
        names = features_of(model.features.text, words, path, t)
        scores = {y: sum(weights.get((name, y), 0.0) for name in names) for y in model.labels}
        total += scores[path[t]] - math.log(sum(map(math.exp, scores.values())))
    return total


def all_labellings(model, words, allowed=lambda path: True):
    """Every labelling and its log probability, best first."""
    weights = weights_of(model)[0]
    paths = (list(path) for path in itertools.product(model.labels, repeat=len(words)))
    return sorted(
        ((log_probability(model, words, path, weights), path) for path in paths if allowed(path)), reverse=True
    )


def small_corpus(seed=0, sentences=15):
    """Words and labels that have something to do with each other, and sentences that differ in length."""
    rng = np.random.default_rng(seed)
    X = [["abcd"[n] for n in rng.integers(0, 4, int(rng.integers(0, 7)))] for _ in range(sentences)]
    y = [["ABC"[("abcd".index(w) + int(rng.integers(0, 2))) % 3] for w in words] for words in X]
    return X, y


def tiny(**options):
    """A quick learner."""
    return memm(**{"features": TEMPLATES, "max_iterations": 15, "l2": 0.05, **options})
