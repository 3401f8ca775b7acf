"""Requests, parsed from untrusted JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tagwright.data.tokens import TOKENIZERS, Span
from tagwright.decoding.decoders import plan
from tagwright.serve.errors import Problem
from tagwright.serve.settings import Settings

__all__ = ["Request", "check_size", "check_text", "parse_json", "parse_request"]

Labels: TypeAlias = dict[int, list[str]]
"""Names of labels by token."""

_KEYS = {
    "text", "sentences", "model", "k", "proba", "spans", "decoder", "tokenize", "deadline_ms", "allowed", "forbidden",
    "constraints", "work", "sentence", "token", "labels", "nodes",
}  # fmt: skip
_FLAGS = {"proba", "spans", "work"}
_TEXTS = {"model", "decoder", "tokenize", "text"}
_COUNTS = {"k": (1, 0), "nodes": (1, 50), "sentence": (0, 0), "token": (0, 0)}
_WORDS = frozenset([str])
_LIMITS = {"k": "k", "sentence": "tokens", "token": "tokens"}
"""The settings that limit a number, where nothing else does."""
_PLAIN = {"text", "sentences", "model", "k", "proba"}
_CONSTRAINTS = (
    "scheme", "part", "sep", "forbid", "start", "stop", "words", "unknown", "once", "at_most", "at_least", "same",
)  # fmt: skip


@dataclass
class Request:
    """A request whose form is valid; the model may still refuse it."""

    text: str | None = None
    sentences: list[list[Any]] = field(default_factory=list)
    offsets: list[list[Span]] | None = None
    """Of text: where the tokens of each sentence are, in characters."""
    model: str | None = None
    k: int = 1
    proba: bool = False
    spans: bool = False
    decoder: str = "auto"
    tokenize: str | None = None
    deadline: float | None = None
    allowed: list[Labels] | None = None
    forbidden: list[Labels] | None = None
    constraints: Mapping[str, Any] | None = None
    work: bool = False
    sentence: int = 0
    token: int = 0
    labels: list[str] | None = None
    nodes: int = 6

    @property
    def tokens(self) -> int:
        """How many there are in all sentences."""
        return sum(map(len, self.sentences))

    @property
    def size(self) -> int:
        """How many entries the answer has, roughly: labels, with probabilities twice, and sentences."""
        return self.tokens * self.k * (1 + self.proba) + len(self.sentences)

    @property
    def plain(self) -> bool:
        """Whether many requests like this one can be tagged in one call."""
        rules = self.allowed or self.forbidden or self.constraints
        return not (rules or self.work or self.deadline is not None or (self.spans and self.proba))


def parse_json(body: bytes) -> Any:
    """Return the value of a JSON body; Problem if it is not JSON."""
    try:
        text = body.decode()
        try:
            value, end = _decoder.raw_decode(text)
        except ValueError:
            end = -1
        return value if end == len(text) else _decoder.decode(text)  # allows blanks around it, and names the error
    except RecursionError:
        raise Problem(400, "the body is nested too deeply", "body", "send a flat object; see /openapi.json") from None
    except ValueError as error:  # also of text that is not UTF-8, and of numbers of thousands of digits
        raise Problem(
            400, f"the body is not JSON: {error}"[:300], "body", 'send an object such as {"text": "Time flies."}'
        ) from None


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number")


_decoder = json.JSONDecoder(parse_constant=_no_constant)


def parse_request(payload: Any, settings: Settings) -> Request:
    """Return the request of a JSON object, after a check of everything that does not depend on the model."""
    if not isinstance(payload, dict):
        raise _wrong("body", "must be an object", 'send one such as {"text": "Time flies."}')
    if unknown := payload.keys() - _KEYS:
        raise _wrong(_cut(sorted(unknown)[0]), "is not known", f"leave it out; known are {', '.join(sorted(_KEYS))}")
    request = Request()
    for name in payload:
        if name in _FLAGS:
            setattr(request, name, _typed(payload, name, bool, "true or false"))
        elif name in _TEXTS and payload[name] is not None:
            setattr(request, name, _typed(payload, name, str, "a string"))
        elif name in _COUNTS:
            least, most = _COUNTS[name]
            setattr(request, name, _whole(payload, name, least, most or getattr(settings, _LIMITS[name])))
    if payload.keys() - _PLAIN or request.decoder != "auto":
        _search(request, payload, settings)
    if (request.text is None) == ("sentences" not in payload):
        raise _wrong("text", "or sentences must be there, and not both", 'send "text": "..." or "sentences": [["..."]]')
    if request.text is None:
        request.sentences = _sentences(payload["sentences"])
    return request


def _search(request: Request, payload: dict[str, Any], settings: Settings) -> None:
    """Read the options of the search and the limits of labels."""
    if (deadline := payload.get("deadline_ms")) is not None:
        most = settings.timeout * 1e3
        if type(deadline) not in (int, float) or not 0 <= deadline <= most:
            raise _wrong("deadline_ms", f"must be a number from 0 to {most:.0f}", "send such a number")
        request.deadline = deadline / 1e3
    if request.decoder != "auto":
        try:
            decoder = plan(request.decoder)
        except ValueError as error:
            raise _wrong("decoder", str(error)[:300], "take a name that GET /v1/models lists") from None
        if request.k > 1 and not decoder.row.kbest:
            raise _wrong(
                "k", f"must be 1 for decoder {request.decoder!r}, which gives one labelling", "leave out either"
            )
    if request.tokenize is not None and request.tokenize not in TOKENIZERS:
        raise _wrong("tokenize", "is not a tokeniser", f"take one of {', '.join(TOKENIZERS)}")
    if (names := payload.get("labels")) is not None:
        request.labels = _names("labels", names)
    for name in ("allowed", "forbidden"):
        if payload.get(name):
            setattr(request, name, _per_token(name, payload[name]))
    if (rules := payload.get("constraints")) is not None:
        request.constraints = _constraints(rules) or None


def _constraints(payload: Any) -> dict[str, Any]:
    """Return the arguments of `tw.Constraints`; words are an object: a string would be the path of a file."""
    if not isinstance(payload, dict) or payload.keys() - set(_CONSTRAINTS):
        raise _wrong("constraints", f"must be an object of {', '.join(_CONSTRAINTS)}", "see tw.Constraints")
    kinds = {"scheme": str, "sep": str, "part": int, "words": dict, "at_most": dict, "at_least": dict, "same": int}
    made = {name: value for name, value in payload.items() if value is not None}
    for name, value in made.items():
        if type(value) is not kinds.get(name, list) and not (name == "once" and value is True):
            raise _wrong(f"constraints.{name}", "is of the wrong kind", "see tw.Constraints")
    for name in ("start", "stop", "unknown", "once"):
        if made.get(name, True) is not True:
            _names(f"constraints.{name}", made[name])
    for pair in made.get("forbid", ()):
        if len(_names("constraints.forbid", pair)) != 2:
            raise _wrong("constraints.forbid", "must hold pairs of labels", 'send pairs such as ["DT", "VB"]')
    for word, labels in made.get("words", {}).items():
        _names(f"constraints.words[{_cut(word)!r}]", labels)
    return made


def check_text(request: Request, settings: Settings) -> None:
    """Raise Problem for text that has more than enough characters for all tokens of a request."""
    most = 20 * settings.tokens
    if request.text is not None and len(request.text) > most:
        fix = f"send at most {most:,} characters at once, or stream them as NDJSON"
        raise Problem(413, f"{len(request.text):,} characters are too many for one request", "text", fix)


def check_size(request: Request, settings: Settings) -> None:
    """Raise Problem where there are more tokens, or labels in all answers, than a request may have.

    A sentence without tokens counts as one.
    """
    tokens, empty = request.tokens, request.sentences.count([])
    if tokens + empty > settings.tokens:
        what = f"{tokens:,} tokens" + (f" and {empty:,} empty sentences" if empty else "")
        raise Problem(
            413,
            f"{what} are too many for one request",
            "sentences",
            f"send at most {settings.tokens:,} at once, or stream them as NDJSON",
        )
    if request.k > 1 and request.k * tokens > 20 * settings.tokens:
        raise Problem(
            413,
            f"{request.k} labellings of {tokens:,} tokens are too many for one request",
            "k",
            "send fewer sentences, or a smaller k",
        )


def _sentences(payload: Any) -> list[list[Any]]:
    fix = 'send a list of lists of tokens, as in [["Time", "flies"]]'
    if not isinstance(payload, list) or not all(type(one) is list for one in payload):
        raise _wrong("sentences", "must be a list of lists of tokens", fix)
    for s, sentence in enumerate(payload):
        if _WORDS.issuperset(map(type, sentence)):
            continue
        for t, token in enumerate(sentence):
            if type(token) is str:
                continue
            if not isinstance(token, list | dict):
                raise _wrong(
                    f"sentences[{s}][{t}]", "is not a token", "a token is a string, a list of columns, or features"
                )
            if isinstance(token, list) and not all(isinstance(cell, str) for cell in token):
                raise _wrong(
                    f"sentences[{s}][{t}]", "holds a value that is not a string", "columns and features are strings"
                )
            if isinstance(token, dict) and not all(isinstance(value, str | int | float) for value in token.values()):
                raise _wrong(
                    f"sentences[{s}][{t}]", "has a value that is not a string, number or truth value", "values are such"
                )
    return payload


def _per_token(name: str, payload: Any) -> list[Labels]:
    """Return labels by token of each sentence: from lists with null for tokens without, or objects by token number."""
    fix = 'for each sentence a list such as [null, ["NN"]], or an object such as {"1": ["NN"]}'
    if not isinstance(payload, list):
        raise _wrong(name, "must be a list with one entry per sentence", fix)
    made = []
    for s, own in enumerate(payload):
        pairs: Sequence[tuple[Any, Any]]
        if isinstance(own, dict):
            pairs = [(int(t) if t.isascii() and t.isdigit() and len(t) < 9 else -1, names) for t, names in own.items()]
        elif isinstance(own, list):
            pairs = list(enumerate(own))
        elif own is None:
            pairs = []
        else:
            raise _wrong(f"{name}[{s}]", "must be a list or an object", fix)
        if any(t < 0 for t, _ in pairs):
            raise _wrong(f"{name}[{s}]", "names a token that is not a number from 0", fix)
        made.append({t: _names(f"{name}[{s}][{t}]", names) for t, names in pairs if names is not None})
    return made


def _names(where: str, payload: Any) -> list[str]:
    if not isinstance(payload, list) or not all(isinstance(one, str) for one in payload):
        raise _wrong(where, "must be a list of labels", "labels are strings; GET /v1/models lists them")
    return payload


def _typed(payload: dict[str, Any], name: str, kind: type, text: str) -> Any:
    if type(payload[name]) is not kind:
        raise _wrong(name, f"must be {text}", f"send {text} or leave it out")
    return payload[name]


def _whole(payload: dict[str, Any], name: str, least: int, most: int) -> int:
    value = payload[name]
    if type(value) is not int or not least <= value <= most:
        raise _wrong(name, f"must be a whole number from {least} to {most:,}", "send such a number or leave it out")
    return value


def _wrong(where: str, what: str, fix: str) -> Problem:
    return Problem(422, f"{where} {what}", where, fix)


def _cut(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:60]}..."
