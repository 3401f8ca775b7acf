"""The view of a sentence: its k best labellings, the nodes and edges that matter, rivals, spans and what rules cost."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tagwright import _core
from tagwright.data.tokens import unsplit
from tagwright.decoding.decode import Work
from tagwright.decoding.keep import KeepRatio
from tagwright.decoding.marginals import Marginals
from tagwright.models.explanation import Rival, rivals
from tagwright.models.limits import Limits
from tagwright.models.linear import LinearModel
from tagwright.models.model import Model
from tagwright.models.tagging import Lattice, Tagging, TagOptions, TagResult, finite, share, word_of
from tagwright.schemes import span_parts
from tagwright.serve.answers import (
    MOST_SCORES,
    blamed,
    by_score,
    choose_sentence,
    lattice_of,
    limits_of,
    spans_of,
    too_long,
)  # fmt: skip
from tagwright.serve.description import lacking
from tagwright.serve.errors import Problem
from tagwright.serve.request import Request
from tagwright.serve.spans import spans_in
from tagwright.serve.store import Served

_LEFT = 24  # labellings whose labels are in the lattice that is drawn
_LEAST = 0.003  # labels at least this probable are always drawn
_STRONG = 3  # labels by their node scores that are drawn where there are no probabilities
_THIN = 0.002  # probability of an edge that is not drawn
_MANY = 400  # labels from which on sums leave out what is next to nothing

_SPAN_SUMS = 2_000_000  # tokens, times labels squared, times spans whose probabilities are summed for label n-grams
_REQUESTED = 500_000  # edges between labels that are drawn on request

Reals = npt.NDArray[np.float64]


class _Found(NamedTuple):
    """The labellings of a sentence."""

    best: list[tuple[list[int], float]]
    """Labels and score of the k best."""
    exact: bool | None
    gap: float | None
    work: Work
    seconds: float


class _Drawn(NamedTuple):
    """What there is of a sentence that is a lattice."""

    lattice: Lattice
    plain: Lattice
    """Without rules about whole labellings, which only decoders apply."""
    sums: Marginals | None
    """None without probabilities."""
    best: list[int]
    """The best labelling."""
    rivals: list[Rival | None] | None
    """At each token; None: too many searches."""


def viewed(request: Request, served: Served, model: Model) -> dict[str, Any]:
    """Return a sentence's labellings, its lattice if it is one, and what follows from them."""
    count = len(request.sentences)
    choose_sentence(request)
    sentence = request.sentences[0]
    if not sentence:
        raise Problem(422, "the sentence is empty", "sentences[0]", "send at least one token")
    if len(sentence) * len(request.labels or ()) ** 2 > _REQUESTED:
        raise Problem(413, "too many labels to draw for so many tokens", "labels", "send fewer, or a shorter sentence")
    words = list(map(word_of, sentence))
    lattice = None
    if isinstance(model, LinearModel) or ("lattice" not in lacking(model) and _fits(sentence, model)):
        lattice = lattice_of(request, served, model, 0)
    elif len(sentence) * len(model.labels) > MOST_SCORES:
        raise too_long(model, 0)
    with blamed("sentences[0]"):
        found = _labellings(request, served, model, lattice)
        drawn = None if lattice is None else _sums(model, lattice)
        cost = _cost(request, model, found, drawn)
        spans = _spans(model, found.best[0][0], drawn)
    sums = None if drawn is None else drawn.sums
    payload: dict[str, Any] = {
        "model": served.name,
        "decoder": request.decoder,
        "maximises": "score" if by_score(request) else "expected right tokens",
        "tokens": words,
        "exact": found.exact,
        "gap": found.gap,
        "work": found.work._asdict(),
        "seconds": found.seconds,
        "sentences": count,
        "probabilistic": sums is not None,
        "lattice": drawn is not None,
        "kbest": [_path(model, words, found.best[0][0], own, sums) for own in found.best],
        "spans": spans,
        "cost": cost,
        "glued": _glued(model, words),
        **(_picture(request, model, drawn, found) if drawn else {"columns": [], "edges": [], "rivals": None}),
    }
    if request.offsets is not None:
        payload["offsets"] = request.offsets[0]
    return payload


def _fits(sentence: Sequence[object], model: Model) -> bool:
    """Return whether the lattice of a MEMM, which has edges of its own at each token, is small enough."""
    return len(sentence) * (len(model.labels) + 1) ** 2 <= MOST_SCORES


