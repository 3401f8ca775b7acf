"""exp, log, log1p and expm1 of arrays, with the same bits on every machine; those of NumPy depend on the CPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from tagwright import _core

Floats = npt.NDArray[np.float64]


def _of_arrays(function: Callable[[Any], Any]) -> Callable[[npt.ArrayLike], Floats]:
    def of_array(x: npt.ArrayLike) -> Floats:
        given = np.asarray(x, np.float64)
        made: Floats = function(np.ascontiguousarray(given).reshape(-1)).reshape(given.shape)
        return made

    return of_array


exp = _of_arrays(_core.exp)
log = _of_arrays(_core.log)
log1p = _of_arrays(_core.log1p)
expm1 = _of_arrays(_core.expm1)
