"""Make the POS tagger that comes with the package: english.safetensors and english_upos.safetensors in its models.

    python tools/english_model.py                       # with ../shared/data/pos_ewt
    python tools/english_model.py CORPUS english.safetensors

Two CRFs, trained on the training split of the English Web Treebank (see NOTICE) in half a minute, and calibrated on the
dev split: one for Penn tags, and a small one that reads words and Penn tags and finds universal tags. The same data,
version and machine word give the same files, byte for byte.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np

import tagwright as tw
from tagwright import _core
from tagwright.features.presets import PRESETS
from tagwright.models.model import BUILT_IN, Model

ROOT = Path(__file__).resolve().parents[1]

ATTRIBUTION = (
    "Trained on UD_English-EWT (Universal Dependencies English Web Treebank, Silveira et al. 2014; "
    "github.com/UniversalDependencies/UD_English-EWT, commit 15d613d8), CC BY-SA 4.0; this model is under the same "
    "licence."
)


# All of the following was chosen on the dev split; docs/tagger.md has the measurements.

FEATURES = (
    PRESETS["pos"]
    + """
U40:%shape[-1,0]/%shape[0,0]
U41:%shape[0,0]/%shape[1,0]
U42:%lower[-1,0]/%lower[1,0]
U43:%lower[-2,0]/%lower[-1,0]
U44:%lower[1,0]/%lower[2,0]
"""
)

OPTIONS = {"margin": 2.0, "min_count": 2}

CAPITALS, LOWER_CASE = 10, 5
"""Every tenth sentence is also trained on in capitals, and every fifth in lower case."""

MIN_WEIGHT, UPOS_MIN_WEIGHT, STEP = 0.12, 0.4, 1 / 16
"""Smaller weights are left out, and the others are multiples of the step, so that the files compress well."""

UPOS_FEATURES = """
U0:%x[0,1]
U1:%lower[0,0]/%x[0,1]
U2:%x[0,1]/%x[1,1]
U3:%x[-1,1]/%x[0,1]
U4:%x[0,1]/%x[1,1]/%x[2,1]
U5:%lower[0,0]/%x[1,1]
U6:%lower[0,0]/%x[-1,1]
"""

Sentences = list[list[str]]


def with_other_cases(X: Sentences, y: Sentences) -> tuple[Sentences, Sentences]:
    """Return the sentences, and some of them once more in capitals or in lower case."""
    capitals = [[word.upper() for word in sentence] for sentence in X[::CAPITALS]]
    lower = [[word.lower() for word in sentence] for sentence in X[1::LOWER_CASE]]
    return X + capitals + lower, y + y[::CAPITALS] + y[1::LOWER_CASE]


def save(model: Model, min_weight: float, target: str | Path) -> Model:
    """Write a model with fewer and rounded weights of features, and return it."""
    assert model.features is not None
    weights = _core.Weights.from_arrays(len(model.labels), model.arrays)
    arrays = dict(weights.arrays(min_weight, model.features.word_prefix() or ""))
    arrays["rows.weight"] = (np.round(arrays["rows.weight"] / STEP) * STEP).astype(np.float32)
    model.facts["options"] |= {"min_weight": min_weight, "weight_step": STEP}
    model.facts["attribution"] = ATTRIBUTION
    smaller = Model(model.labels, model.features, arrays, model.facts)
    smaller.save(target)
    print(f"{target}: {Path(target).stat().st_size / 1e6:.2f} MB, {smaller}")
    return smaller


def read(path: Path) -> tuple[Sentences, Sentences, Sentences]:
    """Return the words, the Penn tags and the universal tags of a corpus."""
    X, penn = tw.read(path)
    words, upos = ([[row[column] for row in sentence] for sentence in X] for column in (0, 1))
    return words, penn, upos


def rows(words: Sentences, tags: Sentences) -> list[list[list[str]]]:
    """Return sentences of tokens of two columns."""
    return [[[*row] for row in zip(*both, strict=True)] for both in zip(words, tags, strict=True)]


def main(folder: str, target: Path) -> None:
    """Train, write and measure."""
    os.environ["SOURCE_DATE_EPOCH"] = "0"  # seconds are never the same twice
    splits = {split: read(Path(folder) / f"{split}.txt.xz") for split in ("train", "dev", "test")}
    words, penn, upos = splits["train"]
    dev_words, dev_penn, dev_upos = splits["dev"]
    model = tw.CRF(FEATURES, **OPTIONS, threads=2).fit(*with_other_cases(words, penn), dev=(dev_words, dev_penn)).model_
    model.facts["data"] = {"tokenize": "english"}
    model = save(model, MIN_WEIGHT, target)
    learner = tw.CRF(UPOS_FEATURES, min_count=2, threads=2)
    second = learner.fit(rows(words, penn), upos, dev=(rows(dev_words, dev_penn), dev_upos)).model_
    second = save(second, UPOS_MIN_WEIGHT, target.with_name(f"{target.stem}_upos{target.suffix}"))
    for split in ("dev", "test"):
        words, penn, upos = splits[split]
        for name, case in (("as it is", str), ("in capitals", str.upper), ("in lower case", str.lower)):
            X = [[case(word) for word in sentence] for sentence in words]
            found = model.tag_batch(X)
            both = (penn, found), (upos, second.tag_batch(rows(X, found)))
            shown = [f"{tw.evaluate(gold, own).token_accuracy:.2%}" for gold, own in both]
            print(f"{split}: Penn tags {shown[0]}, universal tags {shown[1]} {name}")


if __name__ == "__main__":
    own = sys.argv[1:]
    main(own[0] if own else str(ROOT.parent / "shared" / "data" / "pos_ewt"), Path(own[1]) if own[1:] else BUILT_IN)
