"""Corpora of the command line: one or several files, folders, or standard input; in memory or streamed."""

from __future__ import annotations

import inspect
import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from tagwright.cli.learners import FitCall
from tagwright.cli.logging import log
from tagwright.data.files import Input, inputs_of
from tagwright.learners.streams import Files

_LARGE = 32 << 20  # bytes of files that are held in memory, with their encoded features
_PACKED = 8  # times as large as they are when packed


def fit(
    training: FitCall, paths: Sequence[str], reading: dict[str, Any], partial: bool, dev: Any, progress: bool | None
) -> tuple[int, int]:
    """Train on files, folders or standard input; return the number of sentences and of tokens.

    reading: format, label and comments, which the model records; partial: whether a label may be a list, or ``_``.
    """
    learner, cache = training.learner, training.cache
    known = inspect.signature(learner.fit).parameters
    run = training.run | ({"progress": progress} if "progress" in known else {})
    if cache or (hasattr(learner, "fit_files") and _is_large(paths)):
        _check_stdin(paths, "cannot be kept in --set cache")
        learner.fit_files(paths, dev, **reading, partial=partial, cache=cache, **run)
        facts = learner.model_.facts
        return facts["sentences"], facts["tokens"]
    X, y, blanks = read_corpora(paths, reading, partial)
    learner.fit(X, y, **({"dev": dev} if "dev" in known else {}), **run)
    learner.model_.facts["data"] = {**reading, "blanks": blanks}
    return len(X), sum(map(len, y))


def read_corpora(
    paths: Sequence[str], reading: dict[str, Any], partial: bool = False
) -> tuple[Sequence[list[list[str]]], Sequence[list[Any]], int | None]:
    """Return the rows and labels of all sentences, and the number of columns where blanks separate them."""
    if len(paths) > 1:
        _check_stdin(paths, "cannot be one of several corpora")
    stream = Files([Input(Path("-"), "-")] if "-" in paths else inputs_of(paths), reading, partial)
    log.debug("reading %s", ", ".join(paths))
    began = time.perf_counter()
    X, y = stream.held()
    tokens = sum(map(len, y))
    log.debug("read %s sentences, %s tokens in %.1f s", f"{len(X):,}", f"{tokens:,}", time.perf_counter() - began)
    return X, y, stream.blanks


def written(context: click.Context, options: Iterable[str]) -> set[str]:
    """Return which options were written on the command line."""
    return {name for name in options if context.get_parameter_source(name) == click.core.ParameterSource.COMMANDLINE}


def _check_stdin(paths: Sequence[str], why: str) -> None:
    if "-" in paths:
        raise click.ClickException(f"standard input (-) {why}; name files")


def _is_large(paths: Sequence[str]) -> bool:
    """Return whether files are better not held in memory, by their sizes."""
    if "-" in paths:
        return False
    sizes = ((os.path.getsize(file.path), file.path.suffix in (".gz", ".xz")) for file in inputs_of(paths))
    return sum(size * (_PACKED if packed else 1) for size, packed in sizes) > _LARGE
