"""The server under a bounded load on this machine: compared with a handler that does nothing, and attacked.

One server process with one thread, and one client process. What is compared takes turns, and the best of several rounds
counts. Rounds are short, so that some of them find the machine to themselves; the seconds of the processor that a
request takes are shown next to wall-clock times.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.frame.bench import Bench, MissingError
from benchmarks.frame.bodies import random_bodies
from benchmarks.frame.load import LOOPBACK, measure, post

CONNECTIONS = (1, 16, 64, 256)
AIMED = (16, 64)
SENTENCES = [
    "The dog that I saw saw me too .",
    "Time flies like an arrow , but fruit flies like a banana .",
    "The kids train dogs on the train .",
    "Would service be voluntary or compulsory ?",
    "A server answers requests that arrive together with one call .",
]
AIMS = {"token lists": 0.75, "text": 0.6}  # of the requests per second of a handler that does nothing
GROWTH = 30_000_000  # bytes that may come and go


class Running:
    """A server in a process of its own."""

    def __init__(self, process: subprocess.Popen[bytes], port: int) -> None:
        self.process, self.port = process, port

    def cpu(self) -> float:
        """Seconds of the processor that its threads have used."""
        nanoseconds = 0
        for path in Path(f"/proc/{self.process.pid}/task").glob("*/schedstat"):
            with contextlib.suppress(FileNotFoundError):  # a thread that has ended
                nanoseconds += int(path.read_text(encoding="ascii").split()[0])
        return nanoseconds / 1e9

    def memory(self) -> int:
        """Bytes that it holds."""
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def get(self, path: str) -> bytes:
        with urllib.request.urlopen(f"http://{LOOPBACK}:{self.port}{path}", timeout=30) as answer:
            return bytes(answer.read())

    def in_progress(self) -> float:
        """Requests that it is busy with, the one that asks among them."""
        lines = self.get("/metrics").decode().splitlines()
        return next(float(line.split()[1]) for line in lines if line.startswith("tagwright_in_progress "))

    def loaded(self, requests: list[bytes], connections: int, count: int) -> dict[str, Any]:
        before = self.cpu()
        found: dict[str, Any] = measure(self.port, requests, connections, count)
        found["cpu"] = (self.cpu() - before) / max(1, found["answers"])
        return found


@contextlib.contextmanager
def running(*options: object, nothing: bool = False) -> Iterator[Running]:
    """A server that answers."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "tagwright", "serve", "--quiet", "--port", str(port), *map(str, options)]
    if nothing:
        command = [sys.executable, "-m", "benchmarks.frame.nothing", str(port)]
    with subprocess.Popen(command) as process:
        try:
            server = Running(process, port)
            end = time.monotonic() + 60
            while time.monotonic() < end:
                try:
                    server.get("/v1/tag" if nothing else "/health/ready")
                    break
                except urllib.error.HTTPError as error:
                    if error.code == 405:
                        break
                except OSError:
                    pass
                time.sleep(0.05)
            yield server
        finally:
            process.terminate()


def one_text_each() -> list[bytes]:
    return [post("/v1/tag", json.dumps({"text": text}).encode()) for text in SENTENCES]


def one_sentence_each() -> list[bytes]:
    return [post("/v1/tag", json.dumps({"sentences": [text.split()]}).encode()) for text in SENTENCES]


TOKENS = sum(len(text.split()) for text in SENTENCES) / len(SENTENCES)


def requests(bench: Bench) -> None:
    """Requests per second at several numbers of connections, compared with a handler that does nothing."""
    need_server()
    rounds, count = (1, 200) if bench.quick else (15, 1500)  # short: some of them find the machine to themselves
    kinds: dict[str, tuple[tuple[object, ...], bool, Callable[[], list[bytes]]]] = {
        "token lists": ((), False, one_sentence_each),
        "text": ((), False, one_text_each),
        "token lists, no batches": (("--set", "batch=1"), False, one_sentence_each),
        "nothing": ((), True, one_sentence_each),
    }

    def work() -> list[dict[str, Any]]:
        with contextlib.ExitStack() as stack:
            given = {(options, nothing) for options, nothing, _ in kinds.values()}
            servers = {own: stack.enter_context(running(*own[0], nothing=own[1])) for own in given}
            made = []
            for connections in CONNECTIONS:
                best: dict[str, dict[str, Any]] = {}
                for _ in range(rounds):
                    for name, (options, nothing, sent) in kinds.items():
                        found = servers[options, nothing].loaded(sent(), connections, count)
                        assert set(found["statuses"]) == {"200"}, found
                        own = best.setdefault(name, found)
                        for what in ("cpu", "p50", "p99"):
                            own[what] = min(own[what], found[what])
                        if found["answers"] / found["seconds"] > own["answers"] / own["seconds"]:
                            own |= {"answers": found["answers"], "seconds": found["seconds"]}
                made += [{"connections": connections, "name": name, **own} for name, own in best.items()]
            return made

    found = bench.step("requests", work)
    limit = {own["connections"]: own for own in found if own["name"] == "nothing"}
    rows = []
    for own in found:
        none = limit[own["connections"]]
        per_second, most = own["answers"] / own["seconds"], none["answers"] / none["seconds"]
        share, by_cpu = per_second / most, none["cpu"] / own["cpu"]
        rows.append(
            [
                str(own["connections"]), own["name"], f"{per_second:,.0f}", f"{per_second * TOKENS:,.0f}",
                f"{own['p50'] * 1e3:.2f}", f"{own['p99'] * 1e3:.2f}", f"{own['cpu'] * 1e6:.0f}",
                f"{share:.0%}", f"{by_cpu:.0%}",
            ]
        )  # fmt: skip
        if own["name"] in AIMS and own["connections"] in AIMED:
            aim = AIMS[own["name"]]
            where = f"{own['name']}, {own['connections']} connections"
            why = "reading, tagging and writing a sentence take longer than the framework's work for the whole request"
            measured = f"{share:.0%} of its requests per second, {by_cpu:.0%} by processor time"
            claim = f"at least {aim:.0%} of a handler that does nothing"
            bench.claim(claim, where, measured, f"{aim:.0%}", share >= aim, why)
    header = ["connections", "request", "requests/s", "tokens/s", "p50 ms", "p99 ms", "cpu µs", "of nothing", "by cpu"]
    note = (
        "One sentence per request, as a token list or as text, which the server splits. cpu: microseconds of the "
        "processor per request, of the server alone."
    )
    bench.table("requests", "Requests per second, compared with a handler that does nothing", header, rows, note)


