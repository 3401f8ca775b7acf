"""The description of the interface, as OpenAPI 3.1 has it."""

from __future__ import annotations

from typing import Any

from tagwright import __version__
from tagwright.data.tokens import TOKENIZERS
from tagwright.serve.gate import NEED_TOKEN
from tagwright.serve.settings import Settings

_STRINGS = {"type": "array", "items": {"type": "string"}}
_PER_TOKEN = {
    "description": "For each sentence, labels by token: a list with null for tokens without, or an object by number.",
    "type": "array",
    "items": {
        "oneOf": [
            {"type": "array", "items": {"oneOf": [_STRINGS, {"type": "null"}]}},
            {"type": "object", "additionalProperties": _STRINGS},
            {"type": "null"},
        ]
    },
}
_TOKEN = {
    "oneOf": [
        {"type": "string", "description": "a word"},
        {**_STRINGS, "description": "columns; or ready-made features, each of value 1"},
        {"type": "object", "description": "ready-made features with values"},
    ]
}


_COUNTS = {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}}


def _request(settings: Settings, more: dict[str, Any]) -> dict[str, Any]:
    shared = {
        "text": {"type": "string", "description": "Raw text; give this or sentences."},
        "sentences": {"type": "array", "items": {"type": "array", "items": _TOKEN}},
        "model": {"type": "string", "description": "Its name; by default the first."},
        "tokenize": {"enum": list(TOKENIZERS), "description": "How text is split; by default as in training."},
        "decoder": {"type": "string", "default": "auto", "description": "As in info --decoders, such as beam:16."},
        "k": {"type": "integer", "minimum": 1, "maximum": settings.k, "default": 1},
        "deadline_ms": {"type": "number", "minimum": 0, "maximum": settings.timeout * 1000},
        "allowed": {**_PER_TOKEN, "title": "labels that tokens may have"},
        "forbidden": {**_PER_TOKEN, "title": "labels that tokens must not have"},
        "constraints": {
            "type": "object",
            "description": "The arguments of tw.Constraints.",
            "properties": {
                "scheme": {"type": "string"},
                "part": {"type": "integer"},
                "sep": {"type": "string"},
                "forbid": {"type": "array", "items": _STRINGS},
                "start": _STRINGS,
                "stop": _STRINGS,
                "words": {"type": "object", "additionalProperties": _STRINGS},
                "unknown": _STRINGS,
                "once": {"oneOf": [_STRINGS, {"const": True}], "description": "Types of at most one span; true: all."},
                "at_most": _COUNTS,
                "at_least": _COUNTS,
                "same": {"type": "integer", "minimum": 0, "description": "A part that all labels share."},
            },
            "additionalProperties": False,
        },
    }
    schema = {"type": "object", "properties": {**shared, **more}, "additionalProperties": False}
    return {"required": True, "content": {"application/json": {"schema": schema}}}


def described(settings: Settings) -> dict[str, Any]:
    """Return the description."""
    labelling = {
        "labels": _STRINGS,
        "score": {"type": ["number", "null"]},
        "probability": {"type": "number", "description": "of the whole labelling, with proba"},
        "marginals": {"type": "array", "items": {"type": "number"}, "description": "of each label, with proba"},
    }
    sentence = {
        "tokens": {**_STRINGS, "description": "of text"},
        "offsets": {"type": "array", "description": "of text: begin and end of each token, in characters"},
        **labelling,
        "exact": {"type": ["boolean", "null"], "description": "whether the answer is proven; null if not known"},
        "gap": {"type": ["number", "null"], "description": "how much better another labelling can be at most"},
        "kbest": {"type": "array", "items": {"type": "object", "properties": labelling}},
        "spans": {"type": "array", "items": {"type": "object"}},
        "work": {"type": "object", "description": "rounds, nodes and edges that the decoder visited"},
    }
    answer = {
        "type": "object",
        "properties": {
            "model": {"type": "string"},
            "sentences": {"type": "array", "items": {"type": "object", "properties": sentence}},
        },
    }
    which = {"sentence": {"type": "integer", "minimum": 0, "default": 0, "description": "which one it is about"}}
    flag = {"type": "boolean", "default": False}
    paths: dict[str, Any] = {
        "/v1/tag": _post(
            "Labels of sentences, best and k best. As application/x-ndjson, one request per line, of any number.",
            _request(settings, {"proba": flag, "spans": flag, "work": flag}),
            answer,
        ),
        "/v1/explain": _post(
            "Why a token of a sentence has its label: contributions that add up to its score.",
            _request(settings, {**which, "token": {"type": "integer", "minimum": 0}, "labels": _STRINGS}),
            {"type": "object"},
        ),
        "/v1/lattice": _post(
            "The k best labellings of a sentence, the part of its lattice that matters, and what rules cost.",
            _request(
                settings,
                {
                    **which,
                    "nodes": {"type": "integer", "minimum": 1, "maximum": 50, "default": 6},
                    "labels": {**_STRINGS, "description": "drawn at every token, whatever their probability"},
                },
            ),
            {"type": "object"},
        ),
    }
    for path, summary in (
        ("/v1/models", "The models, their labels and the decoders."),
        ("/health/live", "Whether the server runs."),
        ("/health/ready", "Whether every model is open; 503 if not."),
        ("/metrics", "Counts, as Prometheus reads them."),
    ):
        paths[path] = {"get": {"summary": summary, "responses": {"200": {"description": "the answer"}}}}
    info = {"title": "tagwright", "version": __version__, "description": "Exact best and k best labellings."}
    components: dict[str, Any] = {"schemas": {"Problem": _PROBLEM}}
    description = {"openapi": "3.1.0", "info": info, "paths": paths, "components": components}
    if settings.secrets:
        components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
        for path, methods in paths.items():
            for method in methods.values():
                method["security"] = [{"token": []}] if path.startswith(NEED_TOKEN) else []
    return description


_TEXT = {"type": "string"}
_PROBLEM = {
    "description": "A problem as RFC 9457 has it, with where it is and how to fix it.",
    "type": "object",
    "properties": {
        "type": _TEXT,
        "title": {**_TEXT, "description": "that of the status"},
        "status": {"type": "integer"},
        "detail": {**_TEXT, "description": "what is wrong"},
        "where": {**_TEXT, "description": "the field, the header or the limit"},
        "fix": {**_TEXT, "description": "what to do"},
        "error": {
            "description": "The same, as versions up to 0.5 had it.",
            "deprecated": True,
            "type": "object",
            "properties": {"what": _TEXT, "where": _TEXT, "fix": _TEXT},
        },
    },
}


def _post(summary: str, request: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    problem = {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}
    responses: dict[str, Any] = {
        "200": {"description": "the answer", "content": {"application/json": {"schema": answer}}}
    }
    for status, text in (
        ("400", "the body is not JSON"),
        ("401", "the server needs a token, and there is none, or a wrong one"),
        ("404", "no such model"),
        ("408", "the body did not come in time"),
        ("413", "too much for one request"),
        ("415", "the body is not in UTF-8"),
        ("421", "the header Host names another server"),
        ("422", "a field is wrong"),
        ("503", "too much to do; see Retry-After"),
    ):
        responses[status] = {"description": text, "content": problem}
    return {"post": {"summary": summary, "requestBody": request, "responses": responses}}
