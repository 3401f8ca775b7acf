"""What the page draws of a sentence: its k best labellings, and the part of its lattice that matters."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tagwright import _core
from tagwright.decoding.decode import Decoding
from tagwright.decoding.keep import KeepRatio
from tagwright.decoding.marginals import Marginals
from tagwright.models.as_json import finite, share
from tagwright.models.model import Model
from tagwright.models.tagging import Lattice
from tagwright.serve.answers import blamed, choose_sentence, lattice_of
from tagwright.serve.errors import Problem
from tagwright.serve.request import Request
from tagwright.serve.store import Served

__all__ = ["viewed"]

_LEFT = 24  # labellings whose labels are in the lattice that is drawn
_LEAST = 0.003  # probability of a label that is drawn whatever the labellings say
_STRONG = 3  # labels by their node scores that are drawn where there are no probabilities
_THIN = 0.002  # share of an edge that is not drawn
_MANY = 400  # labels from which on sums leave out what is next to nothing

Reals = npt.NDArray[np.float64]


class _Small(NamedTuple):
    """A few nodes per column, and the edges between them."""

    labels: list[list[int]]
    """Of each column, in the order in which they are drawn."""
    nodes: list[Reals]
    edges: list[Reals]
    """[t][i, j] from the i-th node of column t to the j-th of the next."""


def viewed(request: Request, served: Served, model: Model) -> dict[str, Any]:
    """Return a sentence's labellings and lattice."""
    count = len(request.sentences)
    choose_sentence(request)
    lattice = lattice_of(request, served, model, 0)
    if not len(lattice.nodes):
        raise Problem(422, "the sentence is empty", "sentences[0]", "send at least one token")
    with blamed("sentences[0]"):
        began = time.perf_counter()
        found = lattice.decode(request.k, request.decoder, request.deadline)
        seconds = time.perf_counter() - began
        most = max(request.k, _LEFT)
        wide = found
        if len(found.paths) < most and not (found.exact and len(found.paths) < request.k):
            wide = lattice.decode(most)
        sums = _sums(lattice, len(model.labels)) if model.probabilistic else None
    small = _small(lattice, wide, sums, request.nodes, found)
    payload: dict[str, Any] = {
        "model": served.name,
        "decoder": request.decoder,
        "tokens": [_word(token) for token in request.sentences[0]],
        "exact": found.exact,
        "gap": finite(found.gap),
        "work": found.work._asdict(),
        "seconds": seconds,
        "sentences": count,
        "probabilistic": model.probabilistic,
        "kbest": [_path(model, path.labels.tolist(), path.score, sums) for path in found.paths],
        **_drawn(model, lattice, small, sums, found.paths[0].labels.tolist()),
    }
    if request.offsets is not None:
        payload["offsets"] = request.offsets[0]
    return payload


def _sums(lattice: Lattice, L: int) -> Marginals:
    keep = KeepRatio(1e-6) if L >= _MANY else None
    return lattice.marginals(keep)


def _path(model: Model, labels: list[int], score: float, sums: Marginals | None) -> dict[str, Any]:
    payload: dict[str, Any] = {"labels": [model.labels[y] for y in labels], "score": score}
    if sums is not None:
        payload["probability"] = share(float(np.exp(min(score - sums.log_z, 0.0))))
        payload["marginals"] = [share(p) for p in sums.nodes[np.arange(len(labels)), labels].tolist()]
    return payload


