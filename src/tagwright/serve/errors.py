"""What can go wrong with a request: an HTTP status, and what, where and what to do about it."""

from __future__ import annotations

import http
from typing import Any

PROBLEM_JSON = b"application/problem+json"
"""The media type of errors (RFC 9457)."""


class Problem(Exception):  # noqa: N818 - what goes to a client is called so
    """An error that its sender can fix.

    status: of HTTP; where: the field of the request, the limit or the path; retry: seconds after which the same request
    may succeed; close: whether the connection ends with the answer, since the rest of the request is not read;
    challenge: how to authenticate.
    """

    def __init__(
        self,
        status: int,
        what: str,
        where: str,
        fix: str,
        retry: int | None = None,
        close: bool = False,
        challenge: bytes = b"",
    ) -> None:
        super().__init__(what)
        self.status, self.what, self.where, self.fix = status, what, where, fix
        self.retry, self.close, self.challenge = retry, close, challenge

    def payload(self) -> dict[str, Any]:
        """Return it as RFC 9457 describes problems; `where`, `fix` and `error` are members of our own."""
        own = {"what": self.what, "where": self.where, "fix": self.fix}
        title = http.HTTPStatus(self.status).phrase
        payload = {"type": "about:blank", "title": title, "status": self.status, "detail": self.what}
        return {**payload, "where": self.where, "fix": self.fix, "error": own}

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        """Headers of the response."""
        made = [] if self.retry is None else [(b"retry-after", str(self.retry).encode())]
        if self.challenge:
            made.append((b"www-authenticate", self.challenge))
        return [*made, (b"connection", b"close")] if self.close else made
