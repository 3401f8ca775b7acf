"""`tagwright decoders`: the table of decoders."""

from __future__ import annotations

import click

from tagwright.decoding.decoders import decoders as decoder_rows
from tagwright.table import table

__all__ = ["decoders"]


@click.command()
def decoders() -> None:
    """List every decoder: its paper, whether it is exact, whether it returns k paths, and what it maximises.

    \b
    Example:
      tagwright decoders
    """
    rows = [
        [row.name, "yes" if row.exact else "no", "yes" if row.kbest else "no", row.maximises, row.paper]
        for row in decoder_rows()
    ]
    click.echo(table(["decoder", "exact", "k-best", "maximises", "paper"], rows, left=(0, 3, 4)))
