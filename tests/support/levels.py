"""Many answers as one number, at the kernel level of this process or of another, which chooses it at its start."""

import hashlib
import itertools
import os
import subprocess
import sys

import numpy as np

import tagwright as tw
from support.checks import DECODERS, gives_k
from support.lattices import draw_many
from support.max_sums import FORMS, draw_case
from support.sums import bits
from tagwright.decoding.examples import model_like

SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 129, 300]
RULES = [tw.KeepDivergence(0.01, 2), tw.KeepSize(4), tw.KeepRatio(0.01)]


def run_at(level, code):
    """What a Python process does with this code at a level."""
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "TAGWRIGHT_SIMD": level, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )


def path_bits(found):
    return b"".join(path.labels.tobytes() + np.float64(path.score).tobytes() for path in found.paths)


def digest(answers) -> str:
    """Every bit of one of the kinds of answers below."""
    total = hashlib.sha256()
    for part in answers():
        total.update(part)
    return total.hexdigest()


def decodings():
    """Of every decoder."""
    rng = np.random.default_rng(11)
    for L, dtype, kind in itertools.product(SIZES, ("f4", "f8"), range(3)):
        T = int(rng.integers(1, 8))
        nodes = rng.normal(size=(T, L)).astype(dtype)
        scores = rng.normal(size=(L, L)).astype(dtype)
        if kind == 1:
            scores[rng.random((L, L)) < 0.9] = 0
            nodes[rng.random((T, L)) < 0.1] = -np.inf
            nodes[:, 0] = 0
        elif kind == 2:
            nodes, scores = (a.astype(dtype) for a in model_like(T, max(L, 2), seed=L))
        edges = tw.Edges(scores)
        for name in [*DECODERS, "beam:2"]:
            found = tw.decode(nodes, edges, 3 if name == "beam:2" or gives_k(name) else 1, name)
            yield path_bits(found) + repr(found.work).encode()


def trees():
    """Of `tree`, with more labels than it follows."""
    rng = np.random.default_rng(9)
    for form, L in itertools.product(FORMS, [9, 65, 129, 300]):
        case = draw_case(rng, form, "peaked", 6, L)
        for k in (1, 5):
            found = tw.decode(case.nodes, case.edges, k, "tree", active=case.active)
            yield path_bits(found) + repr(found.work).encode()


def marginals():
    """Of sums, exact and sparse, and of beams that keep labels by the same rules."""
    rng = np.random.default_rng(15)
    for L, dtype in itertools.product(SIZES, ("f4", "f8")):
        for form in ("dense", "sparse", "corrections"):
            nodes, edges, on = draw_many(rng, form, dtype, L)
            for s, rule in itertools.product((1, 4, 7), (None, *RULES)):
                own_on = None if on is None else on[s]
                yield bits(tw.marginals(nodes[s], edges, rule, with_edges=L < 70, active=own_on))
                if rule:
                    yield path_bits(tw.decode(nodes[s], edges, 3, tw.Beam(pruning=rule), active=own_on))
        nodes, steps = rng.normal(size=(4, L)).astype(dtype), 40 * rng.normal(size=(3, L, L)).astype(dtype)
        yield bits(tw.marginals(nodes, steps)) + bits(tw.marginals(nodes, steps, tw.KeepSize(3)))
