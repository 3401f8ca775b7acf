"""Training on a cluster: the driver, which distributes and orders the work, and the workers."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tagwright import _core, checks
from tagwright.constraints.arrays import from_arrays, to_arrays
from tagwright.decoding.decoders import Decoder, plan_by_score
from tagwright.decoding.keep import KeepArguments
from tagwright.learners.constraining import core_limits, word_lists
from tagwright.learners.progress import log
from tagwright.learners.training import Numbers

FAN = 8  # arrays of counts that one worker adds

Floats = npt.NDArray[np.float64]
State = dict[str, npt.NDArray[Any]]
Order = tuple[Numbers, Numbers]
"""Of the sentences of a batch: the shard of each, and its number among those of the shard."""
Shard = dict[str, Any]
"""Arguments of `Corpus.opened` for a shard of the corpus, and the labels that a tag dictionary allows its tokens."""


class Engine(Protocol):
    """Runs the workers: Ray, or any system that holds objects in other processes and calls them.

    A call of a worker that was lost is repeated by a new one, made of the same arguments.
    """

    def put(self, value: object) -> Any:
        """Return what stands for a value in calls of any worker."""

    def start(self, kind: type, *arguments: Any, threads: int) -> Any:
        """Return a new worker."""

    def call(self, worker: Any, method: str, *arguments: Any, returns: int = 1) -> Any:
        """Return what stands for the result of a call, or a list of `returns` results."""

    def get(self, promised: list[Any], check: Callable[[], None]) -> list[Any]:
        """Return results, once all of them are there; check is called meanwhile, and may raise."""


class Cluster:
    """Where a training runs; a subclass has the engine."""

    workers: int

    def check(self) -> None:
        """Check the options."""
        checks.at_least_one("cluster: workers", self.workers)

    def connected(self, threads: int = 1) -> contextlib.AbstractContextManager[Engine]:
        """Return a context manager that yields the engine; its workers have this many threads."""
        raise NotImplementedError

    def batch(self, engine: Engine, run: Any) -> BatchSums:
        """Return what sums for L-BFGS."""
        return BatchSums(engine, run, self.workers)

    def online(self, engine: Engine, run: Any) -> MixedTraining | ReplicatedTraining:
        """Return what reads the corpus for online training."""
        return (MixedTraining if run.finds_paths else ReplicatedTraining)(engine, run, self.workers)


# --- the driver ---


def bounds_of(lengths: npt.NDArray[np.int64], workers: int, block: int = 1) -> list[int]:
    """Return where shards of about the same number of tokens begin, and where the last one ends.

    Each begins with a whole number of blocks of sentences. There may be fewer shards than workers, and none is empty.
    """
    ends = np.concatenate([[0], np.cumsum(lengths)])
    places = np.unique(np.append(np.arange(0, len(lengths), block), len(lengths)))
    aims = ends[-1] * np.arange(1, workers) / workers
    nearest = places[np.abs(ends[places][:, None] - aims[None, :]).argmin(axis=0)] if workers > 1 else []
    return sorted({0, *map(int, nearest), len(lengths)})


class _Shards:
    """The workers of a training, and which sentences each has."""

    def __init__(
        self, engine: Engine, run: Any, workers: int, kind: type, setup: dict[str, Any], block: int = 1
    ) -> None:
        self.engine, self.run = engine, run
        self.threads: int = run.learner.threads
        self.bounds = bounds_of(run.corpus.lengths(), workers, block)
        shared = engine.put({**setup, "labels": run.labels, "constraints": to_arrays(run.constraints)})
        lists = word_lists(run.constraints, run.examples.X, run.examples.y)
        self.workers = []
        for begin, end in zip(self.bounds[:-1], self.bounds[1:], strict=True):
            shard = {
                "arrays": run.corpus.cut(np.arange(begin, end, dtype=np.int32)).arrays(),
                "L": len(run.labels),
                "features": run.corpus.features,
                "sets": run.corpus.sets,
                "first": begin,
                "lists": None if lists is None else lists[begin:end],
            }
            self.workers.append(engine.start(kind, engine.put(shard), shared, threads=self.threads))
        log.debug("%d shards of %s sentences", len(self.workers), f"{run.sentences:,}")

    def get(self, promised: list[Any]) -> list[Any]:
        """Return results; Ctrl-C interrupts the wait."""
        return self.engine.get(promised, self.run.check_stop)

    def split(self, sentences: Numbers) -> list[tuple[int, Numbers]]:
        """Return, for each shard that has some of these sentences, its number and their numbers there."""
        where = np.searchsorted(self.bounds, sentences, side="right") - 1
        own = ((n, sentences[where == n] - np.int32(self.bounds[n])) for n in range(len(self.workers)))
        return [(n, numbers) for n, numbers in own if len(numbers)]


class BatchSums:
    """Sums over all sentences, each where it is; the same bits as those of one machine.

    Counts are rounded where they are made, so that their sums are exact. log Z is summed in the order of sentences.
    """

    def __init__(self, engine: Engine, run: Any, workers: int) -> None:
        trainer = run.trainer
        setup = {
            "keys": trainer.keys(),
            "grain": trainer.grain,
            "feature_grain": trainer.feature_grain(),
            "options": run.shared_options(),
        }
        self._all = _Shards(engine, run, workers, BatchWorker, setup, trainer.block)

    def expect(
        self, weights: Floats, rule: KeepArguments, sentences: Numbers, threads: int, counts: Floats
    ) -> tuple[float, int, int]:
        """Fill the expected counts of sentences, whose numbers rise; return log Z, tokens, labels kept."""
        engine, workers = self._all.engine, self._all.workers
        sent = engine.put(weights)
        calls = [
            engine.call(workers[n], "expect", sent, rule, own, threads, returns=2)
            for n, own in self._all.split(sentences)
        ]
        promised = [own for own, _ in calls]
        while len(promised) > FAN:  # not all of them in one place
            groups = [promised[at : at + FAN] for at in range(0, len(promised), FAN)]
            promised = [
                group[0] if len(group) == 1 else engine.call(workers[n * FAN % len(workers)], "add", *group)
                for n, group in enumerate(groups)
            ]
        counts[:] = 0
        for own in self._all.get(promised):
            counts += own
        found = self._all.get([facts for _, facts in calls])
        per_sentence = np.concatenate([own for own, _, _ in found]) if found else np.zeros(0)
        # In sequence, as on one machine: np.sum adds in another order.
        log_z = float(np.cumsum(per_sentence)[-1]) if len(per_sentence) else 0.0
        return log_z, sum(tokens for _, tokens, _ in found), sum(kept for _, _, kept in found)


class ReplicatedTraining:
    """Online training whose weights are on every worker. All take the same steps, so that they stay the same bits."""

    shards = 1  # of which the weights depend

    def __init__(self, engine: Engine, run: Any, workers: int) -> None:
        setup = {"options": run.core_options(), "decoder": run.learner.decoder}
        self._all = _Shards(engine, run, workers, OnlineWorker, setup)
        self._version = 0  # batches whose steps the workers have taken, plus epochs ended
        self._before: tuple[Any, ...] = (None,)  # the steps of the last batch, which the workers have not taken yet

    def begin(self) -> None:
        """Send the weights to all workers."""
        self._all.get([self._restore(worker) for worker in self._all.workers])

    def run(self, sentences: Numbers, threads: int, cut: None = None) -> dict[str, Any]:
        """Read sentences once, as the core's trainer does, and return what its `run` returns."""
        shards, total = self._all, dict[str, Any]()
        size = shards.run.batch
        for at in range(0, len(sentences), size):
            shards.run.check_stop()
            batch = sentences[at : at + size]
            where = (np.searchsorted(shards.bounds, batch, side="right") - 1).astype(np.int32)
            number = np.empty(len(batch), np.int32)  # sentence n of the batch is sentence number[n] of its shard
            mine = []
            for n, begin in enumerate(shards.bounds[:-1]):
                own = where == n
                mine.append(batch[own] - np.int32(begin))
                number[own] = np.arange(own.sum())
            steps = self._gradients(mine, threads)
            found = shards.run.trainer.apply(steps, where, number, threads)
            total = {name: total.get(name, 0) + value for name, value in found.items() if name != "work"}
            # From here, and not from worker to worker: what a worker has made may be lost with it.
            self._before = ((where, number), shards.engine.put(steps))
        return total

    def _gradients(self, mine: list[Numbers], threads: int) -> list[Any]:
        """Return the gradients of sentences of each shard."""
        shards = self._all
        calls = [
            shards.engine.call(worker, "turn", self._version, own, threads, *self._before)
            for worker, own in zip(shards.workers, mine, strict=True)
        ]
        if self._before[0] is not None:
            self._version += 1
        steps = shards.get(calls)
        for n, found in enumerate(steps):
            while found is None:  # the worker was lost: it starts again with the weights of the driver
                shards.get([self._restore(shards.workers[n])])
                again = shards.engine.call(shards.workers[n], "turn", self._version, mine[n], threads, None)
                (found,) = shards.get([again])  # noqa: PLW2901
            steps[n] = found
        return steps

    def end_epoch(self) -> None:
        """End an epoch in all places."""
        shards = self._all
        shards.run.trainer.end_epoch()
        ended = [
            shards.engine.call(worker, "end_epoch", self._version, shards.threads, *self._before)
            for worker in shards.workers
        ]
        self._version += 1
        self._before = (None,)
        for worker, well in zip(shards.workers, shards.get(ended), strict=True):
            if not well:
                shards.get([self._restore(worker)])

    def _restore(self, worker: Any) -> Any:
        trainer = self._all.run.trainer
        state = self._all.engine.put(trainer.state())
        return self._all.engine.call(worker, "restore", self._version, trainer.visited, state, trainer.bounds())


