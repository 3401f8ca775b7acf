"""tagwright: exact best and k-best labelling of sequences with hundreds to thousands of labels."""

import importlib
from typing import TYPE_CHECKING, Any

from tagwright.container import ModelError
from tagwright.data import DataError, read
from tagwright.decoder import (
    AStar,
    Auto,
    Beam,
    CarpeDiem,
    Decoder,
    DecoderRow,
    IterativeAStar,
    IterativeViterbiAStar,
    Staggered,
    Viterbi,
    ViterbiAStar,
    decoders,
)
from tagwright.decoding import Decoding, Edges, Path, Work, decode, decode_batch, score
from tagwright.evaluate import Evaluation, evaluate
from tagwright.features import Features, TemplateError
from tagwright.model import Lattice, Model, Tagging, load

if TYPE_CHECKING:
    from tagwright.hmm import HMM
    from tagwright.perceptron import Perceptron

__version__ = "0.2.0"

__all__ = [
    "HMM",
    "AStar",
    "Auto",
    "Beam",
    "CarpeDiem",
    "DataError",
    "Decoder",
    "DecoderRow",
    "Decoding",
    "Edges",
    "Evaluation",
    "Features",
    "IterativeAStar",
    "IterativeViterbiAStar",
    "Lattice",
    "Model",
    "ModelError",
    "Path",
    "Perceptron",
    "Staggered",
    "Tagging",
    "TemplateError",
    "Viterbi",
    "ViterbiAStar",
    "Work",
    "__version__",
    "decode",
    "decode_batch",
    "decoders",
    "evaluate",
    "load",
    "read",
    "score",
]

_LEARNERS = {"HMM": "tagwright.hmm", "Perceptron": "tagwright.perceptron"}


def __getattr__(name: str) -> Any:
    """Import a learner when it is first asked for: scikit-learn takes longer to start than tagging does."""
    if name in _LEARNERS:
        return getattr(importlib.import_module(_LEARNERS[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
