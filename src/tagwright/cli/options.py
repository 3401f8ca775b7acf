"""Options that several commands share, declared once."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from tagwright.data.formats import format_names
from tagwright.data.tokens import TOKENIZERS
from tagwright.decoding.decoders import decoders, plan
from tagwright.features.presets import PRESETS

Command = TypeVar("Command", bound=Callable[..., Any])

COUNT = click.IntRange(1)
FILE = click.Path(dir_okay=False)
INPUT = click.Path(dir_okay=False, allow_dash=True)
FILES = click.Path(allow_dash=True)
FOLDER = click.Path(file_okay=False)
OUTPUT = click.Path(dir_okay=False, allow_dash=True, readable=False)


def _known_decoder(context: click.Context, parameter: click.Parameter, value: str) -> str:
    try:
        plan(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    return value


def _decoder_names(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    return [row.name for row in decoders() if row.name.startswith(incomplete)]


def _presets(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    names = [CompletionItem(name) for name in PRESETS if name.startswith(incomplete)]
    return [CompletionItem(incomplete, type="file"), *names]


decoder_option = click.option(
    "--decoder",
    callback=_known_decoder,
    shell_complete=_decoder_names,
    default="auto",
    help="Decoder, as tagwright info --decoders lists them; with options as in beam:16.",
)
model_option = click.option(
    "-m", "--model", "model_path", type=FILE, help="Model file; by default the included model of English POS."
)


def _one_or_two(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> list[str | None]:
    if len(value) > 2:
        raise click.BadParameter(f"{len(value)} models; name one, or two to compare them")
    return list(value) or [None]


models_option = click.option(
    "-m",
    "--model",
    "model_paths",
    type=FILE,
    multiple=True,
    callback=_one_or_two,
    help="Model file; by default the included model of English POS. Two are compared with each other: -m OLD -m NEW.",
)
threads_option = click.option("--threads", type=COUNT, default=1, help="Number of threads, which share the sentences.")
force_option = click.option("--force", is_flag=True, help="Overwrite an output that is an input or is not a model.")
scheme_option = click.option(
    "--scheme",
    metavar="NAME[:PART]",
    help="Label scheme that labellings keep to: BIO, IOB1, IOBES, BILOU, BMES; of joint labels such as NN|B-NP the "
    "part that has it, or with BIO:1 part 1.",
)


def _counted(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> tuple[tuple[str, int], ...]:
    """Read values such as PER=1."""
    made: dict[str, int] = {}
    for text in value:
        name, _, count = text.rpartition("=")
        if not name or not count.isdecimal():
            raise click.BadParameter(f"{text!r} is not of the form TYPE=NUMBER, such as PER=1")
        made[name] = int(count)
    return tuple(made.items())


def _all(*options: Callable[[Any], Any]) -> Callable[[Command], Command]:
    """Return a decorator that adds options, the first one first."""

    def add(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


LABELLING_RULES = {
    "once": (
        "TYPE",
        "Span type, or label, of which a sentence has at most one span, or contiguous run; all for each of them. May "
        "be repeated.",
    ),
    "at_most": ("TYPE=N", "At most N spans of a type, or runs of a label, per sentence; may be repeated."),
    "at_least": ("TYPE=N", "At least N spans of a type, or runs of a label, per sentence; may be repeated."),
    "same": ("PART", "Part of joint labels such as book|B-city, counted from 0, that all labels of a sentence share."),
}
"""Options for rules about whole labellings, by the names of arguments of `tw.Constraints`: what they take, and help."""


def flag_of(name: str) -> str:
    """Return how an option is written."""
    return f"--{name.replace('_', '-')}"


def rule_options(hidden: bool = False) -> Callable[[Command], Command]:
    """Return the options for rules about whole labellings; hidden: whether the help of a command leaves them out."""
    kinds: dict[str, dict[str, Any]] = {
        "once": {"multiple": True},
        "at_most": {"multiple": True, "callback": _counted},
        "at_least": {"multiple": True, "callback": _counted},
        "same": {"type": click.IntRange(min=0)},
    }
    return _all(
        *(
            click.option(flag_of(name), metavar=metavar, hidden=hidden, help=text, **kinds[name])
            for name, (metavar, text) in LABELLING_RULES.items()
        )
    )


def rules_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `tw.Constraints` for `rule_options`."""
    made = {name: options[name] for name in LABELLING_RULES if options.get(name) not in (None, ())}
    made |= {name: dict(made[name]) for name in ("at_most", "at_least") if name in made}
    if "all" in made.get("once", ()):
        made["once"] = True
    return made


