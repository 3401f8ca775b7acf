"""`tagwright train`: a model from labelled files."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator
from typing import Any

import click
from tqdm import tqdm

from tagwright.cli.corpora import fit, read_corpora, written
from tagwright.cli.learners import (
    OLD_OPTIONS,
    FitCall,
    complete_setting,
    current_spelling,
    help_of_settings,
    make_training,
)
from tagwright.cli.logging import show_log
from tagwright.cli.options import (
    COUNT,
    FILE,
    LABELLING_RULES,
    Command,
    corpus_arguments,
    flag_of,
    force_option,
    threads_option,
    training_options,
)
from tagwright.cli.overwriting import check_model_target
from tagwright.data.output import check_target, is_standard_output, is_stream, rescued
from tagwright.learners import LEARNERS
from tagwright.models.facts import fact_in
from tagwright.models.model import Model
from tagwright.models.summary import array_sizes, size_text
from tagwright.table import table

_FLAGS = ("all_pairs", "no_spans")


def _old_options(command: Command) -> Command:
    """Add the options of earlier releases, which are settings now; hidden."""
    for name in OLD_OPTIONS:
        flag = {"is_flag": True, "default": None, "flag_value": True} if name in _FLAGS else {}
        command = click.option(f"--{name.replace('_', '-')}", hidden=True, **flag)(command)  # type: ignore[arg-type]
    return command


class _Train(click.Command):
    """A command with a second, complete help."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters, and --help-all before --help."""
        *own, help_option = super().get_params(ctx)
        return [*own, click.Option(["--help-all"], is_flag=True, help="Show the settings of --set, too, and exit.",
                                   is_eager=True, expose_value=False, callback=_show_all), help_option]  # fmt: skip


