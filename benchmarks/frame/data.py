"""Corpora, models trained on them and kept by what they are made of, and lattices: of models, stored or synthetic."""

from __future__ import annotations

import hashlib
import itertools
import math
import os
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import tagwright as tw
from benchmarks.frame.bench import OUT, Bench, Corpus, MissingDataError
from tagwright import _core
from tagwright.decoding.decode import Decoding
from tagwright.decoding.examples import model_like as demo_scores

TESTED = 500  # sentences of a test set
EPOCHS = 10  # as in the papers
PRESETS = {
    "pos_ewt": "pos",
    "slots_snips": "query",
    "chunk_conll2000": "chunk",
    "slots_hwu64": "query",
    "morph_hu_nerkor": "morph",
    "morph_lv_lvtb": "morph",
    "supertag_erg": "supertag",
}
"""The corpora that decoders are measured on, by number of labels, and the templates of their models."""
STORED = ("chunk_conll2000", "slots_hwu64", "morph_lv_lvtb", "supertag_erg")
FLAT = 1e4  # Dirichlet parameter of emissions that are nearly all alike


Gold = list[list[int]] | None
"""Numbers of the right labels, -1 for labels that training did not have; None where unknown."""


@dataclass(frozen=True)
class Lattices:
    """Sentences over one edge matrix; their node scores lie one behind the other in memory."""

    name: str
    nodes: list[np.ndarray]
    scores: np.ndarray
    gold: Gold = None

    @classmethod
    def make(cls, name: str, nodes: list[np.ndarray], scores: np.ndarray, gold: Gold = None) -> Lattices:
        return cls(name, np.split(np.concatenate(nodes), np.cumsum([len(one) for one in nodes])[:-1]), scores, gold)

    @property
    def L(self) -> int:
        return len(self.scores)

    @property
    def tokens(self) -> int:
        return sum(map(len, self.nodes))

    @cached_property
    def dense(self) -> tw.Edges:
        return tw.Edges(self.scores, sparse=False).prepare()

    @cached_property
    def sparse(self) -> tw.Edges:
        """Return the edges as default + exceptions, the form that trained models have."""
        return tw.Edges(self.scores, sparse=True).prepare()

    def edges(self, form: str) -> tw.Edges:
        return self.dense if form == "dense" else self.sparse

    def only(self, which: list[int]) -> Lattices:
        """Return some of the sentences."""
        gold = None if self.gold is None else [self.gold[s] for s in which]
        return replace(self, nodes=[self.nodes[s] for s in which], gold=gold)

    def over(self, nodes: list[np.ndarray]) -> Lattices:
        """Return other sentences over the same edges, which are not prepared again."""
        made = replace(self, nodes=nodes, gold=None)
        made.__dict__.update(dense=self.dense, sparse=self.sparse)
        return made

    def accuracy(self, found: list[Decoding]) -> float:
        """Return how many labels are right, in percent."""
        assert self.gold is not None, f"{self.name} has no right labels"
        right = [np.asarray(own) == one.paths[0].labels for one, own in zip(found, self.gold, strict=True)]
        return 100 * float(np.concatenate(right).mean())


# --- models ---


def spans(labels: list[str]) -> Iterator[tuple[str, int, int]]:
    """Yield (kind, begin, end) of each span that BIO labels mark."""
    begin = 0
    for t, label in enumerate([*labels, "O"]):
        before = labels[t - 1] if t else "O"
        if before != "O" and label != f"I-{before[2:]}":
            yield before[2:], begin, t
        if label[0] == "B" or label[2:] != before[2:]:
            begin = t


def gazetteer(X: list[Any], y: list[list[str]], least: int = 2) -> dict[str, list[str]]:
    """Return a word list per slot: its fillers in these sentences, at least this often; labels are intent:slot.

    Rarer fillers are left out; otherwise every slot of the training set would be on its list, unlike in new text.
    """
    slots = [[label.rpartition(":")[2] for label in labels] for labels in y]
    count = Counter(
        (kind.replace("_", "-"), " ".join(row[0] for row in rows[begin:end]))
        for rows, labels in zip(X, slots, strict=True)
        for kind, begin, end in spans(labels)
    )
    lists: dict[str, list[str]] = {}
    for (kind, entry), times in sorted(count.items()):
        if times >= least:
            lists.setdefault(kind, []).append(entry)
    return lists


