"""The running server: its socket, its connections, its signals and its worker processes."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import multiprocessing
import os
import signal
import socket
import tempfile
import time
from typing import Any

from tagwright.serve.app import Service, application
from tagwright.serve.metrics import Metrics
from tagwright.serve.settings import Settings
from tagwright.system import on_signal, reserve_address

log = logging.getLogger("tagwright.serve")

_BACKLOG = 2048
_LONGEST_HEAD = 65_536  # bytes
_DRAIN = 30  # seconds that requests may take after a signal to end


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
        _work(settings, listener, Metrics())
        return
    with tempfile.TemporaryDirectory(prefix="tagwright-") as folder:
        counts = os.path.join(folder, "counts")
        Metrics.make_file(counts, workers)
        _Workers(settings, listener, workers, counts).run()


def _work(settings: Settings, listener: socket.socket, metrics: Metrics) -> None:
    """Run the server in this process: the only one, or one of several workers."""
    import uvicorn

    failed: list[Exception] = []

    def stop(error: Exception | None = None) -> None:
        if error is not None:
            failed.append(error)
        server.should_exit = True

    service = Service(settings, metrics, stop)
    config = uvicorn.Config(
        application(service),
        http=_protocol(settings, service),
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

    async def run() -> None:
        loop = asyncio.get_running_loop()
        for name in ("SIGTERM", "SIGINT"):
            on_signal(loop, name, stop)
        on_signal(loop, "SIGHUP", service.reopen)
        sweeper = asyncio.create_task(_sweep(server, service))
        await server.serve(sockets=[listener])
        sweeper.cancel()

    # Requests make no cycles that must go soon, and looking for them takes longer than tagging with a small model.
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
        runner.run(run())
    if failed:
        raise failed[0]


async def _sweep(server: Any, service: Service) -> None:
    """Close connections whose requests do not come, and give up requests that wait too long."""
    timeout = service.settings.timeout
    while True:
        await asyncio.sleep(min(1.0, timeout / 4))
        service.batcher.give_up()
        oldest = time.monotonic() - timeout
        for connection in list(server.server_state.connections):
            if connection.incomplete and connection.began < oldest:
                service.metrics.rejected("slow")
                connection.refuse(b"408 Request Timeout", b"the request did not come in time")


def _protocol(settings: Settings, service: Service) -> Any:
    """Return uvicorn's own protocol with limits on what has not become a request yet."""
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

    class Guarded(HttpToolsProtocol):
        incomplete = True  # a request, or the first one, is on its way
        in_head = True
        head = 0
        began = 0.0

        def connection_made(self, transport: Any) -> None:
            self.began = time.monotonic()
            super().connection_made(transport)
            if len(self.connections) > settings.connections:
                service.metrics.rejected("connections")
                self.refuse(b"503 Service Unavailable\r\nretry-after: 1", b"too many connections")

        def on_message_begin(self) -> None:
            self.incomplete = self.in_head = True
            self.head, self.began = 0, time.monotonic()
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            self.in_head = False
            super().on_headers_complete()

        def on_body(self, body: bytes) -> None:
            if (b"content-type", b"application/x-ndjson") in self.headers:
                self.began = time.monotonic()  # a stream may take as long as it likes, but not a line of it
            super().on_body(body)

        def on_message_complete(self) -> None:
            self.incomplete = False
            super().on_message_complete()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.in_head:
                self.head += len(data)
                if self.head > _LONGEST_HEAD:
                    service.metrics.rejected("head")
                    self.refuse(b"431 Request Header Fields Too Large", b"the head of the request is too long")

        def refuse(self, status: bytes, what: bytes) -> None:
            body = b'{"error":{"what":"%s","where":"connection","fix":"close some, or try again later"}}' % what
            kind = b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close" % len(body)
            if self.cycle is None or not self.cycle.response_started:
                self.transport.write(b"HTTP/1.1 %s\r\n%s\r\n\r\n%s" % (status, kind, body))
            self.transport.close()

    return Guarded


class _Workers:
    """The parent process: starts the workers, forwards signals, and replaces workers that end."""

    def __init__(self, settings: Settings, listener: socket.socket, count: int, counts: str) -> None:
        self.settings, self.listener, self.count, self.counts = settings, listener, count, counts
        self.context = multiprocessing.get_context("spawn")
        self.processes: list[Any] = []
        self.ending = False

    def run(self) -> None:
        """Serve until a signal arrives, or until a worker cannot start."""
        for number in filter(None, (signal.SIGTERM, signal.SIGINT, _RELOAD)):
            signal.signal(number, self._signal)
        self.processes = [self._started(at) for at in range(self.count)]
        began = time.monotonic()
        while any(process.is_alive() for process in self.processes):
            time.sleep(0.1)
            for at, process in enumerate(self.processes):
                if process.is_alive() or self.ending:
                    continue
                if process.exitcode == _CANNOT or time.monotonic() - began < 2:
                    self._signal(signal.SIGTERM, None)
                    for other in self.processes:
                        other.join()
                    raise ValueError("a worker process could not start; see its own message")
                log.warning("a worker process ended with %s; another takes its place", process.exitcode)
                self.processes[at] = self._started(at)

    def _started(self, at: int) -> Any:
        process = self.context.Process(target=_worker, args=(self.settings, self.listener, self.counts, at))
        process.start()
        return process

    def _signal(self, number: int, frame: Any) -> None:
        self.ending = self.ending or number != _RELOAD
        for process in self.processes:
            if process.is_alive() and process.pid is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process.pid, number)


_CANNOT = 3
_RELOAD = getattr(signal, "SIGHUP", None)  # Windows has none


def _worker(settings: Settings, listener: socket.socket, counts: str, at: int) -> None:
    logging.basicConfig(format="%(message)s", level=logging.INFO)
    try:
        _work(settings, listener, Metrics(counts, at))
    except (OSError, ValueError) as error:
        log.error("%s", error)
        raise SystemExit(_CANNOT) from None
