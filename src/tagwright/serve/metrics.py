"""What a server counts, as Prometheus reads it.

Counts are numbers in one array per process, so that counting costs next to nothing. Worker processes have theirs in one
file that all of them map, and the process that answers adds them up.
"""

from __future__ import annotations

import functools
import mmap
import os
import time
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

PATHS = (
    "/v1/tag", "/v1/explain", "/v1/lattice", "/v1/models", "/health/live", "/health/ready", "/metrics",
    "/openapi.json", "/", "/page", "other",
)  # fmt: skip
STATUSES = (200, 400, 401, 404, 405, 408, 413, 415, 421, 422, 500, 503)
REASONS = ("full", "time", "slow", "size", "connections", "head", "malformed", "host", "token")
MODEL = ("loads", "failures", "seconds", "opened", "bytes")
SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


def _names() -> Iterator[Any]:
    for path in PATHS:
        yield from ((path, status) for status in STATUSES)
        yield from ((path, "bucket", n) for n in range(len(SECONDS) + 1))
        yield path, "seconds"
    yield from (("batch", n) for n in range(len(SIZES) + 1))
    yield from (("rejected", reason) for reason in REASONS)
    yield from ("batched", "tokens", "in_progress", "pid")


_PLACE = {name: place for place, name in enumerate(_names())}
_TAG_BUCKETS = {path: _PLACE[path, "bucket", 0] for path in PATHS}
_TAG_SECONDS = {path: _PLACE[path, "seconds"] for path in PATHS}
_BATCH, _TOKENS, _BATCHED, _OPEN = _PLACE["batch", 0], _PLACE["tokens"], _PLACE["batched"], _PLACE["in_progress"]


class Metrics:
    """The counts of this process, the worker of this number, and of those that share a file with it.

    models: the names of the models; their counts follow the others.
    """

    def __init__(self, file: str | None = None, worker: int = 0, models: Sequence[str] = ()) -> None:
        self.all: Any  # memoryview of doubles
        self.models = {name: len(_PLACE) + n * len(MODEL) for n, name in enumerate(models)}
        self._length = _length(len(models))
        if file is None:
            self.all = memoryview(bytearray(8 * self._length)).cast("d")
        else:
            with Path(file).open("r+b") as opened:
                self.all = memoryview(mmap.mmap(opened.fileno(), 0)).cast("d")
        self.own = self.all[worker * self._length : (worker + 1) * self._length]
        self.own[_OPEN] = 0.0  # of one that this process replaces
        self.own[_PLACE["pid"]] = os.getpid()

    @staticmethod
    def make_file(path: str, workers: int, models: int) -> None:
        """Make the file for `workers` processes and as many models."""
        Path(path).write_bytes(bytes(workers * 8 * _length(models)))

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

    def ended(self) -> None:
        """Count that a request is not in progress any more; its answer is counted elsewhere."""
        self.own[_OPEN] -= 1

    def batch(self, requests: int, tokens: int) -> None:
        """Count a batch that is about to be tagged."""
        self.own[_BATCH + bisect_left(SIZES, requests)] += 1
        self.own[_BATCHED] += requests
        self.own[_TOKENS] += tokens

    def rejected(self, reason: str) -> None:
        """Count a request that was turned away."""
        self.own[_PLACE["rejected", reason]] += 1

    def opened(self, model: str, seconds: float, size: int) -> None:
        """Count a model that was opened: how long it took, and the bytes of its file."""
        at = self.models.get(model)
        if at is not None:
            self.own[at] += 1
            for name, value in (("seconds", seconds), ("opened", time.time()), ("bytes", size)):
                self.own[at + MODEL.index(name)] = value

    def not_opened(self, model: str) -> None:
        """Count a model that could not be opened."""
        at = self.models.get(model)
        if at is not None:
            self.own[at + MODEL.index("failures")] += 1

    def value(self, name: Any) -> float:
        """Return a count, of all processes together."""
        return float(sum(self._values(_PLACE[name])))

    def _values(self, place: int) -> list[float]:
        """Return a count of each process."""
        return list(self.all[place :: self._length])

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
        yield from self._collect_models()
        yield from self._collect_processes()

    def _collect_models(self) -> Iterator[Any]:
        """Yield how models were opened; times and sizes are the largest of all processes."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        for field, name, text, kind, total in (
            ("loads", "loads", "Times that a model file was opened.", CounterMetricFamily, sum),
            ("failures", "load_failures", "Times that a model file could not be opened.", CounterMetricFamily, sum),
            ("seconds", "load_seconds", "Seconds that it took to open the model.", GaugeMetricFamily, max),
            ("opened", "loaded_timestamp_seconds", "When the model was opened.", GaugeMetricFamily, max),
            ("bytes", "file_bytes", "Size of the model file.", GaugeMetricFamily, max),
        ):
            family: Any = kind(f"tagwright_model_{name}", text, labels=["model"])
            for model, at in self.models.items():
                family.add_metric([model], total(self._values(at + MODEL.index(field))))
            yield family

    def _collect_processes(self) -> Iterator[Any]:
        """Yield CPU time, memory, open files and start of each process, where the system reports them."""
        from prometheus_client import ProcessCollector
        from prometheus_client.core import Metric

        pids = [int(pid) for pid in self._values(_PLACE["pid"])]
        merged: dict[str, Any] = {}
        for worker, pid in enumerate(pids):
            collector: Any = ProcessCollector(pid=functools.partial(int, pid), registry=None) if pid else None
            for family in () if collector is None else collector.collect():
                own = merged.setdefault(family.name, Metric(family.name, family.documentation, family.type))
                for sample in family.samples:
                    own.add_sample(sample.name, {"worker": str(worker)} if len(pids) > 1 else {}, sample.value)
        yield from merged.values()

    def _buckets(self, name: tuple[Any, ...], limits: tuple[float, ...]) -> tuple[list[tuple[str, float]]]:
        total, made = 0.0, []
        for n, limit in enumerate([*map(float, limits), "+Inf"]):
            total += self.value((*name, n))
            made.append((str(limit), total))
        return (made,)


def _length(models: int) -> int:
    """Return how many numbers a process has."""
    return len(_PLACE) + models * len(MODEL)
