"""Universal parts of speech of English words that have Penn tags."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tagwright.models.model import Model, load

UPOS_MODEL = Path(__file__).with_name("english_upos.safetensors")
"""The model that reads words and Penn tags; see NOTICE."""


@cache
def _model() -> Model:
    return load(UPOS_MODEL)


def universal_tags(X: Sequence[Sequence[str]], penn: Sequence[Sequence[str]], threads: int = 1) -> list[list[str]]:
    """Return the universal part of speech (UPOS) of each token of English sentences.

    A Penn tag does not determine it: IN is ADP or SCONJ, VBZ is VERB or AUX, DT is DET or PRON. A small CRF decides by
    words and tags.

    Parameters
    ----------
    X
        Sentences, each a list of words.
    penn
        The Penn tags of their tokens.
    threads
        Threads over the sentences.

    Examples
    --------
    >>> import tagwright as tw
    >>> from tagwright.models.upos import universal_tags
    >>> X = [["She", "has", "left", "since", "it", "rained"]]
    >>> universal_tags(X, tw.load().tag_batch(X))
    [['PRON', 'AUX', 'VERB', 'SCONJ', 'PRON', 'VERB']]

    """
    rows = [[[word, tag] for word, tag in zip(words, tags, strict=True)] for words, tags in zip(X, penn, strict=True)]
    return _model().tag_batch(rows, threads=threads)
