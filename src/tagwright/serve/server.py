"""The running server: its socket, its connections, its signals and its worker processes."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import gc
import logging
import multiprocessing
import os
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from tagwright.serve.app import Service, application
from tagwright.serve.errors import Problem
from tagwright.serve.metrics import Metrics
from tagwright.serve.settings import Settings
from tagwright.system import on_signal, reserve_address

log = logging.getLogger("tagwright.serve")

_BACKLOG = 2048
_DRAIN = 30  # seconds that requests may take after a signal to end
_RECEIVE = 2  # seconds in which requests that were sent before a signal to end are received
_QUIET_ROUNDS = 5  # of the event loop without anything new; a connection is accepted in one and read in another
_SWITCH = 0.0005  # seconds that other threads keep the event loop waiting


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens; OSError if the address is in use or not here."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    reserve_address(made)
    try:
        made.bind((host, port))
    except OSError as error:
        made.close()
        raise OSError(error.errno, f"cannot listen there: {error.strerror}", f"{host}:{port}") from None
    made.listen(_BACKLOG)
    made.setblocking(False)
    return made


def serve(settings: Settings, listener: socket.socket, workers: int = 1) -> None:
    """Answer requests until SIGTERM or SIGINT; then answer what has come in, and return.

    SIGHUP reads the models again. Several worker processes share the socket, and the pages of large model files.

    Raises
    ------
    OSError, ValueError
        If a model cannot be opened.

    """
    if workers == 1:
        _work(settings, listener, Metrics(models=settings.names))
        return
    with tempfile.TemporaryDirectory(prefix="tagwright-") as folder:
        counts = os.path.join(folder, "counts")
        Metrics.make_file(counts, workers, len(settings.models))
        _Workers(dataclasses.replace(settings, copies=folder), listener, workers, counts).run()


def _work(settings: Settings, listener: socket.socket, metrics: Metrics) -> None:
    """Run the server in this process: the only one, or one of several workers."""
    import uvicorn

    from tagwright.serve.protocol import guarded

    failed: list[Exception] = []

    def stop(error: Exception | None = None) -> None:
        if error is not None:
            failed.append(error)
        server.should_exit = True

    service = Service(settings, metrics, stop)
    config = uvicorn.Config(
        application(service),
        interface="asgi3",
        http=guarded(service),
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=_DRAIN,
        backlog=_BACKLOG,
    )
    server: Any = uvicorn.Server(config)
    server.capture_signals = contextlib.nullcontext  # ours are called by the event loop
    close = server.shutdown

    async def shutdown(sockets: Any = None) -> None:
        await _receive_rest(server, service)
        await close(sockets)

    server.shutdown = shutdown

    async def run() -> None:
        loop = asyncio.get_running_loop()
        for name in ("SIGTERM", "SIGINT"):
            on_signal(loop, name, stop)
        on_signal(loop, "SIGHUP", service.reopen)
        _when_parent_ends(lambda: loop.call_soon_threadsafe(stop))
        sweeper = asyncio.create_task(_sweep(server, service))
        await server.serve(sockets=[listener])
        sweeper.cancel()

    # Requests make no cycles that must go soon, and looking for them takes longer than tagging with a small model.
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    sys.setswitchinterval(_SWITCH)
    with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
        runner.run(run())
    if failed:
        raise failed[0]


async def _receive_rest(server: Any, service: Service) -> None:
    """Accept the connections that wait for it, and read what clients have sent, before the server stops listening.

    The event loop does both. It has done so when it finds nothing new a few times in a row, in one round of which it
    looks at all sockets. Clients that go on sending do not keep the server from ending.
    """
    end = time.monotonic() + _RECEIVE
    known, quiet = -1, 0
    while quiet < _QUIET_ROUNDS and time.monotonic() < end:
        await asyncio.sleep(0)
        now = sum(connection.pieces for connection in server.server_state.connections) + service.accepted
        quiet = quiet + 1 if now == known else 0
        known = now


def _when_parent_ends(call: Callable[[], object]) -> None:
    """Call a function if this is a worker process and its parent ends, even if it is killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:

        def wait() -> None:
            parent.join()
            call()

        threading.Thread(target=wait, name="tagwright-parent", daemon=True).start()


async def _sweep(server: Any, service: Service) -> None:
    """Close connections whose requests do not come, and give up requests that wait too long."""
    timeout = service.settings.timeout
    while True:
        await asyncio.sleep(min(1.0, timeout / 4))
        service.batcher.give_up()
        oldest = time.monotonic() - timeout
        for connection in list(server.server_state.connections):
            if connection.is_late(oldest):
                service.metrics.rejected("slow")
                connection.refuse(Problem(408, "the request did not come in time", "connection", "send it faster"))


class _Workers:
    """The parent process: starts the workers, forwards signals, and replaces workers that end."""

    def __init__(self, settings: Settings, listener: socket.socket, count: int, counts: str) -> None:
        self.settings, self.listener, self.count, self.counts = settings, listener, count, counts
        self.context = multiprocessing.get_context("spawn")
        self.processes: list[Any] = []
        self.ending = False
        self.held: list[int] | None = None
        """Signals that arrived while workers were started; None if none are."""

    def run(self) -> None:
        """Serve until a signal arrives, or until a worker cannot start."""
        for number in filter(None, (signal.SIGTERM, signal.SIGINT, _RELOAD)):
            signal.signal(number, self._signal)
        with self._holding_signals():
            self.processes = [self._started(at) for at in range(self.count)]
        began = time.monotonic()
        while any(process.is_alive() for process in self.processes):
            time.sleep(0.1)
            for at, process in enumerate(self.processes):
                if process.is_alive() or self.ending:
                    continue
                reloaded = _RELOAD is not None and process.exitcode == -_RELOAD  # before it knew the signal
                if process.exitcode == _CANNOT or (time.monotonic() - began < 2 and not reloaded):
                    self._signal(signal.SIGTERM, None)
                    for other in self.processes:
                        other.join()
                    raise ValueError("a worker process could not start; see its own message")
                log.warning("a worker process ended with %s; another takes its place", process.exitcode)
                with self._holding_signals():
                    self.processes[at] = self._started(at)

    @contextlib.contextmanager
    def _holding_signals(self) -> Iterator[None]:
        """Pass signals on when the workers that are started are known."""
        self.held = []
        try:
            yield
        finally:
            held, self.held = self.held, None
            for number in held:
                self._signal(number, None)

    def _started(self, at: int) -> Any:
        process = self.context.Process(target=_worker, args=(self.settings, self.listener, self.counts, at))
        process.start()
        return process

    def _signal(self, number: int, frame: Any) -> None:
        if self.held is not None:
            self.held.append(number)
            return
        if number != _RELOAD and not self.ending:
            self.ending = True
            self.listener.close()  # workers have theirs, and close them when they have answered
        for process in self.processes:
            if process.is_alive() and process.pid is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process.pid, number)


_CANNOT = 3
_RELOAD = getattr(signal, "SIGHUP", None)  # Windows has none


def _worker(settings: Settings, listener: socket.socket, counts: str, at: int) -> None:
    logging.basicConfig(format="%(message)s", level=logging.INFO)
    try:
        _work(settings, listener, Metrics(counts, at, settings.names))
    except (OSError, ValueError) as error:
        log.error("%s", error)
        raise SystemExit(_CANNOT) from None
