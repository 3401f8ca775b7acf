"""What every cluster can do for a training, whatever engine runs it."""

from __future__ import annotations

import contextlib
from typing import Any

from tagwright import checks
from tagwright.cluster.driving import CrfSums, Engine, MixedPerceptron, ReplicatedCrf

__all__ = ["Cluster"]


class Cluster:
    """Where a training runs; a subclass has the engine."""

    workers: int

    def check(self) -> None:
        """Check the options."""
        checks.at_least_one("cluster: workers", self.workers)

    def connected(self) -> contextlib.AbstractContextManager[Engine]:
        """Give the engine while a training lasts."""
        raise NotImplementedError

    def crf(self, engine: Engine, run: Any) -> CrfSums:
        """Return what sums for L-BFGS."""
        return CrfSums(engine, run, self.workers)

    def online(self, engine: Engine, run: Any, options: dict[str, Any]) -> ReplicatedCrf:
        """Return what goes over the corpus for AdaGrad."""
        return ReplicatedCrf(engine, run, self.workers, options)

    def perceptron(self, engine: Engine, run: Any, options: dict[str, Any]) -> MixedPerceptron:
        """Return what goes over the corpus for a perceptron."""
        return MixedPerceptron(engine, run, self.workers, options)
