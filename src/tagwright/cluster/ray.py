"""Ray (https://www.ray.io) as the engine: an extra, imported when a training or a tagging asks for it."""

from __future__ import annotations

import contextlib
import importlib
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tagwright import checks
from tagwright.cluster.cluster import Cluster

__all__ = ["Ray", "RayEngine", "connected"]

_RESTARTS = 100  # of a worker, before something is wrong with more than the worker
_NO_ANSWER = 10.0  # seconds
_A_WHILE = 0.2  # seconds between two looks at the keyboard


@dataclass(frozen=True)
class Ray(Cluster):
    """Where a training runs: on the workers of a Ray cluster.

    Args:
        address: that of a running cluster, such as "auto" for the one of this machine, "ray://host:10001" or
            "host:6379"; "local" starts one here for as long as the training lasts. A program that has called `ray.init`
            keeps the cluster that it has.
        workers: into how many parts the corpus is cut; each is held by a worker, which takes as many CPUs as the
            learner has threads.

    Machines must have tagwright installed, in the same version. A CRF has the same weights, bit for bit, for any number
    of workers and on one machine. A perceptron is mixed after each epoch, so that its weights depend on their number.

    Example:
        >>> import tagwright as tw
        >>> tw.Ray(workers=8)
        Ray(address='auto', workers=8)

    """

    address: str = "auto"
    workers: int = 2

    def check(self) -> None:
        """Check the options, and that Ray is installed."""
        if not isinstance(self.address, str) or not self.address:
            raise ValueError(f"cluster: address must be a string such as 'auto', not {checks.shown(self.address)}")
        super().check()
        _ray()

    @contextlib.contextmanager
    def connected(self) -> Iterator[RayEngine]:
        """Yield the engine; a cluster that was started for it ends with it."""
        with connected(self.address):
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
def connected(address: str) -> Iterator[Any]:
    """Yield the module `ray`, connected to a cluster; what is begun here ends here."""
    ray = _ray()
    if ray.is_initialized():
        yield ray
        return
    own = {"include_dashboard": False} if address == "local" else {}
    try:
        _reach(address)
        ray.init(address=address, log_to_driver=False, logging_level="error", configure_logging=False, **own)
    except (OSError, RuntimeError, ValueError) as error:
        what = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise ValueError(f"no Ray cluster at {address!r} ({what}); start one with: ray start --head") from None
    try:
        yield ray
    finally:
        ray.shutdown()


class RayEngine:
    """Parts are actors. One that dies is started again, with its part of the corpus, and asked again."""

    def __init__(self) -> None:
        """Take the cluster that this process is connected to."""
        self._ray = _ray()
        self._parts: list[Any] = []

    def put(self, value: object) -> Any:
        """Return what stands for a value; it is sent to each machine once."""
        return self._ray.put(value)

    def start(self, kind: type, *arguments: Any, threads: int) -> Any:
        """Return a new part."""
        options = {"num_cpus": threads, "max_restarts": _RESTARTS, "max_task_retries": -1}
        part = self._ray.remote(kind).options(**options).remote(*arguments)
        self._parts.append((part, arguments))  # held, since a part that is started again needs them
        return part

    def close(self) -> None:
        """End all parts, so that their CPUs are free for others at once."""
        for part, _ in self._parts:
            self._ray.kill(part)
        self._parts.clear()

    def call(self, part: Any, method: str, *arguments: Any, returns: int = 1) -> Any:
        """Return what stands for the result of a call."""
        return getattr(part, method).options(num_returns=returns).remote(*arguments)

    def get(self, promised: list[Any], check: Callable[[], None]) -> list[Any]:
        """Return results, once all of them are there; check is called now and then, and may raise."""
        waiting = list(promised)
        while waiting:
            _, waiting = self._ray.wait(waiting, num_returns=len(waiting), timeout=_A_WHILE)
            check()
        found: list[Any] = self._ray.get(promised)
        return found
