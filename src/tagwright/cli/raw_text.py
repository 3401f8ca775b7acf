"""Raw text for a model: the tokeniser it was trained with, and what to say about text that does not look like that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

import click

from tagwright.data.sentence import Form, Sentence
from tagwright.data.tokens import unsplit
from tagwright.models.facts import tokenizer_in
from tagwright.models.model import Model

__all__ = ["advised", "tell_guess"]

Batch = TypeVar("Batch", list[Sentence], list[Sentence] | bytes)
"""Sentences, or what they were answered with already."""


def tell_guess(form: Form) -> None:
    """Say on standard error what was guessed of the file, once."""
    if form.note:
        click.echo(f"Note: {form.note}", err=True)
        form.note = ""


def advised(batches: Iterable[Batch], model: Model, tokenize: str) -> Iterator[Batch]:
    """Yield the same; say once on standard error what was guessed of the file, and that tokens are not split."""
    looking = (
        tokenize == "whitespace" and tokenizer_in(model.facts) in (None, "english") and model.knows("") is not None
    )
    for batch in batches:
        if isinstance(batch, bytes):
            yield batch
            continue
        tell_guess(batch[-1].form)
        if looking and (warning := _unsplit(batch, model)):
            click.echo(f"Warning: {warning}", err=True)
            looking = False
        yield batch


def _unsplit(batch: list[Sentence], model: Model) -> str:
    """Return a warning about the first token of text that the model knows in pieces only, or nothing."""
    for sentence in batch:
        if sentence.spans is not None and (pieces := unsplit(sentence.lines[0], lambda word: bool(model.knows(word)))):
            place, known = f"{sentence.form.request.file}:{sentence.first}", " and ".join(map(repr, pieces))
            remedy = "split raw English with --tokenize english, or say --tokenize none if it is split"
            return f"{place}: {''.join(pieces)!r} is one token, but the model knows {known}; {remedy}"
    return ""
