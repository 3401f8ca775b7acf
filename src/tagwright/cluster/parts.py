"""What is done where a part of the corpus is. Nothing here knows who asks, or how."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from tagwright import _core
from tagwright.cluster.shards import Shard, shard_corpus
from tagwright.constraints.arrays import from_arrays
from tagwright.decoding.decoders import Decoder, plan_by_score

__all__ = ["CrfPart", "OnlinePart", "PerceptronPart"]

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.int32]
State = dict[str, npt.NDArray[Any]]
Rule = tuple[str, float, int]
Order = tuple[Numbers, Numbers]
"""Of the sentences of a batch: the part of each, and its number among those of the part."""


def _rules(setup: dict[str, Any]) -> dict[str, Any]:
    """Return the rules for pairs of labels, as trainers of the core take them."""
    constraints = from_arrays(setup["labels"], setup["constraints"])
    return {} if constraints is None else {"rules": constraints.core()}


class CrfPart:
    """Sums over some sentences, for L-BFGS: nothing stays from one iteration to the next."""

    def __init__(self, shard: Shard, setup: dict[str, Any]) -> None:
        """Take a part of the corpus, and what is the same for all parts."""
        self._trainer = _core.BatchObjective.shard(
            shard_corpus(shard),
            setup["keys"],
            setup["grain"],
            setup["feature_grain"],
            dense_edges=setup["dense_edges"],
            **_rules(setup),
        )

    def expect(self, weights: Floats, rule: Rule, sentences: Numbers, threads: int) -> tuple[Floats, Any]:
        """Return expected counts; and log Z of each sentence, tokens and labels kept."""
        counts, each = np.empty(len(weights)), np.empty(len(sentences))
        _, tokens, kept = self._trainer.expect(weights, rule, sentences, threads, counts, each)
        return counts, (each, tokens, kept)

    def add(self, *counts: Floats) -> Floats:
        """Return the sum of counts, some of which come from elsewhere; it is exact, whatever their order."""
        total = np.zeros(len(counts[0]))
        for own in counts:
            total += own
        return total


class OnlinePart:
    """An online CRF: sums some sentences of each batch, and takes all steps of all parts."""

    def __init__(self, shard: Shard, setup: dict[str, Any]) -> None:
        """Take a part of the corpus, and what is the same for all parts."""
        self._trainer = _core.OnlineTrainer.make(shard_corpus(shard), **setup["options"], **_rules(setup))
        self._version: int | None = None

    def restore(self, version: int, seen: float, state: State, bounds: npt.NDArray[np.float32]) -> None:
        """Take over all weights, as they are after so many batches."""
        self._trainer.restore(seen, state)
        self._trainer.set_bounds(bounds)
        self._version = version

    def turn(
        self, version: int, sentences: Numbers, threads: int, order: Order | None, steps: list[Any] | None = None
    ) -> npt.NDArray[np.uint8] | None:
        """Take the steps of the batch before, where there are any; return those that sentences of the next ask for.

        Returns None where the weights are not those after so many batches: this part was lost, and begins anew.
        """
        if self._version != version:
            return None
        if order is not None and steps is not None:
            self._trainer.apply(steps, *order, threads)
            self._version += 1
        return self._trainer.ask(sentences, threads)

    def end_epoch(self, version: int, threads: int, order: Order | None, steps: list[Any] | None = None) -> bool:
        """Take the last steps of a pass, and end it; return False where the weights are not those."""
        if self._version != version:
            return False
        if order is not None and steps is not None:
            self._trainer.apply(steps, *order, threads)
        self._trainer.end_epoch()
        self._version += 1
        return True


class PerceptronPart:
    """A pass of a perceptron over some sentences; it begins with the weights that it is given."""

    def __init__(self, shard: Shard, setup: dict[str, Any]) -> None:
        """Take a part of the corpus, and what is the same for all parts."""
        corpus = shard_corpus(shard)
        self._sentences = corpus.sentences
        self._trainer = _core.PerceptronTrainer.make(corpus, **setup["options"], **_rules(setup))

    def epoch(
        self, state: State, seed: list[int], decoder: str | Decoder, threads: int
    ) -> tuple[float, State, int, int]:
        """Return how many sentences were seen, the weights at the end, tokens and wrong tokens."""
        weights = [name for name in state if name.endswith(".weight")]
        nothing = {f"{name.removesuffix('.weight')}.sum": np.zeros(len(state[name])) for name in weights}
        self._trainer.restore(0.0, {**state, **nothing})
        order = np.random.default_rng(seed).permutation(self._sentences).astype(np.int32)
        tokens, errors, *_ = self._trainer.run(order, plan_by_score(decoder, "the perceptron").core, None, threads)
        return self._trainer.seen, self._trainer.state(), tokens, errors
