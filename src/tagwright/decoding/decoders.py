"""The table of decoders, classes for those with options, and their text form."""

from __future__ import annotations

import difflib
import functools
import types
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, cast, dataclass_transform

import numpy as np

from tagwright import _core, checks
from tagwright.decoding.keep import Keep, is_rule, keep_arguments, parse_keep


class DecoderOption(NamedTuple):
    """An option of a decoder."""

    name: str
    type: str
    """"int", "int | None", "str" or "Keep | None"."""
    default: Any
    takes: str
    """Valid values in words: "a whole number of at least 1 and below 2**31"."""
    values: tuple[Any, ...]
    """The valid words, or the smallest and the largest number."""


class DecoderRow(NamedTuple):
    """One row of the decoder table."""

    name: str
    paper: str
    exact: bool
    kbest: bool
    """Whether it returns k paths."""
    deadline: bool
    """Whether it can stop at a deadline."""
    maximises: str
    """The objective: "score", or "expected right tokens"."""
    ngrams: bool
    """Whether it decodes edges with label n-grams."""
    options: tuple[DecoderOption, ...]


TABLE = {row[0]: DecoderRow(*row[:7], tuple(DecoderOption(*option) for option in row[7])) for row in _core.decoders()}


def decoders() -> list[DecoderRow]:
    """Return the table of decoders.

    Returns
    -------
    list of DecoderRow
        Name, paper, whether it is exact, finds k paths and can stop at a deadline, what it maximises, and its options.

    Examples
    --------
    >>> import tagwright as tw
    >>> [row.name for row in tw.decoders() if row.deadline]
    ['auto', 'tree']

    """
    return list(TABLE.values())


_DEFAULT: dict[tuple[str, str], Any] = {
    (row.name, option.name): option.default for row in TABLE.values() for option in row.options
}


@dataclass(frozen=True)
@dataclass_transform(frozen_default=True)
class Decoder:
    """A decoder and its options. A name such as ``"staggered"`` stands for the defaults, and needs no class.

    A subclass, which is a frozen dataclass, names a row of the table. Its fields are options of that row, whose
    defaults and ranges are the core's.
    """

    name: ClassVar[str]

    def __init_subclass__(cls, name: str | None = None) -> None:
        cls.name = name or cls.name
        dataclass(frozen=True)(cls)

    def __post_init__(self) -> None:
        if vars(self):
            _core_plan(type(self).__name__, self.name, vars(self))


class Beam(Decoder, name="beam"):
    """Beam search; approximate unless ``width >= k * L``.

    Parameters
    ----------
    width : int, default=8
        Number of partial paths per column.
    pruning : KeepDivergence, KeepSize or KeepRatio, optional
        Pruning rule instead of a width (Pal et al. 2006, section 4.1), which reads the scores of the best partial paths
        as log beliefs.

    Examples
    --------
    >>> import tagwright as tw
    >>> tw.decode([[1.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]], decoder=tw.Beam(width=1)).exact
    False

    """

    width: int = _DEFAULT["beam", "width"]
    pruning: Keep | None = _DEFAULT["beam", "pruning"]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.pruning is not None and self.width != Beam.width:
            raise ValueError("Beam: give a width or a pruning rule, not both")


Beam.__init__ = checks.renamed(keep="pruning")(Beam.__init__)  # type: ignore[method-assign]


class Staggered(Decoder, name="staggered"):
    """Staggered decoding, or iterative Viterbi (Kaji et al. 2010): refines a coarse lattice. 1-best.

    Parameters
    ----------
    expand : {"column", "all"}, default="column"
        Whether to split only the blocks on the best path (SD+C-EXP) or one block in every column (SD).
    """

    expand: str = _DEFAULT["staggered", "expand"]


class AStar(Decoder, name="astar"):
    """A* (Huang et al. 2012, 4.1 and 4.3), 1-best and k-best.

    Parameters
    ----------
    bound : int or None, default=6
        Heuristic: backward scores of the coarse lattice with 2**bound labels and one block per column (the paper tries
        0, 3, 6 and 9), or for None the largest node and edge scores (equation 9).
    """

    bound: int | None = _DEFAULT["astar", "bound"]


