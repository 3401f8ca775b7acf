"""tagwright: exact best and k-best labelling of sequences with hundreds to thousands of labels."""

import importlib
from typing import TYPE_CHECKING, Any

from tagwright.learners import LEARNERS

if TYPE_CHECKING:
    from tagwright.constraints.constraints import Constraints
    from tagwright.data.files import DataError
    from tagwright.data.reading import read
    from tagwright.data.tokens import Tokenizer, sentences, tokenize
    from tagwright.decoding.arrays import PathArrays, decode_arrays
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
        Posterior,
        Staggered,
        Tree,
        Viterbi,
        ViterbiAStar,
        decoders,
    )
    from tagwright.decoding.edges import Edges
    from tagwright.decoding.keep import Keep, KeepDivergence, KeepRatio, KeepSize
    from tagwright.decoding.marginals import BatchMarginals, Marginals, marginals, marginals_batch
    from tagwright.decoding.sampling import sample
    from tagwright.decoding.spans import Span, spans
    from tagwright.evaluation.evaluate import evaluate
    from tagwright.evaluation.result import Evaluation
    from tagwright.features.templates import Features, TemplateError
    from tagwright.learners.bidirectional import Bidirectional
    from tagwright.learners.crf import CRF
    from tagwright.learners.hmm import HMM
    from tagwright.learners.memm import MEMM
    from tagwright.learners.options import LBFGS, AdaGrad
    from tagwright.learners.perceptron import Perceptron
    from tagwright.models.agreement import Agreement, dual_decomposition
    from tagwright.models.bidirectional import BidirectionalModel
    from tagwright.models.explanation import Explanation
    from tagwright.models.file import ModelError
    from tagwright.models.model import Lattice, Model, Tagging, load
    from tagwright.reports.report import Report, report

__version__ = "0.5.0"

__all__ = [
    "CRF",
    "HMM",
    "LBFGS",
    "MEMM",
    "AStar",
    "AdaGrad",
    "Agreement",
    "Auto",
    "BatchMarginals",
    "Beam",
    "Bidirectional",
    "BidirectionalModel",
    "CarpeDiem",
    "Constraints",
    "DataError",
    "Decoder",
    "DecoderRow",
    "Decoding",
    "Edges",
    "Evaluation",
    "Explanation",
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
    "PathArrays",
    "Perceptron",
    "Posterior",
    "Report",
    "Span",
    "Staggered",
    "Tagging",
    "TemplateError",
    "Tokenizer",
    "Tree",
    "Viterbi",
    "ViterbiAStar",
    "Work",
    "__version__",
    "decode",
    "decode_arrays",
    "decode_batch",
    "decoders",
    "dual_decomposition",
    "evaluate",
    "load",
    "marginals",
    "marginals_batch",
    "paths",
    "read",
    "report",
    "sample",
    "score",
    "sentences",
    "spans",
    "tokenize",
]

# Imported when they are first asked for: a program hears Ctrl-C from its start, and tagging does not wait for
# scikit-learn.
_LATER = {
    "tagwright.decoding.arrays": ("PathArrays", "decode_arrays"),
    "tagwright.decoding.decode": ("Decoding", "Path", "Work", "decode", "decode_batch", "paths", "score"),
    "tagwright.decoding.decoders": (
        "AStar",
        "Auto",
        "Beam",
        "CarpeDiem",
        "Decoder",
        "DecoderRow",
        "IterativeAStar",
        "IterativeViterbiAStar",
        "Posterior",
        "Staggered",
        "Tree",
        "Viterbi",
        "ViterbiAStar",
        "decoders",
    ),
    "tagwright.constraints.constraints": ("Constraints",),
    "tagwright.decoding.edges": ("Edges",),
    "tagwright.decoding.keep": ("Keep", "KeepDivergence", "KeepRatio", "KeepSize"),
    "tagwright.decoding.marginals": ("BatchMarginals", "Marginals", "marginals", "marginals_batch"),
    "tagwright.decoding.sampling": ("sample",),
    "tagwright.decoding.spans": ("Span", "spans"),
    "tagwright.learners.options": ("AdaGrad", "LBFGS"),
    "tagwright.models.agreement": ("Agreement", "dual_decomposition"),
    "tagwright.models.bidirectional": ("BidirectionalModel",),
    "tagwright.models.explanation": ("Explanation",),
    "tagwright.models.file": ("ModelError",),
    "tagwright.data.files": ("DataError",),
    "tagwright.data.reading": ("read",),
    "tagwright.data.tokens": ("Tokenizer", "sentences", "tokenize"),
    "tagwright.evaluation.evaluate": ("evaluate",),
    "tagwright.evaluation.result": ("Evaluation",),
    "tagwright.features.templates": ("Features", "TemplateError"),
    "tagwright.models.model": ("Lattice", "Model", "Tagging", "load"),
    "tagwright.reports.report": ("Report", "report"),
}
_WHERE = {name: module for module, names in _LATER.items() for name in names}
_WHERE |= {name: f"tagwright.learners.{module}" for module, name in LEARNERS.items()}


def __getattr__(name: str) -> Any:
    """Import a name, once."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value = getattr(importlib.import_module(_WHERE[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
