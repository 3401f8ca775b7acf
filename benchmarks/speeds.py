"""How fast decoders are on some lattices: checked first, then timed by turns, a sentence a call."""

from __future__ import annotations

import time
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import tagwright as tw
from benchmarks.data import Lattices
from benchmarks.frame import Bench
from benchmarks.timing import interleaved

LEAST = 2  # sentences, even of a decoder that takes long


class Way(NamedTuple):
    """A decoder, and the form of edges it gets: "dense", or "sparse" for default + exceptions."""

    decoder: str | tw.Decoder
    form: str = "dense"

    def __str__(self) -> str:
        """Say both where the form is not the plain one."""
        return f"{self.decoder}" if self.form == "dense" else f"{self.decoder}, sparse edges"


def full(k: int) -> str:
    """What looks at every edge."""
    return "viterbi" if k == 1 else "viterbi_astar"


def scores_of(found: tw.Decoding) -> list[float]:
    return [path.score for path in found.paths]


def same_scores(found: tw.Decoding, right: list[float], what: str) -> None:
    """Complain where the paths do not have the right scores."""
    np.testing.assert_allclose(scores_of(found), right, rtol=1e-9, err_msg=what)


def best_scores(lattices: Lattices, k: int) -> list[list[float]]:
    """Scores of the k best paths, by Viterbi."""
    return [scores_of(one) for one in tw.decode_batch(lattices.nodes, lattices.sparse, k, full(k))]


def checked(lattices: Lattices, way: Way, k: int, truth: list[list[float]], seconds: float) -> list[tw.Decoding]:
    """Decode sentences, one after the other, until the time is used up; exact answers must have the right scores."""
    edges, found, began = lattices.edges(way.form), [], time.perf_counter()
    for own, right in zip(lattices.nodes, truth, strict=True):
        one = tw.decode(own, edges, k, way.decoder)
        if one.exact:
            same_scores(one, right, f"{lattices.name}, k = {k}, {way}")
        found.append(one)
        if len(found) >= LEAST and time.perf_counter() - began > seconds:
            break
    return found


def measured(bench: Bench, lattices: Lattices, rows: dict[str, list[Way]], k: int = 1) -> dict[str, dict[str, Any]]:
    """Sentences a second of each row, of the fastest of its ways; and the work that one did.

    A slow way is timed on the first sentences only, but as often as others, at least four times. So that all mean the
    same, tokens a second are counted, and given as sentences of average length.
    """
    seconds = 0.05 if bench.quick else 0.3
    truth, runs, found = best_scores(lattices, k), {}, {}
    ways = dict.fromkeys(way for own in rows.values() for way in own)
    for way in bench.bar(ways, f"{lattices.name}, k = {k}: check"):
        found[way] = checked(lattices, way, k, truth, seconds)
        runs[way] = partial(_decode, lattices.nodes[: len(found[way])], lattices.edges(way.form), k, way.decoder)
    times = interleaved(runs, (1, 3) if bench.quick else (4, 7), seconds, f"{lattices.name}, k = {k}")
    made: dict[str, dict[str, Any]] = {}
    for row, own in rows.items():
        per_second = {way: _tokens(lattices, found[way]) / min(times[way]) for way in own}
        best = max(own, key=lambda way: per_second[way])
        tokens, works = _tokens(lattices, found[best]), [one.work for one in found[best]]
        made[row] = {
            "way": str(best),
            "sentences": len(works),
            "per_second": per_second[best] * len(lattices.nodes) / lattices.tokens,
            "rounds": float(np.mean([work.rounds for work in works])),
            "nodes": sum(work.nodes for work in works) / tokens,
            "edges": sum(work.edges for work in works) / tokens,
        }
    return made


def _tokens(lattices: Lattices, found: list[tw.Decoding]) -> int:
    return sum(map(len, lattices.nodes[: len(found)]))


def _decode(nodes: list[np.ndarray], edges: tw.Edges, k: int, decoder: str | tw.Decoder) -> None:
    for own in nodes:
        tw.decode(own, edges, k, decoder)


def exponent(xs: list[int], ys: list[float]) -> float:
    """The power of x that y grows with: the slope of a line through the logarithms."""
    return float(np.polyfit(np.log(xs), np.log(ys), 1)[0])


def figure(value: float) -> str:
    """Three digits, or all of those before the point."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
