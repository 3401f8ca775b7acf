"""Times, memory, and work in processes of their own."""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import resource
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

from tqdm import tqdm


def best_of(
    run: Callable[[], Any], repeats: int, seconds: float = 4.0, clock: Callable[[], float] = time.perf_counter
) -> tuple[float, Any]:
    """Return the best time of several, and the answer; stops once the total exceeds the given seconds."""
    best, began = math.inf, clock()
    for _ in range(repeats):
        start = clock()
        answer = run()
        best = min(best, clock() - start)
        if clock() - began > seconds:
            break
    return best, answer


def interleaved(
    runs: dict[Any, Callable[[], Any]], turns: tuple[int, int], seconds: float, name: str
) -> dict[Any, list[float]]:
    """Return the times of each, measured in alternation: least and most turns, at most `seconds` each."""
    times: dict[Any, list[float]] = {key: [] for key in runs}
    for turn in tqdm(range(turns[1]), desc=name, disable=None, leave=False):
        for key, run in runs.items():
            if turn < turns[0] or sum(times[key]) < seconds:
                start = time.perf_counter()
                run()
                times[key].append(time.perf_counter() - start)
    return times


def kernel_mb(file: str, process: str | int = "self") -> dict[str, float]:
    """Return the kernel's figures of a process's memory. VmHWM is its peak; getrusage's begins with the parent's."""
    lines = [line.split() for line in Path(f"/proc/{process}/{file}").read_text(encoding="utf-8").splitlines()]
    return {line[0].rstrip(":"): int(line[1]) / 1024 for line in lines if line[-1] == "kB"}


class Outcome(NamedTuple):
    """The outcome of work with a limit of time and of memory."""

    value: Any
    seconds: float
    peak_mb: float
    problem: str | None  # None, "over the limit", "out of memory" or "failed: ...", where the value may be the error


def apart(work: Callable[..., Any], *arguments: Any) -> Any:
    """Return what `work` returns in a new process, so that nothing else is in its memory."""
    outcome = limited(work, *arguments, seconds=math.inf, megabytes=math.inf)
    if isinstance(outcome.value, Exception):
        raise outcome.value
    if outcome.problem:
        raise RuntimeError(f"{work.__name__}: {outcome.problem}")
    return outcome.value


def limited(work: Callable[..., Any], *arguments: Any, seconds: float, megabytes: float) -> Outcome:
    """Run work in a new process with a limit of time and of address space, and return its outcome."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_within, args=(theirs, megabytes, work, arguments), daemon=True)
    began = time.perf_counter()
    process.start()
    theirs.close()
    largest, peak = 0.0, 0.0
    try:
        while not ours.poll(0.05):
            with contextlib.suppress(OSError):  # it may just have ended
                sizes = kernel_mb("status", process.pid or 0)
                largest, peak = max(largest, sizes.get("VmSize", 0.0)), max(peak, sizes.get("VmHWM", 0.0))
            if time.perf_counter() - began > seconds:
                return Outcome(None, seconds, peak, "over the limit")
        try:
            value, peak, problem = ours.recv()
            process.join(5)  # it has little left to do: tidy up
        except EOFError:  # it ended without a word
            process.join()
            refused = largest > 0.7 * megabytes
            value, problem = None, "out of memory" if refused else f"failed: ended with {process.exitcode}"
        return Outcome(value, time.perf_counter() - began, peak, problem)
    finally:
        process.kill()
        process.join()
        ours.close()


def _within(answer: Connection, megabytes: float, work: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    if megabytes < math.inf:
        most = int(megabytes * 2**20)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    value, problem = None, None
    try:
        value = work(*arguments)
    except MemoryError:
        problem = "out of memory"
    except Exception as error:
        value = error
        message = f"{type(error).__name__}: {error}".splitlines()[0]
        problem = "out of memory" if "alloc" in str(error).lower() else f"failed: {message[:100]}"
    answer.send((value, kernel_mb("status")["VmHWM"], problem))
    answer.close()
