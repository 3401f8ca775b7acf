"""The ASGI application: routes, and the headers of every response."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from tagwright.models.model import Model
from tagwright.serve import answers
from tagwright.serve.access import AccessLog
from tagwright.serve.batching import Batcher
from tagwright.serve.errors import PROBLEM_JSON, Problem
from tagwright.serve.gate import Gate, check_charset, is_stream
from tagwright.serve.metrics import PATHS, Metrics
from tagwright.serve.openapi import described
from tagwright.serve.request import Request, check_size, check_text, parse_json, parse_request
from tagwright.serve.settings import Settings
from tagwright.serve.store import Served, Store
from tagwright.serve.stream import streamed
from tagwright.serve.view import viewed

log = logging.getLogger("tagwright.serve")

Scope: TypeAlias = dict[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[dict[str, Any]]]
Send: TypeAlias = Callable[[dict[str, Any]], Awaitable[None]]

_PAGE = Path(__file__).with_name("page")
_KINDS = {
    ".html": b"text/html; charset=utf-8",
    ".css": b"text/css; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".svg": b"image/svg+xml",
}
_JSON = b"application/json"
HEAD = [
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
]
_PAGE_HEAD = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (b"cache-control", b"no-cache"),
]
_LONG_BODY = 50_000  # bytes; a longer one is read on a thread, so that others need not wait for it
_LONG_TEXT = 2_000  # characters; the same of text that is split into tokens
_LARGE = 2_000  # entries of an answer; larger ones are made on a thread, and do not keep small requests waiting
_SMALL_ANSWER = 60_000  # bytes that are handed over without waiting for the reader
AT_ONCE = "tagwright.at_once"
"""ASGI extension of `server.py`: writes a whole answer of status 200 with the headers of JSON."""


class Service:
    """What answers requests: the models, the batches and the counts."""

    def __init__(self, settings: Settings, metrics: Metrics, stop: Callable[[Exception], None]) -> None:
        """Open nothing yet; stop: called with an error that prevents the server from running."""
        self.settings, self.metrics, self.stop = settings, metrics, stop
        self.store = Store(settings, metrics)
        self.gate = Gate(settings)
        self.access = None if settings.access_log is None else AccessLog(settings.access_log)
        self.batcher = Batcher(settings, self.metrics)
        self.accepted = 0  # connections
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Open the models in the background, then watch their files."""
        self._tasks.append(asyncio.create_task(self._open()))

    async def _open(self) -> None:
        try:
            await self.store.open()
        except Exception as error:
            self.stop(error)
            return
        await self.store.watch()

    def reopen(self) -> None:
        """Read all models again, as SIGHUP requests."""
        self._tasks = [task for task in self._tasks if not task.done()]
        self._tasks.append(asyncio.get_running_loop().create_task(self.store.reopen(changed_only=False)))

    async def end(self) -> None:
        """Stop watching; requests have been answered by now."""
        for task in self._tasks:
            task.cancel()
        self.batcher.close()

    # Endpoints

    async def tag(self, request: Request) -> bytes:
        """Return labellings."""
        served, model = self.store.find(request.model)
        if request.decoder != "auto" or request.proba:
            answers.check_search(request, served, model)
        await self._tokenized(request, served, model)
        if not request.plain:
            self.metrics.batch(1, request.tokens)
            return await self.batcher.beside(answers.encoded, answers.searched, request, served, model)
        if request.size > _LARGE:
            self.metrics.batch(1, request.tokens)
            given = (answers.tagged_beside, request, served, model, self.settings.threads)
            return await self.batcher.beside(answers.encoded, *given)
        with answers.blamed("sentences"):
            found = await self.batcher.tag(model, request)
        return answers.encode(answers.tagged(request, served, model, found))

    async def _tokenized(self, request: Request, served: Served, model: Model) -> None:
        """Split the text of a request, and check the number of tokens."""
        check_text(request, self.settings)
        if request.text is not None and len(request.text) > _LONG_TEXT:
            await self.batcher.beside(answers.tokenize, request, model, served.tokenizer)
        else:
            answers.tokenize(request, model, served.tokenizer)
        check_size(request, self.settings)

    async def about_one(self, work: Callable[..., dict[str, Any]], request: Request) -> bytes:
        """Return the answer to a request about one sentence, which `work` computes on a thread."""
        served, model = self.store.find(request.model)
        if request.decoder != "auto" or request.proba:
            answers.check_search(request, served, model)
        await self._tokenized(request, served, model)
        self.metrics.batch(1, request.tokens)
        return await self.batcher.beside(answers.encoded, work, request, served, model)