class MixedTraining:
    """Iterative parameter mixing (McDonald, Hall and Mann 2010): an epoch per shard, then the mean of their weights."""

    def __init__(self, engine: Engine, run: Any, workers: int) -> None:
        setup = {"options": run.core_options(), "decoder": run.learner.decoder}
        self._all = _Shards(engine, run, workers, OnlineWorker, setup)

    @property
    def shards(self) -> int:
        """The number of shards."""
        return len(self._all.workers)

    def begin(self) -> None:
        """Do nothing: each epoch sends the weights."""

    def epoch(self, epoch: int, report: Callable[[int], object]) -> dict[str, float]:
        """Read all shards once; return the share of wrong tokens."""
        engine, workers, run = self._all.engine, self._all.workers, self._all.run
        state = run.trainer.state()
        sent = engine.put({name: array for name, array in state.items() if not name.endswith(".sum")})
        # The order of the first shard is that of one machine, so that one shard is the same training.
        seeds = [[run.learner.seed, epoch, *([n] if n else [])] for n in range(len(workers))]
        calls = [
            engine.call(worker, "epoch", sent, seed, self._all.threads)
            for worker, seed in zip(workers, seeds, strict=True)
        ]
        run.check_stop()
        found = self._all.get(calls)
        run.trainer.mix([(visited, own) for visited, own, _, _ in found])
        report(run.sentences)
        return {"error": sum(errors for *_, errors in found) / max(1, sum(tokens for *_, tokens, _ in found))}


