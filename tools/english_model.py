"""Make src/tagwright/models/english.safetensors, the POS tagger that comes with the package.

    python tools/english_model.py ../shared/data/pos_ewt

A CRF, trained on the training split of the English Web Treebank (see NOTICE) in some minutes; the same data, version
and machine word give the same file, byte for byte.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import tagwright as tw
from tagwright import _core
from tagwright.models.model import BUILT_IN, Model

ATTRIBUTION = (
    "Trained on UD_English-EWT (Universal Dependencies English Web Treebank, Silveira et al. 2014; "
    "github.com/UniversalDependencies/UD_English-EWT, commit 15d613d8), CC BY-SA 4.0; this model is under the same "
    "licence."
)


# Chosen on the dev split, and so that the file stays below 6 MB. All pairs of feature and label have weights, as those
# that the corpus does not have tell what a word is not; nine tenths of the weights are then too small to matter.
OPTIONS = {"features": "pos", "l2": 0.2, "min_count": 2, "all_pairs": True, "max_iterations": 200}
MIN_WEIGHT = 0.02


def without_small_weights(model: Model) -> Model:
    """Return the model without the weights of features that are below MIN_WEIGHT."""
    assert model.features is not None
    weights = _core.Weights.from_arrays(len(model.labels), model.arrays)
    arrays = weights.arrays(MIN_WEIGHT, model.features.word_prefix() or "")
    return Model(model.labels, model.features, arrays, model.facts)


def main(folder: str, target: str) -> None:
    """Train, write and measure."""
    os.environ["SOURCE_DATE_EPOCH"] = "0"  # seconds are never the same twice
    data = Path(folder)
    X, y = tw.read(data / "train.txt.xz")
    model = without_small_weights(tw.CRF(**OPTIONS, threads=2).fit(X, y).model_)
    model.facts["options"]["min_weight"] = MIN_WEIGHT
    model.facts["data"] = {"tokenize": "english"}
    model.facts["attribution"] = ATTRIBUTION
    model.save(target)
    print(f"{target}: {Path(target).stat().st_size / 1e6:.2f} MB, {model}")
    for split in ("dev", "test"):
        X, y = tw.read(data / f"{split}.txt.xz")
        print(f"{split}: {tw.evaluate(y, model.tag_batch(X)).token_accuracy:.2%}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else str(BUILT_IN))
