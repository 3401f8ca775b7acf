"""Digests of the answers of models: `python tests/support/answers.py` prints the same lines on every machine.

A line has a model, a kind of answer, and the SHA-256 of all answers of this kind on 1,000 sentences: labels, scores,
probabilities, samples. It needs the package and NumPy; `--train` adds models that are trained here, which needs
scikit-learn. Sentences are drawn from the words of examples/ and of tests/data/0.5.0, and `--sentences N` takes fewer.
"""

import argparse
import hashlib
import json
import random
from pathlib import Path

import numpy as np

import tagwright as tw
from tagwright.models.model import BUILT_IN

ROOT = Path(__file__).resolve().parents[2]
STORED = ROOT / "tests" / "data" / "0.5.0"
MODELS = ["crf", "crf_edges", "hmm", "memm", "bidirectional", "perceptron", "perceptron_edges"]
TRAINED = ["CRF", "Perceptron", "HMM"]
K = 4


def vocabulary():
    """Return pairs of word and part of speech, in a fixed order."""
    rows = {tuple(row) for sentence in json.loads((STORED / "words.json").read_text("utf-8")) for row in sentence}
    for name in ("train.txt", "test.txt"):
        lines = (ROOT / "examples" / name).read_text("utf-8").splitlines()
        rows |= {tuple(line.split()[:2]) for line in lines if line}
    return sorted(rows)


def draw_sentences(count, seed=7):
    """Return sentences of 1 to 25 rows."""
    draw, words = random.Random(seed), vocabulary()
    return [[list(draw.choice(words)) for _ in range(1 + int(25 * draw.random()))] for _ in range(count)]


def trained(learner):
    X, y = tw.read(ROOT / "examples" / "train.txt", label=2)
    return getattr(tw, learner)().fit(X, y).model_


def answers(model, X):
    """Yield pairs of a kind of answer and its bytes."""
    for own in model.tag_kbest(X, K, proba=model.probabilistic):
        for found in own:
            yield "labels", "\t".join(found.labels).encode()
            yield "scores", np.float64(found.score).tobytes()
            if found.probability is not None:
                yield "probabilities", np.array([found.probability, found.log_probability, *found.marginals]).tobytes()
    if model.probabilistic:
        for sentence in X[:50]:
            sums = model.lattice(sentence).marginals()
            yield "marginals", sums.nodes.tobytes() + np.array([sums.log_z, sums.entropy]).tobytes()
            yield "samples", "\n".join("\t".join(labels) for labels in model.sample(sentence, 3, seed=5)).encode()


def digests(model, X):
    """Return the digest of each kind of answer."""
    found = {}
    for kind, part in answers(model, X):
        found.setdefault(kind, hashlib.sha256()).update(part)
    return {kind: total.hexdigest() for kind, total in found.items()}


def lines(count, with_trained=False):
    """Return the lines that are printed."""
    X = draw_sentences(count)
    models = {"english": tw.load(BUILT_IN), **{name: tw.load(STORED / f"{name}.safetensors") for name in MODELS}}
    if with_trained:
        models |= {f"trained {learner}": trained(learner) for learner in TRAINED}
    made = []
    for name, model in models.items():
        columns = model._trained_columns() or 2
        own = [[row[:columns] for row in sentence] for sentence in X]
        made += [f"{name}: {kind} {digest}" for kind, digest in digests(model, own).items()]
    return made


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=1000)
    parser.add_argument("--train", action="store_true")
    request = parser.parse_args()
    print(*lines(request.sentences, request.train), sep="\n")