class _Answer:
    """An endpoint: reads a request, calls the service and sends its payload. An ASGI application of its own.

    It has no clock: `server.py` closes connections whose bodies do not come, and the batcher gives up what waits too
    long.
    """

    def __init__(self, service: Service, path: str, work: Callable[[Request], Awaitable[bytes]]) -> None:
        self.service, self.path, self.work = service, path, work
        self.limit = service.settings.body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        service, status = self.service, 200
        more: list[tuple[bytes, bytes]] = []
        began = service.metrics.began()
        fields = dict(scope["headers"])
        try:
            _admit(service, scope, fields)
            if (kind := fields.get(b"content-type", _JSON)) != _JSON:
                check_charset(kind)
                if self.path == "/v1/tag" and is_stream(kind):
                    status = await streamed(service, scope, receive, send, HEAD)
                    return
            body = await self._body(fields, receive)
            if len(body) > _LONG_BODY:
                request = await service.batcher.beside(_read, body, service.settings)
            else:
                request = _read(body, service.settings)
            payload = await self.work(request)
        except _GoneError:
            status = 408
            return
        except Exception as error:
            status, more, payload = self._refused(error)
        finally:
            service.metrics.answered(self.path, status, began)
        if status == 200:
            at_once = scope["extensions"].get(AT_ONCE) if "extensions" in scope else None
            if at_once is None or len(payload) > _SMALL_ANSWER or not at_once(payload):
                await _respond(send, 200, payload, _JSON, HEAD, service.settings.timeout)
        else:
            await _respond(send, status, payload, PROBLEM_JSON, [*HEAD, *more], service.settings.timeout)

    def _refused(self, error: Exception) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
        """Return the status, headers and body for an error, which nothing refers to then: it holds the request."""
        if isinstance(error, Problem):
            problem = error
        elif isinstance(error, TimeoutError):
            self.service.metrics.rejected("time")
            problem = Problem(503, "there was no answer in time", "timeout", "send less at once, or later", retry=1)
        else:
            log.error("%s: an error of the server's own", self.path, exc_info=error)
            problem = Problem(500, "an error of the server's own", self.path, "report it")
        return problem.status, problem.headers, answers.encode(problem.payload())

    async def _body(self, fields: Mapping[bytes, bytes], receive: Receive) -> bytes:
        """Return the body; Problem if it is longer than the limit."""
        if int(fields.get(b"content-length", 0)) > self.limit:
            raise self._too_large()
        pieces: list[bytes] = []
        size, more = 0, True
        while more:
            message = await receive()
            if message["type"] != "http.request":
                raise _GoneError
            pieces.append(message.get("body", b""))
            size, more = size + len(pieces[-1]), message.get("more_body", False)
            if size > self.limit:
                raise self._too_large()
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _too_large(self) -> Problem:
        self.service.metrics.rejected("size")
        fix = f"send at most {self.limit:,} bytes at once, or stream lines as application/x-ndjson"
        return Problem(413, "the body is too large", "body", fix, close=True)


def _admit(service: Service, scope: Scope, fields: Mapping[bytes, bytes]) -> None:
    """Raise Problem for a request that is not let in, and count it."""
    try:
        service.gate.check(scope["path"], fields)
    except Problem as problem:
        service.metrics.rejected("token" if problem.status == 401 else "host")
        raise


class _GoneError(Exception):
    """The client has closed the connection."""


def _read(body: bytes, settings: Settings) -> Request:
    return parse_request(parse_json(body), settings)


async def _respond(
    send: Send, status: int, body: bytes, kind: bytes, head: list[tuple[bytes, bytes]], timeout: float
) -> None:
    """Send an answer; one that its reader does not take in time is given up."""
    headers = [(b"content-type", kind), (b"content-length", b"%d" % len(body)), *head]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    if len(body) <= _SMALL_ANSWER:
        await send({"type": "http.response.body", "body": body})
        return
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(timeout):
            await send({"type": "http.response.body", "body": body})


