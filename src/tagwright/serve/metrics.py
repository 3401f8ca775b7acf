"""What a server counts, as Prometheus reads it.

Counts are numbers in one array per process, so that counting costs next to nothing. Worker processes have theirs in one
file that all of them map, and the process that answers adds them up.
"""

from __future__ import annotations

import mmap
import time
from bisect import bisect_left
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PATHS = (
    "/v1/tag", "/v1/explain", "/v1/lattice", "/v1/models", "/health/live", "/health/ready", "/metrics",
    "/openapi.json", "/", "/page", "other",
)  # fmt: skip
STATUSES = (200, 400, 404, 405, 408, 413, 422, 500, 503)
REASONS = ("full", "time", "slow", "size", "connections", "head")
SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


def _names() -> Iterator[Any]:
    for path in PATHS:
        yield from ((path, status) for status in STATUSES)
        yield from ((path, "bucket", n) for n in range(len(SECONDS) + 1))
        yield path, "seconds"
    yield from (("batch", n) for n in range(len(SIZES) + 1))
    yield from (("rejected", reason) for reason in REASONS)
    yield from ("batched", "tokens", "in_progress")


_PLACE = {name: place for place, name in enumerate(_names())}
_TAG_BUCKETS = {path: _PLACE[path, "bucket", 0] for path in PATHS}
_TAG_SECONDS = {path: _PLACE[path, "seconds"] for path in PATHS}
_BATCH, _TOKENS, _BATCHED, _OPEN = _PLACE["batch", 0], _PLACE["tokens"], _PLACE["batched"], _PLACE["in_progress"]
_BYTES = 8 * len(_PLACE)


class Metrics:
    """The counts of this process, the worker of this number, and of those that share a file with it."""

    def __init__(self, file: str | None = None, worker: int = 0) -> None:
        self.all: Any  # memoryview of doubles
        if file is None:
            self.all = memoryview(bytearray(_BYTES)).cast("d")
        else:
            with Path(file).open("r+b") as opened:
                self.all = memoryview(mmap.mmap(opened.fileno(), 0)).cast("d")
        self.own = self.all[worker * len(_PLACE) : (worker + 1) * len(_PLACE)]
        self.own[_OPEN] = 0.0  # of one that this process replaces

    @staticmethod
    def make_file(path: str, workers: int) -> None:
        """Make the file for `workers` processes."""
        Path(path).write_bytes(bytes(workers * _BYTES))

    def began(self) -> float:
        """Count a request that begins; returns the time."""
        self.own[_OPEN] += 1
        return time.perf_counter()

    def answered(self, path: str, status: int, began: float) -> None:
        """Count an answer to a request; path: one of ours, never what a client sent."""
        own, seconds = self.own, time.perf_counter() - began
        own[_OPEN] -= 1
        own[_PLACE.get((path, status), _PLACE["other", 500])] += 1
        own[_TAG_BUCKETS[path] + bisect_left(SECONDS, seconds)] += 1
        own[_TAG_SECONDS[path]] += seconds

    def batch(self, requests: int, tokens: int) -> None:
        """Count a batch that is about to be tagged."""
        self.own[_BATCH + bisect_left(SIZES, requests)] += 1
        self.own[_BATCHED] += requests
        self.own[_TOKENS] += tokens

    def rejected(self, reason: str) -> None:
        """Count a request that was turned away."""
        self.own[_PLACE["rejected", reason]] += 1

    def value(self, name: Any) -> float:
        """Return a count, of all processes together."""
        return float(sum(self.all[_PLACE[name] :: len(_PLACE)]))

    def text(self) -> bytes:
        """Return all counts in Prometheus' own format."""
        from prometheus_client import CollectorRegistry, generate_latest

        registry: Any = CollectorRegistry()
        registry.register(self)
        made: bytes = generate_latest(registry)
        return made

    def collect(self) -> Iterator[Any]:
        """Yield the counts, as a collector does."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

        requests: Any = CounterMetricFamily("tagwright_requests", "Requests answered.", labels=["path", "status"])
        latency: Any = HistogramMetricFamily(
            "tagwright_request_seconds", "From the head of a request to its answer.", labels=["path"]
        )
        for path in PATHS:
            counts = [(status, self.value((path, status))) for status in STATUSES]
            for status, count in counts:
                if count:
                    requests.add_metric([path, str(status)], count)
            if any(count for _, count in counts):
                latency.add_metric([path], *self._buckets((path, "bucket"), SECONDS), self.value((path, "seconds")))
        yield requests
        yield latency
        sizes: Any = HistogramMetricFamily("tagwright_batch_requests", "Requests per batch.")
        sizes.add_metric([], *self._buckets(("batch",), SIZES), self.value("batched"))
        yield sizes
        yield CounterMetricFamily("tagwright_tokens", "Tokens tagged.", value=self.value("tokens"))
        rejected: Any = CounterMetricFamily("tagwright_rejected", "Requests turned away.", labels=["reason"])
        for reason in REASONS:
            rejected.add_metric([reason], self.value(("rejected", reason)))
        yield rejected
        yield GaugeMetricFamily("tagwright_in_progress", "Requests being answered.", value=self.value("in_progress"))

    def _buckets(self, name: tuple[Any, ...], limits: tuple[float, ...]) -> tuple[list[tuple[str, float]]]:
        total, made = 0.0, []
        for n, limit in enumerate([*map(float, limits), "+Inf"]):
            total += self.value((*name, n))
            made.append((str(limit), total))
        return (made,)
