"""How fast decoders are on some lattices: checked first, then timed by turns, one sentence per call."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import tagwright as tw
from benchmarks.frame.bench import Bench
from benchmarks.frame.data import Lattices
from benchmarks.frame.timing import interleaved
from tagwright.decoding.decode import Decoding
from tagwright.decoding.decoders import Decoder

LEAST = 2  # sentences, even of a decoder that takes long


class Choice(NamedTuple):
    """A decoder, and the form of edges it gets: "dense", or "sparse" for default + exceptions."""

    decoder: str | Decoder
    form: str = "dense"

    def __str__(self) -> str:
        """Return the decoder, and the form of edges where it is not the plain one."""
        return f"{self.decoder}" + ", sparse edges" * (self.form == "sparse")

    def run(self, lattices: Lattices, sentences: int, k: int) -> Callable[[], list[Decoding]]:
        """Return a function that decodes the first sentences, one per call."""
        nodes, edges = lattices.nodes[:sentences], lattices.edges(self.form)
        return lambda: [tw.decode(own, edges, k, self.decoder) for own in nodes]


class Timed(NamedTuple):
    """The time of decoding some sentences, and the work that was counted."""

    sentences: int
    us_sentence: float
    us_token: float
    rounds: float | None = None  # per sentence; None where nothing was counted
    nodes: float | None = None  # per token
    edges: float | None = None

    @classmethod
    def of(cls, nodes: list[np.ndarray], seconds: float, found: list[Decoding] | None) -> Timed:
        tokens, us = sum(map(len, nodes)), 1e6 * seconds
        work = []
        if found is not None:
            work = (np.sum([one.work for one in found], axis=0) / [len(nodes), tokens, tokens]).tolist()
        return cls(len(nodes), us / len(nodes), us / tokens, *work)

    @property
    def work(self) -> tuple[float | None, ...]:
        """The counts, which are the same each time."""
        return self[3:]


def full(k: int) -> str:
    """Return the decoder that examines every edge."""
    return "viterbi" if k == 1 else "viterbi_astar"


def scores_of(found: Decoding) -> list[float]:
    return [path.score for path in found.paths]


def same_scores(found: Decoding, right: list[float], what: str) -> None:
    """Raise an error where the paths do not have the right scores."""
    np.testing.assert_allclose(scores_of(found), right, rtol=1e-9, err_msg=what)


def best_scores(lattices: Lattices, k: int) -> list[list[float]]:
    """Return the scores of the k best paths, by Viterbi."""
    return [scores_of(one) for one in tw.decode_batch(lattices.nodes, lattices.sparse, k, full(k))]


def checked(lattices: Lattices, choice: Choice, k: int, truth: list[list[float]], seconds: float) -> list[Decoding]:
    """Decode sentences, one after the other, until the time is used up; exact answers must have the right scores."""
    edges, found, began = lattices.edges(choice.form), [], time.perf_counter()
    for own, right in zip(lattices.nodes, truth, strict=True):
        one = tw.decode(own, edges, k, choice.decoder)
        if one.exact:
            same_scores(one, right, f"{lattices.name}, k = {k}, {choice}")
        found.append(one)
        if len(found) >= LEAST and time.perf_counter() - began > seconds:
            break
    return found


def measured(bench: Bench, lattices: Lattices, rows: dict[str, list[Choice]], k: int = 1) -> dict[str, dict[str, Any]]:
    """Return sentences per second of each row, of the fastest of its choices, and the work that one did.

    A slow choice is timed on the first sentences only, but as often as others, at least four times. So that all mean
    the same, tokens per second are counted, and expressed as sentences of average length.
    """
    seconds = 0.05 if bench.quick else 0.3
    truth, runs, found = best_scores(lattices, k), {}, {}
    choices = dict.fromkeys(choice for own in rows.values() for choice in own)
    for choice in bench.bar(choices, f"{lattices.name}, k = {k}: check"):
        found[choice] = checked(lattices, choice, k, truth, seconds)
        runs[choice] = choice.run(lattices, len(found[choice]), k)
    times = interleaved(runs, (1, 3) if bench.quick else (4, 7), seconds, f"{lattices.name}, k = {k}")
    every = {
        choice: Timed.of(lattices.nodes[: len(answers)], min(times[choice]), answers)
        for choice, answers in found.items()
    }
    made: dict[str, dict[str, Any]] = {}
    for row, own in rows.items():
        best = min(own, key=lambda choice: every[choice].us_token)
        per_second = 1e6 / every[best].us_token * len(lattices.nodes) / lattices.tokens
        made[row] = {"choice": str(best), "per_second": per_second, **every[best]._asdict()}
    return made


def exponent(xs: list[int], ys: list[float]) -> float:
    """Return the power of x that y grows with: the slope of a line through the logarithms."""
    return float(np.polyfit(np.log(xs), np.log(ys), 1)[0])


def digits(value: float) -> str:
    """Write a number with three digits, or with all of those before the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
