"""tagwright: exact best and k-best labelling of sequences with hundreds to thousands of labels."""

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

__version__ = "0.1.0"

__all__ = [
    "AStar",
    "Auto",
    "Beam",
    "CarpeDiem",
    "Decoder",
    "DecoderRow",
    "Decoding",
    "Edges",
    "IterativeAStar",
    "IterativeViterbiAStar",
    "Path",
    "Staggered",
    "Viterbi",
    "ViterbiAStar",
    "Work",
    "__version__",
    "decode",
    "decode_batch",
    "decoders",
    "score",
]
