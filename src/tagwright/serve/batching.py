"""Requests that arrive together are tagged together, in one native call."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

from tagwright.models.model import Model
from tagwright.models.tagging import TagResult
from tagwright.serve.answers import tag_options
from tagwright.serve.errors import Problem
from tagwright.serve.metrics import Metrics
from tagwright.serve.request import Request
from tagwright.serve.settings import Settings

Result = TypeVar("Result")
Found = list[TagResult]

_AT_ONCE = 0.002  # seconds of work; for less, another thread costs more than it saves
_ALONE = 16  # requests


class _Job(NamedTuple):
    request: Request
    tokens: int
    future: asyncio.Future[Found]
    began: float


class _Group:
    """Jobs that can be one call: of the same model, with the same options."""

    def __init__(self, model: Model, request: Request) -> None:
        self.model, self.request = model, request
        self.jobs: deque[_Job] = deque()


class Batcher:
    """Tags what is waiting whenever nothing is being tagged.

    Small batches are tagged on the event loop itself, large ones on a thread, and a request that is
    large or slow on further threads, as `Service` decides.
    """

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self.settings, self.metrics = settings, metrics
        self.groups: dict[tuple[Any, ...], _Group] = {}
        self.waiting = self.slow = self.alone = 0
        self.timer: asyncio.Handle | None = None
        self.running: list[_Job] = []
        self.rates: dict[tuple[Any, ...], float] = {}
        """Seconds per token of each kind of group, by what it took lately."""
        self.lane = ThreadPoolExecutor(1, "tagwright-batch")
        self.others = ThreadPoolExecutor(max(2, settings.threads), "tagwright-long")

    async def tag(self, model: Model, request: Request) -> Found:
        """Return the k best labellings of each sentence of a request."""
        tokens = request.tokens
        if self.waiting >= self.settings.queue:
            raise self._full("queue")
        key = (id(model), request.k, request.decoder, request.proba)
        if self.alone and not self.waiting and not self.running and self._is_quick(key, tokens):
            self.alone -= 1
            return self._at_once(key, model, request, tokens)
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Found] = loop.create_future()
        group = self.groups.get(key)
        if group is None:
            group = self.groups[key] = _Group(model, request)
        group.jobs.append(_Job(request, tokens, future, loop.time()))
        self.waiting += 1
        self._schedule(loop, hurry=len(group.jobs) >= self.settings.batch)
        return await future

    def _is_quick(self, key: tuple[Any, ...], tokens: int) -> bool:
        return self.rates.get(key, 1.0) * (tokens + 1) < _AT_ONCE

    def _at_once(self, key: tuple[Any, ...], model: Model, request: Request, tokens: int) -> Found:
        """Tag a request that is not batched, on the event loop."""
        self.metrics.batch(1, tokens)
        began = time.perf_counter()
        found = _tagged(model, request.sentences, request, self.settings.threads)
        self._took(key, tokens, time.perf_counter() - began)
        return found

    async def beside(self, work: Callable[..., Result], *given: Any) -> Result:
        """Run work that is too long for the event loop on a thread, and return its result."""
        if self.slow >= max(4, self.settings.queue // 16):
            raise self._full("long requests")
        self.slow += 1
        done = asyncio.get_running_loop().run_in_executor(self.others, work, *given)
        done.add_done_callback(self._ended)
        async with asyncio.timeout(self.settings.timeout):
            return await asyncio.shield(done)

    def _ended(self, done: asyncio.Future[Any]) -> None:
        self.slow -= 1
        if not done.cancelled():
            done.exception()  # retrieved, even if no request waits for it any more

    def give_up(self) -> None:
        """Fail requests that have waited too long."""
        oldest = asyncio.get_running_loop().time() - self.settings.timeout
        for jobs in (*(group.jobs for group in self.groups.values()), self.running):
            for job in jobs:
                if job.began < oldest and not job.future.done():
                    job.future.set_exception(TimeoutError())

    def close(self) -> None:
        """Shut down the threads."""
        self.lane.shutdown(wait=False)
        self.others.shutdown(wait=False)

    def _full(self, where: str) -> Problem:
        self.metrics.rejected("full")
        return Problem(503, "the server has as much to do as it can hold", where, "try again after a second", retry=1)

    def _schedule(self, loop: asyncio.AbstractEventLoop, hurry: bool = False) -> None:
        if self.running or (self.timer is not None and not (hurry and self.settings.wait)):
            return
        if self.timer is not None:
            self.timer.cancel()
        wait = 0.0 if hurry else self.settings.wait
        self.timer = loop.call_later(wait, self._flush, loop) if wait else loop.call_soon(self._flush, loop)

    def _flush(self, loop: asyncio.AbstractEventLoop) -> None:
        """Tag the group that waited longest: on the event loop if that is quick, or else on a thread."""
        self.timer = None
        if self.running or not self.groups:
            return
        key, group = next(iter(self.groups.items()))
        jobs = [group.jobs.popleft() for _ in range(min(len(group.jobs), self.settings.batch))]
        del self.groups[key]
        if group.jobs:
            self.groups[key] = group  # at the end of the queue
        self.waiting -= len(jobs)
        jobs = [job for job in jobs if not job.future.done()]  # some have given up
        tokens = sum(job.tokens for job in jobs)
        self.metrics.batch(len(jobs), tokens)
        # After a request that came alone, the next few are tagged without waiting for others.
        self.alone = _ALONE if len(jobs) == 1 and not self.groups and not self.settings.wait else 0
        if self._is_quick(key, tokens):
            self._answer(key, jobs, tokens, *self._work(group, jobs))
        elif jobs:
            self.running = jobs
            done = loop.run_in_executor(self.lane, self._work, group, jobs)
            done.add_done_callback(lambda done: self._came(loop, key, jobs, tokens, done))
            return
        if self.groups:
            self._schedule(loop)

    def _came(
        self, loop: asyncio.AbstractEventLoop, key: tuple[Any, ...], jobs: list[_Job], tokens: int, done: Any
    ) -> None:
        self.running = []
        self._answer(key, jobs, tokens, *done.result())
        if self.groups:
            self._schedule(loop)

    def _work(self, group: _Group, jobs: Sequence[_Job]) -> tuple[list[Found | Exception], float]:
        """Return the answer to each job, or the error that it alone causes; and the seconds it took."""
        began = time.perf_counter()
        X = [sentence for job in jobs for sentence in job.request.sentences]
        answers: list[Found | Exception]
        try:
            found = _tagged(group.model, X, group.request, self.settings.threads)
            answers, at = [], 0
            for job in jobs:
                count = len(job.request.sentences)
                answers.append(found[at : at + count])
                at += count
        except Exception as error:
            answers = [error] if len(jobs) == 1 else [self._work(group, [job])[0][0] for job in jobs]
        return answers, time.perf_counter() - began

    def _answer(
        self, key: tuple[Any, ...], jobs: Sequence[_Job], tokens: int, answers: list[Found | Exception], seconds: float
    ) -> None:
        self._took(key, tokens, seconds)
        for job, answer in zip(jobs, answers, strict=True):
            if job.future.done():
                continue
            if isinstance(answer, Exception):
                job.future.set_exception(answer)
            else:
                job.future.set_result(answer)

    def _took(self, key: tuple[Any, ...], tokens: int, seconds: float) -> None:
        """Record the time per token: the minimum, since other work on the machine only adds to it."""
        if len(self.rates) > 1000:
            self.rates.clear()  # of models that are gone
        self.rates[key] = min(seconds / (tokens + 1), 1.1 * self.rates.get(key, 1.0))


def _tagged(model: Model, X: list[list[Any]], request: Request, threads: int) -> Found:
    return model.tag_results(X, tag_options(request, threads))
