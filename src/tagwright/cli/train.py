"""`tagwright train`: a model from a labelled file."""

from __future__ import annotations

import inspect
import os
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from tagwright.cli.info import array_sizes, size_text
from tagwright.cli.learners import make_learner
from tagwright.cli.options import (
    COUNT,
    FILE,
    INPUT,
    Sectioned,
    decoder_option,
    reading_options,
    section,
    threads_option,
)
from tagwright.data.reading import batches, read
from tagwright.decoding.keep import parse_keep
from tagwright.features.templates import LONGEST_HISTORY
from tagwright.learners import LEARNERS
from tagwright.models.agreement import SCHEDULES
from tagwright.models.model import Model
from tagwright.table import table

__all__ = ["train"]

common_option = section("Common options", *LEARNERS)
perceptron_option = section("Perceptron options", "perceptron")
crf_option = section("CRF options", "crf")
memm_option = section("MEMM options, for both MEMMs of a bidirectional model too", "memm", "bidirectional")
bidirectional_option = section("Bidirectional options", "bidirectional")

_NOT_NEGATIVE = click.FloatRange(0)
_ABOVE_ZERO = click.FloatRange(0, min_open=True)


def _known_keep(context: click.Context, parameter: click.Parameter, value: str | None) -> Any:
    try:
        return value if value in (None, "auto") else parse_keep(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


@click.command(
    cls=Sectioned,
    epilog="An HMM counts and has no options of its own. An option that is not for the learner is an error.",
)
@click.argument("corpus", type=INPUT)
@click.argument("model", type=FILE)
@click.option(
    "-l",
    "--label",
    default="last",
    help="Label column: last, 3, or 2+3 for a joint label; in CoNLL-U upos, xpos, feats or a joint.",
)
@reading_options
@common_option("--learner", type=click.Choice(list(LEARNERS)), default="perceptron", help="Learner.")
@common_option("-f", "--features", but="hmm", default="pos", help="Preset or template file.")
@common_option(
    "--list",
    "lists",
    but="hmm",
    multiple=True,
    metavar="NAME=FILE",
    help="Word list for %in[row,col,NAME]; may be repeated.",
)
@common_option("--min-count", but="hmm", type=COUNT, default=1, help="Leave out features that occur on fewer tokens.")
@click.option(
    "--dev", type=FILE, help="Measure the accuracy on this file: after each epoch, every 10 iterations, or at the end."
)
@common_option(
    "--patience",
    but="hmm",
    type=COUNT,
    help="Stop after this many measurements on --dev without improvement, and keep the best model.",
)
@common_option(
    "--checkpoint",
    but="hmm, bidirectional",
    type=FILE,
    help="File for the state of the training, after each epoch or 10 iterations; if it exists, continue from it.",
)
@common_option("--warm-start", but="hmm, bidirectional", type=FILE, help="Start from the weights of this model.")
@decoder_option
@threads_option
@perceptron_option(
    "-e",
    "--epochs",
    also="crf",
    type=COUNT,
    default=10,
    help="Passes over the corpus; of a CRF, with --solver adagrad.",
)
@perceptron_option("--seed", also="crf", type=click.IntRange(0), default=0, help="Seed of the order of sentences.")
@perceptron_option(
    "--pairs",
    type=click.Choice(["touched", "observed"]),
    default="touched",
    help="Pairs of feature and label that have a weight: all that an update touched, or those in the corpus.",
)
@perceptron_option("--margin", type=_NOT_NEGATIVE, default=0, help="Score by which the right labels must win.")
@perceptron_option(
    "--parts",
    metavar="SEPARATORS",
    help="Characters between the parts of a label, which share weights; '' for each character.",
)
@perceptron_option("--min-weight", type=_NOT_NEGATIVE, default=0, help="Leave out smaller weights.")
@crf_option(
    "--l2", also="memm, bidirectional", type=_NOT_NEGATIVE, show_default="1.0; memm: 0.5", help="Squared penalty."
)
@crf_option("--l1", type=_NOT_NEGATIVE, default=0.0, help="Absolute penalty.")
@crf_option("--keep", callback=_known_keep, help="Sparse sums: auto, divergence:0.005:10, size:20 or ratio:1e-3.")
@crf_option("--solver", type=click.Choice(["lbfgs", "adagrad"]), default="lbfgs", help="Optimiser.")
@crf_option(
    "--max-iterations",
    also="memm, bidirectional",
    type=COUNT,
    help="Most iterations of L-BFGS; by default, until it has converged.",
)
@crf_option(
    "--tolerance",
    also="memm, bidirectional",
    type=_NOT_NEGATIVE,
    show_default="1e-5; memm: 1e-4",
    help="Convergence threshold of L-BFGS.",
)
@crf_option(
    "--start-on", type=click.FloatRange(0, 1, min_open=True), help="Fit this share of the corpus first, with L-BFGS."
)
@crf_option("--rate", type=_NOT_NEGATIVE, default=0.5, help="Step size of AdaGrad.")
@crf_option("--batch", type=COUNT, default=8, help="Sentences per step of AdaGrad.")
@crf_option("--all-pairs", is_flag=True, help="Give every label a weight for every feature.")
@memm_option(
    "--direction",
    but="bidirectional",
    type=click.Choice(["right", "left"]),
    default="right",
    help="Direction in which it tags.",
)
@memm_option(
    "--history", type=click.IntRange(1, LONGEST_HISTORY), default=2, help="Number of earlier labels that it looks at."
)
@memm_option("--beam", type=COUNT, default=20, help="Partial labellings kept per token.")
@memm_option(
    "--dictionary",
    type=COUNT,
    help="Words that occur at least this often may only have the labels that they have in the corpus.",
)
@memm_option(
    "--no-spans",
    "spans",
    is_flag=True,
    flag_value=False,
    default=True,
    show_default=False,
    help="Allow I-X anywhere, not only after B-X or I-X.",
)
@bidirectional_option("--rounds", type=COUNT, default=30, help="Most rounds until the two directions agree.")
@bidirectional_option("--step", type=_ABOVE_ZERO, default=0.5, help="Step size of the prices.")
@bidirectional_option("--schedule", type=click.Choice(SCHEDULES), default="falling", help="How the step changes.")
@click.pass_context
def train(context: click.Context, /, corpus: str, model: str, **options: Any) -> None:
    """Train a model on CORPUS and write it to MODEL.

    CORPUS has one token per line, its label in the last column, and a blank line between sentences; or it is CoNLL-U.

    \b
    Example:
      tagwright train train.txt.xz pos.safetensors --features pos --dev dev.txt.xz
      tagwright train train.txt joint.safetensors --label 2+3 --features chunk
      tagwright train en.conllu morph.safetensors --label upos+feats
    """
    if not Path(model).absolute().parent.is_dir():
        raise click.ClickException(f"{model}: no such folder to write to")
    asked = {name: options.pop(name) for name in ("format", "label", "comments")}
    dev_path = options.pop("dev")
    checkpoint = options["checkpoint"]
    if checkpoint and os.path.realpath(checkpoint) == os.path.realpath(model):
        raise click.ClickException("--checkpoint and MODEL must be two files")
    if options["patience"] and not dev_path:
        raise click.ClickException("--patience needs --dev")
    began = time.perf_counter()
    given = {name for name in options if context.get_parameter_source(name) == click.core.ParameterSource.COMMANDLINE}
    learner = make_learner(options, given)
    X: list[list[list[str]]] = []
    y: list[list[str]] = []
    for batch in batches(corpus, **asked):
        blanks = batch[0].form.blanks
        X += [sentence.rows for sentence in batch]
        y += [sentence.labels or [] for sentence in batch]
    dev = read(dev_path, **asked) if dev_path else None
    # A checkpoint may hold accuracies on other dev data.
    measured = not (checkpoint and os.path.exists(checkpoint))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", UserWarning)
        learner.fit(X, y, dev=dev) if "dev" in inspect.signature(learner.fit).parameters else learner.fit(X, y)
    for warning in said:
        click.echo(f"Warning: {warning.message}", err=True)
    made: Model = learner.model_
    made.facts["data"] = {**asked, "blanks": blanks}
    made.save(model)
    rows = [
        ["sentences", f"{len(X):,}"],
        ["tokens", f"{sum(map(len, X)):,}"],
        ["labels", f"{len(made.labels):,}"],
        *([name, f"{size:,}"] for name, size in array_sizes(made).items()),
        ["file", size_text(os.path.getsize(model))],
        ["time", f"{time.perf_counter() - began:.1f} s"],
        *_progress(learner),
    ]
    if dev:
        known = _dev_accuracy(learner) if measured else None
        rows.append(["dev accuracy", f"{learner.score(*dev) if known is None else known:.2%}"])
    click.echo(table([model, ""], rows))


def _done(learner: Any) -> tuple[str, int]:
    """Return what the kept model was trained in, epochs or iterations, and how many."""
    facts = learner.model_.facts
    called = "epochs" if "epochs_done" in facts else "iterations"
    return called, facts.get(f"{called}_done", 0)


def _progress(learner: Any) -> Iterator[list[str]]:
    """Yield how far training went, for learners that go in epochs or iterations."""
    history = getattr(learner, "history_", [])
    if history and "error" in history[-1]:
        yield ["training error", f"{history[-1]['error']:.2%}"]
    if history and "objective" in history[-1]:
        called, done = _done(learner)
        yield [called, f"{done:,}"]
        yield ["objective", f"{learner.objective_:,.1f}"]


def _dev_accuracy(learner: Any) -> float | None:
    """Return the kept model's accuracy on dev data, if training measured it with the learner's decoder."""
    history, (_, done) = getattr(learner, "history_", []), _done(learner)
    if learner.decoder != "auto" or not 1 <= done <= len(history):
        return None
    accuracy: float | None = history[done - 1].get("dev")
    return accuracy
