"""What `tagwright demo` shows: a few sentences tagged, and two exact decoders on a lattice like a real model's."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tagwright.decoding.decode import Decoding, decode
from tagwright.decoding.decoders import IterativeViterbiAStar, Tree, ViterbiAStar
from tagwright.decoding.edges import Edges
from tagwright.models.model import Model
from tagwright.table import table

__all__ = ["model_like", "run", "sentences"]

SHOWN = 20  # labels of a path that are printed


def model_like(
    T: int, L: int, seed: int = 0, edges_per_label: int = 30
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Make node scores (T, L) and edge scores (L, L) such as a trained perceptron has.

    Labels are numbered by a Zipf frequency; an edge has a score only if the pair would have been met in training
    (about `edges_per_label` a label, most of them between frequent labels); each token favours a few labels.
    """
    rng = np.random.default_rng(seed)
    frequency = 1.0 / np.arange(1, L + 1)
    frequency /= frequency.sum()
    edges = np.zeros((L, L), dtype=np.float32)
    met = edges_per_label * L
    previous, current = rng.choice(L, size=(2, met), p=frequency)
    edges[previous, current] = rng.normal(-0.3, 1.6, size=met)
    nodes = rng.normal(1.0, 2.5, size=(T, L))
    for column in nodes:
        likely = rng.choice(L, size=min(L, int(rng.integers(2, 6))), replace=False, p=frequency)
        column[likely] += rng.uniform(8.0, 20.0, size=len(likely))
        column[likely[0]] += rng.normal(18.0, 8.0)
    return nodes.astype(np.float32), edges


@dataclass(frozen=True)
class Timed:
    """An answer and the best of several times it took, in seconds."""

    found: Decoding
    seconds: float


def timed(decoding: Callable[[], Decoding], repeats: int) -> Timed:
    """Run a decoding a few times; the best time counts, since other work on the machine only ever adds."""
    best = float("inf")
    for _ in range(repeats):
        began = time.perf_counter()
        found = decoding()
        best = min(best, time.perf_counter() - began)
    return Timed(found, best)


SENTENCES = (
    "Would service be voluntary or compulsory ?",
    "Time flies like an arrow , fruit flies like a banana .",
    "They can fish because the boats that they saw left .",
)


def sentences(model: Model, k: int = 5, echo: Callable[[str], None] = print) -> None:
    """Tag a few sentences: best labelling, then the k best."""
    split = [sentence.split() for sentence in SENTENCES]
    for tokens, taggings in zip(split, model.tag_kbest(split, k), strict=True):
        ranks = [str(r + 1) for r in range(len(taggings))]
        lines = [["", *tokens], *([rank, *tagging.labels] for rank, tagging in zip(ranks, taggings, strict=True))]
        widths = [max(len(line[c]) for line in lines) for c in range(len(tokens) + 1)]
        scores = ["score", *(f"{tagging.score:.2f}" for tagging in taggings)]
        for line, score in zip(lines, scores, strict=True):
            cells = "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
            echo(f"{cells}  {score.rjust(max(map(len, scores)))}")
        echo("")


def run(L: int = 3000, T: int = 20, k: int = 5, seed: int = 0, echo: Callable[[str], None] = print) -> bool:
    """Decode one lattice by three decoders and print what they found; True if they agree."""
    nodes, scores = model_like(T, L, seed)
    echo(f"A lattice of {T} tokens and {L:,} labels: {L * L * (T - 1):,} edges, 10^{T * math.log10(L):.0f} paths.")
    edges = Edges(scores, sparse=False).prepare()
    dense = timed(lambda: decode(nodes, edges, k=k, decoder=ViterbiAStar()), 3)
    iterative = timed(lambda: decode(nodes, edges, k=k, decoder=IterativeViterbiAStar()), 5)
    ours = timed(lambda: decode(nodes, edges, k=k, decoder=Tree()), 5)

    more = " ..." if T > SHOWN else ""
    echo(f"\nThe {k} best paths, exactly (labels by number, most frequent first):\n")
    width = len(str(L - 1))
    paths = [
        [str(r + 1), f"{path.score:.4f}", " ".join(f"{y:{width}}" for y in path.labels[:SHOWN]) + more]
        for r, path in enumerate(ours.found.paths)
    ]
    echo(table(["rank", "score", "labels"], paths))
    same = [
        a.score == b.score == c.score and (a.labels == b.labels).all() and (a.labels == c.labels).all()
        for a, b, c in zip(dense.found.paths, iterative.found.paths, ours.found.paths, strict=True)
    ]
    echo(f"\nThe same from all decoders: {'yes, all' if all(same) else 'NO, only'} {sum(same)} of {len(same)}.\n")

    rows = [
        [
            name,
            f"{result.seconds * 1e3:.2f}",
            f"{dense.seconds / result.seconds:.1f}",
            f"{result.found.work.rounds}",
            f"{result.found.work.nodes / T:,.0f}",
            f"{result.found.work.edges / T:,.0f}",
        ]
        for name, result in [
            ("viterbi_astar (dense)", dense),
            ("iterative_viterbi_astar", iterative),
            ("tree", ours),
        ]
    ]
    echo(table(["decoder", "ms", "speed-up", "rounds", "nodes/token", "edges/token"], rows))
    return all(same)
