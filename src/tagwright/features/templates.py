"""Templates: CRF++'s template files with macros of our own, and presets after the papers."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from tagwright import _core
from tagwright.data.files import word_list
from tagwright.features.presets import PRESETS

__all__ = ["LONGEST_AFFIX", "LONGEST_HISTORY", "MACROS", "PRESETS", "Features", "TemplateError"]

LONGEST_HISTORY: int = _core.longest_history
"""How many labels back templates may look."""

LONGEST_AFFIX = 1000
"""The most characters of a prefix or suffix."""

_LIMITS = {"row": (-1000, 1000), "column": (0, 10_000), "length": (1, LONGEST_AFFIX), "back": (-LONGEST_HISTORY, -1)}
"""The least and the greatest value of each argument that is a number."""

_PERCENT = re.compile(r"%(?:%|([A-Za-z_]\w*)\[([^\]]*)\])?")
_STAR = re.compile(r"(%in\[[^\],]*,[^\],]*,\s*)\*\s*\]")


class TemplateError(ValueError):
    """A template that cannot be read; the message names its file, line and column."""


class Macro(NamedTuple):
    """A row of the table in cpp/features/macros.cpp."""

    number: int
    name: str
    arguments: list[str]
    """What stands in its brackets: row, column, length, list or back."""
    meaning: str


MACROS = {
    name: Macro(number, name, arguments.split(","), meaning)
    for number, (name, arguments, meaning) in enumerate(_core.macros())
}


class View(NamedTuple):
    """What a macro shows of each token."""

    macro: int
    """The macro's number."""
    column: int
    n: int
    """Its third argument: a length, or the number of a word list."""


_WORD = View(MACROS["x"].number, 0, 0)
_LABEL = View(MACROS["y"].number, 0, 0)


class Part(NamedTuple):
    """A piece of a template: text, then a view at a row counted from the token."""

    literal: str
    view: int
    """The number of the view; -1 where there is only text."""
    row: int


class Template(NamedTuple):
    """A line of templates."""

    edge: bool
    """Whether its features are those of edges, not of nodes."""
    parts: list[Part]
    finds: bool
    """Whether it makes a feature only where a word list has an entry."""