# --- the workers: nothing here depends on the engine ---


def _corpus(shard: Shard) -> _core.Corpus:
    """Return the corpus of a shard; its arrays stay where they are."""
    return _core.Corpus.opened(shard["arrays"], shard["L"], shard["features"], shard["sets"], first=shard["first"])


def _limits(shard: Shard, setup: dict[str, Any]) -> dict[str, Any]:
    """Return the constraints of a shard, as trainers of the core take them."""
    labels = setup["labels"]
    return core_limits(from_arrays(labels, setup["constraints"]), shard["lists"], labels)


class BatchWorker:
    """Sums over some sentences, for L-BFGS: nothing stays from one iteration to the next."""

    def __init__(self, shard: Shard, setup: dict[str, Any]) -> None:
        """Make the trainer of a shard; setup: options that all shards share."""
        self._trainer = _core.BatchObjective.shard(
            _corpus(shard),
            setup["keys"],
            setup["grain"],
            setup["feature_grain"],
            **setup["options"],
            **_limits(shard, setup),
        )

    def expect(self, weights: Floats, rule: KeepArguments, sentences: Numbers, threads: int) -> tuple[Floats, Any]:
        """Return expected counts; and log Z of each sentence, tokens and labels kept."""
        counts, per_sentence = np.empty(len(weights)), np.empty(len(sentences))
        _, tokens, kept = self._trainer.expect(weights, rule, sentences, threads, counts, per_sentence)
        return counts, (per_sentence, tokens, kept)

    def add(self, *counts: Floats) -> Floats:
        """Return the sum of counts, some of other workers; it is exact in any order."""
        total = np.zeros(len(counts[0]))
        for own in counts:
            total += own
        return total


