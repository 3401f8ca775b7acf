"""Decoding by finite-state packages: each sentence's lattice, made by NumPy as OpenFst keeps it on disk."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.peers.packages import Nodes, Paths, Ready

ARC = np.dtype([("input", "<i4"), ("output", "<i4"), ("weight", "<f4"), ("to", "<i4")])


def arcs(nodes: np.ndarray, costs: np.ndarray) -> np.ndarray:
    """Return the sentence's lattice, [state][arc]: state 0, then one state per token and label, named by its arcs."""
    T, L = nodes.shape
    made = np.empty(((T - 1) * L + 1, L), ARC)
    made["input"] = made["output"] = made["to"] = np.arange(1, L + 1)
    made["weight"][0] = -nodes[0]
    steps = made[1:].reshape(T - 1, L, L)
    np.subtract(costs, nodes[1:, None], out=steps["weight"])
    steps["to"] += (L * np.arange(1, T, dtype=np.int32))[:, None, None]
    return made


def fst_header(kind: bytes, states: int, count: int) -> bytes:
    names = b"".join(struct.pack("<i", len(name)) + name for name in (kind, b"standard"))
    return struct.pack("<i", 2125659606) + names + struct.pack("<iiQqqq", 2, 0, 3, 0, states, count)


def const_fst(nodes: np.ndarray, costs: np.ndarray) -> bytes:
    """Return a ConstFst as OpenFst keeps it on disk."""
    made, (T, L) = arcs(nodes, costs), nodes.shape
    fields = [("final", "<f4"), ("begin", "<u4"), ("count", "<u4"), ("epsilons", "<u4", (2,))]
    states = np.zeros(T * L + 1, fields)
    inner = states[: len(made)]
    inner["final"], inner["begin"], inner["count"] = np.inf, L * np.arange(len(made)), L
    return b"".join([fst_header(b"const", len(states), made.size), states.tobytes(), made.tobytes()])


def vector_fst(nodes: np.ndarray, costs: np.ndarray) -> bytes:
    """Return a VectorFst as OpenFst keeps it on disk."""
    made, (T, L) = arcs(nodes, costs), nodes.shape
    states = np.empty(len(made), [("final", "<f4"), ("count", "<i8"), ("arcs", ARC, (L,))])
    states["final"], states["count"], states["arcs"] = np.inf, L, made
    last = np.zeros(L, [("final", "<f4"), ("count", "<i8")])
    return b"".join([fst_header(b"vector", T * L + 1, made.size), states.tobytes(), last.tobytes()])


def paths(following: Callable[[int], list[tuple[int, int]]], state: int) -> Iterator[list[int]]:
    """Yield the labels of each path from a state on; following: (label + 1 or 0 for none, next state) of its arcs."""
    arcs = following(state)
    for label, after in arcs:
        for rest in paths(following, after):
            yield [label - 1, *rest] if label else rest
    if not arcs:
        yield []


def pynini(nodes: Nodes, scores: np.ndarray, k: int) -> Ready:
    import pywrapfst

    def decode(own: np.ndarray) -> list[Paths]:
        found = pywrapfst.shortestpath(pywrapfst.Fst.read_from_string(const_fst(own, costs)), nshortest=k)
        return [list(paths(lambda state: [(arc.ilabel, arc.nextstate) for arc in found.arcs(state)], found.start()))]

    costs = -scores
    return nodes, decode


def rustfst(nodes: Nodes, scores: np.ndarray, k: int) -> Ready:
    from rustfst import VectorFst
    from rustfst.algorithms.shortest_path import ShortestPathConfig

    def decode(own: np.ndarray) -> list[Paths]:
        found = VectorFst.from_bytes(vector_fst(own, costs)).shortest_path(ShortestPathConfig(nshortest=k))
        return [list(paths(lambda state: [(arc.ilabel, arc.next_state) for arc in found.trs(state)], found.start()))]

    costs = -scores
    return nodes, decode
