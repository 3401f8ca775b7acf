"""Templates for common tasks."""

from __future__ import annotations

_WORDS = """
U00:%x[-2,0]
U01:%x[-1,0]
U02:%x[0,0]
U03:%x[1,0]
U04:%x[2,0]
U05:%x[-1,0]/%x[0,0]
U06:%x[0,0]/%x[1,0]
"""

_LOWER_WORDS = """
U00:%lower[-2,0]
U01:%lower[-1,0]
U02:%lower[0,0]
U03:%lower[1,0]
U04:%lower[2,0]
U05:%lower[-1,0]/%lower[0,0]
U06:%lower[0,0]/%lower[1,0]
U07:%x[0,0]
"""

_NEAR_WORDS = """
U01:%lower[-1,0]
U02:%x[0,0]
U03:%lower[1,0]
"""

_WORD_BIGRAMS = """
U05:%lower[-1,0]/%lower[0,0]
U06:%lower[0,0]/%lower[1,0]
"""

_FORM = """
U30:%capital[0,0]
U31:%digit[0,0]
U32:%punct[0,0]
"""

_FINER_FORM = """
U33:%shape[0,0]
U34:%lower[0,0]
"""

_NEAR_FORM = """
U35:%shape[0,0]
U36:%shape[-1,0]
U37:%shape[1,0]
U38:%capital[-1,0]/%capital[0,0]/%capital[1,0]
"""

_CLASSES = """
U80:%class[-2,0,*,2]
U81:%class[-1,0,*,2]
U82:%class[0,0,*,2]
U83:%class[1,0,*,2]
U84:%class[2,0,*,2]
U85:%class[-1,0,*,2]/%class[0,0,*,2]
U86:%class[0,0,*,2]/%class[1,0,*,2]
"""

_NEIGHBOUR_SHAPES = """
U35:%shape[-1,0]/%shape[0,0]
U36:%shape[0,0]/%shape[1,0]
U37:%shape[-1,0]
U38:%shape[1,0]
"""

_OWN_CLASSES = """
U80:%class[0,0,*]
U81:%class[0,0,*,2]
U82:%class[0,0,*,1]
"""

_NEIGHBOUR_CLASSES = """
U83:%class[-1,0,*,2]
U84:%class[1,0,*,2]
"""

_LISTS = """
U70:%in[0,0,*]
U71:%in[-1,0,*]/%in[0,0,*]
U72:%in[0,0,*]/%in[1,0,*]
"""

_WORD_AND_POS = """
U90:%x[0,0]/%x[0,1]
U91:%x[-1,1]/%x[0,0]
U92:%x[0,0]/%x[1,1]
"""

_CHARACTERS = """
U01:%x[-1,0]
U02:%x[0,0]
U03:%x[1,0]
U05:%x[-1,0]/%x[0,0]
U06:%x[0,0]/%x[1,0]
U08:%shape[-1,0]/%shape[0,0]/%shape[1,0]
"""

_EDGES = """
B
"""


def _affixes(longest: int) -> str:
    both = (f"U1{n}:%prefix[0,0,{n}]\nU2{n}:%suffix[0,0,{n}]\n" for n in range(1, longest + 1))
    return "\n" + "".join(both)


def _lower_affixes(longest: int) -> str:
    return _affixes(longest).replace("%prefix", "%Prefix").replace("%suffix", "%Suffix")


def _endings(longest: int) -> str:
    """Every suffix up to a length, and the prefix of three characters."""
    return "\nU13:%Prefix[0,0,3]\n" + "".join(f"U2{n}:%Suffix[0,0,{n}]\n" for n in range(1, longest + 1))


def _around(prefix: str, column: int, reach: int, most: int) -> str:
    """Every run of up to `most` neighbours within `reach` of the token."""
    lines = []
    for n in range(1, most + 1):
        for first in range(-reach, reach - n + 2):
            cells = "/".join(f"%x[{first + q},{column}]" for q in range(n))
            lines.append(f"{prefix}{n}{first + reach}:{cells}\n")
    return "\n" + "".join(lines)


PRESETS: dict[str, str] = {
    "pos": _LOWER_WORDS + _lower_affixes(5) + _FORM + _NEAR_FORM + _CLASSES + _EDGES,
    "chunk": (
        _NEAR_WORDS + _WORD_BIGRAMS + _endings(4) + _FORM + _FINER_FORM + _OWN_CLASSES + _NEIGHBOUR_CLASSES + _EDGES
    ),
    "ner": (
        _WORDS
        + _affixes(4)
        + _FORM
        + _FINER_FORM
        + _NEIGHBOUR_SHAPES
        + _LISTS
        + _OWN_CLASSES
        + _NEIGHBOUR_CLASSES
        + _EDGES
    ),
    "morph": _NEAR_WORDS + _lower_affixes(6) + _FORM + _FINER_FORM + _OWN_CLASSES + _EDGES,
    "supertag": (
        _WORDS
        + _affixes(4)
        + _FORM
        + _FINER_FORM
        + _around("U6", 1, 2, 2)
        + _WORD_AND_POS
        + _OWN_CLASSES
        + _NEIGHBOUR_CLASSES
        + _EDGES
    ),
    "query": _WORDS + _affixes(4) + _FORM + _LISTS + _OWN_CLASSES + _EDGES,
    "g2p": _around("U", 0, 7, 4) + _EDGES,
    "cws": _CHARACTERS + _LISTS + _EDGES,
}
"""Templates for common tasks, chosen on development data from those of the papers (Huang et al. 2012, section 5.1):
words, word bigrams, affixes, capitals, numbers, punctuation and label bigrams. Lines with `*` concern word lists and
word classes, and are ignored without them. `supertag` also reads parts of speech, in column 1; `g2p` looks at letters,
`cws` at characters."""
