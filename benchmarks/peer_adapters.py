"""How each peer is given our scores to decode: one function a peer, all in DECODERS.

A function takes the sentences' node scores (T, L), edge scores (L, L) and k. It prepares what can be prepared once, and
returns inputs, one a call, and what decodes one of them: for each sentence of the input, the labels of up to k paths.
All have one thread. Processes that decode import this and little else.
"""

from __future__ import annotations

import importlib.util
import itertools
import logging
import os
import struct
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

import tagwright as tw

Nodes = list[np.ndarray]
Paths = list[Sequence[int]]
Ready = tuple[list[Any], Callable[[Any], list[Paths]]]
BATCH = 32


class Package(NamedTuple):
    """What pip installs, and what is then imported."""

    name: str
    module: str

    @property
    def missing(self) -> str | None:
        """What to say where it is not installed."""
        installed = not self.module or importlib.util.find_spec(self.module) is not None
        return None if installed else f"not installed (pip install {self.name})"


HERE = Package("", "")  # always installed
CRFSUITE = Package("python-crfsuite", "pycrfsuite")
WAPITI = Package("libwapiti", "wapiti")
PYTORCH_CRF = Package("pytorch-crf", "torchcrf")
HMMLEARN = Package("hmmlearn", "hmmlearn")
POMEGRANATE = Package("pomegranate", "pomegranate")


def one_thread() -> Any:
    """PyTorch, with one thread and without gradients."""
    import torch

    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    return torch


def normalised(nodes: Nodes, scores: np.ndarray) -> tuple[Nodes, np.ndarray]:
    """The same scores as an HMM's: log transitions whose rows sum to 1; every path has the score that it had.

    What a row is divided by goes to the node scores of the label that it starts from. In double precision.
    """
    wide = scores.astype(np.float64)
    most = wide.max(1)
    total = most + np.log(np.exp(wide - most[:, None]).sum(1))
    moved = [own.astype(np.float64) for own in nodes]
    for own in moved:
        own[:-1] += total
    return moved, wide - total[:, None]


# --- references ---


def limit(nodes: Nodes, scores: np.ndarray, k: int) -> Ready:
    """No decoder, but what one cannot do without: to read the scores once."""

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


# --- CRF packages ---


def crfsuite(nodes: Nodes, scores: np.ndarray, k: int) -> Ready:
    """python-crfsuite takes no weights: a model of the same labels and attributes is trained and written anew.

    Each token has an attribute of its own, with a weight a label. It is trained on one token that has them all, for
    CRFsuite's own tables of names; labels of sequences that are held out are in them, too.
    """
    import pycrfsuite

    inputs, names = [], [f"t{t}" for t in range(sum(map(len, nodes)))]
    for own in nodes:
        begin = sum(map(len, inputs))
        inputs.append([[name] for name in names[begin : begin + len(own)]])
    trainer = pycrfsuite.Trainer("lbfgs", {"max_iterations": 1, "feature.possible_states": 1}, verbose=False)
    for j in range(len(scores)):
        trainer.append([[] if j else names], [f"{j}"], group=int(j > 0))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        trainer.train(str(path), holdout=1)
        path.write_bytes(crfsuite_file(path.read_bytes(), np.concatenate(nodes), scores))
        tagger = pycrfsuite.Tagger()
        tagger.open(str(path))
    return inputs, lambda own: [[tagger.tag(own)]]


