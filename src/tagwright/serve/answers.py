"""Answers of the server as JSON payloads: labellings, explanations and descriptions of its models."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from tagwright.data.tokens import TOKENIZERS
from tagwright.decoding.decoders import decoders
from tagwright.models.explanation import explanation_json
from tagwright.models.facts import fact_in, tokenizer_in
from tagwright.models.limits import Limits
from tagwright.models.linear import LinearModel
from tagwright.models.model import Model
from tagwright.models.native import core_text
from tagwright.models.tagging import Lattice, Tagging, TagOptions, TagResult, finite, labelling
from tagwright.schemes import PREFIXES, find_spans, scheme_of, span_parts
from tagwright.serve.errors import Problem
from tagwright.serve.request import Request
from tagwright.serve.store import Served, Store

_MOST_SCORES = 8_000_000  # node scores of a lattice that is made for one request


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


def encode(payload: Any) -> bytes:
    """Return JSON; lone surrogates, which UTF-8 cannot write, as escapes."""
    try:
        return _encode(payload).encode()
    except UnicodeEncodeError:
        return json.dumps(payload, separators=(",", ":"), allow_nan=False).encode()


class blamed:  # noqa: N801 - reads as a verb: with blamed("text"): ...
    """Turns what the core refuses into a Problem with this part of the request."""

    __slots__ = ("where",)

    def __init__(self, where: str) -> None:
        self.where = where

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if isinstance(error, MemoryError):
            raise Problem(413, str(error)[:300] or "out of memory", self.where, "send shorter sentences") from None
        if isinstance(error, ValueError | TypeError | OverflowError):
            raise Problem(422, str(error)[:500], self.where, "see GET /v1/models for what the model reads") from None


def tokenize(request: Request, model: Model) -> None:
    """Split the text of a request, if it has one, as the model was trained."""
    if request.text is None:
        return
    if model.features is None:
        raise Problem(422, "the model reads ready-made features, not text", "text", "send sentences of features")
    if model.columns > 1:
        raise Problem(422, f"the model reads {model.columns} columns per token", "text", "send sentences of columns")
    split = TOKENIZERS[request.tokenize or tokenizer_in(model.facts) or "whitespace"].sentences
    request.offsets, at = [], 0
    for line in request.text.split("\n"):
        for found in split(line):
            request.sentences.append([line[begin:end] for begin, end in found])
            request.offsets.append([(at + begin, at + end) for begin, end in found])
        at += len(line) + 1


def tag_options(request: Request, threads: int = 1) -> TagOptions:
    """Return how the sentences of a request are tagged."""
    spans = 0 if request.spans and request.proba else None
    return TagOptions(request.k, request.decoder, threads, request.proba, spans, request.deadline)


def searched(request: Request, served: Served, model: Model) -> dict[str, Any]:
    """Return the answer to a request that is not batched with others: with limits, a deadline, or a count of work."""
    if request.proba:
        with blamed("proba"):
            model.need_probabilities()
    if request.spans and request.proba:
        _need_spans(model)
    found = []
    for s, sentence in enumerate(request.sentences):
        limits = limits_of(request, served, model, s)
        with blamed(f"sentences[{s}]"):
            found += model.tag_results([sentence], tag_options(request), limits.constraints, limits.lists)
    return tagged(request, served, model, found)


def limits_of(request: Request, served: Served, model: Model, s: int) -> Limits:
    """Return the limits of the model and of the request for sentence s."""
    with blamed("constraints"):
        own = None if not request.constraints else served.constraints(model, request.constraints)
        limits = model.limits([request.sentences[s]], own)
    by_token = {
        name: labels[s] for name in ("allowed", "forbidden") if (labels := getattr(request, name)) and s < len(labels)
    }
    if not any(by_token.values()):
        return limits
    T, L = len(request.sentences[s]), len(model.labels)
    with blamed(f"sentences[{s}]"):
        known = limits.allowed(core_text([request.sentences[s]], model.features))
    lists: list[Any] = [None] * T if known is None else known.lists()
    for name, labels_of in by_token.items():
        for t, labels in labels_of.items():
            if t >= T:
                raise Problem(422, f"{name} names token {t} of {T}", name, "tokens are counted from 0")
            if unknown := [label for label in labels if label not in limits.labels]:
                what = f"the model has no label {unknown[0][:60]!r}"
                raise Problem(422, what, f"{name}[{t}]", "GET /v1/models lists its labels")
            numbers = {limits.labels[label] for label in labels}
            among = range(L) if name == "allowed" or lists[t] is None else lists[t] or []
            lists[t] = sorted(numbers if name == "allowed" else set(among) - numbers)
            if not lists[t]:
                raise Problem(422, f"no label is left for token {t}", f"{name}[{t}]", "allow another, or forbid fewer")
    return limits._replace(lists=[lists])


def lattice_of(request: Request, served: Served, model: Model, s: int) -> Lattice:
    """Return the scores of a sentence under all limits."""
    sentence = request.sentences[s]
    if len(sentence) * len(model.labels) > _MOST_SCORES:
        most = _MOST_SCORES // len(model.labels)
        raise Problem(413, "the sentence is too long for this", f"sentences[{s}]", f"send at most {most:,} tokens")
    limits = limits_of(request, served, model, s)
    with blamed(f"sentences[{s}]"):
        lists = None if limits.lists is None else limits.lists[0]
        return model.lattice(sentence, constraints=limits.constraints, allowed=lists)


def tagged(request: Request, served: Served, model: Model, found: Sequence[TagResult]) -> dict[str, Any]:
    """Return the answer to a request whose sentences were tagged."""
    if request.spans:
        _need_spans(model)
    # A search over label histories, and an agreement, have no proof that holds for every model.
    proves = isinstance(model, LinearModel)
    sentences = []
    for s, result in enumerate(found):
        answer: dict[str, Any] = {}
        if request.offsets is not None:
            answer = {"tokens": request.sentences[s], "offsets": request.offsets[s]}
        answer |= labelling(result.taggings[0])
        answer |= {"exact": result.exact, "gap": finite(result.gap)} if proves else {"exact": None, "gap": None}
        if request.work:
            answer["work"] = result.work._asdict()
        if request.k > 1:
            answer["kbest"] = list(map(labelling, result.taggings))
        if request.spans:
            own = result.spans
            answer["spans"] = _spans(model, result.taggings[0]) if own is None else [span._asdict() for span in own]
        sentences.append(answer)
    return {"model": served.name, "sentences": sentences}


def _need_spans(model: Model) -> None:
    if span_parts(model.labels) is None:
        raise Problem(422, "the model's labels are not those of spans, such as B-NP", "spans", "leave spans out")


def _spans(model: Model, tagging: Tagging) -> list[dict[str, Any]]:
    """Return the spans of a labelling, such as B-NP I-NP."""
    read = span_parts(model.labels)
    assert read is not None
    part = dict(zip(model.labels, read[1], strict=True))
    parts = [*(part[label] for label in tagging.labels), ("O", "")]
    numbers = {name: n for n, name in enumerate(dict.fromkeys(name for _, name in parts))}
    prefixes = np.array([PREFIXES.index(prefix) for prefix, _ in parts])
    last, first = find_spans(prefixes, np.array([numbers[name] for _, name in parts]))
    ends = np.flatnonzero(last).tolist()
    return [{"label": parts[end][1], "start": int(first[end]), "end": end + 1} for end in ends]


def choose_sentence(request: Request) -> None:
    """Keep only the sentence that a request is about, with its limits."""
    at = request.sentence
    if at >= len(request.sentences):
        what = f"there is no sentence {at}: there are {len(request.sentences)}"
        raise Problem(422, what, "sentences", "send one; they are counted from 0")
    for name in ("sentences", "offsets", "allowed", "forbidden"):
        if (own := getattr(request, name)) is not None:
            setattr(request, name, own[at : at + 1])


def explained(request: Request, served: Served, model: Model) -> dict[str, Any]:
    """Return why a token of a sentence has its label."""
    choose_sentence(request)
    sentence = request.sentences[0]
    if request.token >= len(sentence):
        raise Problem(
            422, f"token {request.token} of a sentence of {len(sentence)}", "token", "they are counted from 0"
        )
    if "explain" in model.lacks:
        with blamed("model"):
            model.explain(sentence, request.token)  # raises the error that names the reason
    lattice = lattice_of(request, served, model, 0)
    with blamed("sentences[0]"):
        found = model.explain(sentence, request.token, request.labels, lattice=lattice)
    return {"model": served.name, **explanation_json(found)}


def _scheme(model: Model) -> str | None:
    """Return the scheme by which labels mark spans, if they do."""
    where, parts = span_parts(model.labels) or ("", [])
    return scheme_of({prefix for prefix, _ in parts}) if where == "whole label" else None


def list_models(store: Store) -> dict[str, Any]:
    """Return the models, and what requests may contain."""
    models = []
    for name, served in store.served.items():
        answer: dict[str, Any] = {"name": name, "ready": served.model is not None, "opened": served.opened}
        if (model := served.model) is not None:
            answer |= {
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
        models.append(answer)
    rows = [
        {"name": row.name, "exact": row.exact, "kbest": row.kbest, "deadline": row.deadline, "paper": row.paper}
        for row in decoders()
    ]
    settings = store.settings
    limits = {"body": settings.body, "tokens": settings.tokens, "k": settings.k, "timeout": settings.timeout}
    answer = {"models": models, "default": store.first, "decoders": rows, "tokenizers": list(TOKENIZERS)}
    return {**answer, "limits": limits}
