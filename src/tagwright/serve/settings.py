"""Options of a server: its models, its limits, and how requests are batched."""

from __future__ import annotations

from dataclasses import dataclass, field

from tagwright import checks


@dataclass(frozen=True)
class Settings:
    """Limits and options of a server; see `tagwright serve --help`."""

    models: tuple[tuple[str, str | None], ...] = (("english", None),)
    """Names and files; None is the included model."""
    threads: int = 1
    """Threads over the sentences of a batch."""
    batch: int = 64
    """Most requests per batch."""
    wait: float = 0.0
    """Seconds that a request waits for others; 0: only while other requests are tagged."""
    queue: int = 1024
    """Requests that may wait; more are rejected."""
    body: int = 1_000_000
    """Bytes of a request, and of a line of a stream."""
    tokens: int = 10_000
    """Tokens of a request, and of a line of a stream."""
    k: int = 100
    """Labellings per sentence."""
    timeout: float = 10.0
    """Seconds in which a request must arrive, and again in which it must be answered."""
    connections: int = 4096
    """Open connections; more are rejected."""
    watch: float = 1.0
    """Seconds between checks of the model files; 0: never."""

    hosts: tuple[str, ...] | None = None
    """Names in the header Host that are answered; None: any."""
    secrets: tuple[str, ...] = field(default=(), repr=False)
    """Bearer tokens, one of which requests need; empty: none."""
    access_log: str | None = None
    """File of the access log, "-" for standard output; None: no log."""
    copies: str | None = None
    """Folder for copies of large model files, which worker processes share; None: models are read into memory."""

    def __post_init__(self) -> None:
        for name in ("threads", "batch", "queue", "body", "tokens", "k", "connections"):
            checks.at_least_one(name, getattr(self, name))
        checks.above_zero("timeout", self.timeout)
        for name in ("wait", "watch"):
            checks.not_negative(name, getattr(self, name))
        if not self.names or len(set(self.names)) < len(self.names):
            raise ValueError("models must have names that differ, such as pos=pos.safetensors")

    @property
    def names(self) -> list[str]:
        """Names of the models."""
        return [name for name, _ in self.models]
