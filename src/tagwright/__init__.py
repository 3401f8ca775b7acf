"""tagwright: exact best and k-best labelling of sequences with hundreds to thousands of labels."""

from tagwright.decoding import (
    AStar,
    Auto,
    Beam,
    CarpeDiem,
    Decoder,
    DecoderRow,
    Decoding,
    Edges,
    IterativeAStar,
    IterativeViterbiAStar,
    Path,
    Staggered,
    Viterbi,
    ViterbiAStar,
    Work,
    decode,
    decode_batch,
    decoders,
    score,
)

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
