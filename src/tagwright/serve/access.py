"""The access log: a line of JSON per request."""

from __future__ import annotations

import datetime
import json
import logging
import time
from typing import Any

from tagwright.system import open_log

_LONGEST = 200  # characters of what a client sent


class AccessLog:
    """Writes one JSON object per answer, to standard output or to a file, which may be renamed meanwhile.

    Neither texts nor tokens, labels, query strings or headers are logged, with the exception of X-Request-ID.
    """

    def __init__(self, target: str) -> None:
        self._handler: Any = open_log(target)

    def write(self, scope: dict[str, Any] | None, status: int | None, size: int, began: float) -> None:
        """Log an answer; status: None if the client was gone; began: a value of `time.perf_counter`."""
        now = datetime.datetime.now(datetime.UTC)
        line: dict[str, Any] = {"time": now.isoformat(timespec="milliseconds").replace("+00:00", "Z")}
        if scope is not None:
            line["client"] = (scope.get("client") or [None])[0]
            line |= {"method": scope.get("method"), "path": str(scope.get("path", ""))[:_LONGEST]}
            for name, value in scope["headers"]:
                if name == b"x-request-id":
                    line["request_id"] = value.decode("latin-1")[:_LONGEST]
        line |= {"status": status, "bytes": size, "seconds": round(time.perf_counter() - began, 6)}
        text = json.dumps(line, separators=(",", ":"))
        self._handler.handle(logging.LogRecord("tagwright.access", logging.INFO, "", 0, text, None, None))

    def around(self, app: Any) -> Any:
        """Return an ASGI application that logs the answers of another one."""

        async def logged(scope: dict[str, Any], receive: Any, send: Any) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            began, status, size = time.perf_counter(), None, 0

            async def counted(message: dict[str, Any]) -> None:
                nonlocal status, size
                await send(message)
                if message["type"] == "http.response.start":
                    status = message["status"]
                else:
                    size += len(message.get("body", b""))

            try:
                await app({**scope, "extensions": {}}, receive, counted)
            finally:
                self.write(scope, status, size, began)

        return logged
