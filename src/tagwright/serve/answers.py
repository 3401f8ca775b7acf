"""What the server answers: labellings, explanations and what it says of its models, as JSON has them."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tagwright.constraints.constraints import Constraints
from tagwright.data.tokens import TOKENIZERS
from tagwright.decoding.decode import Decoding, decode
from tagwright.decoding.decoders import decoders, plan
from tagwright.decoding.edges import Edges
from tagwright.decoding.marginals import marginals
from tagwright.decoding.spans import spans
from tagwright.models.as_json import finite, labelling
from tagwright.models.explanation import told as explanation
from tagwright.models.facts import fact_in, tokenizer_in
from tagwright.models.linear import LinearModel
from tagwright.models.model import Lattice, Model, Tagging
from tagwright.schemes import PREFIXES, find_spans, scheme_of, span_parts
from tagwright.serve.errors import Problem
from tagwright.serve.request import Labels, Request
from tagwright.serve.store import Served, Store

__all__ = [
    "blamed",
    "dumped",
    "explained",
    "lattice_of",
    "list_models",
    "restricted",
    "searched",
    "tagged",
    "tokenized",
]

_MOST_SCORES = 8_000_000  # node scores of a lattice that is made for one request


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def dumped(told: Any) -> bytes:
    """Return JSON; half characters, which UTF-8 cannot write, as escapes."""
    try:
        return _encode(told).encode()
    except UnicodeEncodeError:
        return json.dumps(told, separators=(",", ":"), allow_nan=False).encode()


class blamed:  # noqa: N801 - reads as a verb: with blamed("text"): ...
    """Turns what the core refuses into a Problem with this part of the request."""

    __slots__ = ("where",)

    def __init__(self, where: str) -> None:
        """Keep the name of the part."""
        self.where = where

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        """Look at the error, if there is one."""
        if isinstance(error, MemoryError):
            raise Problem(413, str(error)[:300] or "out of memory", self.where, "send shorter sentences") from None
        if isinstance(error, ValueError | TypeError | OverflowError):
            raise Problem(422, str(error)[:500], self.where, "see GET /v1/models for what the model reads") from None


def tokenized(asked: Request, model: Model) -> None:
    """Split the text of a request, if it has one, as the model was trained."""
    if asked.text is None:
        return
    if model.features is None:
        raise Problem(422, "the model reads ready-made features, not text", "text", "send sentences of features")
    if model.columns > 1:
        raise Problem(422, f"the model reads {model.columns} columns per token", "text", "send sentences of columns")
    split = TOKENIZERS[asked.tokenize or tokenizer_in(model.facts) or "whitespace"].sentences
    asked.offsets, at = [], 0
    for line in asked.text.split("\n"):
        for found in split(line):
            asked.sentences.append([line[begin:end] for begin, end in found])
            asked.offsets.append([(at + begin, at + end) for begin, end in found])
        at += len(line) + 1


def tagged(asked: Request, served: Served, model: Model, found: Sequence[Sequence[Tagging]]) -> dict[str, Any]:
    """Return the answer to a request whose sentences were tagged by an exact decoder, or a beam."""
    exact = plan(asked.decoder).row.exact if isinstance(model, LinearModel) else None
    facts = {"exact": exact, "gap": 0.0 if exact else None}
    return _answer(asked, served, model, [(taggings, facts) for taggings in found])


def searched(asked: Request, served: Served, model: Model) -> dict[str, Any]:
    """Return the answer to a request with a deadline, rules for labels, or the question how much work it is."""
    made = []
    if asked.proba:
        with blamed("proba"):
            model.need_probabilities()
    for s in range(len(asked.sentences)):
        lattice = lattice_of(asked, served, model, s)
        with blamed(f"sentences[{s}]"):
            found = decode(*lattice[:2], asked.k, asked.decoder, active=lattice[2], deadline=asked.deadline)
            taggings = _taggings(model, lattice, found, asked.proba)
        facts: dict[str, Any] = {"exact": found.exact, "gap": finite(found.gap)}
        if asked.work:
            facts["work"] = found.work._asdict()
        if asked.spans:
            with blamed("spans"):
                facts["spans"] = _spans(model, lattice if asked.proba else None, taggings[0])
        made.append((taggings, facts))
    return _answer(asked, served, model, made)


def lattice_of(asked: Request, served: Served, model: Model, s: int) -> Lattice:
    """Return the scores of a sentence, -inf for what is not allowed."""
    sentence = asked.sentences[s]
    if len(sentence) * len(model.labels) > _MOST_SCORES:
        most = _MOST_SCORES // len(model.labels)
        raise Problem(413, "the sentence is too long for this", f"sentences[{s}]", f"send at most {most:,} tokens")
    with blamed(f"sentences[{s}]"):
        lattice = model.lattice(sentence)
    if asked.constraints:
        with blamed("constraints"):
            lattice = _constrained(lattice, served.constraints(model, asked.constraints), sentence)
    rules = [(name, own[s]) for name in ("allowed", "forbidden") if (own := getattr(asked, name)) and s < len(own)]
    return restricted(lattice, served, rules) if any(own for _, own in rules) else lattice


def _constrained(lattice: Lattice, constraints: Constraints, sentence: Sequence[Any]) -> Lattice:
    """Return scores under rules for pairs of labels, and for the labels of words."""
    nodes, edges, on = lattice
    if constraints.limits_edges:
        edges = Edges._of(edges.constrained(constraints))
    if constraints.words is not None:
        nodes = nodes.copy()
        for t, own in enumerate(constraints.allowed(sentence)):
            if own is not None:
                nodes[t, np.setdiff1d(np.arange(nodes.shape[1]), own)] = -np.inf
    return Lattice(nodes, edges, on)


def restricted(lattice: Lattice, served: Served, rules: Sequence[tuple[str, Labels]]) -> Lattice:
    """Return scores without those that tokens must not have."""
    nodes = lattice.nodes.copy()
    for name, own in rules:
        for t, labels in own.items():
            if t >= len(nodes):
                raise Problem(422, f"{name} names token {t} of {len(nodes)}", name, "tokens are counted from 0")
            chosen = np.zeros(nodes.shape[1], bool)
            for label in labels:
                if label not in served.numbers:
                    raise Problem(422, "the model has no such label", f"{name}[{t}]", "GET /v1/models lists its labels")
                chosen[served.numbers[label]] = True
            nodes[t, ~chosen if name == "allowed" else chosen] = -np.inf
            if not np.isfinite(nodes[t]).any():
                raise Problem(422, f"no label is left for token {t}", f"{name}[{t}]", "allow another, or forbid fewer")
    return Lattice(nodes, lattice.edges, lattice.active)


def _taggings(model: Model, lattice: Lattice, found: Decoding, proba: bool) -> list[Tagging]:
    sums = marginals(lattice.nodes, lattice.edges, active=lattice.active) if proba else None
    made = []
    for path in found.paths:
        own = path.labels.tolist()
        names = [model.labels[y] for y in own]
        more: tuple[Any, ...] = ()
        if sums is not None:
            logarithm = min(path.score - sums.log_z, 0.0)
            more = (math.exp(logarithm), sums.nodes[np.arange(len(own)), own].tolist(), logarithm)
        made.append(Tagging(names, path.score, *more))
    return made


def _answer(
    asked: Request, served: Served, model: Model, found: Sequence[tuple[Sequence[Tagging], dict[str, Any]]]
) -> dict[str, Any]:
    sentences = []
    for s, (taggings, facts) in enumerate(found):
        told: dict[str, Any] = {}
        if asked.offsets is not None:
            told = {"tokens": asked.sentences[s], "offsets": asked.offsets[s]}
        told |= labelling(taggings[0])
        told |= facts
        if asked.k > 1:
            told["kbest"] = list(map(labelling, taggings))
        if asked.spans and "spans" not in facts:
            told["spans"] = _spans(model, None, taggings[0])
        sentences.append(told)
    return {"model": served.name, "sentences": sentences}


def _spans(model: Model, lattice: Lattice | None, tagging: Tagging) -> list[dict[str, Any]]:
    """Return the spans of the best labelling, such as B-NP I-NP; with their probabilities where sums are known."""
    read = span_parts(model.labels)
    if read is None:
        raise Problem(422, "the model's labels are not those of spans, such as B-NP", "spans", "leave spans out")
    if lattice is not None:
        return [span._asdict() for span in spans(*lattice[:2], model.labels, active=lattice.active)]
    part = dict(zip(model.labels, read[1], strict=True))
    parts = [*(part[label] for label in tagging.labels), ("O", "")]
    numbers = {name: n for n, name in enumerate(dict.fromkeys(name for _, name in parts))}
    prefixes = np.array([PREFIXES.index(prefix) for prefix, _ in parts])
    last, first = find_spans(prefixes, np.array([numbers[name] for _, name in parts]))
    ends = np.flatnonzero(last).tolist()
    return [{"label": parts[end][1], "start": int(first[end]), "end": end + 1} for end in ends]


def chosen(asked: Request) -> None:
    """Leave the one sentence of a request that it is about."""
    if asked.sentence >= len(asked.sentences):
        what = f"there is no sentence {asked.sentence}: there are {len(asked.sentences)}"
        raise Problem(422, what, "sentences", "send one; they are counted from 0")
    asked.sentences = [asked.sentences[asked.sentence]]
    if asked.offsets is not None:
        asked.offsets = [asked.offsets[asked.sentence]]


def explained(asked: Request, served: Served, model: Model) -> dict[str, Any]:
    """Return why a token of a sentence has its label."""
    chosen(asked)
    sentence = asked.sentences[0]
    if asked.token >= len(sentence):
        raise Problem(422, f"token {asked.token} of a sentence of {len(sentence)}", "token", "they are counted from 0")
    if not isinstance(model, LinearModel):
        with blamed("model"):
            model.explain(sentence, asked.token)  # says why it cannot
    lattice = lattice_of(asked, served, model, 0)
    with blamed("sentences[0]"):
        assert isinstance(model, LinearModel)
        found = model.explain(sentence, asked.token, asked.labels, lattice=lattice)
    return {"model": served.name, **explanation(found)}


def _scheme(model: Model) -> str | None:
    """Return the scheme by which labels mark spans, if they do."""
    where, parts = span_parts(model.labels) or ("", [])
    return scheme_of({prefix for prefix, _ in parts}) if where == "whole label" else None


def list_models(store: Store) -> dict[str, Any]:
    """Return what models there are, and how they may be asked."""
    models = []
    for name, served in store.served.items():
        told: dict[str, Any] = {"name": name, "ready": served.model is not None, "opened": served.opened}
        if (model := served.model) is not None:
            told |= {
                "learner": fact_in(model.facts, str, "learner"),
                "labels": model.labels,
                "probabilistic": model.probabilistic,
                "explains": isinstance(model, LinearModel),
                "columns": model.columns,
                "reads": "features" if model.features is None else "columns" if model.columns > 1 else "text",
                "tokenize": tokenizer_in(model.facts),
                "scheme": _scheme(model),
                "attribution": fact_in(model.facts, str, "attribution"),
            }
        models.append(told)
    rows = [
        {"name": row.name, "exact": row.exact, "kbest": row.kbest, "deadline": row.deadline, "paper": row.paper}
        for row in decoders()
    ]
    settings = store.settings
    limits = {"body": settings.body, "tokens": settings.tokens, "k": settings.k, "timeout": settings.timeout}
    told = {"models": models, "default": store.first, "decoders": rows, "tokenizers": list(TOKENIZERS)}
    return {**told, "limits": limits}
