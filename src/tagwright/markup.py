"""HTML and SVG from text that anyone may have written: what is not marked as HTML is escaped."""

from __future__ import annotations

import html
import re
from collections.abc import Collection, Iterable, Sequence

# Characters that show nothing, that reorder what stands around them, or that no document may have: controls, marks of
# direction, separators of lines and paragraphs, halves of surrogates and noncharacters. Joiners are not among them:
# words of Persian and of Indian languages need those.
_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff\U000e0000-\U000e007f"
    + "".join(f"{chr(plane * 0x10000 + 0xFFFE)}{chr(plane * 0x10000 + 0xFFFF)}" for plane in range(1, 17))
    + "]"
)
LONGEST = 200  # characters of a word or label that are shown at all
MOST_ROWS = 50  # that a table in a notebook has
MOST_LABELS = 100  # of a path in a notebook
VOID = {"meta", "col", "line", "rect", "circle", "polyline", "path"}


class Html(str):
    """Text that is HTML already. Only this module and literals in the source make it."""

    __slots__ = ()


def visible(text: str) -> str:
    """Return the text with invisible and bidirectional control characters replaced by names such as ‹U+202E›."""
    return _HIDDEN.sub(lambda found: f"‹U+{ord(found[0]):04X}›", text)


def cut(text: str, longest: int = LONGEST) -> str:
    """Return the text, shortened in the middle if it exceeds `longest` characters: labels differ at both ends."""
    if len(text) <= longest:
        return text
    tail = (longest - 1) // 3
    return f"{text[: longest - 1 - tail]}…{text[len(text) - tail :]}"


def tag(name: str, /, *inside: object, **attributes: object) -> Html:
    """Return an element. What is not `Html` is escaped; attributes that are None are left out, ``class_`` is class."""
    rendered = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{html.escape(value if isinstance(value, Html) else _text(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in VOID and not inside:
        return Html(f"<{name}{rendered}/>")
    return Html(f"<{name}{rendered}>{join(inside)}</{name}>")


def join(parts: Iterable[object], between: str = "") -> Html:
    """Return parts one after the other; those that are not `Html` are escaped."""
    return Html(
        html.escape(between).join(part if isinstance(part, Html) else html.escape(_text(part)) for part in parts)
    )


def _text(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else visible(str(value))


def html_table(
    header: Sequence[object],
    rows: Iterable[Sequence[object]],
    left: Collection[int] = (0,),
    caption: object = None,
    row_headers: bool = False,
) -> Html:
    """Return a table whose long cells are cut.

    Columns of `left`, by default the first, are aligned to the left, the others to the right. With `row_headers`, the
    first cell of a row is its header, and columns of bars and the like have none.
    """

    def line(row: Sequence[object], scope: str | None) -> Html:
        scopes = [scope if scope or c or not row_headers else "row" for c in range(len(row))]
        scopes = [None if row_headers and cell == "" else own for cell, own in zip(row, scopes, strict=True)]
        return tag("tr", *(_cell(cell, c in left, scopes[c]) for c, cell in enumerate(row)))

    parts = [tag("thead", line(header, "col")), tag("tbody", *(line(row, None) for row in rows))]
    return tag("table", *([tag("caption", caption)] if caption else []), *parts)


def _cell(cell: object, left: bool, scope: str | None) -> Html:
    """Return a cell; scope: of what it is the header, "col" or "row"."""
    shown = cell if isinstance(cell, Html) else cut(str(cell))
    return tag("th" if scope else "td", shown, scope=scope, style=f"text-align: {'left' if left else 'right'}")


def counted(count: int, noun: str) -> str:
    """Return a count and its noun, in the plural unless it is one."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def shortened(labels: Sequence[object]) -> Html:
    """Return the first labels of a path with blanks between, and how many more there are."""
    more = [f"… and {len(labels) - MOST_LABELS:,} more"] if len(labels) > MOST_LABELS else []
    return join([*(cut(str(label)) for label in labels[:MOST_LABELS]), *more], " ")


def notebook_table(
    header: Sequence[object],
    rows: Sequence[Sequence[object]],
    left: Collection[int] = (0,),
    caption: object = None,
    most: int = MOST_ROWS,
) -> Html:
    """Return a table of the first rows and the number of rows left out."""
    made = html_table(header, rows[:most], left, caption)
    return made if len(rows) <= most else join([made, tag("p", f"… and {len(rows) - most:,} more")])
