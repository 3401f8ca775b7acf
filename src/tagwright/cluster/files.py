"""Tagging many files on a cluster: one job per file, recorded when it is done, so that a run can be resumed."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tagwright.data.files import OPENERS, DataError, Input, digest_of, inputs_of
from tagwright.data.output import replacing

_RECORDS = ".tagwright"  # the folder of the records, in that of the results
_RETRIES = 100  # of a job whose worker dies, before it fails
_AHEAD = 64  # jobs that wait for a worker, at least
_A_WHILE = 0.2  # seconds between two checks for Ctrl-C


class Job(NamedTuple):
    """A file, the path of its result, and the path of its record."""

    source: str
    target: str
    record: str


class Outcome(NamedTuple):
    """The result of a job: tagged now or before, an error message if it failed, and messages on the way."""

    made: bool
    complaint: str = ""
    said: str = ""


def jobs_of(given: Sequence[str], folder: str) -> list[Job]:
    """Return a job for each file; its result has the name of the file, without an ending such as ``.xz``."""
    inside = Path(folder).resolve()
    jobs: dict[str, Job] = {}
    for path in given:
        if Path(path).is_dir() and inside.is_relative_to(Path(path).resolve()):
            raise DataError(f"{folder}: results in a folder that is tagged would be tagged, too; name another for -o")
    for file in inputs_of(given):
        name = file.name.removesuffix(Path(file.name).suffix) if _is_packed(file) else file.name
        source, target = os.path.abspath(file.path), inside / name
        if target == file.path.resolve():
            raise DataError(f"{file.path}: would be replaced by its result; name another folder for -o")
        if name in jobs:
            what = "the results of two files would have one name; tag them apart"
            raise DataError(f"{file.path} and {jobs[name].source}: {what}")
        jobs[name] = Job(source, os.fspath(target), os.fspath(inside / _RECORDS / f"{name}.json"))
    return list(jobs.values())


def _is_packed(file: Input) -> bool:
    return Path(file.name).suffix.lower() in OPENERS


class _Digested(io.RawIOBase):
    """A writable file that computes the digest of its contents."""

    def __init__(self, file: Any) -> None:
        self._file, self.sha = file, hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        self.sha.update(data)
        return int(self._file.write(data))


def once(job: Job, key: str, work: Callable[[str, Any], None]) -> bool:
    """Do a job, unless its record shows that it is done: same input, same key, this very result. Return whether it ran.

    key: a digest of everything that determines the result, besides the input. work: called with the path of the input
    and the file to write to, which appears under its name when it is complete.
    """
    about = {"key": key, "input": digest_of(job.source)}
    with contextlib.suppress(OSError, ValueError):
        known = json.loads(Path(job.record).read_text(encoding="utf-8"))
        if known == {**about, "output": digest_of(job.target)}:
            return False
    for path in (job.target, job.record):
        os.makedirs(os.path.dirname(path), exist_ok=True)
    with replacing(job.target) as file:
        out = _Digested(file)
        work(job.source, out)
    with replacing(job.record) as file:
        file.write(json.dumps({**about, "output": out.sha.hexdigest()}).encode())
    return True


def everywhere(
    ray: Any, work: Callable[[Job], Outcome], jobs: Iterable[Job], cpus: int, check: Callable[[], None]
) -> Iterator[tuple[Job, Outcome]]:
    """Yield each job and its outcome, as they end; a job whose worker dies is repeated.

    ray: the module, connected to a cluster; cpus: per job; check: called several times per second, and may raise.
    """
    task = ray.remote(_called).options(num_cpus=cpus, max_retries=_RETRIES)
    shared, ahead = ray.put(work), max(_AHEAD, 2 * int(ray.cluster_resources().get("CPU", 0)))
    left = iter(jobs)
    running: dict[Any, Job] = {}
    while True:
        while len(running) < ahead and (job := next(left, None)) is not None:
            running[task.remote(shared, job)] = job
        if not running:
            return
        ended, _ = ray.wait(list(running), num_returns=1, timeout=_A_WHILE)
        check()
        for one in ended:
            job = running.pop(one)
            try:
                yield job, ray.get(one)
            except ray.exceptions.WorkerCrashedError:
                yield job, Outcome(False, f"{job.source}: its worker died {_RETRIES} times; does it fit in memory?")


def _called(work: Callable[[Job], Outcome], job: Job) -> Outcome:
    return work(job)
