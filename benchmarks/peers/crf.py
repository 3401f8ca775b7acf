"""Decoding of given scores by CRF packages."""

from __future__ import annotations

import struct
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.peers.packages import Nodes, Paths, Ready, one_thread


def crfsuite(nodes: Nodes, scores: np.ndarray, k: int) -> Ready:
    """python-crfsuite takes no weights: a model with the same labels and attributes is trained, and its file rewritten.

    Each token has an attribute of its own, with one weight per label. It is trained on one token that has them all, for
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
    """Return a CRFsuite model file with these weights and the names of a trained one; edges of 0 are not stored."""
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
    """Wapiti reads weights from its model, a text file; each token is an observation, with one weight per label."""
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
