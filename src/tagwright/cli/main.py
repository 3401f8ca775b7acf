"""The command line: `tagwright train | tag | eval | info | decoders | demo`."""

from __future__ import annotations

import gc
import inspect
import io
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from tagwright import __version__
from tagwright import decoders as decoder_rows
from tagwright.cli import demo
from tagwright.cli.info import SIZES, array_size, describe, size_text
from tagwright.cli.learners import LEARNERS, make_learner
from tagwright.data import reading as data
from tagwright.decoding.decoders import plan
from tagwright.decoding.keep import parse_keep
from tagwright.features.templates import LONGEST_HISTORY
from tagwright.models.bidirectional import SCHEDULES
from tagwright.models.file import replacing
from tagwright.models.model import Model, load
from tagwright.table import table

Command = TypeVar("Command", bound=Callable[..., Any])


class OneLine(click.Group):
    """A group whose errors are one line on standard error and exit code 2, and that minds neither pipes nor Ctrl-C."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command."""
        kwargs["standalone_mode"] = False
        if sys.stdout is None:
            _fail("standard output is closed; redirect it to a file")
        for stream in (sys.stdout, sys.stderr):
            # Files are UTF-8 whatever the locale, and so is what is piped.
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(encoding="utf-8", errors=stream.errors)
        try:
            code = super().main(*args, **kwargs)
            if isinstance(code, int) and code:
                sys.exit(code)
        except (click.Abort, KeyboardInterrupt):
            _fail("interrupted", 130)
        except click.ClickException as error:
            _fail(error.format_message())
        except OSError as error:
            _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
        except (ValueError, MemoryError) as error:
            _fail(str(error) or "out of memory")

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command, here where click does not yet take a closed pipe for a failure."""
        try:
            super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            # Whoever reads has had enough (`tagwright tag ... | head`). What is still in the buffer goes nowhere.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(message: str, code: int = 2) -> None:
    click.echo("Error: " + " ".join(message.split()), err=True)
    sys.exit(code)


def _known_decoder(context: click.Context, parameter: click.Parameter, value: str) -> str:
    try:
        plan(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    return value


def _known_keep(context: click.Context, parameter: click.Parameter, value: str | None) -> Any:
    try:
        return value if value in (None, "auto") else parse_keep(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


AT_LEAST_ONE = click.IntRange(1)
FILE = click.Path(dir_okay=False)


def decoder_option(text: str) -> Callable[[Command], Command]:
    """Add --decoder."""
    return click.option("--decoder", callback=_known_decoder, default="auto", show_default=True, help=text)


def reading(command: Command) -> Command:
    """Add the options that say how a file is read."""
    for option in (
        click.option("--comments", is_flag=True, help="Lines that start with '# ' are comments, not tokens."),
        click.option(
            "--format", type=click.Choice(data.FORMATS), default="auto", show_default=True, help="Of the file."
        ),
    ):
        command = option(command)
    return command


def tagging(command: Command) -> Command:
    """Add the options that say how sentences are tagged."""
    for option in (
        click.option("--threads", type=AT_LEAST_ONE, default=1, show_default=True, help="Over sentences."),
        decoder_option("See tagwright decoders."),
        click.option("-m", "--model", "model_path", type=FILE, help="A trained model; without it, English POS tags."),
    ):
        command = option(command)
    return command


@click.group(cls=OneLine, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tagwright")
@click.pass_context
def main(context: click.Context) -> None:
    """Label sequences with hundreds to thousands of labels: the exact best labelling, or the exact k best.

    \b
    Example:
      echo "Would service be voluntary or compulsory ?" | tagwright tag
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@main.command()
@click.argument("corpus", type=click.Path(dir_okay=False, allow_dash=True))
@click.argument("model", type=FILE)
@click.option("-l", "--label", default="last", show_default=True, help="Column, or columns as in 2+3; upos+feats.")
@click.option("-f", "--features", default="pos", show_default=True, help="A preset or a template file.")
@click.option("--list", "lists", multiple=True, metavar="NAME=FILE", help="A word list for %in[row,col,NAME].")
@click.option("--learner", type=click.Choice(LEARNERS), default="perceptron", show_default=True)
@click.option("-e", "--epochs", type=AT_LEAST_ONE, default=10, show_default=True, help="Perceptron, AdaGrad.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the order of sentences.")
@click.option("--min-count", type=AT_LEAST_ONE, default=1, show_default=True, help="Leave rarer features out.")
@click.option("--pairs", type=click.Choice(["touched", "observed"]), default="touched", show_default=True)
@click.option(
    "--margin", type=click.FloatRange(0), default=0, show_default=True, help="By which right labels must win."
)
@click.option("--parts", metavar="SEPARATORS", help="Of a label's parts, which share weights; '' for each character.")
@click.option("--min-weight", type=click.FloatRange(0), default=0, show_default=True, help="Leave smaller ones out.")
@click.option("--l2", type=click.FloatRange(0), help="CRF, MEMM: squared penalty.  [default: 1.0; MEMM: 0.5]")
@click.option("--l1", type=click.FloatRange(0), default=0.0, show_default=True, help="CRF: absolute penalty.")
@click.option("--keep", callback=_known_keep, help="CRF: sparse sums: auto, divergence:0.005:10, size:20, ratio:1e-3.")
@click.option("--solver", type=click.Choice(["lbfgs", "adagrad"]), default="lbfgs", show_default=True, help="CRF.")
@click.option("--rate", type=click.FloatRange(0), default=0.5, show_default=True, help="CRF: step size of AdaGrad.")
@click.option("--batch", type=AT_LEAST_ONE, default=8, show_default=True, help="CRF: sentences a step of AdaGrad.")
@click.option("--max-iterations", type=AT_LEAST_ONE, help="CRF, MEMM: of L-BFGS; without it, until it has converged.")
@click.option("--tolerance", type=click.FloatRange(0), help="CRF, MEMM: of L-BFGS.  [default: 1e-5; MEMM: 1e-4]")
@click.option("--start-on", type=click.FloatRange(0, 1, min_open=True), help="CRF: fit this share first.")
@click.option("--all-pairs", is_flag=True, help="CRF: every label has a weight for every feature.")
@click.option("--direction", type=click.Choice(["right", "left"]), default="right", show_default=True, help="MEMM.")
@click.option(
    "--history",
    type=click.IntRange(1, LONGEST_HISTORY),
    default=2,
    show_default=True,
    help="MEMM: labels it looks back.",
)
@click.option("--beam", type=AT_LEAST_ONE, default=20, show_default=True, help="MEMM: partial labellings held.")
@click.option("--dictionary", type=AT_LEAST_ONE, help="MEMM: words met so often have the labels they were met with.")
@click.option("--no-spans", "spans", is_flag=True, flag_value=False, default=True, help="MEMM: I-X may stand anywhere.")
@click.option("--rounds", type=AT_LEAST_ONE, default=30, show_default=True, help="Bidirectional: until they agree.")
@click.option("--step", type=click.FloatRange(0, min_open=True), default=0.5, show_default=True, help="Bidirectional.")
@click.option("--schedule", type=click.Choice(SCHEDULES), default="falling", show_default=True, help="Of the step.")
@click.option("--dev", type=FILE, help="Measure accuracy on this file after each epoch or 10 iterations.")
@click.option("--patience", type=AT_LEAST_ONE, help="Stop when so many were no better on --dev; keep the best.")
@click.option("--checkpoint", type=FILE, help="Written as often as --dev is measured; if it is there, go on from it.")
@click.option("--warm-start", type=FILE, help="Go on from this model's weights.")
@decoder_option("A perceptron trains with it; see tagwright decoders.")
@click.option("--threads", type=AT_LEAST_ONE, default=1, show_default=True, help="Over sentences.")
@reading
@click.pass_context
def train(context: click.Context, /, corpus: str, model: str, **options: Any) -> None:
    """Train a model on CORPUS and write it to MODEL.

    CORPUS has one token a line, its label in the last column, and a blank line between sentences; or it is CoNLL-U.

    \b
    Example:
      tagwright train train.txt.xz pos.safetensors --features pos --dev dev.txt.xz
      tagwright train train.txt joint.safetensors --label 2+3 --features chunk
      tagwright train en.conllu morph.safetensors --label upos+feats
    """
    if not Path(model).absolute().parent.is_dir():
        raise click.ClickException(f"{model}: no such folder to write to")
    read = {name: options.pop(name) for name in ("format", "label", "comments")}
    dev_path = options.pop("dev")
    if options["checkpoint"] and os.path.realpath(options["checkpoint"]) == os.path.realpath(model):
        raise click.ClickException("--checkpoint and MODEL must be two files")
    if options["patience"] and not dev_path:
        raise click.ClickException("--patience needs --dev")
    began = time.perf_counter()
    given = {name for name in options if context.get_parameter_source(name) == click.core.ParameterSource.COMMANDLINE}
    learner = make_learner(options, given)
    form: data.Form | None = None
    X: list[list[list[str]]] = []
    y: list[list[str]] = []
    for batch in data.batches(corpus, **read):
        form = form or batch[0].form
        X += [sentence.rows for sentence in batch]
        y += [sentence.labels or [] for sentence in batch]
    dev = data.read(dev_path, **read) if dev_path else None
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", UserWarning)
        learner.fit(X, y, dev=dev) if "dev" in inspect.signature(learner.fit).parameters else learner.fit(X, y)
    for warning in said:
        click.echo(f"Warning: {warning.message}", err=True)
    made: Model = learner.model_
    made.facts["data"] = {**read, "blanks": form.width if form and not form.tab else None}
    made.save(model)
    rows = [
        ["sentences", f"{len(X):,}"],
        ["tokens", f"{sum(map(len, X)):,}"],
        ["labels", f"{len(made.labels):,}"],
        *([name, f"{array_size(made, array):,}"] for name, array in SIZES.items()),
        ["file", size_text(os.path.getsize(model))],
        ["time", f"{time.perf_counter() - began:.1f} s"],
    ]
    history = getattr(learner, "history_", [])
    if history and "error" in history[-1]:
        rows.append(["training error", f"{history[-1]['error']:.2%}"])
    if history and "objective" in history[-1]:
        called = "epochs" if learner.solver == "adagrad" else "iterations"
        rows.append([called, f"{made.facts[f'{called}_done']:,}"])
        rows.append(["objective", f"{learner.objective_:,.1f}"])
    if dev:
        rows.append(["dev accuracy", f"{learner.score(*dev):.2%}"])
    click.echo(table([model, ""], rows))