def _small(lattice: Lattice, wide: Decoding, sums: Marginals | None, most: int, found: Decoding) -> _Small:
    """Choose the labels that are drawn: those of the best path, the likely ones, those of the best labellings."""
    T = len(lattice.nodes)
    labels = []
    for t in range(T):
        chosen = [int(found.paths[0].labels[t])]
        if sums is not None:
            row = sums.nodes[t]
            likely = np.argpartition(-row, min(most, len(row) - 1))[:most]
            chosen += sorted((int(y) for y in likely if row[y] >= _LEAST), key=lambda y: -float(row[y]))
        chosen += [int(path.labels[t]) for path in [*found.paths, *wide.paths]]
        if sums is None:
            row = lattice.nodes[t]
            chosen += sorted(
                np.argpartition(-row, min(_STRONG, len(row) - 1))[:_STRONG].tolist(), key=lambda y: -row[y]
            )
        labels.append(list(dict.fromkeys(chosen))[:most])
    triples = [(t, i, j) for t in range(T - 1) for i in labels[t] for j in labels[t + 1]]
    places = np.array(triples, np.int32).reshape(-1, 3)
    scores = _core.edge_scores(
        lattice.nodes, lattice.edges._core, lattice.active, *(np.ascontiguousarray(places[:, c]) for c in range(3))
    )
    edges, at = [], 0
    for t in range(T - 1):
        shape = len(labels[t]), len(labels[t + 1])
        edges.append(np.array(scores[at : at + shape[0] * shape[1]]).reshape(shape))
        at += shape[0] * shape[1]
    return _Small(labels, [lattice.nodes[t, own].astype(float) for t, own in enumerate(labels)], edges)


def _drawn(
    model: Model, lattice: Lattice, small: _Small, sums: Marginals | None, best: list[int]
) -> dict[str, list[Any]]:
    """Return columns of nodes, and edges; how far behind the best the best labelling through each is."""
    starts, stops = lattice.edges._core.ends()
    first, last = small.nodes[0] + starts[small.labels[0]], stops[small.labels[-1]]
    highest = _both_ways(small, first, last, lambda scores, axis: scores.max(axis=axis))
    summed = _both_ways(small, first, last, lambda scores, axis: np.logaddexp.reduce(scores, axis=axis))
    top, total = float((highest[0][0] + highest[1][0]).max()), float(np.logaddexp.reduce(summed[0][0] + summed[1][0]))
    columns = []
    for t, own in enumerate(small.labels):
        behind = top - (highest[0][t] + highest[1][t])
        column = []
        for n, y in enumerate(own):
            node = {"label": model.labels[y], "score": finite(float(small.nodes[t][n])), "best": y == best[t]}
            node["behind"] = finite(round(float(behind[n]), 6))
            if sums is not None:
                node["probability"] = share(float(sums.nodes[t, y]))
            column.append(node)
        columns.append(column)
    edges = []
    for t, scores in enumerate(small.edges):
        behind = top - (highest[0][t][:, None] + scores + small.nodes[t + 1] + highest[1][t + 1])
        shares = np.exp(summed[0][t][:, None] + scores + small.nodes[t + 1] + summed[1][t + 1] - total)
        for i, j in np.argwhere(shares >= _THIN if model.probabilistic else behind <= _close(behind)).tolist():
            edges.append(
                {
                    "token": t, "from": i, "to": j, "score": float(scores[i, j]), "share": share(float(shares[i, j])),
                    "behind": round(float(behind[i, j]), 6),
                    "best": small.labels[t][i] == best[t] and small.labels[t + 1][j] == best[t + 1],
                }
            )  # fmt: skip
    return {"columns": columns, "edges": edges}


def _close(behind: Reals) -> float:
    """Return how far behind the best an edge of scores that are no probabilities may be to be drawn."""
    near = np.sort(behind[np.isfinite(behind)])
    return float(near[min(len(near) - 1, 7)]) if len(near) else 0.0


def _both_ways(small: _Small, first: Reals, last: Reals, over: Any) -> tuple[list[Reals], list[Reals]]:
    """Return what comes up to each node, itself included, and what comes after it; over: max or log of a sum."""
    to, after = [first], [last]
    for t, scores in enumerate(small.edges):
        to.append(over(to[-1][:, None] + scores, 0) + small.nodes[t + 1])
    for t in range(len(small.edges) - 1, -1, -1):
        after.append(over(small.edges[t] + small.nodes[t + 1] + after[-1], 1))
    return to, after[::-1]


def _word(token: Any) -> str:
    if isinstance(token, str):
        return token
    return str(next(iter(token), ""))
