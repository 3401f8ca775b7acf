"""Many machines, more than fits in memory: what workers of a Ray cluster gain and cost, and peaks of memory."""

from __future__ import annotations

import contextlib
import json
import math
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import tagwright as tw
from benchmarks.frame.bench import Bench, MissingError
from benchmarks.ours.sampled import write_sample
from tagwright.cli.distributed_tagging import FileWork
from tagwright.cli.tag import tag
from tagwright.cli.tagging import TagOptions
from tagwright.cluster.files import everywhere, jobs_of
from tagwright.cluster.ray import Ray, RayEngine
from tagwright.cluster.training import BatchSums, BatchWorker

SENTENCES, FILES, ITERATIONS, TURNS = 100_000, 40, 12, 8
NETWORK = 1.25e9  # bytes per second between two machines: 10 Gbit/s; assumed, not measured
FAN = 8
NOT_QUIET = "the machine has two cores, which Ray's own processes and whatever else runs share"


@contextlib.contextmanager
def own_ray(cpus: int) -> Iterator[Any]:
    """Start Ray on this machine, with this many CPUs, and end it."""
    try:
        import ray
    except ImportError:
        raise MissingError("Ray is not installed: pip install 'tagwright[ray]'") from None
    ray.init(address="local", num_cpus=cpus, include_dashboard=False, log_to_driver=False, logging_level="error")
    try:
        yield ray
    finally:
        ray.shutdown()


def many_sentences(bench: Bench) -> tuple[list[Any], list[list[str]]]:
    """Return the sentences of pos_ewt, again and again, until there are enough."""
    X, y = bench.read("pos_ewt", "train", 500)
    wanted = 2_000 if bench.quick else SENTENCES
    times = math.ceil(wanted / len(X))
    return (X * times)[:wanted], (y * times)[:wanted]


# Tagging


