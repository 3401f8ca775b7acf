"""The same numbers on every CPU: the C library chooses the code of exp and log by the CPU, and we do not use them."""

import os
import platform
import subprocess
import sys

import pytest

SCRIPT = """
import hashlib
import numpy as np
import tagwright as tw

rng = np.random.default_rng(1)
digest = hashlib.sha256()


def add(*arrays):
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())


for scale, L in ((1.0, 7), (5.0, 30), (400.0, 12)):
    nodes = rng.normal(scale=scale, size=(9, L))
    dense = rng.normal(scale=scale, size=(L, L))
    previous, current = np.nonzero(rng.random((L, L)) < 0.3)
    scores = rng.normal(scale=scale, size=len(previous))
    kinds = [
        tw.Edges(dense),
        tw.Edges.from_exceptions(L, 0.0, previous, current, scores),
        tw.Edges.from_exceptions(L, -np.inf, previous, current, scores),
        tw.Edges(dense, ngrams=([[0, 1, 2], [1, 1, 0]], [scale, -0.5 * scale])),
    ]
    for edges in kinds:
        for keep in (None, tw.KeepSize(3), tw.KeepDivergence(0.1)):
            try:
                found = tw.marginals(nodes, edges, pruning=keep, with_edges=True)
            except ValueError as error:
                add(np.frombuffer(str(error).encode(), np.uint8))
                continue
            add(found.nodes, found.edges, [found.log_z, found.entropy])
        try:
            add(tw.sample(nodes, edges, 50, seed=3))
        except ValueError:
            pass
print(digest.hexdigest())
"""


@pytest.mark.skipif(platform.machine() != "x86_64" or sys.platform != "linux", reason="glibc on x86-64")
def test_numbers_do_not_depend_on_the_code_that_the_c_library_chooses():
    found = []
    for tunables in ("", "glibc.cpu.hwcaps=-FMA,-FMA4,-AVX2"):
        run = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env=os.environ | {"GLIBC_TUNABLES": tunables},
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stderr
        found.append(run.stdout)
    assert found[0] == found[1]