class IterativeViterbiAStar(Decoder, name="iterative_viterbi_astar"):
    """Viterbi A* on a coarse lattice, refined until its k best paths contain labels only (Huang et al. 2012, Alg. 4).

    Parameters
    ----------
    extra : int, default=2
        Each round searches for ``extra * k`` paths: the k-th path that contains labels only raises the floor.
    """

    extra: int = _DEFAULT["iterative_viterbi_astar", "extra"]


@functools.cache
def decoder_class(name: str, decoder: str) -> type[Decoder]:
    """Return the class that 0.5.0 had for a decoder without options."""
    made = types.new_class(name, (Decoder,), {"name": decoder}, lambda body: body.update(__module__="tagwright"))
    return cast("type[Decoder]", made)


class _StaggeredUnpruned(Decoder, name="staggered"):
    """Staggered decoding that drops no node (Huang et al. 2012, 5.2): slower, for comparisons in benchmarks."""

    prune: bool = False


class _ViterbiInWindows(Decoder, name="viterbi"):
    """Viterbi in windows of `window` columns, as very long sentences are decoded: for tests."""

    window: int = 2


class Plan(NamedTuple):
    """A decoder, its options and the core's object for them."""

    row: DecoderRow
    options: dict[str, Any]
    """All of them, also those that have their defaults."""
    core: _core.Plan


def plan(decoder: str | Decoder) -> Plan:
    """Return the plan of a decoder, given as its text form or as an object; ValueError for anything else."""
    if not isinstance(decoder, str | Decoder) or type(decoder) is Decoder:
        raise ValueError(f"decoder must be a name or a decoder such as tw.Beam(width=8), not {decoder!r}")
    return _plan(decoder)


def plan_by_score(decoder: str | Decoder, user: str) -> Plan:
    """Return the plan of a decoder that maximises the score; ValueError for any other. `user` names the caller."""
    found = plan(decoder)
    if found.row.maximises != "score":
        raise ValueError(
            f"decoder {found.row.name!r} maximises {found.row.maximises}, but {user} needs the path of the best score; "
            "use 'auto'"
        )
    return found


@functools.lru_cache(maxsize=128)
def _plan(decoder: str | Decoder) -> Plan:
    if isinstance(decoder, str):
        where, (name, options) = repr(decoder), _read(decoder)
    else:
        where, name, options = type(decoder).__name__, decoder.name, vars(decoder)
    row = TABLE[name]
    defaults = {option.name: option.default for option in row.options}
    return Plan(row, defaults | options, _core_plan(where, name, options))


def _read(text: str) -> tuple[str, dict[str, Any]]:
    """Read a name, or a name and the value of one option: ``beam:16``, ``beam:divergence:0.001:4``, ``astar:none``."""
    name, colon, value = text.partition(":")
    if name not in TABLE:
        near = difflib.get_close_matches(name, TABLE, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(TABLE)}"
        raise ValueError(f"no decoder named {name!r}; {hint}")
    if colon and not TABLE[name].options:
        raise ValueError(f"decoder {name!r} has no option, but {text!r} gives it one")
    return name, _read_option(TABLE[name], value) if colon else {}


def _read_option(row: DecoderRow, text: str) -> dict[str, Any]:
    """Return the first option whose type the text has, or the first option, which then raises an error."""
    for option in row.options:
        if option.type.startswith("int"):
            try:
                return {option.name: int(text)}
            except ValueError:
                pass
        if option.type.startswith("Keep") and is_rule(text):
            return {option.name: parse_keep(text)}
        if option.type == "int | None" and text == "none":
            return {option.name: None}
    return {row.options[0].name: text}


def _core_plan(where: str, name: str, options: dict[str, Any]) -> _core.Plan:
    taken = {option: _taken(value) for option, value in options.items()}
    try:
        return _core.Plan.make(name, taken)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _taken(value: Any) -> Any:
    """Return the value of an option for the core."""
    if isinstance(value, Keep):
        return keep_arguments(value)
    return int(value) if isinstance(value, np.integer) else value