def _labellings(request: Request, served: Served, model: Model, lattice: Lattice | None) -> _Found:
    """Return the k best labellings, as tagging returns them."""
    began = time.perf_counter()
    if lattice is not None and isinstance(model, LinearModel):
        found = lattice.decode(request.k, request.decoder, request.deadline)
        seconds = time.perf_counter() - began
        exact, gap = (found.exact, finite(found.gap)) if by_score(request) else (None, None)
        return _Found([(path.labels.tolist(), path.score) for path in found.paths], exact, gap, found.work, seconds)
    limits = limits_of(request, served, model, 0)
    result = _searched(model, request, limits)
    seconds = time.perf_counter() - began
    # A search over label histories, and an agreement, have no proof that holds for every model.
    return _Found(_numbered(model, result.taggings), None, None, result.work, seconds)


def _searched(model: Model, request: Request, limits: Limits) -> TagResult:
    options = TagOptions(request.k, request.decoder, deadline=request.deadline)
    return model.tag_results(limits.X, options, limits.constraints, limits.lists)[0]


def _numbered(model: Model, taggings: Sequence[Tagging]) -> list[tuple[list[int], float]]:
    number = {name: y for y, name in enumerate(model.labels)}
    return [([number[name] for name in own.labels], own.score) for own in taggings]


def _sums(model: Model, lattice: Lattice) -> _Drawn:
    plain = lattice.without_labelling_rules()
    sums = _marginals(model, lattice) if model.probabilistic and plain is lattice else None
    return _Drawn(lattice, plain, sums, *rivals(lattice))


def _marginals(model: Model, lattice: Lattice) -> Marginals:
    return lattice.marginals(KeepRatio(1e-6) if len(model.labels) >= _MANY else None)


def _probability(score: float, sums: Marginals) -> float:
    return share(_core.exp(min(score - sums.log_z, 0.0)))


def _path(
    model: Model, words: list[str], first: list[int], own: tuple[list[int], float], sums: Marginals | None
) -> dict[str, Any]:
    """Return a labelling, and where it differs from the first."""
    labels, score = own
    payload: dict[str, Any] = {"labels": [model.labels[y] for y in labels], "score": finite(score)}
    if sums is not None:
        payload["probability"] = _probability(score, sums)
        payload["marginals"] = [share(p) for p in sums.nodes[np.arange(len(labels)), labels].tolist()]
    total, passed = Counter(words), Counter[str]()
    changes = []
    for t, (word, label, other) in enumerate(zip(words, first, labels, strict=True)):
        passed[word] += 1
        if label != other:
            place = {"token": t, "word": word, "nth": passed[word], "of": total[word]}
            changes.append({**place, "from": model.labels[label], "to": model.labels[other]})
    return {**payload, "changes": changes}


def _cost(request: Request, model: Model, found: _Found, drawn: _Drawn | None) -> dict[str, Any] | None:
    """Return what the rules of a request cost: how much better and how probable labellings are without them."""
    if not (any(request.allowed or ()) or any(request.forbidden or ()) or request.constraints):
        return None
    labels, score = found.best[0]
    sentence = request.sentences[0]
    free = model.lattice(sentence) if drawn is not None else None
    if free is not None and isinstance(model, LinearModel):
        own = free.decode(1, request.decoder, request.deadline).paths[0]
        best, best_score = own.labels.tolist(), own.score
    else:
        limits = model.limits([sentence])
        ((best, best_score),) = _numbered(model, _searched(model, replace(request, k=1), limits).taggings)
    sums = None
    if free is not None and model.probabilistic and free.without_labelling_rules() is free:
        sums = _marginals(model, free)
    possible = free is None or bool(np.isfinite(free.nodes[np.arange(len(labels)), labels]).all())
    within = None  # the probability that a labelling keeps to the rules
    if free is not None and sums is not None and drawn is not None and drawn.sums is not None:
        beyond = np.isfinite(drawn.lattice.nodes) & ~np.isfinite(free.nodes)
        within = None if beyond.any() else _probability(drawn.sums.log_z, sums)
    unconstrained = {
        "labels": [model.labels[y] for y in best],
        "score": finite(best_score),
        "probability": None if sums is None else _probability(best_score, sums),
    }
    probability = None if sums is None else _probability(score, sums) if possible else 0.0
    return {
        "score": finite(best_score - score) if by_score(request) else None, "unconstrained": unconstrained,
        "probability": probability, "rules": within,
    }  # fmt: skip


def _spans(model: Model, labels: list[int], drawn: _Drawn | None) -> list[dict[str, Any]] | None:
    """Return the spans of a labelling, with their probabilities where there are some."""
    if span_parts(model.labels) is None:
        return None
    found = spans_of(model, [model.labels[y] for y in labels])
    if drawn is None or drawn.sums is None:
        return found
    # With label n-grams, each span takes sums over the whole sentence.
    if drawn.lattice.edges.ngrams and len(found) * len(labels) * len(model.labels) ** 2 > _SPAN_SUMS:
        return found
    return [{**own._asdict(), "probability": share(own.probability)} for own in spans_in(drawn.lattice, model, labels)]


