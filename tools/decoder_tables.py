"""Fills the tables of decoders in README.md and docs/decoders/index.md from the table of the core."""

import re
from pathlib import Path

import tagwright as tw

ROOT = Path(__file__).resolve().parents[1]
PAGES = {"README.md": "[`{0}`](docs/decoders/{0}.md)", "docs/decoders/index.md": "[{0}]({0}.md)"}
TABLE = re.compile(r"^(\| decoder \|.*\n\|[ |-]*\n)(?:\|.*\n)*", re.MULTILINE)


def cell(row: tw.DecoderRow, column: str) -> str:
    """What a row says in a column: the paper, yes or no, or the options with their defaults."""
    value = getattr(row, column.replace("-", ""))
    if column == "options":
        return ", ".join(f"`{option.name}={option.default!r}`" for option in value)
    return value if isinstance(value, str) else "yes" if value else "no"


def filled(page: str, text: str) -> str:
    """Return the text of a page with its table filled; the header of the table names the columns."""

    def rows(found: re.Match[str]) -> str:
        header = found[1]
        columns = [name.strip() for name in header.splitlines()[0].strip("|").split("|")[1:]]
        lines = [[PAGES[page].format(row.name), *(cell(row, name) for name in columns)] for row in tw.decoders()]
        return header + "".join(f"| {' | '.join(line)} |\n".replace("|  |", "| |") for line in lines)

    return TABLE.sub(rows, text)


if __name__ == "__main__":
    for page in PAGES:
        path = ROOT / page
        path.write_text(filled(page, path.read_text(encoding="utf-8")), encoding="utf-8")