def crfsuite_file(trained: bytes, nodes: np.ndarray, scores: np.ndarray) -> bytes:
    """CRFsuite's model file with the tables of names of a trained one and these weights; edges of 0 are not stored."""
    header = struct.Struct("<4sI4s9I")
    magic, _, kind, version, _, L, tokens, _, labels, attributes, *_ = header.unpack_from(trained)
    assert (L, tokens) == (len(scores), len(nodes)), "CRFsuite left out labels or attributes"
    parts, offsets = [b""], []

    def add(chunk: bytes) -> None:
        offsets.append(header.size + sum(map(len, parts)))
        parts.append(chunk + bytes(-len(chunk) % 4))

    for begin in (labels, attributes):
        add(trained[begin : begin + struct.unpack_from("<I", trained, begin + 4)[0]])
    previous, current = np.nonzero(scores)
    features = np.empty(
        nodes.size + len(previous), np.dtype([("kind", "<u4"), ("from", "<u4"), ("to", "<u4"), ("weight", "<f8")])
    )
    features["kind"] = np.repeat([0, 1], [nodes.size, len(previous)])
    features["from"] = np.concatenate([np.repeat(np.arange(tokens), L), previous])
    features["to"] = np.concatenate([np.tile(np.arange(L), tokens), current])
    features["weight"] = np.concatenate([nodes.ravel(), scores[previous, current]])
    add(struct.pack("<4sII", b"FEAT", 12 + features.nbytes, len(features)) + features.tobytes())
    of_labels = np.searchsorted(previous, np.arange(L + 1)) + nodes.size
    for name, ends in ((b"LFRF", of_labels), (b"AFRF", L * np.arange(tokens + 1))):
        # Where each row begins in the file, and the rows: how many features they have, and which.
        count = len(ends) - 1
        begin = header.size + sum(map(len, parts)) + 12 + 4 * count
        places = begin + 4 * (ends[:-1] - ends[0] + np.arange(count))
        rows = np.insert(np.arange(ends[0], ends[-1]), ends[:-1] - ends[0], np.diff(ends))
        body = np.concatenate([places, rows]).astype("<u4").tobytes()
        add(struct.pack("<4sII", name, 12 + len(body), count) + body)
    at_labels, at_attributes, at_features, *references = offsets
    body = b"".join(parts)
    places = (at_features, at_labels, at_attributes, *references)
    return header.pack(magic, header.size + len(body), kind, version, len(features), L, tokens, *places) + body


def wapiti(nodes: Nodes, scores: np.ndarray, k: int) -> Ready:
    """Wapiti reads weights from its model, a text file; each token is an observation, with a weight a label."""
    import wapiti

    def netstrings(strings: list[str]) -> str:
        return "".join(f"{len(string)}:{string},\n" for string in strings)

    L, T = len(scores), sum(map(len, nodes))
    weights = np.concatenate([scores.ravel(), np.concatenate(nodes).ravel()])
    where = np.nonzero(weights)[0]
    tables = "".join(
        f"#qrk#{len(strings)}\n{netstrings(strings)}"
        for strings in ([f"{j}" for j in range(L)], ["b", *(f"u:{t}" for t in range(T))])
    )
    lines = map("{}={}\n".format, where.tolist(), map(float.hex, weights[where].tolist()))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        text = f"#mdl#0#{len(where)}\n#rdr#2/1/0\n{netstrings(['b', 'u:%x[0,0]'])}{tables}"
        path.write_text(text + "".join(lines))
        model = wapiti.Model(model=str(path), nbest=k, nthread=1)
    names = iter(range(T))
    inputs = ["\n".join(f"{next(names)}" for _ in own) for own in nodes]

    def decode(own: str) -> list[Paths]:
        return [[list(map(int, path.split())) for path in model.label_sequence(own).decode().strip().split("\n\n")]]

    return inputs, decode


def pytorch_crf(batch: int, nodes: Nodes, scores: np.ndarray, k: int) -> Ready:
    torch = one_thread()
    from torchcrf import CRF

    crf = CRF(len(scores), batch_first=True)
    crf.transitions.copy_(torch.from_numpy(scores))
    crf.start_transitions.zero_()
    crf.end_transitions.zero_()
    inputs = []
    for s in range(0, len(nodes), batch):
        group = [torch.from_numpy(own) for own in nodes[s : s + batch]]
        mask = torch.nn.utils.rnn.pad_sequence([torch.ones(len(own), dtype=torch.bool) for own in group], True)
        inputs.append((torch.nn.utils.rnn.pad_sequence(group, True), mask))
    return inputs, lambda own: [[labels] for labels in crf.decode(*own)]


def torch_struct(nodes: Nodes, scores: np.ndarray, k: int) -> Ready:
    torch = one_thread()
    from torch_struct import LinearChainCRF

    by_current = torch.from_numpy(np.ascontiguousarray(scores.T))

    def decode(own: Any) -> list[Paths]:
        potentials = own[1:, :, None] + by_current  # [t][current][previous]
        potentials[0] += own[0]
        with torch.enable_grad():
            chain = LinearChainCRF(potentials[None])
            found = chain.argmax[None] if k == 1 else chain.topk(k)
        return [[chain.struct.from_parts(path.detach())[0][0].tolist() for path in found]]

    return [torch.from_numpy(own) for own in nodes], decode