def _show_all(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if not value:
        return
    formatter = context.make_formatter()
    rules = [(f"{flag_of(name)} {metavar}", text) for name, (metavar, text) in LABELLING_RULES.items()]
    for title, rows in [("Rules about whole labellings, which the model stores", rules), *help_of_settings()]:
        with formatter.section(title):
            formatter.write_dl(rows)
    click.echo(f"{context.get_help()}\n\n{formatter.getvalue()}", nl=False)
    context.exit()


@click.command(cls=_Train)
@corpus_arguments
@click.option("--learner", type=click.Choice(list(LEARNERS)), default="crf", is_eager=True, help="Learner.")
@training_options
@click.option(
    "--dev", type=FILE, help="Measure the accuracy on this file: after each epoch, every 10 iterations, or at the end."
)
@click.option("-e", "--epochs", type=COUNT, default=10, help="Passes over the corpus; not for solver=lbfgs.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    shell_complete=complete_setting,
    help="Set another option of the learner, such as order=2, solver=lbfgs, l2=0.1 or patience=3; may be repeated. "
    "--help-all lists them.",
)
@click.option("--warm-start", type=FILE, help="Start from the weights of this model.")
@click.option(
    "--checkpoint",
    type=FILE,
    help="File for the state of the training, after each epoch or 10 iterations; if it exists, resume from it.",
)
@click.option(
    "--ray",
    metavar="ADDRESS",
    help="Train on a Ray cluster: auto for the one of this machine, HOST:6379, or local to start one.",
)
@threads_option
@force_option
@click.option("-q", "--quiet", is_flag=True, help="Print only warnings and errors.")
@click.option("-v", "--verbose", is_flag=True, help="Log every iteration, sizes, seconds and memory.")
@_old_options
@click.pass_context
def train(
    context: click.Context,
    /,
    corpora: tuple[str, ...],
    model: str,
    learner: str,
    settings: tuple[str, ...],
    **options: Any,
) -> None:
    """Train a model on CORPUS and write it to MODEL; - is standard output.

    CORPUS has one token per line, its label in the last column, and a blank line between sentences; or it is CoNLL-U.
    There may be several, and a folder stands for all files in it. Large corpora are not held in memory.
    Progress is written to standard error: a bar on a terminal, otherwise a line per epoch or ten iterations.

    \b
    Example:
      tagwright train train.txt.xz pos.safetensors --features pos --dev dev.txt.xz
      tagwright train train.txt joint.safetensors --label 2+3 --features chunk
      tagwright train en.conllu morph.safetensors --label upos+feats --set order=2
      tagwright train train.txt crf.safetensors --learner crf --set solver=lbfgs --set l2=0.1
      tagwright train parts large.safetensors --learner crf --ray auto --set workers=8
    """
    check_model_target(model, [*corpora, options["dev"], options["checkpoint"]], options.pop("force"))
    check_target(model)
    old = {name: options.pop(name) for name in OLD_OPTIONS}
    old = {name: value for name, value in old.items() if value is not None}
    if old:
        settings = (*current_spelling(learner, old), *settings)
    given = written(context, options)
    training = make_training(learner, options | {"min_weight": old.get("min_weight")}, settings, given)
    _check_options(options, training, model)
    code = _run(training, corpora, model, options)
    context.exit(code)


def _check_options(options: dict[str, Any], training: FitCall, model: str) -> None:
    if options["partial"] and "+" in options["label"]:
        raise click.ClickException("--partial takes labels of one column, not joint ones")
    if options["checkpoint"]:
        check_target(options["checkpoint"], read_again=True)
        if os.path.realpath(options["checkpoint"]) == os.path.realpath(model):
            raise click.ClickException("--checkpoint and MODEL must be two files")
    if getattr(training.learner, "patience", None) and not options["dev"]:
        raise click.ClickException("--set patience needs --dev")
    if options["quiet"] and options["verbose"]:
        raise click.ClickException("choose one of --quiet and --verbose")


def _run(training: FitCall, corpora: tuple[str, ...], model: str, options: dict[str, Any]) -> int:
    """Train, save the model and print a summary; return the exit code."""
    began = time.perf_counter()
    learner, quiet, dev_path = training.learner, options["quiet"], options["dev"]
    reading = {name: options[name] for name in ("format", "label", "comments")}
    # A checkpoint may hold accuracies on other dev data.
    measured = not (options["checkpoint"] and os.path.exists(options["checkpoint"]))
    with show_log(quiet, options["verbose"]), warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = _warn
        dev = read_corpora([dev_path], reading)[:2] if dev_path else None
        size = fit(training, corpora, reading, options["partial"], dev, progress=False if quiet else None)
    made: Model = learner.model_
    if options["tokenize"] != "auto":
        made.facts["data"]["tokenize"] = options["tokenize"]
    try:
        made.save(model)
    except OSError as error:
        raise click.ClickException(f"{model}: {error.strerror}; {rescued(made.save, model, error)}") from None
    if not quiet:
        click.echo(_summary(learner, made, size, model, began, dev, measured), err=is_standard_output(model))
    return 2 if getattr(learner, "checkpoint_error_", None) else 0  # the warning names the reason


def _warn(message: Warning | str, *place: Any, **more: Any) -> None:
    """Show a warning at once, above the progress bar."""
    with tqdm.external_write_mode():
        click.echo(f"Warning: {message}", err=True)


def _summary(
    learner: Any, made: Model, size: tuple[int, ...], model: str, began: float, dev: Any, measured: bool
) -> str:
    """Return a table of what was made; measured: whether the history has the accuracy on these dev data."""
    rows = [
        ["sentences", f"{size[0]:,}"],
        ["tokens", f"{size[1]:,}"],
        ["labels", f"{len(made.labels):,}"],
        *([name, f"{size:,}"] for name, size in array_sizes(made).items()),
        *([] if is_stream(model) else [["file", size_text(os.path.getsize(model))]]),
        ["time", f"{time.perf_counter() - began:.1f} s"],
        *_progress(learner),
    ]
    if dev:
        known = _dev_accuracy(learner) if measured else None
        rows.append(["dev accuracy", f"{learner.score(*dev) if known is None else known:.2%}"])
    return table([model, ""], rows)


def _done(learner: Any) -> tuple[str, int]:
    """Return what the kept model was trained in, epochs or iterations, and how many."""
    facts = learner.model_.facts
    called = "epochs" if "epochs_done" in facts else "iterations"
    return called, fact_in(facts, int, f"{called}_done") or 0


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
