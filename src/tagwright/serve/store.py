"""The models of a server, by name: opened in the background, and opened again when their files are replaced."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from tagwright import system
from tagwright.constraints.constraints import Constraints
from tagwright.models.facts import tokenizer_in
from tagwright.models.file import LARGE_FILE, ModelError
from tagwright.models.model import BUILT_IN, Model, load
from tagwright.serve.description import describe
from tagwright.serve.errors import Problem
from tagwright.serve.metrics import Metrics
from tagwright.serve.settings import Settings

log = logging.getLogger("tagwright.serve")

Stamp = tuple[int, int, int]

_RULES = 4  # constraints that are kept per model; each may have as many edges as the model


@dataclass
class Served:
    """A model under its name. A request keeps the model it began with, whatever is opened meanwhile."""

    name: str
    path: str
    model: Model | None = None
    stamp: Stamp | None = None
    """Of the file that the model came from, or that could not be read."""
    opened: int = 0
    """How often a file was read."""
    description: dict[str, Any] = field(default_factory=dict)
    """Of the model; see `tagwright.serve.description`."""
    tokenizer: str | None = None
    """With which the model was trained, as far as it is known."""
    rules: dict[str, Constraints] = field(default_factory=dict)
    """Constraints of recent requests, by their JSON."""

    def take(self, model: Model, description: dict[str, Any]) -> None:
        """Replace the model; later requests use it."""
        self.rules, self.model, self.description, self.opened = {}, model, description, self.opened + 1
        self.tokenizer = tokenizer_in(model.facts)

    def constraints(self, model: Model, options: Mapping[str, Any]) -> Constraints:
        """Return the constraints of a request, from a bounded cache; ValueError where they are wrong."""
        key = json.dumps(options, sort_keys=True)
        held = self.rules
        found = held.get(key)
        if found is None or found.labels != model.labels:
            found = Constraints(model.labels, **options)
            while len(held) >= _RULES:
                held.pop(next(iter(held)), None)
            held[key] = found
        return found


class Store:
    """All models of a server."""

    def __init__(self, settings: Settings, metrics: Metrics | None = None) -> None:
        self.settings, self.metrics = settings, metrics or Metrics()
        self.served = {name: Served(name, os.fspath(path or BUILT_IN)) for name, path in settings.models}
        self.first = next(iter(self.served))

    @property
    def ready(self) -> bool:
        """Whether every model is open."""
        return all(own.model is not None for own in self.served.values())

    def find(self, name: str | None) -> tuple[Served, Model]:
        """Return a model and what it is served as; None is the first one's name."""
        own = self.served.get(self.first if name is None else name)
        if own is None:
            raise Problem(404, "there is no model of this name", "model", f"take one of {', '.join(self.served)}")
        if own.model is None:
            raise Problem(503, "the model is not open yet", "model", "try again in a second", retry=1)
        return own, own.model

    async def open(self) -> None:
        """Read all models; ModelError or OSError for the first that cannot be read."""
        for own in self.served.values():
            await self._read(own)

    async def reopen(self, changed_only: bool) -> None:
        """Read models again: all, or those whose files changed. If one cannot be read, the old one stays in use."""
        for own in self.served.values():
            if changed_only and _stamp(own.path) in (own.stamp, None):
                continue
            try:
                await self._read(own)
                log.info("%s: opened again from %s", own.name, own.path)
            except (OSError, ValueError, MemoryError) as error:
                log.warning("%s: %s; the model that was open stays in use", own.name, error)

    async def watch(self) -> None:
        """Check the files for changes, until the server stops."""
        while self.settings.watch:
            await asyncio.sleep(self.settings.watch)
            await self.reopen(changed_only=True)

    async def _read(self, own: Served) -> None:
        stamp = own.stamp = _stamp(own.path)
        began = time.perf_counter()
        try:
            found = await asyncio.to_thread(_opened, own, stamp, self.settings.copies)
        except Exception:
            self.metrics.not_opened(own.name)
            raise
        seconds = time.perf_counter() - began
        self.metrics.opened(own.name, seconds, 0 if stamp is None else stamp[2])
        log.info("%s: open after %.2f s", own.path, seconds)
        own.take(*found)


def _opened(own: Served, stamp: Stamp | None, folder: str | None) -> tuple[Model, dict[str, Any]]:
    """Return a model, ready to tag, and its description; it does not depend on its file any more.

    A file that is mapped must not be written over in place: the process would end with a bus error. Files are therefore
    read into memory; worker processes, which share the memory of large models, map a copy in a folder of their own.
    """
    if folder is None or stamp is None or stamp[2] <= LARGE_FILE:
        model = load(own.path, map_large=False)
    else:
        copy = _copy(own, stamp, folder)
        try:
            model = load(copy)
        except ValueError as error:
            copy.unlink(missing_ok=True)  # the file was perhaps being written
            raise ModelError(str(error).replace(str(copy), own.path)) from None
    with contextlib.suppress(ValueError):  # of a kind that has no edges
        model.edges.prepare()
    return model, describe(model)


def _copy(own: Served, stamp: Stamp, folder: str) -> Path:
    """Return a copy of a model file, the same for all processes that use the folder."""
    name = sha256(own.name.encode()).hexdigest()[:16]
    copy = Path(folder, f"{name}-{'-'.join(map(str, stamp))}")
    with _locked(Path(folder, name)):
        if not copy.exists():
            for older in Path(folder).glob(f"{name}-*"):
                older.unlink()  # processes that have mapped it keep it
            making = Path(folder, f"{name}-new")
            shutil.copyfile(own.path, making)
            making.rename(copy)
    return copy


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Wait until no other process holds the lock of this name, then hold it."""
    with path.open("a") as file:
        while True:
            try:
                system.lock(file.fileno())
                break
            except BlockingIOError:
                time.sleep(0.02)
        yield


def _stamp(path: str) -> Stamp | None:
    """Return what changes when a file is replaced; None if it does not exist."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size
