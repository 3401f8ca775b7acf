"""Probabilities of spans: `spans` gives those of the best path, or the most probable ones of any path."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from tagwright import _core, checks
from tagwright.constraints.allowed import AllowedLabels
from tagwright.constraints.constraints import Constraints
from tagwright.decoding.decode import ActiveSets, decode, one_lattice
from tagwright.decoding.decoders import Decoder
from tagwright.schemes import CONTINUES, OPEN, span_parts


class Span(NamedTuple):
    """A span of tokens and how probable it is."""

    label: str
    """The type of its labels: ``NP`` for ``B-NP I-NP``; empty where labels have no type."""
    start: int
    """Its first token."""
    end: int
    """The token behind its last: it has the tokens ``sentence[start:end]``."""
    probability: float
    """That a labelling has this span, from its first token to its last and no further, with this label."""

    @property
    def log_probability(self) -> float:
        """The logarithm of the probability."""
        return _core.log(self.probability)


def spans(
    nodes: object,
    edges: object,
    labels: Sequence[str],
    k: int | None = None,
    decoder: str | Decoder = "auto",
    *,
    active: ActiveSets | None = None,
    constraints: Constraints | None = None,
    allowed: AllowedLabels | None = None,
) -> list[Span]:
    """Return the spans of the best path of one sentence, or the k most probable spans of any path.

    The probability of a span is the sum over all labellings that contain it, by forward-backward: it begins and ends
    exactly there, whatever the labels of the other tokens are, and whichever labels of its type its own tokens have.

    Parameters
    ----------
    nodes : array-like of shape (T, L)
        Node scores, as for `decode`.
    edges : Edges or array-like of shape (L, L) or (T-1, L, L)
        Edge scores.
    labels : sequence of str
        Names of the L labels, of a scheme such as BIO: ``B-NP``, ``I-NP``, ``O``. Of joint labels the part after the
        last "|" or after the first ":" may be of that form.
    k : int, optional
        Number of spans, the most probable first; by default those of the best path, from left to right.
    decoder : str or Decoder, default="auto"
        Finds the best path.
    active, constraints, allowed : optional
        As for `decode`. Labellings that the limits exclude have probability 0.

    Returns
    -------
    list of Span
        The spans with their probabilities.

    Raises
    ------
    ValueError
        For labels that do not denote spans, and in the cases of `decode`.

    Examples
    --------
    >>> import tagwright as tw
    >>> nodes = [[0.0, 2.0, 0.0], [1.0, 0.0, 1.5]]
    >>> edges = [[0.0, 0.0, float("-inf")], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]
    >>> tw.spans(nodes, edges, ["O", "B-NP", "I-NP"])[0]._replace(probability=0.0)
    Span(label='NP', start=0, end=2, probability=0.0)

    """
    reader = SpanReader(labels)
    given = one_lattice(nodes, edges, active, constraints, allowed)
    if given.nodes[0].shape[1] != len(labels):
        raise ValueError(f"{len(labels)} label names, but the scores are of {given.nodes[0].shape[1]} labels")
    best = np.zeros(0, np.int32)
    if k is None:
        found = decode(nodes, edges, 1, decoder, active=active, constraints=constraints, allowed=allowed)
        best = found.paths[0].labels
    return reader.named(_core.spans(*given, reader.core, best, reader.count(k)))


class SpanReader:
    """Reads the types of spans, and which labels continue a span, from the names of labels.

    A span continues from one token to the next where both labels have its type, the first has the prefix B, I or M and
    the second I, M, E or L. For labellings that obey the rules of a scheme of `tagwright.schemes` these are its
    spans; where they do not, they are those that seqeval's default mode finds (of the prefixes that it reads).
    """

    def __init__(self, labels: Sequence[str]) -> None:
        """Find the prefix and the type of each label; ValueError where they are not labels of spans."""
        if isinstance(labels, str) or not hasattr(labels, "__len__"):
            raise ValueError(
                f"labels must be the names of all labels, such as ['O', 'B-NP'], not {checks.shown(labels)}"
            )
        wrong = next((name for name in labels if not isinstance(name, str)), None)
        if wrong is not None:
            raise ValueError(f"labels must be names such as 'B-NP'; {checks.shown(wrong)} is not a string")
        read = span_parts(labels)
        if read is None:
            few = ", ".join(map(repr, labels[:5]))
            raise ValueError(
                f"these are not labels of spans such as B-NP, I-NP and O: {few}; "
                "spans have probabilities where every label is O or PREFIX-TYPE, or its part after '|' or ':' is"
            )
        _, parts = read
        self.types = list(dict.fromkeys(name for prefix, name in parts if prefix != "O"))
        number = {name: n for n, name in enumerate(self.types)}
        type_of = [-1 if prefix == "O" else number[name] for prefix, name in parts]
        marks = [np.array([prefix in which for prefix, _ in parts], np.uint8) for which in (OPEN, CONTINUES)]
        self.core = _core.SpanRules(np.array(type_of, np.int32), *marks)

    @staticmethod
    def count(k: int | None) -> int:
        """Return k as the core takes it, after a check."""
        if k is not None:
            checks.at_least_one("k", k)
        return 0 if k is None else int(k)

    def named(self, found: Iterable[tuple[int, int, int, float]]) -> list[Span]:
        """Return spans as the core gives them with the names of their types."""
        return [Span(self.types[own], start, end, share) for own, start, end, share in found]
