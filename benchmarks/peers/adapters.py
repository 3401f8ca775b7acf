"""How each package is given our scores to decode: one function per package, all in DECODERS.

A function takes the sentences' node scores (T, L), edge scores (L, L) and k. It prepares what can be prepared once, and
returns what `Ready` describes. All use one thread. A process that decodes imports this and little else, since its
memory is measured.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import tagwright as tw
from benchmarks.peers import crf, fst, hmm, packages
from benchmarks.peers.packages import BATCH, HERE, Nodes, Package, Paths, Ready, quiet

# --- references ---


def limit(nodes: Nodes, scores: np.ndarray, k: int) -> Ready:
    """Read the scores once, which every decoder must."""

    def read(own: np.ndarray) -> list[Paths]:
        own.max()
        return [[]]

    return nodes, read


def recursion(nodes: Nodes, scores: np.ndarray, k: int) -> Ready:
    """Viterbi as a few lines of NumPy."""
    by_current = np.ascontiguousarray(scores.T)

    def decode(own: np.ndarray) -> list[Paths]:
        alpha, back = own[0], []
        for column in own[1:]:
            sums = by_current + alpha
            back.append(sums.argmax(1))
            alpha = np.take_along_axis(sums, back[-1][:, None], 1)[:, 0] + column
        labels = [int(alpha.argmax())]
        for pointers in reversed(back):
            labels.append(int(pointers[labels[-1]]))
        return [[labels[::-1]]]

    return nodes, decode


def ours(decoder: str, sparse: bool | None, nodes: Nodes, scores: np.ndarray, k: int) -> Ready:
    edges = tw.Edges(scores, sparse=sparse).prepare()
    return nodes, lambda own: [[path.labels for path in tw.decode(own, edges, k, decoder).paths]]


def ours_batch(decoder: str, sparse: bool | None, nodes: Nodes, scores: np.ndarray, k: int) -> Ready:
    edges = tw.Edges(scores, sparse=sparse).prepare()
    groups = [nodes[s : s + BATCH] for s in range(0, len(nodes), BATCH)]
    return groups, lambda own: [[path.labels for path in one.paths] for one in tw.decode_batch(own, edges, k, decoder)]


# --- the table of decoders ---


class Peer(NamedTuple):
    """One row of the tables."""

    name: str
    make: Callable[[Nodes, np.ndarray, int], Ready]
    package: Package = HERE
    kbest: bool = False


LIMIT, US = "the scores read once (NumPy max)", "tagwright"  # US: how the names of ours begin


def our_decoder(decoder: str, name: str = "", batch: bool = False, sparse: bool | None = False) -> Peer:
    """Return the row of one of our decoders; with sparse=None `tw.Edges` chooses the form of edges."""
    make = partial(ours_batch if batch else ours, decoder, sparse)
    kbest = {row.name: row.kbest for row in tw.decoders()}[decoder.split(":", 1)[0]]
    return Peer(f"{US} {name or decoder}", make, kbest=kbest)


DECODERS = [
    Peer(LIMIT, limit, kbest=True),
    our_decoder("auto", sparse=None),
    our_decoder("auto", f"auto, {BATCH} at a time", batch=True, sparse=None),
    our_decoder("tree", sparse=None),
    our_decoder("tree", "tree, dense edges"),
    our_decoder("viterbi"),
    our_decoder("viterbi", f"viterbi, {BATCH} at a time", batch=True),
    our_decoder("viterbi", "viterbi, sparse edges", sparse=True),
    our_decoder("viterbi_astar"),
    our_decoder("iterative_viterbi_astar"),
    our_decoder("astar:6"),
    our_decoder("staggered"),
    our_decoder("carpediem"),
    our_decoder("beam:8", "beam:8 (approximate)"),
    Peer("NumPy recursion", recursion),
    Peer("python-crfsuite", crf.crfsuite, packages.CRFSUITE),
    Peer("Wapiti", crf.wapiti, packages.WAPITI, kbest=True),
    Peer("pytorch-crf", partial(crf.pytorch_crf, 1), packages.PYTORCH_CRF),
    Peer(f"pytorch-crf, {BATCH} at a time", partial(crf.pytorch_crf, BATCH), packages.PYTORCH_CRF),
    Peer("torch-struct", crf.torch_struct, Package("torch-struct", "torch_struct"), kbest=True),
    Peer("hmmlearn", hmm.hmmlearn, packages.HMMLEARN),
    Peer("pomegranate", hmm.pomegranate, packages.POMEGRANATE),
    Peer("dynamax (JAX)", hmm.dynamax, Package("dynamax", "dynamax")),
    Peer("librosa (numba)", hmm.librosa, Package("librosa", "librosa")),
    Peer("OpenFst (pynini)", fst.pynini, Package("pynini", "pywrapfst"), kbest=True),
    Peer("rustfst", fst.rustfst, Package("rustfst-python", "rustfst"), kbest=True),
]


# --- what is run in a process of its own ---

WARM = 5.0  # seconds; what takes longer at first is not run once more


def timed(peer: str, nodes: list[np.ndarray], scores: np.ndarray, k: int, budget: float) -> dict[str, Any]:
    """Decode sentences, over and over until the time is used up; the median of each one's times counts.

    Not the best: fast decoders would have many times to choose from, slow ones one. The first call is not counted
    unless it is long, since packages do more in it.
    """
    quiet()
    began = time.perf_counter()
    inputs, decode = next(row.make for row in DECODERS if row.name == peer)(nodes, scores, k)
    prepared = time.perf_counter()
    found = list(decode(inputs[0]))
    now = time.perf_counter()
    times = {0: [now - prepared]}
    if now - prepared <= WARM:
        times, end = {}, now + budget
        for n in itertools.cycle(range(len(inputs))):
            start = time.perf_counter()
            answers = decode(inputs[n])
            now = time.perf_counter()
            if n and n not in times:
                found += answers
            times.setdefault(n, []).append(now - start)
            if now > end:
                break
    tokens = sum(map(len, nodes[: len(found)]))
    us_per_token = 1e6 * sum(map(np.median, times.values())) / tokens
    paths = [[[int(label) for label in path] for path in own] for own in found]
    counted = {"sentences": len(found), "calls": sum(map(len, times.values()))}
    return {"us_per_token": float(us_per_token), "prepare_s": prepared - began, **counted, "found": paths}
