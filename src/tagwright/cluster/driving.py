"""How a training asks its parts: the one place where it is decided who does what, and in which order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from tagwright.cluster.parts import CrfPart, Floats, Numbers, OnlinePart, PerceptronPart, Rule
from tagwright.cluster.shards import bounds_of, shard_arrays
from tagwright.constraints.arrays import to_arrays
from tagwright.learners.progress import log

__all__ = ["CrfSums", "Engine", "MixedPerceptron", "ReplicatedCrf"]

FAN = 8  # arrays of counts that are added in one place


class Engine(Protocol):
    """What runs the parts: Ray, or whatever else can hold objects elsewhere and call them.

    A call of a part that was lost is done again by a new one, made of the same arguments.
    """

    def put(self, value: object) -> Any:
        """Return what stands for a value in calls of any part."""

    def start(self, kind: type, *arguments: Any, threads: int) -> Any:
        """Return a new part."""

    def call(self, part: Any, method: str, *arguments: Any, returns: int = 1) -> Any:
        """Return what stands for the result of a call, or a list of so many results."""

    def get(self, promised: list[Any], check: Callable[[], None]) -> list[Any]:
        """Return results, once all of them are there; check is called now and then, and may raise."""


class _Parts:
    """The parts of a training, and which sentences each has."""

    def __init__(
        self, engine: Engine, run: Any, workers: int, kind: type, setup: dict[str, Any], block: int = 1
    ) -> None:
        self.engine, self.run = engine, run
        self.threads: int = run.learner.threads
        self.bounds = bounds_of(run.corpus.lengths(), workers, block)
        if run.constraints is not None and run.constraints.words is not None:
            raise ValueError("a tag dictionary cannot be used on a cluster yet; use a scheme, or train on one machine")
        setup |= {"labels": run.labels, "constraints": to_arrays(run.constraints)}
        shared = engine.put(setup)
        self.parts = []
        for begin, end in zip(self.bounds[:-1], self.bounds[1:], strict=True):
            shard = engine.put(shard_arrays(run.corpus, begin, end, len(run.labels)))
            self.parts.append(engine.start(kind, shard, shared, threads=self.threads))
        log.debug("%d parts of %s sentences", len(self.parts), f"{run.sentences:,}")

    def get(self, promised: list[Any]) -> list[Any]:
        """Return results; Ctrl-C is heard meanwhile."""
        return self.engine.get(promised, self.run.check_stop)

    def split(self, sentences: Numbers) -> list[tuple[int, Numbers]]:
        """Return, for each part that has some of these sentences, its number and their numbers there."""
        where = np.searchsorted(self.bounds, sentences, side="right") - 1
        own = ((part, sentences[where == part] - np.int32(self.bounds[part])) for part in range(len(self.parts)))
        return [(part, numbers) for part, numbers in own if len(numbers)]


class CrfSums:
    """Sums over all sentences, each where it is; the same bits as those of one machine.

    Counts are rounded where they are made, so that their sums are exact. log Z is summed in the order of sentences.
    """

    def __init__(self, engine: Engine, run: Any, workers: int) -> None:
        """Send each part of the corpus to its place."""
        trainer, learner = run.trainer, run.learner
        setup = {
            "keys": trainer.keys(),
            "grain": trainer.grain,
            "feature_grain": trainer.feature_grain(),
            "dense_edges": learner._dense_edges,
        }
        self._all = _Parts(engine, run, workers, CrfPart, setup, trainer.block)

    def expect(
        self, weights: Floats, rule: Rule, sentences: Numbers, threads: int, counts: Floats
    ) -> tuple[float, int, int]:
        """Fill the expected counts of sentences, whose numbers rise; return log Z, tokens, labels kept."""
        engine, parts = self._all.engine, self._all.parts
        sent = engine.put(weights)
        mine = self._all.split(sentences)
        asked = [engine.call(parts[n], "expect", sent, rule, own, threads, returns=2) for n, own in mine]
        promised = [own for own, _ in asked]
        while len(promised) > FAN:  # not all of them in one place
            groups = [promised[at : at + FAN] for at in range(0, len(promised), FAN)]
            promised = [
                group[0] if len(group) == 1 else engine.call(parts[n * FAN % len(parts)], "add", *group)
                for n, group in enumerate(groups)
            ]
        counts[:] = 0
        for own in self._all.get(promised):
            counts += own
        told = self._all.get([facts for _, facts in asked])
        each = np.concatenate([own for own, _, _ in told]) if told else np.zeros(0)
        # One after the other, as on one machine: np.sum adds in another order.
        log_z = float(np.cumsum(each)[-1]) if len(each) else 0.0
        return log_z, sum(tokens for _, tokens, _ in told), sum(kept for _, _, kept in told)


class ReplicatedCrf:
    """An online CRF whose weights are in every part. All take the same steps, so that they stay the same bits."""

    def __init__(self, engine: Engine, run: Any, workers: int, options: dict[str, Any]) -> None:
        """Send each part of the corpus to its place, and the weights to all; options: those of the core's trainer."""
        self._all = _Parts(engine, run, workers, OnlinePart, {"options": options})
        self._version = 0  # batches that the parts have seen, and passes that they have ended
        self._before: tuple[Any, ...] = (None,)  # the steps of the last batch, which the parts have not taken yet
        self._all.get([self._restore(part) for part in self._all.parts])

    def run(self, sentences: Numbers, threads: int, of: None = None) -> npt.NDArray[np.float64]:
        """Go over sentences once, as the core's trainer does, and return what its `run` returns."""
        everything, seen = self._all, np.zeros(5)
        size = everything.run.options.batch
        for at in range(0, len(sentences), size):
            everything.run.check_stop()
            batch = sentences[at : at + size]
            where = (np.searchsorted(everything.bounds, batch, side="right") - 1).astype(np.int32)
            number = np.empty(len(batch), np.int32)  # the n-th sentence of the batch is the number[n]-th of its part
            mine = []
            for n, begin in enumerate(everything.bounds[:-1]):
                own = where == n
                mine.append(batch[own] - np.int32(begin))
                number[own] = np.arange(own.sum())
            steps = self._asked(mine, threads)
            seen += everything.run.trainer.apply(steps, where, number, threads)
            # From here, and not from part to part: what a part has made may be lost with it.
            self._before = ((where, number), everything.engine.put(steps))
        return seen

    def _asked(self, mine: list[Numbers], threads: int) -> list[Any]:
        """Return the steps that sentences of each part ask for."""
        everything = self._all
        asked = [
            everything.engine.call(part, "turn", self._version, own, threads, *self._before)
            for part, own in zip(everything.parts, mine, strict=True)
        ]
        if self._before[0] is not None:
            self._version += 1
        steps = everything.get(asked)
        for n, found in enumerate(steps):
            while found is None:  # the part was lost, and begins anew with the weights that are here
                everything.get([self._restore(everything.parts[n])])
                again = everything.engine.call(everything.parts[n], "turn", self._version, mine[n], threads, None)
                (found,) = everything.get([again])  # noqa: PLW2901
            steps[n] = found
        return steps

    def end_epoch(self) -> None:
        """End a pass in all places."""
        everything = self._all
        everything.run.trainer.end_epoch()
        ended = [
            everything.engine.call(part, "end_epoch", self._version, everything.threads, *self._before)
            for part in everything.parts
        ]
        self._version += 1
        self._before = (None,)
        for part, well in zip(everything.parts, everything.get(ended), strict=True):
            if not well:
                everything.get([self._restore(part)])

    def _restore(self, part: Any) -> Any:
        trainer = self._all.run.trainer
        state = self._all.engine.put(trainer.state())
        return self._all.engine.call(part, "restore", self._version, trainer.seen, state, trainer.bounds())


