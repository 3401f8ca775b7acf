"""The universal parts of speech (UPOS), and those of the Penn Treebank's tags."""

from __future__ import annotations

from collections.abc import Sequence

UPOS = frozenset(
    [
        "ADJ",
        "ADP",
        "ADV",
        "AUX",
        "CCONJ",
        "DET",
        "INTJ",
        "NOUN",
        "NUM",
        "PART",
        "PRON",
        "PROPN",
        "PUNCT",
        "SCONJ",
        "SYM",
        "VERB",
        "X",
    ]
)
"""The 17 tags of Universal Dependencies."""

_PENN = {
    "ADJ": "JJ JJR JJS AFX",
    "ADP": "IN RP",
    "ADV": "RB RBR RBS WRB",
    "AUX": "MD",
    "CCONJ": "CC",
    "DET": "DT PDT WDT",
    "INTJ": "UH",
    "NOUN": "NN NNS",
    "NUM": "CD",
    "PART": "TO POS",
    "PRON": "PRP PRP$ WP WP$ EX",
    "PROPN": "NNP NNPS",
    "PUNCT": ". , : `` '' \" -LRB- -RRB- ( ) HYPH",
    "SYM": "$ # SYM NFP",
    "VERB": "VB VBD VBG VBN VBP VBZ",
    "X": "FW LS GW ADD XX",
}


def penn_to_upos(labels: Sequence[str]) -> dict[str, str] | None:
    """Return the most frequent UPOS of each Penn Treebank tag; None if a label is not such a tag.

    Words decide in a few cases that tags leave open: IN is also SCONJ, and forms of be, have and do are also AUX.
    """
    known = {tag: upos for upos, tags in _PENN.items() for tag in tags.split()}
    return {label: known[label] for label in labels} if known.keys() >= {*labels} else None
