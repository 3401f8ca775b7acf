"""The log "tagwright" of a running command, on standard error."""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from collections.abc import Iterator

import click

from tagwright.system import peak_memory

log = logging.getLogger("tagwright")


class _Lines(logging.Handler):
    """Lines on standard error; verbose ones begin with seconds since the start and the most memory that was used."""

    def __init__(self, verbose: bool) -> None:
        super().__init__()
        self.verbose, self.began = verbose, time.perf_counter()

    def emit(self, record: logging.LogRecord) -> None:
        line = record.getMessage()
        if self.verbose:
            line = f"[{time.perf_counter() - self.began:7.1f} s {peak_memory() / 1e6:7,.0f} MB]  {line}"
        click.echo(line, err=True)


@contextlib.contextmanager
def show_log(quiet: bool, verbose: bool) -> Iterator[None]:
    """Show the log while a command runs: what a bar does not show, everything if verbose, nothing if quiet."""
    has_bars = sys.stderr is not None and sys.stderr.isatty()
    before = log.level
    handler = _Lines(verbose)
    if not quiet:
        log.addHandler(handler)
        log.setLevel(logging.DEBUG if verbose else logging.WARNING if has_bars else logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        log.setLevel(before)