class OnlineWorker:
    """Online training over one shard: gradients for steps that all workers take, or epochs of its own to be mixed."""

    def __init__(self, shard: Shard, setup: dict[str, Any]) -> None:
        """Make the trainer of a shard; setup: options that all shards share."""
        corpus, options = _corpus(shard), setup["options"]
        decoder: str | Decoder = setup["decoder"]
        plan = plan_by_score(decoder, "the perceptron").core if options["gradient"] == "best_path" else None
        self._sentences = corpus.sentences
        self._make = partial(_core.Trainer.make, corpus, **options, plan=plan, **_limits(shard, setup))
        self._trainer = self._make()
        self._version: int | None = None

    def restore(self, version: int, visited: float, state: State, bounds: npt.NDArray[np.float32]) -> None:
        """Restore all weights; version: batches and epochs whose steps they include."""
        if self._version is not None:  # a training that begins anew has none of the weights that are here
            self._trainer = self._make()
        self._trainer.restore(visited, state)
        self._trainer.set_bounds(bounds)
        self._version = version

    def turn(
        self, version: int, sentences: Numbers, threads: int, order: Order | None, steps: list[Any] | None = None
    ) -> npt.NDArray[np.uint8] | None:
        """Apply the steps of the last batch, if any; return the gradients of sentences of the next batch.

        Returns None where the weights are not those after this many batches: this worker was lost, and starts again.
        """
        if self._version != version:
            return None
        if order is not None and steps is not None:
            self._trainer.apply(steps, *order, threads)
            self._version += 1
        return self._trainer.gradient(sentences, threads)

    def end_epoch(self, version: int, threads: int, order: Order | None, steps: list[Any] | None = None) -> bool:
        """Apply the last steps of an epoch and end it; return False if this worker lost its weights."""
        if self._version != version:
            return False
        if order is not None and steps is not None:
            self._trainer.apply(steps, *order, threads)
        self._trainer.end_epoch()
        self._version += 1
        return True

    def epoch(self, state: State, seed: list[int], threads: int) -> tuple[float, State, int, int]:
        """Run an epoch from these weights; return sentences read, the weights at its end, tokens and wrong tokens."""
        self._trainer.restore(0.0, state)
        order = np.random.default_rng(seed).permutation(self._sentences).astype(np.int32)
        found = self._trainer.run(order, threads)
        self._trainer.end_epoch()
        return self._trainer.visited, self._trainer.state(), found["tokens"], found["errors"]
