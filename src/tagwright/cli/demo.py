"""`tagwright demo`: sentences tagged, a model trained, three exact decoders on a lattice like a real model's."""

from __future__ import annotations

import math
import os
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import click

from tagwright.data.reading import read
from tagwright.decoding.decode import Decoding, decode
from tagwright.decoding.edges import Edges
from tagwright.decoding.examples import model_like
from tagwright.models.model import Model, load
from tagwright.table import table

EXAMPLES = Path(__file__).parents[1] / "examples"
"""The sample corpus; examples/ in the source."""
L2 = 0.1  # of the CRF of --train
SHOWN = 20  # labels of a path that are printed


@click.command()
@click.option("--labels", "L", default=3000, type=click.IntRange(2, 20000), help="Number of labels.")
@click.option("--tokens", "T", default=20, type=click.IntRange(1, 10000), help="Number of tokens.")
@click.option("-k", default=5, type=click.IntRange(1, 1000), help="Number of paths.")
@click.option("--seed", default=0, type=click.IntRange(0), hidden=True)
@click.option("--train", is_flag=True, help="Train a tagger on the sample corpus instead, and tag with it.")
def demo(L: int, T: int, k: int, seed: int, train: bool) -> None:
    """Tag a few English sentences, best and k best; then decode a lattice of 3,000 labels with three decoders.

    With --train, train a part-of-speech tagger on the 160 sentences that are included, and measure it on 40 others.

    \b
    Example:
      tagwright demo --labels 1000
      tagwright demo --train
    """
    if train:
        show_training(k)
        return
    show_sentences(load(), SENTENCES, k)
    if not show_lattice(L, T, k, seed):
        raise click.ClickException("the decoders disagree: please report this with the output above")
    show_next(
        f'echo "{SENTENCES[0]}" | {{}} tag --proba',
        "{} demo --train",
        "{} serve",
        f"{{}} report {os.path.relpath(EXAMPLES / 'test.txt')} --label 2 -o report.html",
    )


SENTENCES = (
    "The dog that I saw saw me too .",
    "They refuse to permit us to obtain the refuse permit .",
    "Time flies like an arrow .",
)
"""None is in the training text. All are tagged right; of the last one, another reading is close behind."""


NEW_SENTENCE = "The old fisherman mends his boat near the river ."
"""What the model of --train tags; it is not in the sample corpus."""


def show_sentences(model: Model, sentences: Sequence[str], k: int) -> None:
    """Print the k best labellings of some sentences, each with its probability."""
    split = [sentence.split() for sentence in sentences]
    for tokens, taggings in zip(split, model.tag_kbest(split, k, proba=True), strict=True):
        rows = [[*tagging.labels, f"{tagging.probability:.3f}"] for tagging in taggings]
        lines = [["", *tokens, "probability"], *([str(rank), *row] for rank, row in enumerate(rows, 1))]
        widths = [max(len(line[c]) for line in lines) for c in range(len(lines[0]))]
        for line in lines:
            cells = [cell.ljust(width) for cell, width in zip(line, widths, strict=True)]
            click.echo("  ".join([*cells[:-1], line[-1].rjust(widths[-1])]))
        click.echo("")


def show_training(k: int) -> None:
    """Train a CRF on the sample corpus; print how good it is on the rest of the sample, and a sentence it tags."""
    from tagwright.learners.crf import CRF
    from tagwright.learners.options import LBFGS

    corpus = EXAMPLES / "train.txt"
    X, y = read(corpus, label="2")
    others = read(EXAMPLES / "test.txt", label="2")
    began = time.perf_counter()
    learner = CRF(solver=LBFGS(l2=L2)).fit(X, y)
    click.echo(
        f"A CRF, trained on {len(X)} sentences in {time.perf_counter() - began:.1f} s: "
        f"{learner.score(*others):.1%} of the labels of {len(others[0])} other sentences are right.\n"
    )
    show_sentences(learner.model_, [NEW_SENTENCE], k)
    show_next(
        f"{{}} train {os.path.relpath(corpus)} pos.safetensors --label 2 --learner crf --l2 {L2}",
        f"{{}} eval -m pos.safetensors {os.path.relpath(EXAMPLES / 'test.txt')}",
        f"{{}} report -m pos.safetensors {os.path.relpath(EXAMPLES / 'test.txt')} -o report.html",
    )


def show_next(*commands: str) -> None:
    """Print commands to try, with {} for this program: its name where the shell finds it, or else its path."""
    beside = Path(sys.executable).with_name("tagwright")
    found = shutil.which("tagwright") == str(beside) or not beside.exists()
    program = "tagwright" if found else os.path.relpath(beside)
    click.echo("\nNext:")
    for command in commands:
        click.echo(f"  {command.format(program)}")


def show_lattice(L: int, T: int, k: int, seed: int) -> bool:
    """Print what three decoders find in one lattice; return whether they agree."""
    nodes, scores = model_like(T, L, seed)
    click.echo(
        f"A lattice of {T} tokens and {L:,} labels: {L * L * (T - 1):,} edges, 10^{T * math.log10(L):.0f} paths."
    )
    edges = Edges(scores, sparse=False).prepare()

    def timed(decoder: str, repeats: int) -> tuple[Decoding, float]:
        """Return the answer and the best time: other work on the machine only ever adds to it."""
        best = math.inf
        for _ in range(repeats):
            began = time.perf_counter()
            found = decode(nodes, edges, k=k, decoder=decoder)
            best = min(best, time.perf_counter() - began)
        return found, best

    answers = {
        "viterbi_astar (dense)": timed("viterbi_astar", 3),
        "iterative_viterbi_astar": timed("iterative_viterbi_astar", 5),
        "tree": timed("tree", 5),
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
