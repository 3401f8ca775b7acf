"""What a model is, reads and can give, for clients: known when it is opened, not discovered by an error."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from tagwright.data.tokens import TOKENIZERS
from tagwright.decoding.decoders import DecoderRow, decoders
from tagwright.models.bidirectional import BidirectionalModel
from tagwright.models.facts import fact_in, tokenizer_in
from tagwright.models.memm import MemmModel
from tagwright.models.model import Model
from tagwright.models.summary import array_sizes
from tagwright.schemes import scheme_of, span_parts

_ENGLISH = (
    "Time flies like an arrow.", "The dog that I saw saw me too.",
    "They refuse to permit us to obtain the refuse permit.", "They can fish.", "Visiting relatives can be boring.",
)  # fmt: skip
_KNOWN = 0.6  # share of an English sentence's words that a model must know to be shown it
_LABELS = 5  # of whose strongest features an example is made
_FEATURES = 3  # ready-made features per token of an example


def describe(model: Model) -> dict[str, Any]:
    """Return the description of a model, without its name."""
    refused = refused_decoders(model)
    return {
        "learner": fact_in(model.facts, str, "learner"),
        "labels": model.labels,
        "probabilistic": model.probabilistic,
        "explains": "explain" not in model.lacks,
        "columns": model.columns,
        "reads": "features" if model.features is None else "columns" if model.columns > 1 else "text",
        "tokenize": tokenizer_in(model.facts),
        "scheme": _scheme(model),
        "attribution": fact_in(model.facts, str, "attribution"),
        "order": order_of(model),
        "decoders": [row.name for row in decoders() if row.name not in refused],
        "refused": refused,
        "lacks": lacking(model),
        "input": _input(model),
        "examples": _examples(model),
        "card": _card(model),
    }


def order_of(model: Model) -> int:
    """Return how many labels back the scores of a model look."""
    if isinstance(model, BidirectionalModel):
        return max(order_of(model.left), order_of(model.right))
    if isinstance(model, MemmModel):
        return model.order
    ngrams = model.arrays.get("ngrams.labels")
    if ngrams is not None and len(ngrams):
        return 3 if (ngrams.reshape(-1, 4)[:, 3] != np.iinfo(ngrams.dtype).max).any() else 2
    return int(any(len(model.arrays.get(name, ())) for name in ("edges.score", "corrections.score")))


def lacking(model: Model) -> dict[str, str]:
    """Return what a model cannot give of lattice, probabilities and explanation, with the reasons."""
    made = {name: str(model._lacking(name)) for name in ("lattice", "explain") if name in model.lacks}
    if not model.probabilistic:
        made["probabilities"] = str(model._lacking("probabilities"))
    if isinstance(model, MemmModel) and model.order > 1:
        made["lattice"] = f"a MEMM that looks back at {model.order} labels is not a lattice; train one with history=1"
    return made


def refused_decoders(model: Model) -> dict[str, str]:
    """Return the names of the decoders that a model cannot use, with the reasons."""
    found = {row.name: _refusal(model, row) for row in decoders()}
    return {name: why for name, why in found.items() if why}


def _refusal(model: Model, row: DecoderRow) -> str:
    if row.maximises != "score" and not model.probabilistic:
        return str(model._lacking("probabilities"))
    if isinstance(model, BidirectionalModel):
        return next((why for side in (model.left, model.right) if (why := _refusal(side, row))), "")
    if isinstance(model, MemmModel):
        beam = row.name in ("auto", "beam")
        return "" if beam or model.order <= 1 else f"{lacking(model)['lattice']}, or use auto or a beam"
    if not row.ngrams and model.edges.ngrams:
        return f"decoder '{row.name}' cannot handle the label n-grams of the model"
    return ""


def _scheme(model: Model) -> str | None:
    """Return the scheme by which labels mark spans, if they do."""
    where, parts = span_parts(model.labels) or ("", [])
    return scheme_of({prefix for prefix, _ in parts}) if where == "whole label" else None


def _input(model: Model) -> dict[str, Any]:
    """Return what a sentence consists of."""
    if model.features is None:
        return {"kind": "features", "split": None, "detached": None, "columns": []}
    features, split = model.features, tokenizer_in(model.facts) or "whitespace"
    count = max(model.columns, fact_in(model.facts, int, "columns") or 0)
    columns = []
    for index in range(count):
        templates = features.readers(index)
        columns.append({"column": index + 1, "index": index, "read": bool(templates), "templates": templates})
    text = model.columns <= 1
    pieces = TOKENIZERS[split].spans("arrow.")
    return {
        "kind": "text" if text else "columns",
        "split": split if text else None,
        "detached": len(pieces) > 1 if text else None,
        "columns": columns,
    }


def _examples(model: Model) -> list[str]:
    """Return sentences to try, as a person would type them; those that a model's facts hold go first."""
    given = fact_in(model.facts, list, "examples") or []
    made = [text for text in given if isinstance(text, str) and text.strip()]
    if made:
        return made
    if isinstance(model, BidirectionalModel):
        return _examples(model.left)
    if model.features is None:
        return _joined([json.dumps(tokens, ensure_ascii=False) for tokens in [_strongest_features(model)] if tokens])
    if model.columns <= 1 and (split := tokenizer_in(model.facts)) is not None:
        spans = TOKENIZERS[split].spans
        known = [[bool(model.knows(text[begin:end])) for begin, end in spans(text)] for text in _ENGLISH]
        if sum(map(sum, known)) >= _KNOWN * sum(map(len, known)):
            return list(_ENGLISH)
    rows = _strongest_cells(model)
    return _joined(["\n".join("\t".join(row) for row in rows) if model.columns > 1 else " ".join(r[0] for r in rows)])


