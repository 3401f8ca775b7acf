"""All kernel levels give bit-equal results, whatever level this CPU would choose."""

import pytest
from support.levels import decodings, digest, marginals, run_at, trees

from tagwright import _core


@pytest.mark.slow
@pytest.mark.parametrize("answers", [decodings, trees, marginals])
@pytest.mark.parametrize("level", ["base", "avx2"])
def test_levels_are_bit_equal(level, answers):
    name = answers.__name__
    ran = run_at(level, f"from support import levels as s; print(s.tw._core.simd(), s.digest(s.{name}))")
    if "CPU has no AVX2" in ran.stderr or "no AVX2 kernels" in ran.stderr:
        pytest.skip("not applicable: this CPU has no AVX2")
    assert ran.stdout.split() == [level, digest(answers)], ran.stderr


def test_a_level_that_does_not_exist_is_reported_at_import():
    ran = run_at("sse9", "from tagwright import decode")
    assert ran.returncode != 0
    assert "TAGWRIGHT_SIMD=sse9 is not a level; use base or avx2" in ran.stderr


def test_the_level_in_use_has_a_name():
    assert _core.simd() in ("base", "avx2")
