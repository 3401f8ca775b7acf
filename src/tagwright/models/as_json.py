"""Labellings as JSON has them, for the command line and for the server."""

from __future__ import annotations

import math
from typing import Any

from tagwright.models.model import Tagging


def labelling(tagging: Tagging) -> dict[str, Any]:
    """Return a labelling with its score and, where they were requested, its probabilities."""
    payload: dict[str, Any] = {"labels": tagging.labels, "score": finite(tagging.score)}
    if tagging.probability is not None and tagging.marginals is not None:
        payload["probability"] = finite(tagging.probability)
        if tagging.log_probability is not None:
            payload["log_probability"] = finite(tagging.log_probability)
        payload["marginals"] = list(map(share, tagging.marginals))
    return payload


def share(p: float) -> float:
    """Return a probability to six digits, which a float32 has."""
    return float(f"{p:.6g}")


def finite(number: float) -> float | None:
    """Return a number that JSON has; null in place of the others."""
    return number if math.isfinite(number) else None