class _Fixed:
    """An endpoint without a request body."""

    def __init__(self, service: Service, path: str, make: Callable[[], tuple[int, bytes, bytes]]) -> None:
        self.service, self.make = service, make
        self.path = path if path in PATHS else "/page"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        began = self.service.metrics.began()
        status, body, kind = self.make()
        head = _PAGE_HEAD if status == 200 else [*_PAGE_HEAD, (b"retry-after", b"1")]
        self.service.metrics.answered(self.path, status, began)
        sent = b"" if scope["method"] == "HEAD" else body
        await _respond(send, status, sent, kind, head, self.service.settings.timeout)


def application(service: Service) -> Any:
    """Return the ASGI application."""
    from starlette.applications import Starlette
    from starlette.responses import Response
    from starlette.routing import Route

    def fixed(path: str, make: Callable[[], tuple[int, bytes, bytes]]) -> Any:
        return Route(path, _Fixed(service, path, make), methods=["GET"])

    def as_payload(make: Callable[[], Any]) -> Callable[[], tuple[int, bytes, bytes]]:
        return lambda: (200, answers.encode(make()), _JSON)

    def ready() -> tuple[int, bytes, bytes]:
        is_ready = service.store.ready
        return 200 if is_ready else 503, answers.encode({"ready": is_ready}), _JSON

    def file(path: Path) -> Callable[[], tuple[int, bytes, bytes]]:
        held = path.read_bytes()  # once: no request leads to a file
        return lambda: (200, held, _KINDS[path.suffix])

    works: dict[str, Callable[[Request], Awaitable[bytes]]] = {
        "/v1/tag": service.tag,
        "/v1/explain": functools.partial(service.about_one, answers.explained),
        "/v1/lattice": functools.partial(service.about_one, viewed),
    }
    direct = {path: _Answer(service, path, work) for path, work in works.items()}
    routes = [
        *(Route(path, answer, methods=["POST"]) for path, answer in direct.items()),
        fixed("/health/live", as_payload(lambda: {"live": True})),
        fixed("/health/ready", ready),
        fixed("/v1/models", as_payload(lambda: answers.list_models(service.store))),
        fixed("/metrics", lambda: (200, service.metrics.text(), b"text/plain; version=0.0.4; charset=utf-8")),
        fixed("/openapi.json", as_payload(lambda: described(service.settings))),
        fixed("/", file(_PAGE / "index.html")),
        *(fixed(f"/page/{path.name}", file(path)) for path in sorted(_PAGE.iterdir()) if path.suffix in _KINDS),
    ]

    async def unknown(request: Any, error: Any) -> Any:
        wrong_method = error.status_code == 405
        what = f"{request.method} is not answered here" if wrong_method else "there is nothing under this path"
        problem = Problem(error.status_code, what, "path", "GET /openapi.json lists the paths and their methods")
        body = answers.encode(problem.payload())
        service.metrics.answered("other", error.status_code, service.metrics.began())
        headers = {name.decode(): value.decode() for name, value in _PAGE_HEAD} | dict(error.headers or {})
        return Response(body, error.status_code, headers, PROBLEM_JSON.decode())

    @contextlib.asynccontextmanager
    async def lifespan(app: Any) -> Any:
        await service.start()
        yield
        await service.end()

    from starlette.exceptions import HTTPException

    others: Any = Starlette(routes=routes, exception_handlers={HTTPException: unknown}, lifespan=lifespan)

    def routed(scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Answer POST requests directly: the framework's layers take a tenth of their time."""
        answer = direct.get(scope["path"]) if scope["type"] == "http" and scope["method"] == "POST" else None
        return (guarded if answer is None else answer)(scope, receive, send)

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        problem = _refusal(service, scope) if scope["type"] == "http" else None
        if problem is None:
            await others(scope, receive, send)
            return
        payload = b"" if scope["method"] == "HEAD" else answers.encode(problem.payload())
        head = [*HEAD, *problem.headers]
        await _respond(send, problem.status, payload, PROBLEM_JSON, head, service.settings.timeout)

    return routed if service.access is None else service.access.around(routed)


def _refusal(service: Service, scope: Scope) -> Problem | None:
    """Return why a request without a body is not let in; None if it is."""
    began = service.metrics.began()
    try:
        _admit(service, scope, dict(scope["headers"]))
    except Problem as problem:
        service.metrics.answered("other", problem.status, began)
        return problem
    service.metrics.ended()
    return None
