"""`tagwright demo`: a few sentences tagged, and three exact decoders on a lattice like a real model's."""

from __future__ import annotations

import math
import time

import click

from tagwright.decoding.decode import Decoding, decode
from tagwright.decoding.decoders import Decoder, IterativeViterbiAStar, Tree, ViterbiAStar
from tagwright.decoding.edges import Edges
from tagwright.decoding.examples import model_like
from tagwright.models.model import Model, load
from tagwright.table import table

__all__ = ["SENTENCES", "demo"]

SHOWN = 20  # labels of a path that are printed


@click.command()
@click.option("--labels", "L", default=3000, type=click.IntRange(2, 20000), help="Number of labels.")
@click.option("--tokens", "T", default=20, type=click.IntRange(1, 10000), help="Number of tokens.")
@click.option("-k", default=5, type=click.IntRange(1, 1000), help="Number of paths.")
@click.option("--seed", default=0, type=click.IntRange(0), help="Seed of the random lattice.")
def demo(L: int, T: int, k: int, seed: int) -> None:
    """Tag a few English sentences, best and k best; then decode a lattice of 3,000 labels with three decoders.

    \b
    Example:
      tagwright demo --labels 1000
    """
    show_sentences(load(), k)
    if not show_lattice(L, T, k, seed):
        raise click.ClickException("the decoders disagree: please report this with the output above")


SENTENCES = (
    "Would service be voluntary or compulsory ?",
    "Time flies like an arrow , fruit flies like a banana .",
    "They can fish because the boats that they saw left .",
)


def show_sentences(model: Model, k: int) -> None:
    """Print the k best labellings of a few sentences."""
    split = [sentence.split() for sentence in SENTENCES]
    for tokens, taggings in zip(split, model.tag_kbest(split, k), strict=True):
        ranks = [str(r + 1) for r in range(len(taggings))]
        lines = [["", *tokens], *([rank, *tagging.labels] for rank, tagging in zip(ranks, taggings, strict=True))]
        widths = [max(len(line[c]) for line in lines) for c in range(len(tokens) + 1)]
        scores = ["score", *(f"{tagging.score:.2f}" for tagging in taggings)]
        for line, score in zip(lines, scores, strict=True):
            cells = "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True))
            click.echo(f"{cells}  {score.rjust(max(map(len, scores)))}")
        click.echo("")


def show_lattice(L: int, T: int, k: int, seed: int) -> bool:
    """Print what three decoders find in one lattice; return whether they agree."""
    nodes, scores = model_like(T, L, seed)
    click.echo(
        f"A lattice of {T} tokens and {L:,} labels: {L * L * (T - 1):,} edges, 10^{T * math.log10(L):.0f} paths."
    )
    edges = Edges(scores, sparse=False).prepare()

    def timed(decoder: Decoder, repeats: int) -> tuple[Decoding, float]:
        """Return the answer and the best time: other work on the machine only ever adds to it."""
        best = math.inf
        for _ in range(repeats):
            began = time.perf_counter()
            found = decode(nodes, edges, k=k, decoder=decoder)
            best = min(best, time.perf_counter() - began)
        return found, best

    answers = {
        "viterbi_astar (dense)": timed(ViterbiAStar(), 3),
        "iterative_viterbi_astar": timed(IterativeViterbiAStar(), 5),
        "tree": timed(Tree(), 5),
    }
    (dense, dense_seconds), (iterative, _), (tree, _) = answers.values()

    more = " ..." if T > SHOWN else ""
    click.echo(f"\nThe {k} best paths, exactly (labels by number, most frequent first):\n")
    width = len(str(L - 1))
    paths = [
        [str(r), f"{path.score:.4f}", " ".join(f"{y:{width}}" for y in path.labels[:SHOWN]) + more]
        for r, path in enumerate(tree.paths, 1)
    ]
    click.echo(table(["rank", "score", "labels"], paths))
    same = [
        a.score == b.score == c.score and (a.labels == b.labels).all() and (a.labels == c.labels).all()
        for a, b, c in zip(dense.paths, iterative.paths, tree.paths, strict=True)
    ]
    click.echo(f"\nThe same from all decoders: {'yes, all' if all(same) else 'NO, only'} {sum(same)} of {len(same)}.\n")

    rows = [
        [
            name,
            f"{seconds * 1e3:.2f}",
            f"{dense_seconds / seconds:.1f}",
            f"{found.work.rounds}",
            f"{found.work.nodes / T:,.0f}",
            f"{found.work.edges / T:,.0f}",
        ]
        for name, (found, seconds) in answers.items()
    ]
    click.echo(table(["decoder", "ms", "speed-up", "rounds", "nodes/token", "edges/token"], rows))
    return all(same)
