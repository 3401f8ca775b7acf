"""Make src/tagwright/models/english.safetensors, the POS tagger that comes with the package.

    python tools/english_model.py ../shared/data/pos_ewt

Trained on the training split of the English Web Treebank (see NOTICE); the same data, version and machine word give
the same file, byte for byte.
"""

from __future__ import annotations

import sys
from pathlib import Path

import tagwright as tw
from tagwright.models.model import BUILT_IN

ATTRIBUTION = (
    "Trained on UD_English-EWT (Universal Dependencies English Web Treebank, Silveira et al. 2014; "
    "github.com/UniversalDependencies/UD_English-EWT, commit 15d613d8), CC BY-SA 4.0; this model is under the same "
    "licence."
)


def main(folder: str, target: str) -> None:
    """Train, write and measure."""
    data = Path(folder)
    X, y = tw.read(data / "train.txt.xz")
    # min_count and min_weight: chosen on the dev split so that the file stays below 3 MB.
    learner = tw.Perceptron(features="pos", epochs=10, seed=0, min_count=3, min_weight=0.5).fit(X, y)
    learner.model_.facts["attribution"] = ATTRIBUTION
    learner.model_.save(target)
    print(f"{target}: {Path(target).stat().st_size / 1e6:.2f} MB, {learner.model_}")
    for split in ("dev", "test"):
        print(f"{split}: {learner.score(*tw.read(data / f'{split}.txt.xz')):.2%}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else str(BUILT_IN))
