"""Fill the table of decoders in docs/decoders/index.md from the table of the core."""

import re
from pathlib import Path

import tagwright as tw
from tagwright.decoding.decoders import DecoderRow

PAGE = Path(__file__).resolve().parents[1] / "docs" / "decoders" / "index.md"
TABLE = re.compile(r"^(\| decoder \|.*\n\|[ |-]*\n)(?:\|.*\n)*", re.MULTILINE)


def cell(row: DecoderRow, column: str) -> str:
    """Return the cell of a row: the paper, yes or no, or the options with their defaults."""
    value = getattr(row, column.replace("-", ""))
    if column == "options":
        return ", ".join(f"`{option.name}={option.default!r}`" for option in value)
    return value if isinstance(value, str) else "yes" if value else "no"


def filled(text: str) -> str:
    """Return the page with its table filled; the header of the table names the columns."""

    def rows(found: re.Match[str]) -> str:
        header = found[1]
        columns = [name.strip() for name in header.splitlines()[0].strip("|").split("|")[1:]]
        lines = [[f"[{row.name}]({row.name}.md)", *(cell(row, name) for name in columns)] for row in tw.decoders()]
        return header + "".join(f"| {' | '.join(line)} |\n".replace("|  |", "| |") for line in lines)

    return TABLE.sub(rows, text)


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
