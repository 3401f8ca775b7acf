"""What can go wrong with a request: an HTTP status, and what, where and what to do about it."""

from __future__ import annotations


class Problem(Exception):  # noqa: N818 - what goes to a client is called so
    """An error that its sender can fix.

    status: of HTTP; where: the field of the request, the limit or the path; retry: seconds after which the same request
    may succeed; close: whether the connection ends with the answer, since the rest of the request is not read.
    """

    def __init__(
        self, status: int, what: str, where: str, fix: str, retry: int | None = None, close: bool = False
    ) -> None:
        super().__init__(what)
        self.status, self.what, self.where, self.fix = status, what, where, fix
        self.retry, self.close = retry, close

    def payload(self) -> dict[str, dict[str, str]]:
        """Return it as JSON has it."""
        return {"error": {"what": self.what, "where": self.where, "fix": self.fix}}

    @property
    def headers(self) -> list[tuple[bytes, bytes]]:
        """Headers of the response."""
        made = [] if self.retry is None else [(b"retry-after", str(self.retry).encode())]
        return [*made, (b"connection", b"close")] if self.close else made
