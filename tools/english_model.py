"""Make src/tagwright/models/english.safetensors, the POS tagger that comes with the package.

    python tools/english_model.py                       # with ../shared/data/pos_ewt
    python tools/english_model.py CORPUS english.safetensors

A CRF, trained on the training split of the English Web Treebank (see NOTICE) in half a minute, and calibrated on the
dev split. The same data, version and machine word give the same file, byte for byte.
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

FEATURES = PRESETS["pos"] + """
U40:%shape[-1,0]/%shape[0,0]
U41:%shape[0,0]/%shape[1,0]
U42:%lower[-1,0]/%lower[1,0]
U43:%lower[-2,0]/%lower[-1,0]
U44:%lower[1,0]/%lower[2,0]
"""

OPTIONS = {"margin": 2.0, "min_count": 2}

CAPITALS, LOWER_CASE = 10, 5
"""Every tenth sentence is also trained on in capitals, and every fifth in lower case."""

MIN_WEIGHT, STEP = 0.12, 1 / 16
"""Smaller weights are left out, and the others are multiples of the step, so that the file compresses well."""


def with_other_cases(X: list[list[str]], y: list[list[str]]) -> tuple[list[list[str]], list[list[str]]]:
    """Return the sentences, and some of them once more in capitals or in lower case."""
    capitals = [[word.upper() for word in sentence] for sentence in X[::CAPITALS]]
    lower = [[word.lower() for word in sentence] for sentence in X[1::LOWER_CASE]]
    return X + capitals + lower, y + y[::CAPITALS] + y[1::LOWER_CASE]


def smaller(model: Model) -> Model:
    """Return the model with fewer and rounded weights of features."""
    assert model.features is not None
    weights = _core.Weights.from_arrays(len(model.labels), model.arrays)
    arrays = dict(weights.arrays(MIN_WEIGHT, model.features.word_prefix() or ""))
    arrays["rows.weight"] = (np.round(arrays["rows.weight"] / STEP) * STEP).astype(np.float32)
    return Model(model.labels, model.features, arrays, model.facts)


def read(path: Path) -> tuple[list[list[str]], list[list[str]]]:
    """Return the words and the labels of a corpus."""
    X, y = tw.read(path)
    return [[row[0] for row in sentence] for sentence in X], y


def main(folder: str, target: str) -> None:
    """Train, write and measure."""
    os.environ["SOURCE_DATE_EPOCH"] = "0"  # seconds are never the same twice
    splits = {split: read(Path(folder) / f"{split}.txt.xz") for split in ("train", "dev", "test")}
    learner = tw.CRF(FEATURES, **OPTIONS, threads=2)
    model = smaller(learner.fit(*with_other_cases(*splits["train"]), dev=splits["dev"]).model_)
    model.facts["options"] |= {"min_weight": MIN_WEIGHT, "weight_step": STEP}
    model.facts["data"] = {"tokenize": "english"}
    model.facts["attribution"] = ATTRIBUTION
    model.save(target)
    print(f"{target}: {Path(target).stat().st_size / 1e6:.2f} MB, {model}")
    for split in ("dev", "test"):
        X, y = splits[split]
        for name, case in (("as it is", str), ("in capitals", str.upper), ("in lower case", str.lower)):
            found = model.tag_batch([[case(word) for word in sentence] for sentence in X])
            print(f"{split}: {tw.evaluate(y, found).token_accuracy:.2%} {name}")


if __name__ == "__main__":
    own = sys.argv[1:]
    main(own[0] if own else str(ROOT.parent / "shared" / "data" / "pos_ewt"), own[1] if own[1:] else str(BUILT_IN))
