"""tagwright: exact best and k-best labelling of sequences with hundreds to thousands of labels."""

import importlib
import warnings
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tagwright.constraints.constraints import Constraints
    from tagwright.data.files import DataError
    from tagwright.data.reading import read
    from tagwright.data.tokens import sentences, tokenize
    from tagwright.decoding.arrays import decode_arrays
    from tagwright.decoding.decode import decode, decode_batch, paths, score
    from tagwright.decoding.decoders import AStar, Beam, IterativeViterbiAStar, Staggered, decoders
    from tagwright.decoding.edges import Edges
    from tagwright.decoding.keep import KeepDivergence, KeepRatio, KeepSize
    from tagwright.decoding.marginals import marginals, marginals_batch, sample
    from tagwright.decoding.spans import spans
    from tagwright.evaluation.evaluate import evaluate
    from tagwright.evaluation.scorers import sequence_accuracy, span_f1, token_accuracy
    from tagwright.features.templates import Features, TemplateError
    from tagwright.features.vectors import Vectors
    from tagwright.features.word_classes import word_classes
    from tagwright.learners.bidirectional import Bidirectional
    from tagwright.learners.crf import CRF
    from tagwright.learners.hmm import HMM
    from tagwright.learners.memm import MEMM
    from tagwright.learners.options import LBFGS, AdaGrad
    from tagwright.learners.perceptron import Perceptron
    from tagwright.models.agreement import dual_decomposition
    from tagwright.models.file import ModelError
    from tagwright.models.foreign import import_model
    from tagwright.models.model import Model, load
    from tagwright.reports.report import report

__version__ = "0.5.0"

__all__ = [
    "CRF",
    "HMM",
    "LBFGS",
    "MEMM",
    "AStar",
    "AdaGrad",
    "Beam",
    "Bidirectional",
    "Constraints",
    "DataError",
    "Edges",
    "Features",
    "IterativeViterbiAStar",
    "KeepDivergence",
    "KeepRatio",
    "KeepSize",
    "Model",
    "ModelError",
    "Perceptron",
    "Staggered",
    "TemplateError",
    "Vectors",
    "__version__",
    "decode",
    "decode_arrays",
    "decode_batch",
    "decoders",
    "dual_decomposition",
    "evaluate",
    "import_model",
    "load",
    "marginals",
    "marginals_batch",
    "paths",
    "read",
    "report",
    "sample",
    "score",
    "sentences",
    "sequence_accuracy",
    "span_f1",
    "spans",
    "token_accuracy",
    "tokenize",
    "word_classes",
]


def _by_name(places: dict[str, str]) -> dict[str, str]:
    return {name: f"tagwright.{module}" for module, names in places.items() for name in names.split()}


# Names are imported on first use: Ctrl-C is handled from the start, and tagging does not import scikit-learn.
_PLACES = _by_name(
    {
        "constraints.constraints": "Constraints",
        "data.files": "DataError",
        "data.reading": "read",
        "data.tokens": "sentences tokenize",
        "decoding.arrays": "decode_arrays",
        "decoding.decode": "decode decode_batch paths score",
        "decoding.decoders": "AStar Beam IterativeViterbiAStar Staggered decoders",
        "decoding.edges": "Edges",
        "decoding.keep": "KeepDivergence KeepRatio KeepSize",
        "decoding.marginals": "marginals marginals_batch sample",
        "decoding.spans": "spans",
        "evaluation.evaluate": "evaluate",
        "evaluation.scorers": "sequence_accuracy span_f1 token_accuracy",
        "features.templates": "Features TemplateError",
        "features.vectors": "Vectors",
        "features.word_classes": "word_classes",
        "learners.bidirectional": "Bidirectional",
        "learners.crf": "CRF",
        "learners.hmm": "HMM",
        "learners.memm": "MEMM",
        "learners.options": "AdaGrad LBFGS",
        "learners.perceptron": "Perceptron",
        "models.agreement": "dual_decomposition",
        "models.file": "ModelError",
        "models.foreign": "import_model",
        "models.model": "Model load",
        "reports.report": "report",
    }
)

# Names that 0.5.0 exported; removed in the release after next.
_MOVED = _by_name(
    {
        "decoding.decode": "Decoding Path Work",
        "decoding.decoders": "Decoder DecoderRow",
        "decoding.keep": "Keep",
        "decoding.marginals": "Marginals",
        "evaluation.result": "Evaluation",
        "models.agreement": "Agreement",
        "models.bidirectional": "BidirectionalModel",
        "models.tagging": "Lattice Tagging",
    }
)
_DECODERS = {
    "Auto": "auto",
    "CarpeDiem": "carpediem",
    "IterativeAStar": "iterative_astar",
    "Tree": "tree",
    "Viterbi": "viterbi",
    "ViterbiAStar": "viterbi_astar",
}

if not TYPE_CHECKING:  # type checkers then report names that do not exist

    def __getattr__(name: str) -> Any:
        """Import a public name once; resolve deprecated names with a warning."""
        if name in _PLACES:
            globals()[name] = value = getattr(importlib.import_module(_PLACES[name]), name)
            return value
        if name in _MOVED:
            module = _MOVED[name]
            warnings.warn(f"tagwright.{name} is deprecated: use {module}.{name}", DeprecationWarning, stacklevel=2)
            return getattr(importlib.import_module(module), name)
        if name in _DECODERS:
            from tagwright.decoding.decoders import decoder_class

            text = _DECODERS[name]
            warnings.warn(f"tagwright.{name} is deprecated: use decoder={text!r}", DeprecationWarning, stacklevel=2)
            return decoder_class(name, text)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