@main.command()
@click.argument("source", metavar="[INPUT]", default="-", type=click.Path(dir_okay=False, allow_dash=True))
@click.option("-k", type=AT_LEAST_ONE, default=1, show_default=True, help="How many labellings, with their scores.")
@click.option("--proba", is_flag=True, help="Probabilities: of each label, and with -k of each labelling.")
@click.option("-o", "--output", type=click.Path(dir_okay=False, allow_dash=True), default="-", help="Write here.")
@click.option("-l", "--label", help="Where labels go in CoNLL-U; without it, as in training, or to XPOS.")
@tagging
@reading
def tag(
    source: str,
    k: int,
    proba: bool,
    output: str,
    label: str | None,
    model_path: str | None,
    decoder: str,
    threads: int,
    **read: Any,
) -> None:
    """Tag INPUT (standard input without it): each line comes back with its label as another column.

    INPUT has one token a line, or is CoNLL-U, or plain text with a sentence a line. With -k each labelling has a line
    '# rank score' before it. With --proba the probability of each label is one more column (in CoNLL-U, Prob= in
    MISC), and with -k that of the whole labelling takes the score's place, as CRF++ writes it.

    \b
    Example:
      echo "Would service be voluntary or compulsory ?" | tagwright tag -k 5
      tagwright tag -m pos.safetensors --threads 2 test.txt.xz -o tagged.txt
    """
    model = _model(model_path)
    if proba:
        model.need_probabilities()
    trained = model.facts.get("data", {})
    if label is None:
        label = trained["label"] if trained.get("label", "").split("+")[0].lower() in data.FIELDS else "xpos"
    # A model that was trained on columns with blanks between them is shown such columns again, not sentences.
    width = trained.get("blanks")
    read |= {"fields": label, "widths": (width, width - 1) if width else ()}
    # Nothing here makes cycles, and looking for them takes longer than the tagging of small models.
    gc.disable()
    out = _tagged(model, source, k, proba, decoder, threads, read)
    if output == "-":
        for text in out:
            sys.stdout.write(text)
            sys.stdout.flush()
        return
    with replacing(output) as beside, open(beside, "w", encoding="utf-8", newline="\n") as file:
        file.writelines(_watched(out) if sys.stderr.isatty() else out)


