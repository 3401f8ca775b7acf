"""The learners by name. Their modules, which need scikit-learn, are imported when one is asked for."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["LEARNERS", "learner_class"]

LEARNERS = {
    "perceptron": ("tagwright.learners.perceptron", "Perceptron"),
    "crf": ("tagwright.learners.crf", "CRF"),
    "hmm": ("tagwright.learners.hmm", "HMM"),
    "memm": ("tagwright.learners.memm", "MEMM"),
    "bidirectional": ("tagwright.learners.bidirectional", "Bidirectional"),
}


def learner_class(name: str) -> Any:
    """Return the class of a learner."""
    module, kind = LEARNERS[name]
    return getattr(importlib.import_module(module), kind)
