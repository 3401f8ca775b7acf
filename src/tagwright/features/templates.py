"""Templates: CRF++'s template files with macros of our own, Wapiti's patterns, and presets after the papers."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy.typing as npt

from tagwright import _core
from tagwright.cached import cached_property
from tagwright.data.files import word_list
from tagwright.features.presets import PRESETS
from tagwright.features.vectors import Vectors, to_arrays

__all__ = ["LONGEST_AFFIX", "LONGEST_HISTORY", "MACROS", "PRESETS", "Features", "TemplateError"]

LONGEST_HISTORY: int = _core.longest_history
"""How many labels back templates may look."""

LONGEST_AFFIX: int = _core.longest_affix
"""The most characters of a prefix or suffix."""


_VECTORS_READ = re.compile(r"^(?!#).*%vector\[[^],]*,[^],]*,\s*([\w.-]+)\s*\]", re.MULTILINE)
_COLUMNS_READ = re.compile(r"%\w+\[\s*@?\s*[+-]?\d+\s*,\s*[+]?0*(\d+)")


class TemplateError(ValueError):
    """A template that cannot be read; the message names its file, line and column."""


class Macro(NamedTuple):
    """A row of the table in cpp/features/macros.cpp."""

    name: str
    arguments: list[str]
    """What stands in its brackets: row, column, length, list, parts, number, regex or back."""
    meaning: str
    shorter: bool
    """Whether the last argument may be left out."""


MACROS = {
    name: Macro(name, arguments.split(","), meaning, shorter) for name, arguments, meaning, shorter in _core.macros()
}


class Template(NamedTuple):
    """A line of templates, as the core reads it."""

    edge: bool
    """Whether its features are those of edges, not of nodes."""
    parts: list[tuple[str, int, int]]
    """Its pieces: text, then the view that follows it (-1 for none), at a row counted from the token."""
    finds: bool
    """Whether it makes a feature only for tokens that a word list contains."""


class Features:
    """Templates, parsed and checked.

    Parameters
    ----------
    source : str or path
        A preset's name, the path of a template file or of a pattern file of Wapiti, or either as text, which contains
        a line break.
    lists : dict, optional
        Word lists for ``%in[row,col,name]``, word classes for ``%class[row,col,name]`` and lexicons for
        ``%lexicon[row,col,name]``: name -> entries, or the path of a file with one entry per line. An entry of the
        latter two is a word, a TAB, and its class or values. Word vectors for ``%vector[row,col,name]``: name ->
        `Vectors`, or the path of a file that they are read from.
    finds : bool
        Whether a template with ``*`` makes a feature only for tokens that a list contains; before version 0.5 it
        always made one.

    Raises
    ------
    TemplateError
        With file, line and column of the first error.

    Examples
    --------
    >>> from tagwright.features.templates import Features
    >>> Features("U:%x[0,0]\\nU:%x[0,1]\\n").columns
    2

    """

    def __init__(
        self, source: str | os.PathLike[str], lists: Mapping[str, object] | None = None, finds: bool = True
    ) -> None:
        """Parse the templates and read the word lists that they name."""
        self.finds = finds
        if not isinstance(lists, Mapping | None):
            raise ValueError(f"lists must be a dict, from a name to entries or a path, not {type(lists).__name__}")
        # In a fixed order: a model that is loaded must mean what it meant when it was saved.
        self.name, self.text = _templates(source)
        if not _unicode(self.text):
            raise TemplateError(f"{self.name}: not valid Unicode (a lone surrogate)")
        vectors = set(_VECTORS_READ.findall(self.text))
        self._given = {
            name: _content(name, content, name in vectors) for name, content in sorted((lists or {}).items())
        }
        for n, name in enumerate(self._parsed.lists):
            entries = self._parsed.table_entries(n)
            if entries is not None:
                self._given[name] = entries
        self.lists = {name: self._given[name] for name in self._parsed.lists}
        """The lists in use, in the order in which templates name them; word classes and lexicons in canonical form."""

    @cached_property
    def _parsed(self) -> _core.ParsedTemplates:
        try:
            given = [(name, own.core if isinstance(own, Vectors) else own) for name, own in self._given.items()]
            return _core.ParsedTemplates.parse(self.text, self.name, given, self.finds)
        except ValueError as error:
            raise TemplateError(str(error)) from None

    def __getstate__(self) -> dict[str, object]:
        """Return everything but what the core parsed, which is parsed again when it is needed."""
        return {name: value for name, value in self.__dict__.items() if name != "_parsed"}

    @classmethod
    def restored(cls, text: str, lists: Mapping[str, list[str] | Vectors], finds: bool = True) -> Features:
        """Return the templates of a model: always text, never a name."""
        for name, entries in lists.items():
            if not isinstance(entries, list | Vectors):
                raise ValueError(f"word list {name!r} is not a list")
        made = cls(text if "\n" in text else text + "\n", lists, finds)
        made.text = text
        return made

    @property
    def entries(self) -> dict[str, list[str]]:
        """The lists in use but vectors."""
        return {name: own for name, own in self.lists.items() if not isinstance(own, Vectors)}

    @property
    def vector_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The vectors in use, as the arrays of a model file."""
        return to_arrays(self.lists)

    @property
    def core(self) -> _core.Templates:
        """The templates for the core."""
        return self._parsed.templates

    @property
    def edges(self) -> bool:
        """Whether there is a plain ``B``: weights for pairs of labels."""
        return self._parsed.edges

    @property
    def templates(self) -> list[Template]:
        """The templates but plain ``B``."""
        return [Template(*row) for row in self._parsed.rows]

    def described(self, text: _core.Text, token: int) -> dict[str, str]:
        """Return what the features of a token of the only sentence of a text mean, in words: by feature.

        ``U23:ies`` of ``U23:%suffix[0,0,3]`` is "suffix ies". Features that look at labels are not in it.
        """
        made: dict[str, str] = {}
        for feature, words in self._parsed.described(text, 0, token):
            known = made.setdefault(feature, words)
            if words not in known.split(" or "):  # of two templates that make the same feature
                made[feature] = f"{known} or {words}"
        return made

    def cell_prefix(self, column: int) -> str | None:
        """Return the beginning of the names of the features of a token's cell alone; None if there are none."""
        views = self._parsed.views
        for one in self.templates:
            if not one.edge and len(one.parts) == 1:
                literal, view, row = one.parts[0]
                if view >= 0 and row == 0 and views[view] == ("x", column):
                    return literal
        return None

    def readers(self, column: int) -> list[str]:
        """Return the lines of templates that read a column, as they are written."""
        lines = [line.strip() for line in self.text.split("\n") if line.strip() and not line.startswith("#")]
        return [line for line in lines if str(column) in _COLUMNS_READ.findall(line)]

    @property
    def given_lists(self) -> list[str]:
        """The names of the word lists that were given, whether a template reads them or not."""
        return list(self._given)

    @property
    def columns(self) -> int:
        """How many columns a token must have."""
        return self.core.columns

    @property
    def history(self) -> int:
        """How many labels back the templates look, with ``%y[-1]`` and so on; 0 if they look at none."""
        return self.core.history

    def reader(self, columns: int) -> str:
        """Return which template reads a column that tokens with this many columns lack; for messages."""
        return self._parsed.missing_column(columns)

    def word_prefix(self) -> str | None:
        """Return the beginning of the name of the feature of the word alone; None if there is no such feature."""
        return self._parsed.word_prefix


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


def _content(name: str, content: object, vectors: bool) -> list[str] | Vectors:
    """Return what a list holds; vectors: whether a template reads vectors from it."""
    if isinstance(content, Vectors) or (vectors and isinstance(content, str | os.PathLike)):
        _check_name(name)
        return content if isinstance(content, Vectors) else Vectors.read(content)
    return _entries(name, content)


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not re.fullmatch(r"[\w.-]+", name):
        raise TemplateError(f"a word list cannot be named {name!r}; use letters, digits, dots and hyphens")


def _entries(name: str, entries: object) -> list[str]:
    _check_name(name)
    if isinstance(entries, str | os.PathLike):
        return word_list(entries)
    if isinstance(entries, Sequence) and all(isinstance(entry, str) and _unicode(entry) for entry in entries):
        return list(entries)
    raise ValueError(
        f"word list {name!r} must be a list of strings or the path of a file, not {type(entries).__name__}"
    )