def expanded(features: tw.Features, X: list[Any]) -> list[list[list[str]]]:
    """Return the features of every token, as strings."""
    text = _core.Text.from_rows(X, features.columns)
    return [[nodes for nodes, _ in features.core.expand(text, s)] for s in range(len(X))]


def share(predicted: list[list[str]], gold: list[list[str]]) -> float:
    """Return how many tokens have the right label, in percent."""
    return 100 * tw.evaluate(gold, predicted).token_accuracy


def covering(X: list[Any], y: list[list[str]], count: int) -> Corpus:
    """Return `count` sentences that have all labels: each label's first sentence, then the first of the others."""
    observed: set[str] = set()
    needed = []
    for s, labels in enumerate(y):
        if not observed.issuperset(labels):
            needed.append(s)
            observed.update(labels)
    chosen = set(needed)
    chosen.update(itertools.islice((s for s in range(len(y)) if s not in chosen), max(0, count - len(chosen))))
    return [X[s] for s in sorted(chosen)], [y[s] for s in sorted(chosen)]


def fit(learner: Any, train: Corpus) -> float:
    """Train and return the seconds it took. An interrupted training is no result: KeyboardInterrupt is raised."""
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        learner.fit(*train)
    seconds = time.perf_counter() - began
    for warning in caught:
        if str(warning.message).startswith("interrupted"):
            raise KeyboardInterrupt
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    return seconds


def kept_path(bench: Bench, name: str, corpus: str, made_of: str) -> Path:
    """Return where the cache keeps a model: by its training file, its options and our version."""
    content = bench.path(corpus, "train").read_bytes() + f"{made_of} {bench.quick} {tw.__version__}".encode()
    folder = Path(os.environ.get("TAGWRIGHT_BENCH_MODELS", OUT / "models"))
    return folder / f"{name}-{hashlib.sha256(content).hexdigest()[:16]}.safetensors"


def kept_model(bench: Bench, name: str, corpus: str, made_of: str, train: Callable[[], tuple[Any, Corpus]]) -> tw.Model:
    """Return a model from the cache, or train a new one and keep it there.

    `train` returns the learner and the sentences; model.facts["seconds"] is the time of training.
    """
    kept = kept_path(bench, name, corpus, made_of)
    if not kept.exists():
        learner, sentences = train()
        seconds = fit(learner, sentences)
        bench.say(f"  {name}: trained in {seconds:.1f} s")
        learner.model_.facts["seconds"] = seconds
        kept.parent.mkdir(parents=True, exist_ok=True)
        learner.model_.save(kept)
    return tw.load(kept)


def digest(model: tw.Model) -> str:
    """Return a text that is equal for weights that are equal bit for bit, and for no others."""
    whole = hashlib.sha256()
    for name, array in sorted(model.arrays.items()):
        whole.update(name.encode() + array.tobytes())
    return whole.hexdigest()


def epochs_of(bench: Bench) -> int:
    return 2 if bench.quick else EPOCHS


def model(bench: Bench, corpus: str, learner: str = "perceptron") -> tw.Model:
    """Return a plain averaged perceptron, as in the papers, or an HMM; queries get a gazetteer of the training set."""
    epochs = epochs_of(bench)

    def train() -> tuple[Any, Corpus]:
        X, y = bench.read(corpus, "train", 400)
        if learner == "hmm":
            return tw.HMM(), (X, y)
        lists = gazetteer(X, y) if PRESETS[corpus] == "query" else None
        return tw.Perceptron(tw.Features(PRESETS[corpus], lists), epochs=epochs, seed=0), (X, y)

    return kept_model(bench, f"{corpus}-{learner}", corpus, f"{learner} {PRESETS[corpus]} {epochs}", train)


# --- lattices ---


