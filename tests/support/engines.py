"""A cluster in this process: what is sent is pickled, and workers are lost as often as a test wants."""

import contextlib
import pickle
from dataclasses import dataclass

import numpy as np

from tagwright.cluster.training import Cluster


def sent(value):
    return pickle.loads(pickle.dumps(value))


class Here:
    """An engine whose workers are objects of this process, which receive copies of their arguments."""

    def __init__(self, losses=0.0, seed=0):
        self._rng, self._losses = np.random.default_rng(seed), losses
        self.lost = 0

    def put(self, value):
        return sent(value)

    def start(self, kind, *arguments, threads):
        return [kind, arguments, kind(*sent(arguments))]

    def call(self, part, method, *arguments, returns=1):
        kind, begun_with, _ = part
        if self._rng.random() < self._losses:  # a new one is made of the same arguments, and the request repeated
            part[2] = kind(*sent(begun_with))
            self.lost += 1
        found = sent(getattr(part[2], method)(*sent(arguments)))
        assert returns == 1 or len(found) == returns
        return found

    def get(self, promised, check):
        check()
        return promised


@dataclass(frozen=True)
class InProcess(Cluster):
    """A cluster of such workers."""

    workers: int
    losses: float = 0.0
    seed: int = 0
    engines: tuple = ()

    @contextlib.contextmanager
    def connected(self, threads=1):
        engine = Here(self.losses, self.seed)
        if isinstance(self.engines, list):
            self.engines.append(engine)
        yield engine