def connections(bench: Bench) -> None:
    """The slowest of a hundred answers, with 500 idle or slow connections."""
    need_server()
    others, count, rounds = (50, 200, 1) if bench.quick else (500, 4000, 5)

    def work() -> dict[str, float]:
        with running("--set", "timeout=600") as server:
            alone, beside = [], []
            for _ in range(rounds):
                alone.append(server.loaded(one_sentence_each(), 16, count)["p99"])
                with contextlib.ExitStack() as stack:
                    for n in range(others):
                        idle = stack.enter_context(socket.create_connection((LOOPBACK, server.port), timeout=30))
                        if n % 2:
                            idle.sendall(b"POST /v1/tag HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n{")
                    while server.in_progress() < others // 2 + 1:  # until all of them have been let in
                        time.sleep(0.05)
                    beside.append(server.loaded(one_sentence_each(), 16, count)["p99"])
            return {"alone": min(alone), "beside": min(beside)}

    found = bench.step("connections", work)
    ratio = found["beside"] / found["alone"]
    rows = [
        ["none", f"{found['alone'] * 1e3:.2f}"],
        [f"{others}, half of them in a body", f"{found['beside'] * 1e3:.2f}"],
    ]
    bench.table("connections", "p99 with idle and slow connections", ["other connections", "p99 ms"], rows)
    bench.claim("p99 below twice with 500 idle or slow connections", "16 busy ones", f"{ratio:.2f}", "2", ratio < 2)


def attacks(bench: Bench) -> None:
    """Random bodies, large ones, broken JSON and half requests: statuses and memory."""
    need_server()
    count = 300 if bench.quick else 10_000

    def work() -> list[dict[str, Any]]:
        rng = random.Random(1)
        paths = ("/v1/tag", "/v1/explain", "/v1/lattice")
        drawn = [post(paths[n % 3], body) for n, body in enumerate(random_bodies(7, count))]
        large = [post("/v1/tag", b'{"text": "' + rng.randbytes(1000).hex().encode() * 499 + b'"}') for _ in range(3)]
        words = json.dumps({"sentences": [["a" * 80] * 9_999]}).encode()
        kinds: dict[str, tuple[Callable[[], list[bytes]], int]] = {
            "random bodies": (lambda: drawn, count),
            "bodies of 1 MB": (lambda: [*large, post("/v1/tag", words)], 20 if bench.quick else 200),
            "broken JSON": (lambda: [post("/v1/tag", b"[" * 90_000), post("/v1/tag", b'{"text": "\\ud8')], 200),
        }
        made = []
        with running() as server:
            server.loaded(drawn[:200], 16, 200)  # what it holds for good
            server.loaded(kinds["bodies of 1 MB"][0](), 4, 8)
            for name, (make, number) in kinds.items():
                before = server.memory()
                found = server.loaded(make(), 16, number)
                made.append({"name": name, "statuses": found["statuses"], "grown": server.memory() - before})
            before, halves = server.memory(), 500
            for n in range(halves):
                with socket.create_connection((LOOPBACK, server.port), timeout=30) as half:
                    half.sendall(
                        (b"POST /v1/tag HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99\r\n\r\n{", b"GET / HT")[n % 2]
                    )
            server.get("/health/live")
            made.append({"name": "half requests", "statuses": {"none": halves}, "grown": server.memory() - before})
        return made

    found = bench.step("attacks", work)
    rows = []
    for own in found:
        listed = ", ".join(f"{status}: {n:,}" for status, n in sorted(own["statuses"].items()))
        rows.append([own["name"], listed, f"{own['grown'] / 1e6:+.1f}"])
        right = "500" not in own["statuses"] and own["grown"] < GROWTH
        bench.claim("no 500, and no growth of memory", own["name"], f"{own['grown'] / 1e6:+.1f} MB", "0", right)
    bench.table("attacks", "What nobody should send", ["sent", "answers by status", "memory MB"], rows)


def need_server() -> None:
    try:
        import starlette  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise MissingError(f"{error.name} is not installed; pip install 'tagwright[serve]'") from None


PARTS = {"requests": requests, "connections": connections, "attacks": attacks}
