"""Ray (https://www.ray.io) as the engine: an extra, imported when a training or a tagging uses it."""

from __future__ import annotations

import contextlib
import importlib
import os
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tagwright import checks
from tagwright.cluster.training import Cluster
from tagwright.learners.progress import log

_RESTARTS = 100  # of a worker, before the training fails
_NO_ANSWER = 10.0  # seconds
_A_WHILE = 0.2  # seconds between two checks for Ctrl-C


@dataclass(frozen=True)
class Ray(Cluster):
    """Where a training runs: on the workers of a Ray cluster.

    Machines must have tagwright installed, in the same version. A CRF has the same weights, bit for bit, for any number
    of workers and on one machine. A perceptron is mixed after each epoch, so that its weights depend on their number.

    Parameters
    ----------
    address : str or None
        The address of a running cluster: "auto" for the one of this machine, "ray://host:10001" or "host:6379".
        "local" starts one on this machine for as long as the training lasts. None uses a running one if there is one,
        and else starts one as "local" does, with a warning in the log. A program that has called `ray.init` keeps the
        cluster that it has.
    workers : int
        The number of shards of the corpus; each is held by a worker, which takes as many CPUs as the learner has
        threads.

    Examples
    --------
    >>> from tagwright.cluster import Ray
    >>> Ray(workers=8)
    Ray(address=None, workers=8)
    """

    address: str | None = None
    workers: int = 2

    def check(self) -> None:
        """Check the options, and that Ray is installed."""
        if self.address is not None and (not isinstance(self.address, str) or not self.address):
            raise ValueError(f"cluster: address must be a string such as 'auto', not {checks.shown(self.address)}")
        super().check()
        _ray()

    @contextlib.contextmanager
    def connected(self, threads: int = 1) -> Iterator[RayEngine]:
        """Yield the engine; a cluster that was started for it ends with it."""
        with connected(self.address, self.workers * threads):
            engine = RayEngine()
            try:
                yield engine
            finally:
                engine.close()


def _ray() -> Any:
    try:
        return importlib.import_module("ray")
    except ImportError:
        raise ValueError("Ray is not installed; pip install 'tagwright[ray]'") from None


def _reach(address: str) -> None:
    """Raise an OSError where nothing listens at an address with a port; Ray would wait for minutes."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if host and port.isdecimal() and int(port) < 1 << 16:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=_NO_ANSWER):
            pass


@contextlib.contextmanager
def connected(address: str | None, cpus: int = 1) -> Iterator[Any]:
    """Yield the module `ray`, connected to a cluster; a cluster that is started here is stopped at the end.

    address: as for `Ray`; cpus: how many a cluster that is started here must have.
    """
    ray = _ray()
    if ray.is_initialized():
        yield ray
        return
    quiet = {"log_to_driver": False, "logging_level": "error", "configure_logging": False}
    here = {"address": "local", "include_dashboard": False, "num_cpus": max(cpus, os.cpu_count() or 1)}
    if address is None:
        try:
            ray.init(address="auto", **quiet)
        except ConnectionError:
            log.warning("no Ray cluster is running: starting one on this machine, which ends with this run")
            ray.init(**here, **quiet)
    else:
        try:
            _reach(address)
            ray.init(**(here if address == "local" else {"address": address}), **quiet)
        except (OSError, RuntimeError, ValueError) as error:
            what = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise ValueError(f"no Ray cluster at {address!r} ({what}); start one with: ray start --head") from None
    try:
        yield ray
    finally:
        ray.shutdown()


class RayEngine:
    """Workers are actors. One that dies is started again, with its shard of the corpus, and its call repeated."""

    def __init__(self) -> None:
        self._ray = _ray()
        self._workers: list[Any] = []

    def put(self, value: object) -> Any:
        """Return what stands for a value; it is sent to each machine once."""
        return self._ray.put(value)

    def start(self, kind: type, *arguments: Any, threads: int) -> Any:
        """Return a new worker."""
        options = {"num_cpus": threads, "max_restarts": _RESTARTS, "max_task_retries": -1}
        worker = self._ray.remote(kind).options(**options).remote(*arguments)
        self._workers.append((worker, arguments))  # held, since a worker that is started again needs them
        return worker

    def close(self) -> None:
        """End all workers, so that their CPUs are free for others at once."""
        for worker, _ in self._workers:
            self._ray.kill(worker)
        self._workers.clear()

    def call(self, worker: Any, method: str, *arguments: Any, returns: int = 1) -> Any:
        """Return what stands for the result of a call."""
        return getattr(worker, method).options(num_returns=returns).remote(*arguments)

    def get(self, promised: list[Any], check: Callable[[], None]) -> list[Any]:
        """Return results, once all of them are there; check is called meanwhile, and may raise."""
        waiting = list(promised)
        while waiting:
            _, waiting = self._ray.wait(waiting, num_returns=len(waiting), timeout=_A_WHILE)
            check()
        found: list[Any] = self._ray.get(promised)
        return found
