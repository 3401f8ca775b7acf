"""exp, log, log1p and expm1 of arrays."""

import math

import numpy as np
import pytest

from tagwright import _core, elementary

X = np.random.default_rng(3).normal(scale=20, size=(6, 50))


@pytest.mark.parametrize("name", ["exp", "expm1", "log", "log1p"])
def test_values_are_those_of_the_c_library_to_two_units_of_the_last_place(name):
    x = X if name.startswith("exp") else np.abs(X)
    expected = np.vectorize(getattr(math, name))(x)
    found = getattr(elementary, name)(x)
    assert found.shape == x.shape
    assert (np.abs(found - expected) <= 2 * np.spacing(np.abs(expected))).all()
    assert found[2, 3] == getattr(_core, name)(float(x[2, 3])) == getattr(elementary, name)(x[2, 3])


def test_arrays_may_have_any_layout_type_and_size():
    assert (elementary.exp(X[::2, ::-3]) == elementary.exp(X)[::2, ::-3]).all()
    assert (elementary.exp(np.arange(3)) == elementary.exp([0.0, 1.0, 2.0])).all()
    assert elementary.log(np.zeros((0, 3))).shape == (0, 3)
    assert elementary.log([0.0, np.inf]).tolist() == [-np.inf, np.inf]
    assert np.isnan(elementary.log([-1.0, np.nan])).all()
