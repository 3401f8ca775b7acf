"""tagwright: exact best and k-best labelling of sequences with hundreds to thousands of labels."""

import importlib
from typing import TYPE_CHECKING, Any

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
    Tree,
    Viterbi,
    ViterbiAStar,
    decoders,
)
from tagwright.decoding import Decoding, Path, Work, decode, decode_batch, paths, score
from tagwright.edges import Edges
from tagwright.keep import Keep, KeepDivergence, KeepRatio, KeepSize
from tagwright.sums import Marginals, marginals, marginals_batch

if TYPE_CHECKING:
    from tagwright.agreement import Agreement, BidirectionalModel, dual_decomposition
    from tagwright.bidirectional import Bidirectional
    from tagwright.container import ModelError
    from tagwright.crf import CRF
    from tagwright.data import DataError, read
    from tagwright.evaluation import Evaluation, evaluate
    from tagwright.features import Features, TemplateError
    from tagwright.hmm import HMM
    from tagwright.memm import MEMM
    from tagwright.model import Lattice, Model, Tagging, load
    from tagwright.perceptron import Perceptron

__version__ = "0.5.0"

__all__ = [
    "CRF",
    "HMM",
    "MEMM",
    "AStar",
    "Agreement",
    "Auto",
    "Beam",
    "Bidirectional",
    "BidirectionalModel",
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
    "Keep",
    "KeepDivergence",
    "KeepRatio",
    "KeepSize",
    "Lattice",
    "Marginals",
    "Model",
    "ModelError",
    "Path",
    "Perceptron",
    "Staggered",
    "Tagging",
    "TemplateError",
    "Tree",
    "Viterbi",
    "ViterbiAStar",
    "Work",
    "__version__",
    "decode",
    "decode_batch",
    "decoders",
    "dual_decomposition",
    "evaluate",
    "load",
    "marginals",
    "marginals_batch",
    "paths",
    "read",
    "score",
]

# Imported when they are first asked for: decoding starts fast, and tagging does not wait for scikit-learn.
_LATER = {
    "tagwright.agreement": ("Agreement", "BidirectionalModel", "dual_decomposition"),
    "tagwright.bidirectional": ("Bidirectional",),
    "tagwright.container": ("ModelError",),
    "tagwright.crf": ("CRF",),
    "tagwright.data": ("DataError", "read"),
    "tagwright.evaluation": ("Evaluation", "evaluate"),
    "tagwright.features": ("Features", "TemplateError"),
    "tagwright.hmm": ("HMM",),
    "tagwright.memm": ("MEMM",),
    "tagwright.model": ("Lattice", "Model", "Tagging", "load"),
    "tagwright.perceptron": ("Perceptron",),
}
_WHERE = {name: module for module, names in _LATER.items() for name in names}


def __getattr__(name: str) -> Any:
    """Import what is not needed for decoding alone."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
