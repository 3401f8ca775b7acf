"""tagwright: exact best and k-best labelling of sequences with hundreds to thousands of labels."""

import importlib
from typing import TYPE_CHECKING, Any

from tagwright.decoding.decode import Decoding, Path, Work, decode, decode_batch, paths, score
from tagwright.decoding.decoders import (
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
from tagwright.decoding.edges import Edges
from tagwright.decoding.keep import Keep, KeepDivergence, KeepRatio, KeepSize
from tagwright.decoding.marginals import Marginals, marginals, marginals_batch
from tagwright.learners import LEARNERS

if TYPE_CHECKING:
    from tagwright.data.files import DataError
    from tagwright.data.reading import read
    from tagwright.evaluation.evaluate import evaluate
    from tagwright.evaluation.result import Evaluation
    from tagwright.features.templates import Features, TemplateError
    from tagwright.learners.bidirectional import Bidirectional
    from tagwright.learners.crf import CRF
    from tagwright.learners.hmm import HMM
    from tagwright.learners.memm import MEMM
    from tagwright.learners.perceptron import Perceptron
    from tagwright.models.agreement import Agreement, dual_decomposition
    from tagwright.models.bidirectional import BidirectionalModel
    from tagwright.models.file import ModelError
    from tagwright.models.model import Lattice, Model, Tagging, load

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
    "tagwright.models.agreement": ("Agreement", "dual_decomposition"),
    "tagwright.models.bidirectional": ("BidirectionalModel",),
    "tagwright.models.file": ("ModelError",),
    "tagwright.data.files": ("DataError",),
    "tagwright.data.reading": ("read",),
    "tagwright.evaluation.evaluate": ("evaluate",),
    "tagwright.evaluation.result": ("Evaluation",),
    "tagwright.features.templates": ("Features", "TemplateError"),
    "tagwright.models.model": ("Lattice", "Model", "Tagging", "load"),
}
_WHERE = {name: module for module, names in _LATER.items() for name in names}
_WHERE |= {name: f"tagwright.learners.{module}" for module, name in LEARNERS.items()}


def __getattr__(name: str) -> Any:
    """Import what is not needed for decoding alone."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_WHERE[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