def _watched(batches: Iterator[str]) -> Iterator[str]:
    """The same, with a bar on the terminal that counts lines."""
    from tqdm import tqdm

    with tqdm(unit=" lines", unit_scale=True) as bar:
        for text in batches:
            bar.update(text.count("\n"))
            yield text


def _tagged(
    model: Model, source: str, k: int, proba: bool, decoder: str, threads: int, read: dict[str, Any]
) -> Iterator[str]:
    """Text of the sentences of each batch, tagged."""
    for batch in data.batches(source, columns=model.columns, empty_ok=source == "-", **read):
        X = _rows(model, source, batch)
        found = model.tag_kbest(X, k, decoder, threads, proba)
        pieces = []
        for sentence, taggings in zip(batch, found, strict=True):
            for rank, tagging in enumerate(taggings):
                if k > 1:
                    shown = tagging.score if tagging.probability is None else tagging.probability
                    pieces.append(f"# {rank} {shown:.6f}\n")
                pieces.append(data.text(sentence, tagging.labels, tagging.marginals))
        yield "".join(pieces)


def _rows(model: Model, source: str, batch: Sequence[data.Sentence]) -> list[list[list[str]]]:
    """The tokens of a batch, once it is clear that they have the columns that the model reads."""
    width = len(batch[0].rows[0])
    if width < model.columns:
        name, line = data.name_of(source), batch[0].first + batch[0].at[0]
        raise data.DataError(f"{name}:{line}: {width} column(s), but the model reads {model.columns}")
    return [sentence.rows for sentence in batch]


