"""python-crfsuite, which several modules compare with: its features and its training."""

from __future__ import annotations

import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import tagwright as tw
from benchmarks.frame import data
from benchmarks.frame.bench import MissingError
from benchmarks.peers.packages import CRFSUITE

try:
    import pycrfsuite
except ImportError:
    pycrfsuite = None


def required() -> None:
    """Raise MissingError where python-crfsuite is not installed."""
    if CRFSUITE.missing:
        raise MissingError(f"python-crfsuite is {CRFSUITE.missing}")


def opened(path: Path) -> Any:
    """Return a tagger with the model of a file."""
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    return tagger


PUNCTUATION = frozenset("!\"#%&'()*,-./:;?@[\\]_{}")


def chunk_features(words: list[str]) -> list[list[str]]:
    """Return the features of the preset `chunk`, as one would write them for python-crfsuite."""
    padded = ["_B-2", "_B-1", *words, "_B+1", "_B+2"]
    made = []
    for t, word in enumerate(words):
        before2, before, _, after, after2 = padded[t : t + 5]
        own = [f"U00:{before2}", f"U01:{before}", f"U02:{word}", f"U03:{after}", f"U04:{after2}"]
        own += [f"U05:{before}/{word}", f"U06:{word}/{after}"]
        for n in range(1, min(4, len(word)) + 1):
            own += [f"U1{n}:{word[:n]}", f"U2{n}:{word[-n:]}"]
        digits, marks = sum(map(str.isdecimal, word)), sum(c in PUNCTUATION for c in word)
        numeric = digits and digits + sum(c in ".,-/:" for c in word) == len(word)
        own += [f"U30:{capitals(word)}", f"U31:{'all' if numeric else 'some' if digits else 'none'}"]
        own.append(f"U32:{'none' if not marks else 'all' if marks == len(word) else 'some'}")
        made.append(own)
    return made


def capitals(word: str) -> str:
    count = sum(map(str.isupper, word))
    if count and len(word) > 1 and not any(map(str.islower, word)):
        return "all"
    return "none" if not count else "first" if count == 1 and word[0].isupper() else "some"


def expanded(X: list[Any]) -> list[list[list[str]]]:
    """Return the same made from our own templates, and check that it is the same."""
    made = data.expanded(tw.Features("chunk"), X)
    for rows, own in zip(X, made, strict=True):
        assert own == chunk_features([row[0] for row in rows]), f"chunk_features is not what the preset is: {rows}"
    return made


def training(X: list[Any], y: list[list[str]], epochs: int, path: Path) -> None:
    trainer = pycrfsuite.Trainer(algorithm="averaged-perceptron", params={"max_iterations": epochs}, verbose=False)
    for features, labels in zip(X, y, strict=True):
        trainer.append(features, labels)
    trainer.train(str(path))


def lbfgs(X: list[Any], y: list[list[str]], iterations: int, path: Path) -> None:
    """Train a CRF with its default penalty, as sklearn-crfsuite does."""
    trainer = pycrfsuite.Trainer("lbfgs", {"c1": 0, "c2": 1.0, "max_iterations": iterations}, verbose=False)
    for features, labels in zip(X, y, strict=True):
        trainer.append(features, labels)
    trainer.train(str(path))


def iteration(X: list[Any], y: list[list[str]], l2: float) -> dict[str, Any]:
    """Return the seconds of python-crfsuite's best iteration, and its number of weights."""
    required()
    began: list[float] = []

    class Timed(pycrfsuite.Trainer):  # type: ignore[misc]
        def message(self, message: str) -> None:
            if message.startswith("***** Iteration"):
                began.append(time.perf_counter())
            super().message(message)

    trainer = Timed("lbfgs", {"c1": 0, "c2": l2, "max_iterations": 3}, verbose=False)
    for features, labels in zip(X, y, strict=True):
        trainer.append(features, labels)
    with TemporaryDirectory() as folder:
        trainer.train(str(Path(folder) / "model.crfsuite"))
    return {"seconds": float(min(np.diff(began))), "weights": trainer.logparser.featgen_num_features}


def compare(what: str, theirs: float, ours: float) -> list[str]:
    """Return a row of a table: two times, and how many times faster ours is."""
    return [what, f"{theirs:.3f}", f"{ours:.3f}", f"{theirs / ours:.1f}"]
