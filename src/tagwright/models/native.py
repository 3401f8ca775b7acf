"""What models hand to the core: sentences, templates and scorers as it takes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from tagwright import _core
from tagwright.features.templates import Features
from tagwright.models.file import Arrays

__all__ = ["Sentences", "core_templates", "core_text", "make_scorer"]

Sentences: TypeAlias = Sequence[Sequence[object]]
"""Tokens of each sentence: words, rows of columns, or ready-made features."""


def core_text(X: Sentences, features: Features | None, first: int = 0) -> _core.Text:
    """Return sentences as the core takes them: tokens as text for templates, or as ready-made features.

    first: the number of the first sentence, for messages.
    """
    if features is None:
        return _core.Text.from_ready(X, first)
    return _core.Text.from_rows(X, features.columns, features.reader, first)


def core_templates(features: Features | None) -> _core.Templates:
    """Return templates as the core takes them: none where tokens are given as ready-made features."""
    return features.core if features else _core.Templates()


def make_scorer(
    labels: list[str], templates: _core.Templates, arrays: Arrays, first_only: bool = False
) -> _core.Scorer:
    """Return the core's scorer of tokens; ValueError where labels and arrays do not fit together.

    first_only: whether a token's scores are the row of the first of its features that the model has, as in an HMM.
    """
    if not all(isinstance(name, str) for name in labels) or len(set(labels)) < len(labels):
        raise ValueError("label names must be strings that differ")
    for end in ("start", "stop"):
        if end in arrays and (arrays[end].shape != (len(labels),) or not np.isfinite(arrays[end]).all()):
            raise ValueError(f"{end} must hold a finite score for each label")
    return _core.Scorer(templates, _core.Weights.from_arrays(len(labels), arrays, first_only))
