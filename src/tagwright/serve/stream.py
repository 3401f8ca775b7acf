"""Long inputs line by line: NDJSON in, NDJSON out, with no more than a few lines in memory."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from tagwright.serve.answers import encode
from tagwright.serve.errors import PROBLEM_JSON, Problem
from tagwright.serve.request import parse_json, parse_request

if TYPE_CHECKING:
    from tagwright.serve.app import Service

_AHEAD = 64  # lines that are being tagged while earlier ones are sent

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


async def streamed(
    service: Service, scope: dict[str, Any], receive: Receive, send: Send, head: list[tuple[bytes, bytes]]
) -> int:
    """Answer each line of a request with a line, in order, and return the status.

    A line is a request, or only its text (a string) or its tokens (a list). The query string, as in
    ``?model=pos&k=3``, sets options of all lines. An invalid line is answered by an error, and the next lines are
    processed. The body may be of any length; limits apply to each line.
    """
    try:
        common = _common(scope["query_string"])
    except Problem as problem:
        await _send_head(send, problem.status, PROBLEM_JSON, head)
        await send({"type": "http.response.body", "body": encode(problem.payload())})
        return problem.status
    await _send_head(send, 200, b"application/x-ndjson", head)
    answers: asyncio.Queue[asyncio.Task[bytes] | None] = asyncio.Queue(_AHEAD)

    async def read() -> None:
        number = 0
        try:
            async for line in _lines(receive, service.settings.body, service.settings.timeout):
                number += 1
                if isinstance(line, Problem) or line.strip():
                    await answers.put(asyncio.create_task(_answer(service, line, number, common)))
        finally:
            await answers.put(None)

    reader = asyncio.create_task(read())
    try:
        while (task := await answers.get()) is not None:
            line = await task
            async with asyncio.timeout(service.settings.timeout):
                await send({"type": "http.response.body", "body": line, "more_body": True})
        await send({"type": "http.response.body", "body": b""})
    except TimeoutError:
        pass  # the reader of the answers does not take them
    finally:
        reader.cancel()
        while not answers.empty():
            if (task := answers.get_nowait()) is not None:
                task.cancel()
    return 200


async def _send_head(send: Send, status: int, kind: bytes, head: list[tuple[bytes, bytes]]) -> None:
    headers = [(b"content-type", kind), *head]
    await send({"type": "http.response.start", "status": status, "headers": headers})


def _common(query: bytes) -> dict[str, Any]:
    """Return the options in the query: numbers and truth values as JSON writes them, all else as text."""
    payload: dict[str, Any] = {}
    for name, value in parse_qsl(query.decode("latin-1"), max_num_fields=20):
        try:
            payload[name] = json.loads(value) if name in ("k", "proba", "spans", "work", "deadline_ms") else value
        except (ValueError, RecursionError):
            raise Problem(422, f"{name} must be a number or truth value", name, "write it as JSON does") from None
    return payload


async def _answer(service: Service, line: bytes | Problem, number: int, common: dict[str, Any]) -> bytes:
    try:
        if isinstance(line, Problem):
            raise line
        payload = parse_json(line)
        if isinstance(payload, str):
            payload = {"text": payload}
        elif isinstance(payload, list):
            payload = {"sentences": [payload]}
        if isinstance(payload, dict):
            payload = {**common, **payload}
        while True:
            try:
                async with asyncio.timeout(service.settings.timeout):
                    return await service.tag(parse_request(payload, service.settings)) + b"\n"
            except Problem as problem:
                if problem.retry is None:
                    raise
                await asyncio.sleep(problem.retry / 10)  # a stream waits for its turn
    except TimeoutError:
        return _error(Problem(503, "there was no answer in time", "timeout", "send shorter lines"), number)
    except Problem as problem:
        return _error(problem, number)


def _error(problem: Problem, number: int) -> bytes:
    return encode({**problem.payload(), "line": number}) + b"\n"


async def _lines(receive: Receive, most: int, timeout: float) -> AsyncIterator[bytes | Problem]:
    """Yield the lines of a body as they come; of one that is too long, that it is."""
    held, skipping, more = bytearray(), False, True
    while more:
        try:
            async with asyncio.timeout(timeout):
                message = await receive()
        except TimeoutError:
            yield Problem(408, "the next line did not come in time", "body", "send lines faster")
            return
        if message["type"] != "http.request":
            return
        more = message.get("more_body", False)
        held += message.get("body", b"")
        *whole, rest = bytes(held).split(b"\n")
        if not more:
            whole, rest = [*whole, rest], b""
        for line in whole:
            if not skipping:
                yield line if len(line) <= most else _too_long(most)
            skipping = False
        if len(rest) > most:
            if not skipping:
                yield _too_long(most)
            skipping, rest = True, b""
        held = bytearray(rest)


def _too_long(most: int) -> Problem:
    return Problem(413, "the line is too long", "body", f"send lines of at most {most:,} bytes")
