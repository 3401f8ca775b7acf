"""`tagwright train`: a model from a labelled file."""

from __future__ import annotations

import os
import time
import warnings
from typing import Any

import click
from click.shell_completion import CompletionItem
from tqdm import tqdm

from tagwright.cli.corpora import fit, read_corpora
from tagwright.cli.learners import make_learner
from tagwright.cli.logging import said
from tagwright.cli.options import (
    COUNT,
    FILE,
    FOLDER,
    Sectioned,
    corpus_arguments,
    decoder_option,
    force_option,
    reading_options,
    section,
    threads_option,
    tokenize_option,
)
from tagwright.cli.overwriting import check_model_target
from tagwright.cli.training_summary import summary
from tagwright.data.output import check_target, is_standard_output
from tagwright.data.rescue import rescued
from tagwright.decoding.keep import parse_keep
from tagwright.features.presets import PRESETS
from tagwright.features.templates import LONGEST_HISTORY
from tagwright.learners import LEARNERS
from tagwright.models.agreement import SCHEDULES
from tagwright.models.model import Model

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
        return value if value in (None, "exact") else parse_keep(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _templates(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    names = [CompletionItem(name) for name in PRESETS if name.startswith(incomplete)]
    return [CompletionItem(incomplete, type="file"), *names]


@click.command(
    cls=Sectioned,
    epilog="An HMM counts and has few options. An option that is not for the learner is an error.",
)
@corpus_arguments
@click.option(
    "-l",
    "--label",
    default="last",
    help="Label column: last, 3, or 2+3 for a joint label; in CoNLL-U upos, xpos, feats or a joint.",
)
@click.option(
    "--partial",
    is_flag=True,
    help="Labels may be partly known: NN,VB for one of the two, _ for any. Not for a MEMM.",
)
@reading_options
@tokenize_option("How the corpus was split, so that tag splits raw text for the model alike; auto: not known.")
@common_option("--learner", type=click.Choice(list(LEARNERS)), default="perceptron", help="Learner.")
@common_option("-f", "--features", but="hmm", default="pos", shell_complete=_templates, help="Preset or template file.")
@common_option(
    "--list",
    "lists",
    but="hmm",
    multiple=True,
    metavar="NAME=FILE",
    help="Word list for %in[row,col,NAME]; may be repeated.",
)
@common_option(
    "--scheme",
    metavar="NAME[:PART]",
    help="Label scheme that every labelling keeps to, in training and tagging: BIO, IOB1, IOBES, BILOU, BMES; BIO:1 "
    "for part 1 of labels such as NN|B-NP. The model keeps it.",
)
@common_option(
    "--dictionary",
    type=COUNT,
    help="Words that occur at least this often may only have the labels that they have in the corpus.",
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
@common_option(
    "--cache",
    but="hmm, memm, bidirectional",
    type=FOLDER,
    help="Folder in which the corpus is kept in numbers, so that the next training on it starts at once.",
)
@common_option(
    "--ray",
    but="hmm, memm, bidirectional",
    metavar="ADDRESS",
    help="Train on a Ray cluster: auto for the one of this machine, HOST:6379, or local to start one.",
)
@common_option(
    "--workers",
    but="hmm, memm, bidirectional",
    type=COUNT,
    default=2,
    help="With --ray: into how many parts the corpus is cut, each for a worker with --threads CPUs.",
)
@common_option("--warm-start", but="hmm, bidirectional", type=FILE, help="Start from the weights of this model.")
@decoder_option
@threads_option
@force_option
@click.option("-q", "--quiet", is_flag=True, help="Say nothing but warnings and errors.")
@click.option("-v", "--verbose", is_flag=True, help="Tell every iteration, sizes, seconds and memory.")
@perceptron_option(
    "-e",
    "--epochs",
    also="crf",
    type=COUNT,
    default=10,
    help="Passes over the corpus; of a CRF, by AdaGrad.",
)
@perceptron_option("--seed", also="crf", type=click.IntRange(0), default=0, help="Seed of the order of sentences.")
@perceptron_option(
    "--pairs",
    also="crf",
    type=click.Choice(["touched", "observed", "all"]),
    default="touched",
    help="Pairs of feature and label that have a weight: all that training touched, or those in the corpus.",
)
@perceptron_option(
    "--margin", also="crf", type=_NOT_NEGATIVE, default=0, help="Score by which the right labels must win, per token."
)
@perceptron_option(
    "--parts",
    also="crf",
    metavar="SEPARATORS",
    help="Characters between the parts of a label, which share weights; '' for each character.",
)
@perceptron_option(
    "--order",
    also="crf, hmm",
    type=click.IntRange(1, 3),
    default=1,
    help="2: scores for runs of three labels, 3: four.",
)
@perceptron_option("--min-ngram-count", also="crf", type=COUNT, default=1, help="Leave out rarer runs of labels.")
@perceptron_option("--batch", also="crf", type=COUNT, show_default="1; crf: 8", help="Sentences per change of weights.")
@crf_option(
    "--l2",
    also="memm, bidirectional",
    type=_NOT_NEGATIVE,
    show_default="L-BFGS: 1.0; AdaGrad: 0; memm: 0.5",
    help="Squared penalty.",
)
@crf_option("--l1", type=_NOT_NEGATIVE, default=0.0, help="Absolute penalty.")
@crf_option(
    "--pruning", callback=_known_keep, help="Labels summed over: exact, divergence:0.005:10, size:20 or ratio:1e-3."
)
@crf_option(
    "--solver",
    type=click.Choice(["adagrad", "lbfgs"]),
    default="adagrad",
    help="Optimiser.",
)
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
def train(
    context: click.Context,
    /,
    corpora: tuple[str, ...],
    model: str,
    force: bool,
    quiet: bool,
    verbose: bool,
    **options: Any,
) -> None:
    """Train a model on CORPUS and write it to MODEL; - is standard output.

    CORPUS has one token per line, its label in the last column, and a blank line between sentences; or it is CoNLL-U.
    There may be several, and a folder stands for all files in it. What is large is not held in memory.
    Standard error shows how far it is: on a terminal a bar, elsewhere a line per epoch or ten iterations.

    \b
    Example:
      tagwright train train.txt.xz pos.safetensors --features pos --dev dev.txt.xz
      tagwright train train.txt joint.safetensors --label 2+3 --features chunk
      tagwright train en.conllu morph.safetensors --label upos+feats
      tagwright train part1.txt.xz part2.txt.xz large.safetensors --cache cache
      tagwright train parts large.safetensors --learner crf --ray auto --workers 8
    """
    check_model_target(model, [*corpora, options["dev"], options["checkpoint"]], force)
    check_target(model)
    asked = {name: options.pop(name) for name in ("format", "label", "comments")}
    dev_path, partial, cache = options.pop("dev"), options.pop("partial"), options["cache"]
    if partial and "+" in asked["label"]:
        raise click.ClickException("--partial takes labels of one column, not joint ones")
    tokenize = options.pop("tokenize")
    checkpoint = options["checkpoint"]
    if checkpoint:
        check_target(checkpoint, read_again=True)
        if os.path.realpath(checkpoint) == os.path.realpath(model):
            raise click.ClickException("--checkpoint and MODEL must be two files")
    if options["patience"] and not dev_path:
        raise click.ClickException("--patience needs --dev")
    if quiet and verbose:
        raise click.ClickException("choose one of --quiet and --verbose")
    began = time.perf_counter()
    given = {name for name in options if context.get_parameter_source(name) == click.core.ParameterSource.COMMANDLINE}
    learner, run = make_learner(options | ({"progress": False} if quiet else {}), given)
    # A checkpoint may hold accuracies on other dev data.
    measured = not (checkpoint and os.path.exists(checkpoint))
    with said(quiet, verbose), warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = _warn
        dev = read_corpora([dev_path], asked)[:2] if dev_path else None
        size = fit(learner, corpora, asked, partial, dev, cache, **run)
    made: Model = learner.model_
    if tokenize != "auto":
        made.facts["data"]["tokenize"] = tokenize
    try:
        made.save(model)
    except OSError as error:
        raise click.ClickException(f"{model}: {error.strerror}; {rescued(made.save, model, error)}") from None
    if not quiet:
        shown = summary(learner, made, size, model, began, dev, measured)
        click.echo(shown, err=is_standard_output(model))
    if getattr(learner, "checkpoint_error_", None):
        context.exit(2)  # the warning has said why


def _warn(message: Warning | str, *place: Any, **more: Any) -> None:
    """Show a warning at once, above the progress bar."""
    with tqdm.external_write_mode():
        click.echo(f"Warning: {message}", err=True)
