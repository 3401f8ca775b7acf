"""`tagwright decoders`: the table of decoders."""

from __future__ import annotations

import click

from tagwright.decoding.decoders import decoders as decoder_rows
from tagwright.table import table

__all__ = ["decoders"]


@click.command()
def decoders() -> None:
    """List every decoder: its paper, whether it is exact, whether it returns k paths.

    \b
    Example:
      tagwright decoders
    """
    rows = [[row.name, "yes" if row.exact else "no", "yes" if row.kbest else "no", row.paper] for row in decoder_rows()]
    width = max(len(row[3]) for row in rows)
    click.echo(table(["decoder", "exact", "k-best", "paper".ljust(width)], [[*r[:3], r[3].ljust(width)] for r in rows]))
