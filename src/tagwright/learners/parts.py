"""Labels that are made of parts (Silfverberg, Ruokolainen, Lindén and Kurimo 2014), for learners that have them."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tagwright.models.facts import fact_in
from tagwright.models.model import Model

__all__ = ["check_same_parts", "check_separators", "label_parts"]


def check_separators(parts: object) -> None:
    """Check the option: a model holds it, and a file cannot hold lone surrogates."""
    if parts is not None and (not isinstance(parts, str) or re.search("[\ud800-\udfff]", parts)):
        raise ValueError(f"parts must be None or a string of separators, not {parts!r}")


def check_same_parts(old: Model, parts: str | None) -> None:
    """Check that a model which training goes on from has the same parts."""
    its = fact_in(old.facts, str, "options", "parts")
    if its != parts:
        raise ValueError(f"warm_start: the model was trained with parts={its!r}; give the same")


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