def _joined(texts: Sequence[str]) -> list[str]:
    return [text for text in texts if text.strip()]


def _strongest_cells(model: Model) -> list[list[str]]:
    """Return a row of cells for each of some labels: in each column what speaks most for the label."""
    assert model.features is not None
    prefixes = [model.features.cell_prefix(column) for column in range(max(1, model.columns))]
    rows = []
    for label in model.labels[:_LABELS]:
        own = model.weights(label, 5000)
        row = []
        for prefix in prefixes:
            names = (one.feature.removeprefix(prefix) for one in own if prefix and one.feature.startswith(prefix))
            row.append(next((name for name in names if name and not name.startswith("_B") and name.split()), "_"))
        rows.append(row)
    return [row for row in rows if row[0] != "_" or len(row) > 1]


def _strongest_features(model: Model) -> list[list[str]]:
    """Return a token of ready-made features for each of some labels."""
    return [[one.feature for one in model.weights(label, _FEATURES)] for label in model.labels[:_LABELS]]


def _card(model: Model) -> dict[str, Any]:
    """Return sizes, and what is known of the training."""
    facts = model.facts
    measured = [entry["dev"] for entry in model.history if "dev" in entry]
    return {
        "learner": fact_in(facts, str, "learner"),
        "order": order_of(model),
        "constraints": _constraints(model),
        "labels": len(model.labels),
        "templates": None if model.features is None else len(model.features.templates),
        **{"features": 0, "weights": 0, "edges": 0, "ngrams": 0},
        **array_sizes(model),
        "bytes": sum(array.nbytes for array in model.arrays.values()),
        "dev": measured[-1] if measured else None,
        **{name: fact_in(facts, int, name) for name in ("sentences", "tokens")},
        "tokenize": tokenizer_in(facts),
        "columns": model.columns,
        "version": fact_in(facts, str, "version"),
    }


def _constraints(model: Model) -> list[str]:
    """Return the rules that every labelling keeps to, in words."""
    own = model.constraints
    made = []
    if own is not None:
        made = [*(rule.name for rule in own.rules), *(rule.name for rule in own.counts)]
        if len(own.forbidden):
            made.append(f"{len(own.forbidden):,} forbidden pairs")
        if own.words is not None:
            made.append(f"tag dictionary of {len(own.words):,} words")
    if isinstance(model, MemmModel) and model.soft is not None and model.soft.words is not None:
        made.append(f"tag dictionary of {len(model.soft.words):,} words")
    return made
