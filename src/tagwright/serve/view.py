"""The lattice view of a sentence: its k best labellings, and the nodes and edges that matter."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from tagwright import _core
from tagwright.decoding.decode import Decoding
from tagwright.decoding.keep import KeepRatio
from tagwright.decoding.marginals import Marginals
from tagwright.models.model import Model
from tagwright.models.tagging import Lattice, finite, share, word_of
from tagwright.serve.answers import blamed, choose_sentence, lattice_of
from tagwright.serve.errors import Problem
from tagwright.serve.request import Request
from tagwright.serve.store import Served

_LEFT = 24  # labellings whose labels are in the lattice that is drawn
_LEAST = 0.003  # labels at least this probable are always drawn
_STRONG = 3  # labels by their node scores that are drawn where there are no probabilities
_THIN = 0.002  # probability of an edge that is not drawn
_MANY = 400  # labels from which on sums leave out what is next to nothing

Reals = npt.NDArray[np.float64]


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
        # Nodes and edges are drawn as they are without rules about whole labellings, which only decoders apply.
        plain = lattice.without_labelling_rules()
        probabilistic = model.probabilistic and plain is lattice
        sums = _sums(lattice, len(model.labels)) if probabilistic else None
    drawn = _drawn_labels(lattice, wide, sums, request.nodes, found)
    payload: dict[str, Any] = {
        "model": served.name,
        "decoder": request.decoder,
        "tokens": [word_of(token) for token in request.sentences[0]],
        "exact": found.exact,
        "gap": finite(found.gap),
        "work": found.work._asdict(),
        "seconds": seconds,
        "sentences": count,
        "probabilistic": probabilistic,
        "kbest": [_path(model, path.labels.tolist(), path.score, sums) for path in found.paths],
        **_drawn(model, plain, drawn, sums, found.paths[0].labels.tolist()),
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
        payload["probability"] = share(_core.exp(min(score - sums.log_z, 0.0)))
        payload["marginals"] = [share(p) for p in sums.nodes[np.arange(len(labels)), labels].tolist()]
    return payload


def _drawn_labels(
    lattice: Lattice, wide: Decoding, sums: Marginals | None, most: int, found: Decoding
) -> list[list[int]]:
    """Choose the labels that are drawn: those of the best path, the likely ones, those of the best labellings."""
    labels = []
    for t, scores in enumerate(lattice.nodes):
        chosen = [int(found.paths[0].labels[t])]
        if sums is not None:
            row = sums.nodes[t]
            likely = np.argpartition(-row, min(most, len(row) - 1))[:most]
            chosen += sorted((int(y) for y in likely if row[y] >= _LEAST), key=lambda y: -float(row[y]))
        chosen += [int(path.labels[t]) for path in [*found.paths, *wide.paths]]
        if sums is None:
            strong = np.argpartition(-scores, min(_STRONG, len(scores) - 1))[:_STRONG].tolist()
            chosen += sorted((y for y in strong if np.isfinite(scores[y])), key=lambda y: -scores[y])
        labels.append(list(dict.fromkeys(chosen))[:most])
    return labels


def _edge_scores(lattice: Lattice, labels: list[list[int]]) -> list[Reals]:
    """Return the scores of the edges between the labels that are drawn: [t][i, j]."""
    triples = [(t, i, j) for t, (here, after) in enumerate(pairwise(labels)) for i in here for j in after]
    places = np.array(triples, np.int32).reshape(-1, 3)
    scores = _core.edge_scores(
        lattice.nodes, lattice.edges._core, lattice.active, *(np.ascontiguousarray(places[:, c]) for c in range(3))
    )
    sizes = [(len(here), len(after)) for here, after in pairwise(labels)]
    parts = np.split(np.asarray(scores), np.cumsum([i * j for i, j in sizes])[:-1])
    return [part.reshape(size) for part, size in zip(parts, sizes, strict=True)] if sizes else []


def _drawn(
    model: Model, lattice: Lattice, labels: list[list[int]], sums: Marginals | None, best: list[int]
) -> dict[str, list[Any]]:
    """Return columns of nodes, and edges, with how far the best labelling through each is behind the best of all."""
    through = lattice.through(labels)
    columns = []
    for t, own in enumerate(labels):
        column = []
        for n, y in enumerate(own):
            node = {"label": model.labels[y], "score": finite(float(lattice.nodes[t, y])), "best": y == best[t]}
            node["behind"] = finite(round(float(through.nodes[t][n]), 6))
            if sums is not None:
                node["probability"] = share(float(sums.nodes[t, y]))
            column.append(node)
        columns.append(column)
    edges = []
    for t, scores in enumerate(_edge_scores(lattice, labels)):
        behind, shares = through.edges[t], through.probabilities[t]
        for i, j in np.argwhere(shares >= _THIN if sums is not None else behind <= _close(behind)).tolist():
            edges.append(
                {
                    "token": t, "from": i, "to": j, "score": float(scores[i, j]), "share": share(float(shares[i, j])),
                    "behind": round(float(behind[i, j]), 6),
                    "best": labels[t][i] == best[t] and labels[t + 1][j] == best[t + 1],
                }
            )  # fmt: skip
    return {"columns": columns, "edges": edges}


def _close(behind: Reals) -> float:
    """Return how far behind the best an edge may be to be drawn, where scores are not probabilities."""
    near = np.sort(behind[np.isfinite(behind)])
    return float(near[min(len(near) - 1, 7)]) if len(near) else 0.0
