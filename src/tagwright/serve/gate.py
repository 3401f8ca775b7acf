"""Which requests are let in: the names by which the server may be addressed, and the bearer token."""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Mapping
from hashlib import sha256

from tagwright.serve.errors import Problem
from tagwright.serve.settings import Settings

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
_NDJSON = {b"application/x-ndjson", b"application/ndjson", b"application/jsonl"}
NEED_TOKEN = ("/v1/", "/metrics")
"""Paths that need the token; the page, its files, the description of the interface and health checks do not."""
_REMEMBERED = 100  # values of the header Host


def is_loopback(host: str) -> bool:
    """Return whether an address to listen on is reachable from this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def is_stream(content_type: bytes) -> bool:
    """Return whether a body consists of lines of JSON, by its media type."""
    return content_type.split(b";", 1)[0].strip().lower() in _NDJSON


def check_charset(content_type: bytes) -> None:
    """Raise Problem if a body is declared to be in another encoding than UTF-8."""
    for parameter in content_type.split(b";")[1:]:
        name, _, value = parameter.partition(b"=")
        if name.strip().lower() == b"charset" and value.strip(b' \t"').lower() not in (b"utf-8", b"utf8", b"us-ascii"):
            raise Problem(415, "the body is not in UTF-8", "content-type", "send UTF-8, which is what JSON is")


class Gate:
    """Checks the headers of a request before anything is read of its body."""

    def __init__(self, settings: Settings) -> None:
        self.hosts = None if settings.hosts is None else {_normal(name) for name in settings.hosts}
        self.secrets = [sha256(secret.encode()).digest() for secret in settings.secrets]
        self._known: set[bytes] = set()
        """Values of the header Host that were accepted."""

    def check(self, path: str, fields: Mapping[bytes, bytes]) -> None:
        """Raise Problem for a request to another host, or without the token that its path needs."""
        if self.hosts is not None and (host := fields.get(b"host")) is not None and host not in self._known:
            self._check_host(host)
        if self.secrets and path.startswith(NEED_TOKEN):
            self._check_token(fields.get(b"authorization", b""))

    def _check_host(self, host: bytes) -> None:
        assert self.hosts is not None
        name = host.decode("latin-1")
        name = name[1:].split("]", 1)[0] if name.startswith("[") else name.split(":", 1)[0]
        if _normal(name) not in self.hosts:
            fix = "use the address of the server, or start it with --allow-host and this name"
            raise Problem(421, f"the server is not called {name[:60]!r}", "host", fix, close=True)
        if len(self._known) < _REMEMBERED:
            self._known.add(host)

    def _check_token(self, given: bytes) -> None:
        scheme, _, token = given.partition(b" ")
        digest = sha256(token.strip()).digest()
        # Digests have one length, and all of them are compared: the time does not depend on the token.
        found = [hmac.compare_digest(digest, own) for own in self.secrets]
        if scheme.lower() == b"bearer" and any(found):
            return
        challenge = b'Bearer realm="tagwright"' + (b', error="invalid_token"' if given else b"")
        what = "the token is wrong" if given else "a token is needed"
        fix = "send the header Authorization: Bearer TOKEN"
        raise Problem(401, what, "authorization", fix, challenge=challenge, close=True)


def _normal(name: str) -> str:
    return name.lower().strip("[]").removesuffix(".")