# --- HMM packages ---


def hmmlearn(nodes: Nodes, scores: np.ndarray, k: int) -> Ready:
    from hmmlearn.base import BaseHMM

    class Given(BaseHMM):
        def _compute_log_likelihood(self, X: np.ndarray) -> np.ndarray:
            return X

    inputs, transitions = normalised(nodes, scores)
    model = Given(len(scores))
    model.n_features = len(scores)
    model.startprob_ = np.full(len(scores), 1 / len(scores))
    model.transmat_ = np.exp(transitions)
    return inputs, lambda own: [[model.decode(own)[1]]]


def pomegranate(nodes: Nodes, scores: np.ndarray, k: int) -> Ready:
    torch = one_thread()
    from pomegranate.distributions import Categorical
    from pomegranate.hmm import DenseHMM

    inputs, transitions = normalised(nodes, scores)
    L = len(scores)
    even = torch.full((L,), 1 / L)
    model = DenseHMM([Categorical([[1.0]]) for _ in range(L)], np.full((L, L), 1 / L, np.float32), even, even)
    # Set as logarithms: as probabilities in single precision the least would become 0.
    model.edges.copy_(torch.from_numpy(transitions.astype(np.float32)))
    return [torch.from_numpy(own.astype(np.float32))[None] for own in inputs], lambda own: [
        [model.viterbi(emissions=own)[0].tolist()]
    ]


def librosa(nodes: Nodes, scores: np.ndarray, k: int) -> Ready:
    """librosa takes probabilities up to 1: what is less than e^-708 of a token's best is lost."""
    from librosa.sequence import viterbi

    inputs, transitions = normalised(nodes, scores)
    matrix = np.exp(transitions)
    viterbi(np.full((3, 2), 0.5).T, np.full((2, 2), 0.5))  # compiles
    return [np.exp(own - own.max(1, keepdims=True)).T for own in inputs], lambda own: [[viterbi(own, matrix)]]


def dynamax(nodes: Nodes, scores: np.ndarray, k: int) -> Ready:
    import jax
    from dynamax.hidden_markov_model import hmm_posterior_mode

    inputs, transitions = normalised(nodes, scores)
    matrix, even = jax.numpy.exp(transitions), jax.numpy.full(len(scores), 1 / len(scores))
    compiled = jax.jit(hmm_posterior_mode)
    arrays = [jax.numpy.asarray(own) for own in inputs]
    for T in {len(own) for own in nodes}:
        compiled(even, matrix, next(own for own in arrays if len(own) == T))
    return arrays, lambda own: [[np.asarray(compiled(even, matrix, own))]]


# --- finite-state packages ---

ARC = np.dtype([("input", "<i4"), ("output", "<i4"), ("weight", "<f4"), ("to", "<i4")])


def arcs(nodes: np.ndarray, costs: np.ndarray) -> np.ndarray:
    """The sentence's lattice, [state][arc]: state 0, then one a token and label, which the arcs into it stand for."""
    T, L = nodes.shape
    made = np.empty(((T - 1) * L + 1, L), ARC)
    made["input"] = made["output"] = made["to"] = np.arange(1, L + 1)
    made["weight"][0] = -nodes[0]
    steps = made[1:].reshape(T - 1, L, L)
    np.subtract(costs, nodes[1:, None], out=steps["weight"])
    steps["to"] += (L * np.arange(1, T, dtype=np.int32))[:, None, None]
    return made


def fst_header(kind: bytes, states: int, count: int) -> bytes:
    names = b"".join(struct.pack("<i", len(name)) + name for name in (kind, b"standard"))
    return struct.pack("<i", 2125659606) + names + struct.pack("<iiQqqq", 2, 0, 3, 0, states, count)


def const_fst(nodes: np.ndarray, costs: np.ndarray) -> bytes:
    """A ConstFst as OpenFst keeps it on disk."""
    made, (T, L) = arcs(nodes, costs), nodes.shape
    fields = [("final", "<f4"), ("begin", "<u4"), ("count", "<u4"), ("epsilons", "<u4", (2,))]
    states = np.zeros(T * L + 1, fields)
    inner = states[: len(made)]
    inner["final"], inner["begin"], inner["count"] = np.inf, L * np.arange(len(made)), L
    return b"".join([fst_header(b"const", len(states), made.size), states.tobytes(), made.tobytes()])


