"""Labels of spans, such as B-NP, I-NP and O: how they are written, which may follow which, and the spans they mean."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

PREFIXES = "OBIESLUM"
"""All prefixes; O is that of tokens outside of spans, and is written without a type."""


OPEN, CONTINUES = "BIM", "IMEL"
"""A span continues from a label with one of the former prefixes to a label of its type with one of the latter."""

PARTS: dict[str, Callable[[str], str]] = {
    "whole label": lambda label: label,
    'after "|"': lambda label: label.rpartition("|")[2] if "|" in label else "",
    'after ":"': lambda label: label.partition(":")[2],
}
"""Where the span part of a label may be, in the order tried. A label without the separator has no span part."""


class Scheme(NamedTuple):
    """The rules of one way to write spans as labels; each is a string of prefixes.

    The first label of a sentence is one of `start`, the last one of `stop`. A label of `start` may follow any label of
    `stop`; a label of `following` may follow one of `followed` that has the same type.
    """

    start: str
    stop: str
    followed: str
    following: str

    @property
    def prefixes(self) -> set[str]:
        """All prefixes of the scheme."""
        return {*self.start, *self.stop, *self.followed, *self.following}


SCHEMES = {
    "IO": Scheme("OI", "OI", "", ""),
    "BIO": Scheme("OB", "OBI", "BI", "I"),
    "IOBES": Scheme("OBS", "OES", "BI", "IE"),
    "BILOU": Scheme("OBU", "OLU", "BI", "IL"),
    "BMES": Scheme("OBS", "OES", "BM", "ME"),
    "IOB1": Scheme("OI", "OBI", "BI", "B"),  # B only where a span follows one of its type
}
"""The rules of each scheme by its name. IOB1 has the prefixes of BIO and is therefore only used by name."""


def scheme_of(prefixes: Collection[str]) -> str | None:
    """Return the name of the smallest scheme that has all these prefixes; None where there is none."""
    return next((name for name, scheme in SCHEMES.items() if scheme.prefixes >= {*prefixes}), None)


def split_label(label: str) -> tuple[str, str] | None:
    """Return the prefix and the type of a label ("" where it has none); None where it begins with no prefix."""
    prefix, _, type_name = label.partition("-")
    return (prefix, type_name) if len(prefix) == 1 and prefix in PREFIXES else None


def span_parts(labels: Sequence[str], typed: bool = False) -> tuple[str, list[tuple[str, str]]] | None:
    """Return which part of `PARTS` makes all labels span labels, and the prefix and type of each; None if none does.

    typed: whether labels need a type, as in B-NP; else B alone will do, as of words in Chinese.
    """
    for where, part in PARTS.items():
        parts = [own for own in map(split_label, map(part, labels)) if own and (own[1] or not typed or own[0] == "O")]
        if len(parts) == len(labels) and {prefix for prefix, _ in parts} & {*"BISU"}:
            return where, parts
    return None


class SpanLabels(NamedTuple):
    """What each label of a label set may do, by the rules of its scheme; arrays are indexed [label]."""

    types: Ints
    """The number of its type."""
    start: Bools
    """Whether it may be the first of a sentence, or follow any label of `stop`."""
    stop: Bools
    """Whether it may be the last of a sentence."""
    followed: Bools
    """Whether a label of `following` with the same type may follow."""
    following: Bools
    """Whether it may follow a label of `followed` with the same type."""

    @classmethod
    def of(cls, parts: Sequence[tuple[str, str]], scheme: Scheme) -> SpanLabels:
        """Return what labels may do, given the prefix and the type of each."""
        number = {name: n for n, name in enumerate(dict.fromkeys(name for _, name in parts))}
        types = np.array([number[name] for _, name in parts], np.int64)
        return cls(types, *(np.array([prefix in rule for prefix, _ in parts], bool) for rule in scheme))

    def may_follow(self, previous: npt.NDArray[np.integer[Any]], current: npt.NDArray[np.integer[Any]]) -> Bools:
        """Return whether `current` may follow `previous`: labels, or arrays of them that are broadcast together."""
        found: Bools = self.types[previous] == self.types[current]
        found &= self.followed[previous] & self.following[current]
        found |= self.stop[previous] & self.start[current]
        return found

    def rule(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        """Return the rule for pairs: the state that each label needs before it, -1 for any, and the state after it.

        Within a span of a type the state is that type; in schemes that mark the ends of spans, 0 is the state outside.
        """
        # A label follows those of its type or begins a span. Where not all may be last, a span must be continued.
        types = (self.types + 1).astype(np.int32)
        entry = np.where(self.following, types, -1 if self.stop.all() else 0).astype(np.int32)
        return entry, np.where(self.followed, types, 0).astype(np.int32)

    def reversed(self) -> SpanLabels:
        """Return the same rules for sentences that are read from their end."""
        return SpanLabels(self.types, self.stop, self.start, self.following, self.followed)


def span_labels(labels: Sequence[str]) -> SpanLabels | None:
    """Return what labels may do if they are all of one scheme of `SCHEMES` that marks where spans begin; else None.

    Labels may have types (B-NP) or none (B). Where a scheme has a prefix for the end of spans but no label has it,
    spans may end anywhere.
    """
    parts = [part for part in map(split_label, labels) if part is not None]
    prefixes = {prefix for prefix, _ in parts} - {"O"}
    name = scheme_of(prefixes)
    if len(parts) < len(labels) or name is None or "B" not in prefixes or len(prefixes) < 2:
        return None
    scheme = SCHEMES[name]
    if not prefixes & ({*scheme.following} - {*scheme.followed}):
        scheme = scheme._replace(stop=PREFIXES)
    return SpanLabels.of(parts, scheme)


ALIASES = {"BIOES": "IOBES", "IOB2": "BIO"}
"""Other names of schemes."""


def scheme_rule(
    name: str, labels: Sequence[str], shown: Sequence[str]
) -> tuple[str, tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]], Bools | None, Bools | None]:
    """Return the rule for pairs of a scheme's labels, and which may be first and last.

    The rule is two arrays, [label]: the state that must hold before a label, -1 for any, and the state after it. Label
    j may follow label i where the state before j is any, or that after i. Within a span of a type the state is that
    type; in schemes that mark the ends of spans, 0 is the state outside of them.

    Args:
        name: of the scheme.
        labels: labels of the scheme, or the parts of labels to which it applies.
        shown: the labels themselves, for messages.

    Returns:
        The scheme's name, its rule, and for each label whether it may be the first and the last of a sentence; None
        where all may.

    """
    known = ALIASES.get(name, name) if isinstance(name, str) else None
    if known not in SCHEMES:
        raise ValueError(f"there is no label scheme {name!r}; there are {', '.join([*SCHEMES, *ALIASES])}")
    scheme = SCHEMES[known]
    parts = []
    for label, whole in zip(labels, shown, strict=True):
        part = split_label(label)
        if part is None or part[0] not in scheme.prefixes:
            prefixes = ", ".join(f"{prefix}-" if prefix != "O" else prefix for prefix in sorted(scheme.prefixes))
            raise ValueError(f"the label {whole!r} is not of scheme {name}, whose labels begin with {prefixes}")
        parts.append(part)
    rules = SpanLabels.of(parts, scheme)
    first, last = (None if may.all() else may for may in (rules.start, rules.stop))
    return known, rules.rule(), first, last


# Whether prefix p before prefix t closes a span, and whether t after p opens one, where both have the same type.
_CLOSES = np.array([[p in "ES" or (p in "BI" and t in "BSO") for t in PREFIXES] for p in PREFIXES])
_OPENS = np.array([[t in "BS" or (t in "IE" and p in "OES") for t in PREFIXES] for p in PREFIXES])


def find_spans(prefixes: Ints, types: Ints) -> tuple[Bools, Ints]:
    """Return for each token but the last whether a span ends with it, and where the last span up to it began.

    Any labelling can be read, whether it keeps to the rules of a scheme or not: spans are those that seqeval's default
    mode finds.

    Args:
        prefixes: for each token the place of its prefix in `PREFIXES`. The last token must be an O.
        types: for each token the number of its type.

    """
    changes = types[:-1] != types[1:]
    closes = _CLOSES[prefixes[:-1], prefixes[1:]] | (changes & (prefixes[:-1] != 0))
    opens = _OPENS[prefixes[:-1], prefixes[1:]] | (changes & (prefixes[1:] != 0))
    first = np.zeros(len(prefixes), dtype=np.int64)
    first[1:][opens] = np.flatnonzero(opens) + 1
    return closes, np.maximum.accumulate(first)[:-1]