def lattices(bench: Bench, corpus: str, learner: str = "perceptron", sentences: int = TESTED) -> Lattices:
    """Return a model's scores of sentences of the test set, in an order drawn with a fixed seed."""
    own = model(bench, corpus, learner)
    X, y = bench.read(corpus, "test", 30)
    chosen = np.random.default_rng(0).permutation(len(X))[:sentences]
    number = {label: n for n, label in enumerate(own.labels)}
    nodes = []
    for s in chosen:
        scores = own.lattice(X[s]).nodes.astype(np.float32)
        scores[0] += own.arrays.get("start", np.float32(0))
        scores[-1] += own.arrays.get("stop", np.float32(0))
        nodes.append(scores)
    edges = np.zeros((len(own.labels),) * 2, np.float32)
    edges[own.arrays["edges.previous"], own.arrays["edges.current"]] = own.arrays["edges.score"]
    return Lattices.make(corpus, nodes, edges, [[number.get(label, -1) for label in y[s]] for s in chosen])


def stored(bench: Bench, name: str) -> Lattices:
    """Return lattices that are stored next to the corpora."""
    path = bench.data.parent / "lattices" / f"{name}.npz"
    if not path.exists():
        raise MissingDataError(f"{path} is not there")
    with np.load(path) as kept:
        lengths = kept["lengths"][: 10 if bench.quick else None]
        return Lattices(name, np.split(kept["nodes"][: lengths.sum()], np.cumsum(lengths)[:-1]), kept["edges"])


def model_like(L: int, sentences: int, T: int = 25) -> Lattices:
    """Return what `tagwright demo` decodes: Zipf label frequencies, sparse edges, a few likely labels per token."""
    nodes, edges = demo_scores(T * sentences, L)
    return Lattices(f"model_like_{L}", np.split(nodes, sentences), edges)


def normal(L: int, sentences: int, T: int = 25, kind: str = "float32") -> Lattices:
    """Return independent normal scores, which no bound prunes."""
    rng = np.random.default_rng(L)
    nodes = list(rng.normal(size=(sentences, T, L)).astype(kind))
    return Lattices(f"normal_{L}", nodes, rng.normal(size=(L, L)).astype(kind))


class HiddenMarkov(NamedTuple):
    """A hidden Markov model as Pal et al. 2006 describe it in section 4.1, all start states equally likely."""

    transition: np.ndarray  # [i][j], i = previous state
    emission: np.ndarray  # [state][symbol]

    @classmethod
    def make(cls, rng: np.random.Generator, states: int, symbols: int, few: int = 10) -> HiddenMarkov:
        """Transitions from a Dirichlet of 0.1; 3 of 4 states emit few symbols, the others nearly all alike."""
        emission = np.zeros((states, symbols))
        for state in emission:
            if rng.random() < 0.75:
                state[rng.choice(symbols, few, replace=False)] = rng.dirichlet(np.ones(few))
            else:
                state[:] = rng.dirichlet(np.full(symbols, FLAT))
        return cls(rng.dirichlet(np.full(states, 0.1), size=states), emission)

    def draw(self, rng: np.random.Generator, length: int) -> tuple[list[int], list[int]]:
        """Return states and symbols of a random sequence."""
        states, symbols = [int(rng.integers(len(self.emission)))], []
        for _ in range(length):
            symbols.append(int(rng.choice(len(self.emission[0]), p=self.emission[states[-1]])))
            states.append(int(rng.choice(len(self.emission), p=self.transition[states[-1]])))
        return states[:-1], symbols

    def nodes(self, symbols: list[int]) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.ascontiguousarray(np.log(self.emission[:, symbols]).T)

    def scores(self) -> np.ndarray:
        """Return log transitions; those that underflowed get a low score, so that every beam finds a path."""
        return np.log(np.maximum(self.transition, math.exp(-60)))


def hmm(L: int, sentences: int, T: int = 25) -> Lattices:
    """Return sequences of a random HMM: flat label frequencies and sharp transitions."""
    rng = np.random.default_rng(0)
    drawn = HiddenMarkov.make(rng, L, max(L, 100))
    nodes = [drawn.nodes(drawn.draw(rng, T)[1]).astype("f4") for _ in range(sentences)]
    return Lattices(f"hmm_{L}", nodes, drawn.scores().astype("f4"))