def tokenize_option(text: str, default: str | None = "auto") -> Callable[[Command], Command]:
    """Return the option that names a tokeniser; text: its help."""
    return click.option("--tokenize", type=click.Choice(["auto", *TOKENIZERS]), default=default, help=text)


def partial_option(text: str) -> Callable[[Command], Command]:
    """Return the option for cells that name several labels; text: its help."""
    return click.option("--partial", is_flag=True, help=text)


def limit_options(partial: str) -> Callable[[Command], Command]:
    """Return the options that limit labels in tagging; partial: the help of --partial."""
    words = "File of lines of a word, a tab and the labels that it may have, with commas between them."
    return _all(
        scheme_option,
        rule_options(),
        click.option("--dictionary", type=INPUT, help=words),
        partial_option(partial),
    )


reading_options = _all(
    click.option("--format", type=click.Choice(format_names()), default="auto", help="Format of the input file."),
    click.option("--comments", is_flag=True, help="Lines that start with '# ' are comments, not tokens."),
)
"""How a file is read."""

tagging_options = _all(model_option, decoder_option, threads_option)
"""How sentences are tagged."""

gold_options = _all(
    click.option("-l", "--label", help="Column of the right label; by default as in training."),
    limit_options("Gold labels may be partly known: NN,VB for one of the two; tokens with _ are not counted."),
    models_option,
    decoder_option,
    threads_option,
    tokenize_option(
        "Split the text of GOLD again before it is tagged; auto: as the model was trained. Gold tokens that are not "
        "found count as wrong. By default, the tokens of GOLD are tagged.",
        None,
    ),
    reading_options,
)
"""One or two models, and the file with gold labels that they are compared with."""


def _corpora(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    if value:
        return value
    only = context.params.get("model")
    usage = f"tagwright {context.info_name} CORPUS... MODEL"
    if only is not None and (only == "-" or os.path.exists(only)):
        raise click.UsageError(f"Missing argument 'MODEL', the file to write: {usage}")
    raise click.UsageError(f"Missing argument 'CORPUS...': {usage}")


corpus_arguments = _all(
    click.argument("corpora", metavar="CORPUS...", nargs=-1, type=FILES, callback=_corpora),
    click.argument("model", type=OUTPUT, required=False, is_eager=True),
)
"""The corpora that a model is trained on, and the model to write."""

training_options = _all(
    click.option("-f", "--features", default="pos", shell_complete=_presets, help="Preset or template file."),
    click.option(
        "--list",
        "lists",
        multiple=True,
        metavar="NAME=FILE",
        help="Word list for %in[row,col,NAME], word classes for %class[...], a lexicon for %lexicon[...] or vectors "
        "for %vector[...]; may be repeated.",
    ),
    click.option(
        "-l",
        "--label",
        default="last",
        help="Label column: last, 3, or 2+3 for a joint label; in CoNLL-U upos, xpos, feats or a joint.",
    ),
    partial_option("Labels may be partly known: NN,VB for one of the two, _ for any."),
    scheme_option,
    rule_options(hidden=True),  # train --help-all lists them
    click.option(
        "--dictionary",
        type=COUNT,
        help="Words that occur at least this often may only have the labels that they have in the corpus.",
    ),
    tokenize_option("How the corpus was split, so that tag splits raw text alike; auto: not known."),
    reading_options,
)
"""What a corpus is and what is read from it, for `train` and `tune`."""