class MixedPerceptron:
    """Iterative parameter mixing (McDonald, Hall and Mann 2010): a pass per part, then the mean of their weights."""

    def __init__(self, engine: Engine, run: Any, workers: int, options: dict[str, Any]) -> None:
        """Send each part of the corpus to its place; options: those of the core's trainer."""
        self._all = _Parts(engine, run, workers, PerceptronPart, {"options": options})

    @property
    def shards(self) -> int:
        """How many parts there are."""
        return len(self._all.parts)

    def epoch(self, epoch: int, told: Callable[[int], object]) -> dict[str, float]:
        """Go over all parts once; return the share of wrong tokens."""
        engine, parts, run = self._all.engine, self._all.parts, self._all.run
        state = run.trainer.state()
        sent = engine.put({name: array for name, array in state.items() if not name.endswith(".sum")})
        # The order of the first part is that of one machine, so that one part is the same training.
        seeds = [[run.options.seed, epoch, *([n] if n else [])] for n in range(len(parts))]
        asked = [
            engine.call(part, "epoch", sent, seed, run.learner.decoder, self._all.threads)
            for part, seed in zip(parts, seeds, strict=True)
        ]
        run.check_stop()
        found = self._all.get(asked)
        run.trainer.mix([(seen, own) for seen, own, _, _ in found])
        told(run.sentences)
        return {"error": sum(errors for *_, errors in found) / max(1, sum(tokens for *_, tokens, _ in found))}
