"""HTTP connections: uvicorn's protocol with limits on what has not become a request yet."""

from __future__ import annotations

import functools
import http
import time
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from tagwright.serve import answers
from tagwright.serve.app import AT_ONCE, HEAD, Service
from tagwright.serve.errors import PROBLEM_JSON, Problem
from tagwright.serve.gate import is_stream

_LONGEST_HEAD = 65_536  # bytes
_HOP = (b"upgrade", b"http2-settings")
"""Options of a connection that are of no use without the upgrade that they ask for."""
_JSON_HEAD = b"".join(b"%s: %s\r\n" % field for field in [(b"content-type", b"application/json"), *HEAD])


def guarded(service: Service) -> type[HttpToolsProtocol]:
    """Return the class of the connections of a service."""
    return type("Guarded", (_Guarded,), {"service": service, "most": service.settings.connections})


class _Guarded(HttpToolsProtocol):
    service: Service
    most: int
    incomplete = True  # a request, or the first one, is on its way
    in_head = True
    upgrading = False  # to a protocol that this server does not speak; the request is answered as it is
    head = pieces = 0
    began = last = 0.0

    def connection_made(self, transport: Any) -> None:
        self.began = time.monotonic()
        self.service.accepted += 1
        super().connection_made(transport)
        if len(self.connections) > self.most:
            self.service.metrics.rejected("connections")
            fix = "close some, or try again later"
            self.refuse(Problem(503, "there are too many connections", "connection", fix, retry=1))

    def on_message_begin(self) -> None:
        self.incomplete = self.in_head = True
        self.head, self.began = 0, time.monotonic()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self.in_head = False
        if self.parser.should_upgrade():
            self.upgrading = True
            return
        super().on_headers_complete()
        scope: Any = self.scope
        scope["extensions"] = {AT_ONCE: functools.partial(_answer_at_once, self.cycle)}

    def on_message_complete(self) -> None:
        if self.upgrading:
            return
        self.incomplete = False
        super().on_message_complete()

    def data_received(self, data: bytes) -> None:
        self._unset_keepalive_if_required()
        self.last = time.monotonic()
        self.pieces += 1
        while True:
            try:
                self.parser.feed_data(data)
                break
            except httptools.HttpParserError:
                self.refuse_malformed()
                return
            except httptools.HttpParserUpgrade as upgrade:
                if self.parser.get_method() == b"CONNECT":
                    self.upgrading = False
                    self.refuse_malformed()
                    return
                data = self.without_upgrade() + data[upgrade.args[0] :]
        if self.in_head:
            self.head += len(data)
            if self.head > _LONGEST_HEAD and not self.closes_after_answer():
                self.service.metrics.rejected("head")
                fix = f"send at most {_LONGEST_HEAD:,} bytes of headers"
                self.refuse(Problem(431, "the head of the request is too long", "connection", fix))

    def without_upgrade(self) -> bytes:
        """Return the head of a request without the upgrade that it asks for; a new parser reads it, and the body."""
        self.upgrading = False
        method = self.parser.get_method()
        pieces = [b"%s %s HTTP/%s\r\n" % (method, self.url, self.parser.get_http_version().encode())]
        for name, value in self.headers:
            if name == b"connection":
                options = [option for option in value.split(b",") if option.strip().lower() not in _HOP]
                pieces += [b"connection: %s\r\n" % b",".join(options)] if options else []
            elif name not in _HOP:
                pieces.append(b"%s: %s\r\n" % (name, value))
        self.parser = httptools.HttpRequestParser(self)
        if hasattr(self.parser, "set_dangerous_leniencies"):  # as uvicorn does, to answer before a body that is cut
            self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        return b"".join(pieces) + b"\r\n"

    def is_late(self, oldest: float) -> bool:
        """Return whether the request should have come; a stream may take long, but not a piece of it."""
        # While requests wait for the answers before them, the rest of the last one is not read.
        if not self.incomplete or self.began >= oldest or self.pipeline:
            return False
        stream = not self.in_head and any(name == b"content-type" and is_stream(value) for name, value in self.headers)
        return not stream or self.last < oldest

    def refuse_malformed(self) -> None:
        """Refuse bytes that are not HTTP."""
        self.service.metrics.rejected("malformed")
        if not self.closes_after_answer():
            self.refuse(Problem(400, "this is not a request of HTTP/1.1", "connection", "send one"))

    def closes_after_answer(self) -> bool:
        """Close the connection when the requests before what is refused are answered; False if there are none."""
        if self.cycle is None or self.cycle.response_complete or self.cycle.more_body:
            return False
        self.cycle.keep_alive = False
        return True

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self.began = time.monotonic()  # of a request whose rest was not read meanwhile

    def refuse(self, problem: Problem) -> None:
        """Answer what is not a request, and close the connection."""
        idle = self.cycle is None or self.cycle.response_complete
        # An answer that is owed to an earlier request must not be preceded, or interrupted, by this one.
        if idle or not (self.cycle.response_started or self.in_head or self.pipeline):
            body = answers.encode(problem.payload())
            fields = [(b"content-type", PROBLEM_JSON), (b"content-length", b"%d" % len(body)), *problem.headers]
            fields = [*self.server_state.default_headers, *fields, *HEAD, (b"connection", b"close")]
            head = b"".join(b"%s: %s\r\n" % field for field in fields)
            status = b"%d %s" % (problem.status, http.HTTPStatus(problem.status).phrase.encode())
            self.transport.write(b"HTTP/1.1 %s\r\n%s\r\n%s" % (status, head, body))
            if self.service.access is not None:
                self.service.access.write(None, problem.status, len(body), time.perf_counter())
        self.transport.close()


def _answer_at_once(cycle: Any, body: bytes) -> bool:
    """Write a whole answer, as the two messages of ASGI would; return False where those are needed."""
    if not cycle.keep_alive or cycle.disconnected or cycle.response_started or cycle.flow.write_paused:
        return False
    cycle.response_started = cycle.response_complete = True
    cycle.waiting_for_100_continue = False
    head = b"".join([b"%s: %s\r\n" % field for field in cycle.default_headers])
    cycle.transport.write(b"HTTP/1.1 200 OK\r\n%s%scontent-length: %d\r\n\r\n%s" % (head, _JSON_HEAD, len(body), body))
    cycle.message_event.set()
    cycle.on_response()
    return True