def _model(path: str | None) -> Model:
    model = load(path)
    if model.features is None:
        raise click.ClickException(f"{path}: a model of ready-made features, which files do not have; use it in Python")
    return model


@main.command("eval")
@click.argument("source", metavar="GOLD", type=click.Path(dir_okay=False, allow_dash=True))
@click.option("-l", "--label", help="Where the right label is; without it, as in training.")
@click.option("--json", "as_json", is_flag=True, help="For machines.")
@click.option("--most", type=AT_LEAST_ONE, default=20, show_default=True, help="Labels that are listed.")
@tagging
@reading
def evaluate(
    source: str,
    label: str | None,
    as_json: bool,
    most: int,
    model_path: str | None,
    decoder: str,
    threads: int,
    **read: Any,
) -> None:
    """Tag GOLD and compare with the labels it has: accuracy, per-label and span F1, confusions.

    \b
    Example:
      tagwright eval -m pos.safetensors test.txt.xz
      tagwright eval -m pos.safetensors test.txt.xz --json
    """
    from tagwright.evaluation.evaluate import evaluate as compare

    model = _model(model_path)
    read["label"] = label or model.facts.get("data", {}).get("label", "last")
    gold: list[list[str]] = []
    predicted: list[list[str]] = []
    known: list[list[bool]] = []
    for batch in data.batches(source, columns=model.columns, **read):
        X = _rows(model, source, batch)
        predicted += model.tag_batch(X, decoder, threads)
        for sentence in batch:
            gold.append(sentence.labels or [])
            known.append([bool(model.knows(row[0])) for row in sentence.rows])
    tells = model.knows("") is not None
    result = compare(gold, predicted, known if tells else None)
    click.echo(json.dumps(result.as_dict(), ensure_ascii=False) if as_json else result.table(most))


@main.command()
@click.argument("model", type=FILE, required=False)
@click.option("--labels", type=AT_LEAST_ONE, default=8, show_default=True, help="How many labels are shown.")
@click.option("--most", type=AT_LEAST_ONE, default=5, show_default=True, help="Features a label, and edges.")
def info(model: str | None, labels: int, most: int) -> None:
    """Say what MODEL is (without it, the English one that comes along): sizes, strongest features and edges.

    \b
    Example:
      tagwright info pos.safetensors
    """
    click.echo(describe(load(model), labels, most))


@main.command()
def decoders() -> None:
    """List every decoder: its paper, whether it is exact, whether it gives k paths.

    \b
    Example:
      tagwright decoders
    """
    rows = [[row.name, "yes" if row.exact else "no", "yes" if row.kbest else "no", row.paper] for row in decoder_rows()]
    width = max(len(row[3]) for row in rows)
    click.echo(table(["decoder", "exact", "k-best", "paper".ljust(width)], [[*r[:3], r[3].ljust(width)] for r in rows]))


@main.command("demo")
@click.option("--labels", "L", default=3000, show_default=True, type=click.IntRange(2, 20000), help="How many labels.")
@click.option("--tokens", "T", default=20, show_default=True, type=click.IntRange(1, 10000), help="How many tokens.")
@click.option("-k", default=5, show_default=True, type=click.IntRange(1, 1000), help="How many paths.")
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0), help="Of the random lattice.")
def demo_command(L: int, T: int, k: int, seed: int) -> None:
    """Tag a few English sentences, best and k best; then decode a lattice of 3,000 labels by three decoders.

    \b
    Example:
      tagwright demo --labels 1000
    """
    demo.sentences(load(), k, echo=click.echo)
    if not demo.run(L, T, k, seed, echo=click.echo):
        raise click.ClickException("the decoders disagree: please report this with the output above")