def _glued(model: Model, words: list[str]) -> list[dict[str, Any]]:
    """Return the words such as ``arrow.`` that a model does not know, though the mark at their end."""
    if model.features is None:
        return []
    # A word without its mark may be a new one.
    found = ((t, unsplit(word, lambda own: own.isalpha() or bool(model.knows(own)))) for t, word in enumerate(words))
    return [{"token": t, "pieces": pieces} for t, pieces in found if pieces]


def _picture(request: Request, model: Model, drawn: _Drawn, found: _Found) -> dict[str, Any]:
    """Return the part of the lattice that matters, and the rivals."""
    lattice, wide = drawn.lattice, [path for path, _ in found.best]
    most = max(request.k, _LEFT)
    if len(wide) < most and not (found.exact and len(wide) < request.k):
        wide = wide + [path.labels.tolist() for path in lattice.decode(most).paths]
    labels = _drawn_labels(request, model, drawn, wide)
    named = None
    if drawn.rivals is not None:
        named = [one and {"label": model.labels[one.label], "margin": round(one.margin, 6)} for one in drawn.rivals]
    return {**_drawn(model, drawn, labels, found.best[0][0]), "rivals": named}


def _drawn_labels(request: Request, model: Model, drawn: _Drawn, wide: list[list[int]]) -> list[list[int]]:
    """Choose the labels that are drawn.

    Those of the first labelling, of the best and of its rival, and requested ones, always; then the likely ones, and
    those of the best labellings.
    """
    sums, most = drawn.sums, request.nodes
    number = {name: y for y, name in enumerate(model.labels)}
    requested = [number[name] for name in request.labels or () if name in number]
    labels = []
    for t, scores in enumerate(drawn.plain.nodes):
        rival = drawn.rivals[t] if drawn.rivals is not None else None
        must = [wide[0][t], drawn.best[t], *([rival.label] if rival else []), *requested]
        must = list(dict.fromkeys(must))
        chosen = list(must)
        if sums is not None:
            row = sums.nodes[t]
            likely = np.argpartition(-row, min(most, len(row) - 1))[:most]
            chosen += sorted((int(y) for y in likely if row[y] >= _LEAST), key=lambda y: -float(row[y]))
        chosen += [path[t] for path in wide]
        if sums is None:
            strong = np.argpartition(-scores, min(_STRONG, len(scores) - 1))[:_STRONG].tolist()
            chosen += sorted((y for y in strong if np.isfinite(scores[y])), key=lambda y: -scores[y])
        labels.append(list(dict.fromkeys(chosen))[: max(most, len(must))])
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


def _drawn(model: Model, drawn: _Drawn, labels: list[list[int]], best: list[int]) -> dict[str, list[Any]]:
    """Return columns of nodes, and edges, with how far the best labelling through each is behind the best of all."""
    lattice, sums = drawn.plain, drawn.sums
    through = lattice.through(labels)
    columns = []
    for t, own in enumerate(labels):
        column = []
        rival = drawn.rivals[t] if drawn.rivals is not None else None
        for n, y in enumerate(own):
            node = {"label": model.labels[y], "score": finite(float(lattice.nodes[t, y])), "best": y == best[t]}
            node["behind"] = finite(round(float(through.nodes[t][n]), 6))
            node["rival"] = rival is not None and rival.label == y
            if sums is not None:
                node["probability"] = share(float(sums.nodes[t, y]))
            column.append(node)
        columns.append(column)
    edges = []
    for t, scores in enumerate(_edge_scores(lattice, labels)):
        behind, shares = through.edges[t], through.probabilities[t]
        shown = shares >= _THIN if sums is not None else behind <= _close(behind)
        shown = shown | np.outer(np.array(labels[t]) == best[t], np.array(labels[t + 1]) == best[t + 1])
        for i, j in np.argwhere(shown).tolist():
            edges.append(
                {
                    "token": t, "from": i, "to": j, "score": float(scores[i, j]), "share": share(float(shares[i, j])),
                    "behind": finite(round(float(behind[i, j]), 6)),
                    "best": labels[t][i] == best[t] and labels[t + 1][j] == best[t + 1],
                }
            )  # fmt: skip
    return {"columns": columns, "edges": edges}


def _close(behind: Reals) -> float:
    """Return how far behind the best an edge may be to be drawn, where scores are not probabilities."""
    near = np.sort(behind[np.isfinite(behind)])
    return float(near[min(len(near) - 1, 7)]) if len(near) else 0.0
