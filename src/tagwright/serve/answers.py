"""Answers of the server as JSON payloads: labellings, explanations and descriptions of its models."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tagwright.data.tokens import TOKENIZERS
from tagwright.decoding.decoders import TABLE, decoders
from tagwright.models.explanation import explanation_json
from tagwright.models.limits import Limits
from tagwright.models.linear import LinearModel
from tagwright.models.model import Model
from tagwright.models.native import core_text
from tagwright.models.tagging import Lattice, TagOptions, TagResult, finite, labelling
from tagwright.schemes import PREFIXES, find_spans, span_parts
from tagwright.serve.errors import Problem
from tagwright.serve.request import Request
from tagwright.serve.store import Served, Store

MOST_SCORES = 8_000_000
"""Node scores of a lattice that is made for one request."""


_PIECE = 64  # entries that are encoded without giving way to other threads

_encoder = json.JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":"), allow_nan=False)


def _text_encoder() -> Callable[[Any], str]:
    """Return `_encoder.encode` without what it makes anew for each value, which takes a third of its time."""
    try:
        encoder: Any = json.encoder
        strings = encoder.encode_basestring
        parts = encoder.c_make_encoder(None, _encoder.default, strings, None, ":", ",", False, False, False)
    except (AttributeError, TypeError):  # in other interpreters
        return _encoder.encode
    return lambda payload: "".join(parts(payload, 0))


_encode = _text_encoder()


def encode(payload: Any) -> bytes:
    """Return JSON; lone surrogates, which UTF-8 cannot write, as escapes."""
    try:
        return _encode(payload).encode()
    except UnicodeEncodeError:
        return json.dumps(payload, separators=(",", ":"), allow_nan=False).encode()


def encode_large(payload: Any) -> bytes:
    """Return the same JSON, encoded in pieces, between which other threads run."""
    return b"".join(_pieces(payload))


def _pieces(value: Any) -> Iterator[bytes]:
    if not _is_long(value):
        yield encode(value)
    elif isinstance(value, dict):
        lead = b"{"
        for name, own in value.items():
            yield lead + encode(name) + b":"
            yield from _pieces(own)
            lead = b","
        yield b"}"
    else:
        lead = b"["
        for at in range(0, len(value), _PIECE):
            part = value[at : at + _PIECE]
            if any(map(_is_long, part)):
                for one in part:
                    yield lead
                    yield from _pieces(one)
                    lead = b","
            else:
                yield lead + encode(part)[1:-1]
                lead = b","
        yield b"]"


def _is_long(value: Any) -> bool:
    """Return whether a value is too long to be encoded at once."""
    if isinstance(value, dict):
        return len(value) > _PIECE or any(map(_is_long, value.values()))
    return isinstance(value, list | tuple) and (len(value) > _PIECE or any(map(_is_long, value)))


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


def by_score(request: Request) -> bool:
    """Return whether the decoder of a request maximises the score, so that its answers may be proven to be the best."""
    row = None if request.decoder == "auto" else TABLE.get(request.decoder.partition(":")[0])
    return row is None or row.maximises == "score"


def check_search(request: Request, served: Served, model: Model) -> None:
    """Raise Problem for a request of what the model cannot give."""
    name = request.decoder.partition(":")[0]
    if request.proba or not by_score(request):
        with blamed("proba" if request.proba else "decoder"):
            model.need_probabilities()
    if why := served.description.get("refused", {}).get(name):
        raise Problem(422, why, "decoder", "take one that GET /v1/models lists for the model")


def tokenize(request: Request, model: Model, tokenizer: str | None) -> None:
    """Split the text of a request, if it has one; tokenizer: that with which the model was trained."""
    if request.text is None:
        return
    if model.features is None:
        raise Problem(422, "the model reads ready-made features, not text", "text", "send sentences of features")
    if model.columns > 1:
        raise Problem(422, f"the model reads {model.columns} columns per token", "text", "send sentences of columns")
    split = TOKENIZERS[request.tokenize or tokenizer or "whitespace"].sentences
    request.offsets, at = [], 0
    for line in request.text.split("\n"):
        for found in split(line):
            request.sentences.append([line[begin:end] for begin, end in found])
            request.offsets.append([(at + begin, at + end) for begin, end in found] if at else found)
        at += len(line) + 1


def tag_options(request: Request, threads: int = 1) -> TagOptions:
    """Return how the sentences of a request are tagged."""
    spans = 0 if request.spans and request.proba else None
    return TagOptions(request.k, request.decoder, threads, request.proba, spans, request.deadline)


def searched(request: Request, served: Served, model: Model) -> dict[str, Any]:
    """Return the answer to a request that is not batched with others: with limits, a deadline, or a count of work."""
    if request.spans and request.proba:
        _need_spans(model)
    check_lists(request)
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


def too_long(model: Model, s: int) -> Problem:
    """Return the problem that sentence s has too many tokens for a lattice of its own."""
    most = MOST_SCORES // len(model.labels)
    return Problem(413, "the sentence is too long for this", f"sentences[{s}]", f"send at most {most:,} tokens")


def lattice_of(request: Request, served: Served, model: Model, s: int) -> Lattice:
    """Return the scores of a sentence under all limits."""
    sentence = request.sentences[s]
    if len(sentence) * len(model.labels) > MOST_SCORES:
        raise too_long(model, s)
    limits = limits_of(request, served, model, s)
    with blamed(f"sentences[{s}]"):
        lists = None if limits.lists is None else limits.lists[0]
        return model.lattice(sentence, constraints=limits.constraints, allowed=lists)


def tagged(request: Request, served: Served, model: Model, found: Sequence[TagResult]) -> dict[str, Any]:
    """Return the answer to a request whose sentences were tagged."""
    if request.spans:
        _need_spans(model)
    # A search over label histories, and an agreement, have no proof that holds for every model. What has the most right
    # tokens to be expected need not have the best score.
    proves = isinstance(model, LinearModel) and by_score(request)
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
            labels, own = result.taggings[0].labels, result.spans
            answer["spans"] = spans_of(model, labels) if own is None else [span._asdict() for span in own]
        sentences.append(answer)
    return {"model": served.name, "sentences": sentences}


def tagged_beside(request: Request, served: Served, model: Model, threads: int) -> dict[str, Any]:
    """Return the answer to a request that is too large to be batched."""
    with blamed("sentences"):
        found = model.tag_results(request.sentences, tag_options(request, threads))
    return tagged(request, served, model, found)


def encoded(work: Callable[..., dict[str, Any]], *given: Any) -> bytes:
    """Return the answer that work computes; for threads."""
    return encode_large(work(*given))


def _need_spans(model: Model) -> None:
    if span_parts(model.labels) is None:
        raise Problem(422, "the model's labels are not those of spans, such as B-NP", "spans", "leave spans out")


def spans_of(model: Model, labels: list[str]) -> list[dict[str, Any]]:
    """Return the spans of a labelling, such as B-NP I-NP."""
    read = span_parts(model.labels)
    assert read is not None
    part = dict(zip(model.labels, read[1], strict=True))
    parts = [*(part[label] for label in labels), ("O", "")]
    numbers = {name: n for n, name in enumerate(dict.fromkeys(name for _, name in parts))}
    prefixes = np.array([PREFIXES.index(prefix) for prefix, _ in parts])
    last, first = find_spans(prefixes, np.array([numbers[name] for _, name in parts]))
    ends = np.flatnonzero(last).tolist()
    return [{"label": parts[end][1], "start": int(first[end]), "end": end + 1} for end in ends]


def check_lists(request: Request) -> None:
    """Raise Problem where there are limits for sentences that are not there."""
    for name in ("allowed", "forbidden"):
        if len(getattr(request, name) or ()) > len(request.sentences):
            what = f"{name} has {len(getattr(request, name))} entries for {len(request.sentences)} sentences"
            raise Problem(422, what, name, "send one per sentence, in their order; null for one without")


def choose_sentence(request: Request) -> None:
    """Keep only the sentence that a request is about, with its limits."""
    at = request.sentence
    check_lists(request)
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
        labels = request.labels or _shown_and_rival(request, model, lattice)
        found = model.explain(sentence, request.token, labels, lattice=lattice)
    return {"model": served.name, **explanation_json(found)}


def _shown_and_rival(request: Request, model: Model, lattice: Lattice) -> list[str] | None:
    """Return the label that a decoder chooses and the best other one; None where the explanation finds them itself."""
    if request.decoder == "auto":
        return None
    shown = lattice.decode(1, request.decoder, request.deadline).paths[0].labels[request.token]
    best = model.explain(request.sentences[0], request.token, lattice=lattice).reasons
    others = [own.label for own in best if own.label != model.labels[shown]]
    return [model.labels[shown], *others[:1]]


def list_models(store: Store) -> dict[str, Any]:
    """Return the models, and what requests may contain."""
    models = []
    for name, served in store.served.items():
        answer: dict[str, Any] = {"name": name, "ready": served.model is not None, "opened": served.opened}
        if served.model is not None:
            answer |= served.description
        models.append(answer)
    rows = [
        {
            "name": row.name, "exact": row.exact, "kbest": row.kbest, "deadline": row.deadline,
            "maximises": row.maximises, "paper": row.paper,
        }
        for row in decoders()
    ]  # fmt: skip
    settings = store.settings
    limits = {"body": settings.body, "tokens": settings.tokens, "k": settings.k, "timeout": settings.timeout}
    answer = {"models": models, "default": store.first, "decoders": rows, "tokenizers": list(TOKENIZERS)}
    return {**answer, "limits": limits}
