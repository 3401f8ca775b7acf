"""Sentences and templates as the core takes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from tagwright import _core
from tagwright.data.corpus import CorpusRows
from tagwright.features.templates import Features

Sentences: TypeAlias = Sequence[Sequence[object]]
"""Tokens of each sentence: words, rows of columns, or ready-made features."""


def core_text(X: Sentences, features: Features | None, first: int = 0) -> _core.Text:
    """Return sentences as the core takes them: tokens as text for templates, or as ready-made features.

    first: the number of the first sentence, for messages.
    """
    if isinstance(X, CorpusRows) and features is not None and features.columns <= X.text.columns:
        return X.text
    if features is None:
        return _core.Text.from_ready(X, first)
    return _core.Text.from_rows(X, features.columns, features.reader, first)


def core_templates(features: Features | None) -> _core.Templates:
    """Return templates as the core takes them: none where tokens are given as ready-made features."""
    return features.core if features else _core.Templates()
