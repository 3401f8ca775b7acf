"""The file formats, in the order in which ``auto`` asks whether a file has them."""

from __future__ import annotations

import re

from tagwright.data.columns import Columns
from tagwright.data.conllu import Conllu
from tagwright.data.files import BLANK
from tagwright.data.plain_text import PlainText
from tagwright.data.sentence import Form, Request

__all__ = ["FORMATS", "format_names", "format_of", "recognise"]

FORMATS: tuple[type[Form], ...] = (Conllu, PlainText, Columns)


def format_names() -> list[str]:
    """Return the values of ``--format``."""
    return ["auto", *sorted(form.name for form in FORMATS)]


def format_of(name: str, file: str) -> type[Form] | None:
    """Return the format of this name; for ``auto`` the one that the file's name tells, or else None."""
    if name not in format_names():
        raise ValueError(f"format {name!r}: use one of {', '.join(format_names())}")
    unpacked = re.sub(r"\.(gz|xz)$", "", file.lower())
    told = (form for form in FORMATS if form.name == name or (name == "auto" and unpacked.endswith(form.suffixes)))
    return next(told, None)


def recognise(
    lines: list[str], first: int, kind: type[Form] | None, request: Request
) -> tuple[type[Form] | None, Form | None]:
    """Return what these lines tell: the format if it was not known, and the form once a token line is there."""
    for number, line in enumerate(lines, first):
        if not line.strip(BLANK):
            continue
        kind = kind or next((form for form in FORMATS if form.has_comment(line)), None)
        if not (kind or Form).is_comment(line, request):
            kind = kind or next(form for form in FORMATS if form.has_token(line, request))
            return kind, kind(line, number, request)
    return kind, None