class Features:
    """Templates, read and checked.

    Args:
        source: a preset's name, the path of a template file, or templates as text, which has a line break in it.
        lists: word lists for ``%in[row,col,name]``: name -> entries, or the path of a file with one entry per line.
        finds: whether a template with ``*`` makes a feature only where a list has an entry; before version 0.5 it
            always made one.

    """

    def __init__(
        self, source: str | os.PathLike[str], lists: Mapping[str, object] | None = None, finds: bool = True
    ) -> None:
        """Read the templates and the word lists they name."""
        self.finds = finds
        if not isinstance(lists, Mapping | None):
            raise ValueError(f"lists must be a dict, from a name to entries or a path, not {type(lists).__name__}")
        # In a fixed order: a model that is loaded must mean what it meant when it was saved.
        self._given = {name: _entries(name, entries) for name, entries in sorted((lists or {}).items())}
        self.name, self.text = _templates(source)
        if not _unicode(self.text):
            raise TemplateError(f"{self.name}: not valid Unicode (a lone surrogate)")
        self._views: dict[View, int] = {}
        self._readers: dict[int, tuple[int, int, str]] = {}
        self.lists: dict[str, list[str]] = {}
        self.edges = False
        """Whether there is a plain ``B``: weights for pairs of labels."""
        self.templates: list[Template] = []
        for number, line in enumerate(self.text.split("\n"), 1):
            self._read(line.rstrip("\r"), number)
        if not self.templates and not self.edges:
            raise TemplateError(f"{self.name}: no template in it; a line such as U00:%x[0,0] is one")

    def __getstate__(self) -> dict[str, object]:
        """Return everything but `core`, which is made again when it is needed."""
        return {name: value for name, value in self.__dict__.items() if name != "core"}

    @classmethod
    def restored(cls, text: str, lists: Mapping[str, list[str]], finds: bool = True) -> Features:
        """Return the templates that a model holds: always text, never a name."""
        for name, entries in lists.items():
            if not isinstance(entries, list):
                raise ValueError(f"word list {name!r} is no list")
        made = cls(text if "\n" in text else text + "\n", lists, finds)
        made.text = text
        return made

    @property
    def columns(self) -> int:
        """How many columns a token must have."""
        return max((view.column + 1 for view in self._views if view != _LABEL), default=0)

    def reader(self, columns: int) -> str:
        """Return which template reads a column that tokens with so many columns do not have; for messages."""
        missing = min(column for column in self._readers if column >= columns)
        line, at, macro = self._readers[missing]
        return f"{self.name}:{line}:{at} ({macro}) reads column {missing}, counted from 0"

    @property
    def history(self) -> int:
        """How many labels back the templates look, with ``%y[-1]`` and so on; 0 where they look at none."""
        label = self._views.get(_LABEL, -1)
        rows = (-part.row for one in self.templates for part in one.parts if part.view == label >= 0)
        return max(rows, default=0)

    @cached_property
    def core(self) -> _core.Templates:
        """The templates for the core."""
        return _core.Templates.make(list(self._views), self.templates, list(self.lists.values()))

    def word_prefix(self) -> str | None:
        """Return what the name of the feature for the word alone begins with; None where there is no such feature."""
        word = self._views.get(_WORD)
        for one in self.templates:
            if not one.edge and word is not None and [part[1:] for part in one.parts] == [(word, 0)]:
                return one.parts[0].literal
        return None

    def _read(self, line: str, number: int, finds: bool = False) -> None:
        if not line.strip() or line.startswith("#"):
            return
        if line[0] not in "UB":
            raise self._error(number, 1, f"a template begins with U (for labels) or B (for edges), not {line[0]!r}")
        if _STAR.search(line):
            # One template per word list. Most words are in no list: features that say so would be there for nearly all
            # tokens, and would drown the others.
            for name in self._given:
                self._read(_STAR.sub(rf"\g<1>{name}]", line) + f"@{name}", number, self.finds)
            return
        parts = self._parts(line, number)
        if line[0] == "B" and any(part.view == self._views.get(_LABEL, -2) for part in parts):
            raise self._error(number, 1, "%y is for U templates; an edge knows the label before by itself")
        if line[0] == "B" and all(part.view < 0 for part in parts):
            self.edges = True
            return
        self.templates.append(Template(line[0] == "B", parts, finds))

    def _parts(self, line: str, number: int) -> list[Part]:
        parts: list[Part] = []
        literal, at = "", 0
        for found in _PERCENT.finditer(line):
            literal += line[at : found.start()]
            at = found.end()
            column = found.start() + 1
            if found.group() == "%%":
                literal += "%"
            elif found.group(1) is None:
                raise self._error(number, column, "% begins a macro such as %x[0,0]; for the character itself write %%")
            else:
                view, row = self._macro(found.group(1), found.group(2), number, column)
                parts.append(Part(literal, self._views.setdefault(view, len(self._views)), row))
                literal = ""
        literal += line[at:]
        if literal:
            parts.append(Part(literal, -1, 0))
        return parts

    def _macro(self, name: str, inside: str, number: int, column: int) -> tuple[View, int]:
        if name not in MACROS:
            raise self._error(number, column, f"no macro %{name}; there are {', '.join('%' + m for m in MACROS)}")
        macro = MACROS[name]
        arguments = [part.strip() for part in inside.split(",")]
        if len(arguments) != len(macro.arguments):
            wanted = f"%{name}[{','.join(macro.arguments)}]"
            raise self._error(number, column, f"%{name} is written {wanted}, not %{name}[{inside}]")
        numbers = []
        for what, text in zip(macro.arguments, arguments, strict=True):
            if what == "list":
                numbers.append(self._list(text, number, column))
                continue
            low, high = _LIMITS[what]
            if not re.fullmatch(r"[+-]?[0-9]{1,6}", text) or not low <= int(text) <= high:
                raise self._error(number, column, f"{what} must be a whole number from {low} to {high}, not {text!r}")
            numbers.append(int(text))
        row, at, n = (*numbers, 0, 0)[:3]
        if "column" in macro.arguments:
            self._readers.setdefault(at, (number, column, f"%{name}[{inside}]"))
        return View(macro.number, at, n), row

    def _list(self, name: str, number: int, column: int) -> int:
        if name not in self._given:
            remedy = f"there are {', '.join(self._given)}" if self._given else "give it with lists= or --list"
            raise self._error(number, column, f"no word list named {name!r}; {remedy}")
        self.lists.setdefault(name, self._given[name])
        return list(self.lists).index(name)

    def _error(self, line: int, column: int, message: str) -> TemplateError:
        return TemplateError(f"{self.name}:{line}:{column}: {message}")


def _templates(source: str | os.PathLike[str]) -> tuple[str, str]:
    """Return the name and the text of templates."""
    if isinstance(source, str) and "\n" in source:
        return "templates", source
    if isinstance(source, str) and source in PRESETS:
        return source, PRESETS[source]
    path = Path(source)
    if not path.is_file():
        hint = "end templates with a line break" if "%" in str(source) else f"presets: {', '.join(PRESETS)}"
        raise TemplateError(f"no preset and no template file named {str(source)!r}; {hint}")
    # Models hold the name, and can only hold Unicode.
    name = os.fsencode(path).decode("utf-8", "backslashreplace")
    try:
        return name, path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise TemplateError(f"{name}:{line}: not UTF-8") from None


def _unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _entries(name: str, entries: object) -> list[str]:
    if not isinstance(name, str) or not re.fullmatch(r"[\w.-]+", name):
        raise TemplateError(f"a word list cannot be named {name!r}; use letters, digits, dots and hyphens")
    if isinstance(entries, str | os.PathLike):
        return word_list(entries)
    if isinstance(entries, Sequence) and all(isinstance(entry, str) and _unicode(entry) for entry in entries):
        return list(entries)
    raise ValueError(
        f"word list {name!r} must be a list of strings or the path of a file, not {type(entries).__name__}"
    )
