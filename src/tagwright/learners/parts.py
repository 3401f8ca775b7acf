"""Labels that consist of parts (Silfverberg, Ruokolainen, Lindén and Kurimo 2014)."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tagwright.models.facts import fact_in
from tagwright.models.model import Model

__all__ = ["check_same_parts", "label_parts"]


def check_same_parts(old: Model, parts: str | None) -> None:
    """Check that a model that training starts from has the same parts."""
    its = fact_in(old.facts, str, "options", "parts")
    if its != parts:
        raise ValueError(f"warm_start: the model was trained with parts={its!r}; set parts={its!r}")


def label_parts(labels: Sequence[str], separator: str | None) -> tuple[npt.NDArray[np.uint16], int]:
    """Return the number of each label's k-th part at [k * L + label], and how many parts there are."""
    if separator is None:
        return np.empty(0, np.uint16), 0
    between = re.compile(f"[{re.escape(separator)}]") if separator else None
    split = [between.split(label) if between else list(label) for label in labels]
    each = max(map(len, split))
    number: dict[tuple[int, str], int] = {}
    named = ((k, pieces[k] if k < len(pieces) else "") for k in range(each) for pieces in split)
    parts = [number.setdefault(name, len(number)) for name in named]
    if len(labels) + len(number) > np.iinfo(np.uint16).max:
        raise ValueError(f"{len(labels)} labels with {len(number)} parts are more than 65,535 together")
    return np.array(parts, np.uint16), len(number)