def timed_tagging(bench: Bench) -> dict[str, Any]:
    """Return the seconds for all files with one worker and with two, which take turns."""
    X, _ = many_sentences(bench)
    given = tag.make_context("tag", []).params
    work = FileWork(
        TagOptions(**{name: given[name] for name in TagOptions.__dataclass_fields__}), "tokens", "benchmark"
    )
    seconds: dict[str, list[float]] = {"1": [], "2": []}
    with tempfile.TemporaryDirectory() as folder, own_ray(2) as ray:
        corpus = Path(folder, "in")
        corpus.mkdir()
        files = 4 if bench.quick else FILES
        for n in range(files):
            text = "".join("".join(f"{row[0]}\n" for row in words) + "\n" for words in X[n::files])
            (corpus / f"{n:02}.txt").write_text(text, encoding="utf-8")

        def run(workers: int, name: str) -> float:
            jobs = jobs_of([str(corpus)], str(Path(folder, name)))
            began = time.perf_counter()
            for _, outcome in everywhere(ray, work, jobs, 2 // workers, lambda: None):
                if not outcome.made:
                    raise AssertionError(outcome.complaint)
            return time.perf_counter() - began

        for turn in range(1 if bench.quick else TURNS):
            for workers in (1, 2):
                # Ray ends a worker that the turn before did not need; a new one takes half a second to start.
                run(workers, f"warm-{turn}-{workers}")
                seconds[str(workers)].append(run(workers, f"{turn}-{workers}"))
        results = [
            {path.name: path.read_bytes() for path in Path(folder, name).glob("*.txt")} for name in ("0-1", "0-2")
        ]
        if results[0] != results[1] or len(results[0]) != files:
            raise AssertionError("one worker and two write different files")
    return {
        "seconds": seconds,
        "tokens": sum(map(len, X)),
        "sentences": len(X),
        "files": files,
        "load": os.getloadavg()[0],
    }


def tagging(bench: Bench) -> None:
    """Files tagged by one worker and by two, on the two cores of one machine."""
    own = bench.step("pos_ewt", partial(timed_tagging, bench))
    best = {workers: min(times) for workers, times in own["seconds"].items()}
    rows = [
        [workers, f"{best[workers]:.2f}", f"{own['tokens'] / best[workers]:,.0f}", f"{best['1'] / best[workers]:.2f}"]
        for workers in best
    ]
    title = f"tag --ray: {own['sentences']:,} sentences in {own['files']} files, {own['tokens']:,} tokens"
    note = f"The fastest of {TURNS} turns each. The load of the machine was {own['load']:.1f}; it has two cores."
    bench.table("tagging", title, ["workers", "s", "tokens/s", "times faster"], rows, note)
    gain = best["1"] / best["2"]
    bench.claim("two workers tag faster than one", "pos_ewt", f"{gain:.2f}", "at least 1.8", gain >= 1.8, NOT_QUIET)


# Training


class TimedWorker(BatchWorker):
    """A worker that knows how long it was summing, by the clock and by the processor."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._spent: list[tuple[float, float]] = []

    def expect(self, *arguments: Any) -> Any:
        began, used = time.perf_counter(), time.process_time()
        found = super().expect(*arguments)
        self._spent.append((time.perf_counter() - began, time.process_time() - used))
        return found

    def reported(self) -> tuple[float, float]:
        """Return the least seconds of a call."""
        least = np.min(self._spent or [(0.0, 0.0)], axis=0)
        return float(least[0]), float(least[1])


class CountingEngine(RayEngine):
    """An engine that counts the bytes of arrays that go through it."""

    sent = received = puts = 0
    sums: BatchSums

    def reported(self) -> list[tuple[float, float]]:
        workers = self.sums._all.workers
        return self.get([self.call(worker, "reported") for worker in workers], lambda: None)

    def put(self, value: object) -> Any:
        if isinstance(value, np.ndarray):  # weights, once per evaluation
            self.sent += value.nbytes
            self.puts += 1
        return super().put(value)

    def start(self, kind: type, *arguments: Any, threads: int) -> Any:
        return super().start(TimedWorker, *arguments, threads=threads)

    def get(self, promised: list[Any], check: Any) -> list[Any]:
        found = super().get(promised, check)
        self.received += sum(one.nbytes for one in found if isinstance(one, np.ndarray))
        return found


class Measured(Ray):
    """A cluster whose engine counts, and reports when a training has ended."""

    def batch(self, engine: Any, run: Any) -> Any:
        engine.sums = BatchSums(engine, run, self.workers)
        engine.reported()  # all workers have started
        return engine.sums

    @contextlib.contextmanager
    def connected(self, threads: int = 1) -> Iterator[Any]:
        engine: Any = CountingEngine()
        yield engine
        wall, used = np.max(engine.reported(), axis=0)
        LAST.update(
            wall=float(wall), used=float(used), sent=engine.sent / engine.puts, received=engine.received / engine.puts
        )
        engine.close()


LAST: dict[str, float] = {}
"""Measurements of the last training on a cluster."""


def timed_iterations(bench: Bench, workers: int) -> dict[str, float]:
    """Return what iterations of L-BFGS take; workers: 0 for none, in this process."""
    X, y = many_sentences(bench)
    learner = tw.CRF("pos", solver=tw.LBFGS(l2=0.1, max_iterations=ITERATIONS, tolerance=0.0))
    with warnings.catch_warnings(action="ignore"), own_ray(2) if workers else contextlib.nullcontext():
        learner.fit(X, y, cluster=Measured(workers=workers) if workers else None, progress=False)
    size = sum(array.size for name, array in learner.model_.arrays.items() if name.endswith("weight"))
    found = {"tokens": sum(map(len, X)), "weights": size, "objective": learner.objective_}
    found["seconds"] = min(fact["seconds"] for fact in learner.history_)
    found["load"] = os.getloadavg()[0]
    return found | (LAST if workers else {})


def iterations(bench: Bench) -> None:
    """Iterations of a CRF by L-BFGS: in this process, by one worker, by two; and what goes between them."""
    own = {n: bench.step(f"workers {n}", partial(timed_iterations, bench, n)) for n in (0, 1, 2)}
    if len({found["objective"] for found in own.values()}) != 1:
        raise AssertionError("the objectives differ, and so the weights")
    rows = []
    for n, found in own.items():
        more = ["-", "-", "-"]
        if n:
            between = (found["sent"] * n + found["received"]) / 1e6
            more = [f"{found['used']:.2f}", f"{100 * (1 - found['wall'] / found['seconds']):.0f}", f"{between:,.0f}"]
        gain = f"{own[1]['seconds'] / found['seconds']:.2f}"
        rows.append([str(n) if n else "none", f"{found['seconds']:.2f}", gain, *more, f"{found['load']:.1f}"])
    title = f"CRF by L-BFGS: {own[0]['tokens']:,.0f} tokens of pos_ewt, {own[0]['weights']:,.0f} weights"
    header = [
        "workers", "s per iteration", "times faster than one", "processor s of a worker", "% not in sums",
        "MB per iteration", "load of the machine",
    ]  # fmt: skip
    note = (
        f"The fastest of {ITERATIONS} iterations. Weights go to each worker and its counts come back. The objective is "
        "the same to the last bit in all rows. Processor seconds are those of the busiest worker, in sums: the time "
        "where each has a core of its own. A load above 2 means that others had a share of the two cores."
    )
    bench.table("iterations", title, header, rows, note)
    gain = own[1]["seconds"] / own[2]["seconds"]
    bench.claim("two workers iterate faster than one", "pos_ewt", f"{gain:.2f}", "at least 1.8", gain >= 1.8, NOT_QUIET)


# What lies beyond two cores


def timed_costs(bench: Bench) -> dict[str, list[float]]:
    """Return, for weights of several numbers, the seconds to send them to a worker, to get counts, to add two."""
    sizes = [10**5, 10**6] if bench.quick else [10**5, 10**6, 10**7]
    found: dict[str, list[float]] = {"weights": [float(size) for size in sizes], "send": [], "return": [], "add": []}

    class Echo:
        def take(self, array: Any) -> int:
            return len(array)

        def make(self, size: int) -> Any:
            return np.ones(size)

    with own_ray(1) as ray:
        worker = ray.remote(Echo).remote()
        ray.get(worker.take.remote(np.ones(1)))
        for size in sizes:
            array = np.random.default_rng(0).random(size)
            took: dict[str, list[float]] = {"send": [], "return": [], "add": []}
            for _ in range(3 if bench.quick else 10):
                began = time.perf_counter()
                ray.get(worker.take.remote(ray.put(array)))
                took["send"].append(time.perf_counter() - began)
                began = time.perf_counter()
                got = ray.get(worker.make.remote(size))
                took["return"].append(time.perf_counter() - began)
                total = np.zeros(size)
                began = time.perf_counter()
                total += got
                took["add"].append(time.perf_counter() - began)
            for name, times in took.items():
                found[name].append(float(np.median(times)))
    return found


def line(x: list[float], y: list[float]) -> tuple[float, float]:
    """Return a and b of y = a + b x, none of them below 0, by least squares of relative errors."""
    b, a = np.polyfit(x, y, 1, w=1 / np.asarray(y))
    return max(0.0, float(a)), max(0.0, float(b))


def beyond(bench: Bench) -> None:
    """Where more workers stop paying: costs measured here, put together for machines that are not here."""
    costs = bench.step("costs", partial(timed_costs, bench))
    rows = [
        [f"{size:,.0f}", *(f"{1e3 * costs[name][n]:.2f}" for name in ("send", "return", "add"))]
        for n, size in enumerate(costs["weights"])
    ]
    header = ["weights", "to a worker, ms", "counts back, ms", "adding two, ms"]
    bench.table("costs", "Measured: what weights cost on the way, on one machine", header, rows)
    alone = bench.step("tokens", partial(timed_iterations, bench, 1))
    per_token = alone["used"] / alone["tokens"]
    fits = {name: line(costs["weights"], costs[name]) for name in ("send", "return", "add")}

    def overhead(weights: float, workers: int) -> float:
        """Weights pass from machine to machine, each round to twice as many; counts are added eight at a time."""
        at_once = {name: a + b * weights for name, (a, b) in fits.items()}
        wire = 8 * weights / NETWORK
        rounds = math.ceil(math.log2(workers + 1))
        levels = max(1, math.ceil(math.log(workers, FAN))) if workers > 1 else 1
        each = min(workers, FAN)
        return (at_once["send"] + wire) * rounds + levels * (at_once["return"] + each * (wire + at_once["add"]))

    rows = []
    for tokens in (10**6, 10**8, 10**9):
        for weights in (10**6, 10**7):
            sums = tokens * per_token
            cells = []
            for workers in (8, 64, 512):
                over = overhead(weights, workers)
                took = sums / workers + over
                cells.append(f"{took:,.2f} s, {sums / took:,.0f} times, {100 * over / took:.0f}%")
            half = max((n for n in range(1, 4097) if overhead(weights, n) <= sums / n), default=1)
            rows.append([f"{tokens:,}", f"{weights:,}", f"{sums:,.1f}", *cells, f"{half:,}{'+' * (half == 4096)}"])
    header = ["tokens", "weights", "s, one worker", "8 workers", "64 workers", "512 workers", "half is overhead at"]
    note = (
        f"Computed from what was measured: {1e6 * per_token:.2f} us of the processor per token in sums (pos_ewt, 49 "
        "labels, one thread per worker) and the costs above; and from what was assumed: a machine per worker, 10 "
        "Gbit/s between any two. Each cell: seconds per iteration, times faster than one worker, share of the time "
        "that is not sums."
    )
    bench.table("beyond", "Computed: iterations of a CRF on many machines", header, rows, note)


# The perceptron's mixing


def mixed(bench: Bench, corpus: str, preset: str, label: str | None) -> dict[str, float]:
    """Return the accuracy of perceptrons that were trained in order, and mixed from parts."""
    X, y = bench.read(corpus, "train", 200, label)
    X_test, y_test = bench.read(corpus, "test", 100, label)
    found = {}
    with own_ray(8):
        for workers in (0, 2, 8):
            learner = tw.Perceptron(preset, epochs=2 if bench.quick else 10)
            cluster = Ray(workers=workers) if workers else None
            found[str(workers)] = learner.fit(X, y, cluster=cluster).score(X_test, y_test)
    return found


def mixing(bench: Bench) -> None:
    """Perceptrons by iterative parameter mixing, compared with sequential training; token accuracy on test data."""
    rows = []
    for corpus, preset, label in (
        ("pos_ewt", "pos", None),
        ("chunk_conll2000", "chunk", "3"),
        ("slots_snips", "query", None),
    ):
        found = bench.step(corpus, partial(mixed, bench, corpus, preset, label))
        rows.append([corpus, *(f"{100 * found[n]:.2f}" for n in ("0", "2", "8"))])
    bench.table("mixing", "Perceptrons of ten epochs, accuracy %", ["corpus", "in order", "2 parts", "8 parts"], rows)


# Memory

_TRAIN = """
import json, pathlib, re, sys, time
import tagwright as tw
learner = {learner}
began = time.perf_counter()
learner.fit_files({path!r})
took = time.perf_counter() - began
peak = int(re.search(r"VmHWM:\\s+(\\d+) kB", pathlib.Path("/proc/self/status").read_text())[1]) / 1024
print(json.dumps({{"peak": peak, "seconds": took, "tokens": learner.model_.facts["tokens"]}}))
"""
LEARNERS = {
    "perceptron": 'tw.Perceptron("U:%x[0,0]\\nU:%x[-1,0]\\nB\\n", epochs=1)',
    "CRF, AdaGrad": 'tw.CRF("U:%x[0,0]\\nU:%x[-1,0]\\nB\\n", epochs=1)',
    "CRF, L-BFGS": 'tw.CRF("U:%x[0,0]\\nB\\n", solver=tw.LBFGS(l2=1.0, max_iterations=2))',
}


def peak(bench: Bench, learner: str, tokens: int) -> dict[str, float]:
    """Return the peak of a process that trains on this many tokens of a sampled HMM."""
    with tempfile.TemporaryDirectory(dir=bench.out) as folder:
        path = Path(folder, "sample.txt")
        write_sample(path, tokens)
        code = _TRAIN.format(learner=LEARNERS[learner], path=str(path))
        reported = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True
        )
        found: dict[str, float] = json.loads(reported.stdout.splitlines()[-1])
        return found | {"file": path.stat().st_size / 2**20}


def memory(bench: Bench) -> None:
    """Peaks of memory of trainings on files: 2 million tokens, and ten times as many, of one vocabulary."""
    sizes = (20_000, 200_000) if bench.quick else (2_000_000, 20_000_000)
    rows = []
    for learner in LEARNERS:
        found = [bench.step(f"{learner} {tokens}", partial(peak, bench, learner, tokens)) for tokens in sizes]
        ratio = found[1]["peak"] / found[0]["peak"]
        for own in found:
            figures = (f"{own['file']:,.0f}", f"{own['peak']:,.0f}", f"{own['seconds']:,.0f}")
            rows.append([learner, f"{own['tokens']:,.0f}", *figures])
        rows[-1].append(f"{ratio:.2f}")
        rows[-2].append("")
        what = f"{sizes[1]:,} tokens / {sizes[0]:,}"
        bench.claim(f"peak of memory, {learner}", what, f"{ratio:.2f}", "at most 1.3", ratio <= 1.3)
    header = ["learner", "tokens", "file, MB", "peak, MB", "s", "times the peak"]
    bench.table("memory", "fit_files: the most memory of the whole process", header, rows)


PARTS = {"tagging": tagging, "iterations": iterations, "beyond": beyond, "mixing": mixing, "memory": memory}