def vector_fst(nodes: np.ndarray, costs: np.ndarray) -> bytes:
    """A VectorFst as OpenFst keeps it on disk."""
    made, (T, L) = arcs(nodes, costs), nodes.shape
    states = np.empty(len(made), [("final", "<f4"), ("count", "<i8"), ("arcs", ARC, (L,))])
    states["final"], states["count"], states["arcs"] = np.inf, L, made
    last = np.zeros(L, [("final", "<f4"), ("count", "<i8")])
    return b"".join([fst_header(b"vector", T * L + 1, made.size), states.tobytes(), last.tobytes()])


def pynini(nodes: Nodes, scores: np.ndarray, k: int) -> Ready:
    import pywrapfst

    def walk(fst: Any, state: int) -> Iterator[list[int]]:
        last = True
        for arc in fst.arcs(state):
            last = False
            for rest in walk(fst, arc.nextstate):
                yield [arc.ilabel - 1, *rest] if arc.ilabel else rest
        if last:
            yield []

    def decode(own: np.ndarray) -> list[Paths]:
        found = pywrapfst.shortestpath(pywrapfst.Fst.read_from_string(const_fst(own, costs)), nshortest=k)
        return [list(walk(found, found.start()))]

    costs = -scores
    return nodes, decode


def rustfst(nodes: Nodes, scores: np.ndarray, k: int) -> Ready:
    from rustfst import VectorFst
    from rustfst.algorithms.shortest_path import ShortestPathConfig

    def walk(fst: Any, state: int) -> Iterator[list[int]]:
        arcs = list(fst.trs(state))
        for arc in arcs:
            for rest in walk(fst, arc.next_state):
                yield [arc.ilabel - 1, *rest] if arc.ilabel else rest
        if not arcs:
            yield []

    def decode(own: np.ndarray) -> list[Paths]:
        found = VectorFst.from_bytes(vector_fst(own, costs)).shortest_path(ShortestPathConfig(nshortest=k))
        return [list(walk(found, found.start()))]

    costs = -scores
    return nodes, decode


# --- the table of decoders ---


class Peer(NamedTuple):
    """One row of the tables."""

    name: str
    make: Callable[[Nodes, np.ndarray, int], Ready]
    package: Package = HERE
    kbest: bool = False
    ours: bool = False


LIMIT = "the scores read once (NumPy max)"


def our_decoder(decoder: str, name: str = "", batch: bool = False, sparse: bool | None = False) -> Peer:
    """One of ours; sparse=None: over edges in the form that `tw.Edges` gives them by itself."""
    make = partial(ours_batch if batch else ours, decoder, sparse)
    kbest = {row.name: row.kbest for row in tw.decoders()}[decoder.split(":", 1)[0]]
    return Peer(f"tagwright {name or decoder}", make, kbest=kbest, ours=True)


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
    Peer("python-crfsuite", crfsuite, CRFSUITE),
    Peer("Wapiti", wapiti, WAPITI, kbest=True),
    Peer("pytorch-crf", partial(pytorch_crf, 1), PYTORCH_CRF),
    Peer(f"pytorch-crf, {BATCH} at a time", partial(pytorch_crf, BATCH), PYTORCH_CRF),
    Peer("torch-struct", torch_struct, Package("torch-struct", "torch_struct"), kbest=True),
    Peer("hmmlearn", hmmlearn, HMMLEARN),
    Peer("pomegranate", pomegranate, POMEGRANATE),
    Peer("dynamax (JAX)", dynamax, Package("dynamax", "dynamax")),
    Peer("librosa (numba)", librosa, Package("librosa", "librosa")),
    Peer("OpenFst (pynini)", pynini, Package("pynini", "pywrapfst"), kbest=True),
    Peer("rustfst", rustfst, Package("rustfst-python", "rustfst"), kbest=True),
]


# --- what is run in a process of its own ---


def quiet() -> None:
    """Let packages say nothing in this process: Wapiti and hmmlearn report progress, torch-struct warns."""
    warnings.simplefilter("ignore")
    logging.disable()
    with open(os.devnull, "w") as nowhere:
        for stream in (1, 2):
            os.dup2(nowhere.fileno(), stream)


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
