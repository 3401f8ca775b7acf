"""The decoders as Python sees them: the table, a small class for each with its options, and their text form."""

from __future__ import annotations

import difflib
import functools
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple

import numpy as np

from tagwright import _core, checks
from tagwright.decoding.keep import Keep, keep_arguments, parse_keep

__all__ = [
    "AStar",
    "Auto",
    "Beam",
    "CarpeDiem",
    "Decoder",
    "DecoderRow",
    "IterativeAStar",
    "IterativeViterbiAStar",
    "Staggered",
    "Tree",
    "Viterbi",
    "ViterbiAStar",
    "decoders",
]


class DecoderRow(NamedTuple):
    """One row of the decoder table."""

    name: str
    paper: str
    exact: bool
    kbest: bool


TABLE = [DecoderRow(*row) for row in _core.decoders()]
NAMES = [row.name for row in TABLE]


def decoders() -> list[DecoderRow]:
    """Every decoder there is: its name, its paper, whether it is exact and whether it gives k paths."""
    return list(TABLE)


@dataclass(frozen=True)
class Decoder:
    """A decoder and its options; the subclasses below. A name such as ``"staggered"`` stands for the defaults."""

    name: ClassVar[str]


@dataclass(frozen=True)
class Auto(Decoder):
    """Picks an exact decoder: Viterbi for few labels, else `tree`, which hands over what it cannot prune."""

    name: ClassVar[str] = "auto"


@dataclass(frozen=True)
class Viterbi(Decoder):
    """Viterbi (1967): every edge is looked at; over default + exceptions where the edges are sparse. k-best too."""

    name: ClassVar[str] = "viterbi"


@dataclass(frozen=True)
class Beam(Decoder):
    """Beam search: `width` partial paths a column. Approximate, unless width >= k * L.

    keep: a rule in place of a width, such as ``tw.KeepDivergence(0.001, at_least=4)`` (Pal et al. 2006, 4.1): a column
    keeps the labels it chooses, the scores of their best partial paths taken as log beliefs.
    """

    name: ClassVar[str] = "beam"
    width: int = 8
    keep: Keep | None = None

    def __post_init__(self) -> None:
        """Check the options."""
        checks.at_least_one("Beam(width=...)", self.width)
        keep_arguments(self.keep)
        if self.keep is not None and self.width != Beam.width:
            raise ValueError("Beam: give a width or a rule, not both")


@dataclass(frozen=True)
class Staggered(Decoder):
    """Staggered decoding, or iterative Viterbi (Kaji et al. 2010): refines a coarse lattice. 1-best.

    expand: "column" splits the blocks that the best path passes through (SD+C-EXP), "all" one in every column (SD).
    prune: whether nodes are dropped whose bound is below a score already reached (Huang et al. 2012, 3.2); without it
    decoding is slower, for comparison.
    """

    name: ClassVar[str] = "staggered"
    expand: str = "column"
    prune: bool = True

    def __post_init__(self) -> None:
        """Check the options."""
        if self.expand not in ("column", "all"):
            raise ValueError(f"Staggered(expand={self.expand!r}): use 'column' or 'all'")


@dataclass(frozen=True)
class CarpeDiem(Decoder):
    """CarpeDiem (Esposito and Radicioni 2009): opens nodes by their scores, as few as the best path allows. 1-best."""

    name: ClassVar[str] = "carpediem"


@dataclass(frozen=True)
class AStar(Decoder):
    """A* (Huang et al. 2012, 4.1 and 4.3), 1-best and k-best.

    bound: how far ahead it sees. None: the largest node and edge scores (equation 9); m: backward scores of the
    coarse lattice with 2^m labels and one block a column (the paper tries 0, 3, 6 and 9).
    """

    name: ClassVar[str] = "astar"
    bound: int | None = 6

    def __post_init__(self) -> None:
        """Check the options."""
        whole = isinstance(self.bound, int | np.integer) and not isinstance(self.bound, bool)
        if self.bound is not None and not (whole and 0 <= self.bound < 64):
            raise ValueError(f"AStar(bound={self.bound!r}): use None or a level from 0 to 63")


@dataclass(frozen=True)
class IterativeAStar(Decoder):
    """A* on a coarse lattice that is refined until its best path holds labels only (Huang et al. 2012, 4.2). 1-best."""

    name: ClassVar[str] = "iterative_astar"


@dataclass(frozen=True)
class ViterbiAStar(Decoder):
    """Viterbi forward, then A* backward for k paths (Huang et al. 2012, Algorithm 3)."""

    name: ClassVar[str] = "viterbi_astar"


@dataclass(frozen=True)
class IterativeViterbiAStar(Decoder):
    """Viterbi A* on a coarse lattice that is refined until its k best paths hold labels only (Huang, Algorithm 4).

    extra: asks for k' = extra * k paths in each round, since the k-th that holds labels only raises the floor.
    """

    name: ClassVar[str] = "iterative_viterbi_astar"
    extra: int = 2

    def __post_init__(self) -> None:
        """Check the options."""
        checks.at_least_one("IterativeViterbiAStar(extra=...)", self.extra)


@dataclass(frozen=True)
class Tree(Decoder):
    """Our own exact decoder: bounds over a tree of labels forward, sums of what is left backward. k-best too."""

    name: ClassVar[str] = "tree"


CLASSES: dict[str, type[Decoder]] = {
    cls.name: cls
    for cls in (
        Auto,
        Viterbi,
        Beam,
        Staggered,
        CarpeDiem,
        AStar,
        IterativeAStar,
        ViterbiAStar,
        IterativeViterbiAStar,
        Tree,
    )
}


def parse_decoder(text: str) -> Decoder:
    """Read a decoder as the command line writes it: a name, or a name and its option.

    As in ``beam:16``, ``beam:divergence:0.001:4`` or ``astar:6``.
    """
    name, colon, option = text.partition(":")
    if name not in CLASSES:
        near = difflib.get_close_matches(name, NAMES, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(NAMES)}"
        raise ValueError(f"no decoder named {name!r}; {hint}")
    cls = CLASSES[name]
    if not colon:
        return cls()
    options = fields(cls)
    if not options:
        raise ValueError(f"decoder {name!r} has no option, but {text!r} gives it one")
    value: Any = option
    if cls is Beam and option.partition(":")[0] in ("divergence", "size", "ratio"):
        return Beam(keep=parse_keep(option))
    if cls is Staggered and option == "unpruned":
        return Staggered(prune=False)
    if options[0].name == "bound" and option in ("none", "naive"):
        value = None
    elif options[0].name != "expand":
        try:
            value = int(option)
        except ValueError:
            raise ValueError(f"{text!r}: {options[0].name} must be a whole number, not {option!r}") from None
    return cls(**{options[0].name: value})


class Plan(NamedTuple):
    """A decoder as the core takes it."""

    row: DecoderRow
    core: _core.Plan


@functools.lru_cache(maxsize=64)
def plan(decoder: str | Decoder) -> Plan:
    chosen = parse_decoder(decoder) if isinstance(decoder, str) else decoder
    at = NAMES.index(chosen.name)
    bound = getattr(chosen, "bound", None)
    return Plan(
        TABLE[at],
        _core.Plan.make(
            at,
            int(getattr(chosen, "width", 1)),
            getattr(chosen, "expand", "column") == "all",
            -1 if bound is None else int(bound),
            int(getattr(chosen, "extra", IterativeViterbiAStar.extra)),
            keep_arguments(getattr(chosen, "keep", None)),
            bool(getattr(chosen, "prune", True)),
        ),
    )
