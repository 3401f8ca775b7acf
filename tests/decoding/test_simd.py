"""All kernel levels give bit-equal results, whatever level this CPU would choose."""

import hashlib

import numpy as np
import pytest
from support.checks import DECODERS, gives_k
from support.levels import run_at

import tagwright as tw
from tagwright import _core
from tagwright.decoding.examples import model_like


def digest() -> str:
    """Every bit of many answers, as one number."""
    rng = np.random.default_rng(11)
    total = hashlib.sha256()
    for L in [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65, 129, 300]:
        for dtype in ("f4", "f8"):
            for kind in range(3):
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
                    for path in found.paths:
                        total.update(path.labels.tobytes() + np.float64(path.score).tobytes())
                    total.update(repr(found.work).encode())
    return total.hexdigest()


@pytest.mark.parametrize("level", ["base", "avx2"])
def test_levels_are_bit_equal(level):
    ran = run_at(level, "import test_simd as t; print(t._core.simd(), t.digest())")
    if "CPU has no AVX2" in ran.stderr or "no AVX2 kernels" in ran.stderr:
        pytest.skip("no AVX2 here")
    assert ran.stdout.split() == [level, digest()], ran.stderr


def test_a_level_that_is_none_is_told_at_import():
    ran = run_at("sse9", "import tagwright")
    assert ran.returncode != 0
    assert "TAGWRIGHT_SIMD=sse9 is not a level; use base or avx2" in ran.stderr


def test_the_level_in_use_has_a_name():
    assert _core.simd() in ("base", "avx2")
