"""Protection of existing files: what a command may replace, and what only `--force` allows it to replace."""

from __future__ import annotations

import os
from collections.abc import Iterable

import click

from tagwright.data.files import inputs_of
from tagwright.data.output import is_stream
from tagwright.models.file import is_model


def check_model_target(model: str, inputs: Iterable[str | None], force: bool) -> None:
    """Refuse to write a model over an input, or over an existing file that is not a model, unless `force`."""
    check_inputs(model, inputs, force)
    if force or is_stream(model) or not os.path.isfile(model) or os.path.getsize(model) == 0 or is_model(model):
        return
    raise click.ClickException(
        f"{model}: exists and is not a tagwright model, so it is not overwritten; the last argument is the MODEL to "
        "write: name a new file, or overwrite this one with --force"
    )


def check_inputs(output: str, inputs: Iterable[str | None], force: bool) -> None:
    """Refuse to write to a file that the command reads, unless `force`; None and ``"-"`` are no files."""
    if force or is_stream(output) or not os.path.exists(output):
        return
    for path in inputs:
        if path is None or path == "-" or not os.path.exists(path):
            continue
        if any(os.path.exists(own.path) and os.path.samefile(own.path, output) for own in inputs_of(path)):
            raise click.ClickException(
                f"{output}: is also an input and would be overwritten; name another file, or add --force"
            )
