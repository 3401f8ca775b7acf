"""Corpora so small that a test can make them, and know what is in them."""

import os
from collections import Counter
from pathlib import Path

import numpy as np

CORPORA = Path(os.environ.get("TAGWRIGHT_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
"""Where the real corpora are, if they are here at all."""

CONLLU = """\
# sent_id = 1
# text = Vámonos al mar
1-2\tVámonos\t_\t_\t_\t_\t_\t_\t_\t_
1\tVamos\tir\tVERB\tv1\tMood=Imp|Number=Plur\t0\troot\t_\t_
2\tnos\tnosotros\tPRON\tp\tCase=Acc\t1\tobj\t_\t_
3-4\tal\t_\t_\t_\t_\t_\t_\t_\t_
3\ta\ta\tADP\ts\t_\t5\tcase\t_\t_
4\tel\tel\tDET\tt\tDefinite=Def|Gender=Masc\t5\tdet\t_\t_
5\tmar\tmar\tNOUN\tn\tGender=Masc\t1\tobl\t_\tSpaceAfter=No
5.1\tque\tque\tPRON\tp\t_\t_\t_\t1:x\t_

# sent_id = 2
1\tNueva York\tNueva York\tPROPN\tn\t_\t0\troot\t_\t_

"""

_TEN = """
the/DT dog/NN can/MD see/VB the/DT can/NN
a/DT cat/NN can/MD run/VB
the/DT run/NN is/VBZ a/DT long/JJ run/NN
dogs/NNS run/VBP
cats/NNS see/VBP a/DT long/JJ can/NN
the/DT old/JJ can/MD see/VB dogs/NNS
a/DT can/NN is/VBZ old/JJ
Kim/NNP can/MD can/VB cats/NNS
long/JJ dogs/NNS run/VBP a/DT run/NN
Kim/NNP is/VBZ the/DT cat/NN
"""


def ten_sentences():
    """Ten sentences in which some words have two labels, distinguished by their neighbours."""
    rows = [[pair.split("/") for pair in line.split()] for line in _TEN.strip().split("\n")]
    return [[word for word, _ in row] for row in rows], [[label for _, label in row] for row in rows]


def drawn(seed, sentences=12, words=6, labels=4, longest=6):
    """Words and labels at random: never learned by heart, so that every sentence teaches something."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(sentences):
        T = int(rng.integers(0, longest + 1))
        X.append([f"w{n}" for n in rng.integers(0, words, T)])
        y.append([f"L{n}" for n in rng.integers(0, labels, T)])
    return X, y


def train_and_dev(sentences):
    """Two corpora of random words and labels, of the given number of sentences and half of it."""
    X, y = drawn(3, sentences=sentences * 3 // 2, words=30, labels=5)
    return (X[:sentences], y[:sentences]), (X[sentences:], y[sentences:])


def many_labels(seed=0, sentences=40, labels=60):
    """Labels that depend on the word and on the label before, with words that have several."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(sentences):
        label, words, names = int(rng.integers(labels)), [], []
        for _ in range(int(rng.integers(3, 12))):
            label = int((3 * label + rng.integers(0, 4)) % labels)
            words.append(f"w{label // 3}")
            names.append(f"L{label}")
        X.append(words)
        y.append(names)
    return X, y


def names_of(arrays, index="names"):
    """The feature names that a model's arrays hold."""
    ends = arrays[f"{index}.ends"].tolist()
    text = arrays[f"{index}.bytes"].tobytes()
    return [text[begin:end].decode() for begin, end in zip([0, *ends][: len(ends)], ends, strict=True)]


def weights_of(model):
    """The weights of a model by name: (feature, label), (previous, current) and (set, previous, current)."""
    arrays, labels = model.arrays, model.labels
    nodes, begin = {}, 0
    for name, end in zip(names_of(arrays), arrays["rows.end"].tolist(), strict=True):
        for q in range(begin, end):
            nodes[name, labels[arrays["rows.label"][q]]] = float(arrays["rows.weight"][q])
        begin = end
    i, j = arrays["edges.previous"], arrays["edges.current"]
    edges = {(labels[a], labels[b]): float(s) for a, b, s in zip(i, j, arrays["edges.score"], strict=True)}
    sets = {}
    if "corrections.set" in arrays:
        names = names_of(arrays, "edge_names")
        parts = (arrays[f"corrections.{part}"] for part in ("set", "previous", "current", "score"))
        sets = {(names[s], labels[a], labels[b]): float(w) for s, a, b, w in zip(*parts, strict=True)}
    return nodes, edges, sets


def runs_of(model):
    """The weights of label trigrams and 4-grams, by their names."""
    if "ngrams.score" not in model.arrays:
        return {}
    runs = model.arrays["ngrams.labels"].reshape(-1, 4).tolist()
    names = [tuple(model.labels[y] for y in run if y < len(model.labels)) for run in runs]
    return dict(zip(names, model.arrays["ngrams.score"].tolist(), strict=True))


def runs_met(y, order, min_ngram_count=1):
    """The label n-grams of length 3 to order + 1 that occur often enough in a corpus."""
    observed = Counter()
    for labels in y:
        for length in range(3, order + 2):
            observed.update(tuple(labels[end - length : end]) for end in range(length, len(labels) + 1))
    return {run for run, times in observed.items() if times >= min_ngram_count}


def untimed(model):
    """What a model says about its training, but for how long it took."""
    kept = [{name: value for name, value in fact.items() if name != "seconds"} for fact in model.history]
    return {**model.facts, "history": kept}


def same_arrays(one, other):
    """Whether two models hold the same bits."""
    return one.keys() == other.keys() and all(
        one[name].dtype == other[name].dtype and one[name].tobytes() == other[name].tobytes() for name in one
    )
