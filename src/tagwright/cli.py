"""The command line: `tagwright decoders` and `tagwright demo`."""

from __future__ import annotations

import sys

import click

from tagwright import __version__, demo
from tagwright import decoders as decoder_rows


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tagwright")
def main() -> None:
    """Label sequences with hundreds to thousands of labels: the exact best labelling, or the exact k best."""


@main.command()
def decoders() -> None:
    """List every decoder: its paper, whether it is exact, whether it gives k paths."""
    rows = [[row.name, "yes" if row.exact else "no", "yes" if row.kbest else "no", row.paper] for row in decoder_rows()]
    width = max(len(row[3]) for row in rows)
    click.echo(
        demo.table(["decoder", "exact", "k-best", "paper".ljust(width)], [[*r[:3], r[3].ljust(width)] for r in rows])
    )


@main.command("demo")
@click.option("--labels", "L", default=3000, show_default=True, type=click.IntRange(2, 20000), help="How many labels.")
@click.option("--tokens", "T", default=20, show_default=True, type=click.IntRange(1, 10000), help="How many tokens.")
@click.option("-k", default=5, show_default=True, type=click.IntRange(1, 1000), help="How many paths.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Of the random lattice.")
def demo_command(L: int, T: int, k: int, seed: int) -> None:
    """Decode a model-like lattice, dense and iterative, and show paths, times and work."""
    if not demo.run(L, T, k, seed, echo=click.echo):
        sys.exit("the decoders disagree: please report this with the output above")
