"""Options that several commands share, and help that lists options in sections."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from tagwright.data.formats import format_names
from tagwright.data.tokens import TOKENIZERS
from tagwright.decoding.decoders import decoders, plan

__all__ = [
    "COUNT",
    "FILE",
    "FILES",
    "FOLDER",
    "INPUT",
    "OUTPUT",
    "Command",
    "SectionOption",
    "Sectioned",
    "decoder_option",
    "model_option",
    "reading_options",
    "section",
    "tagging_options",
    "threads_option",
    "tokenize_option",
]

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


decoder_option = click.option(
    "--decoder",
    callback=_known_decoder,
    shell_complete=_decoder_names,
    default="auto",
    help="Decoder, as tagwright decoders lists them; with options as in beam:16.",
)
model_option = click.option(
    "-m", "--model", "model_path", type=FILE, help="Model file; by default the included model of English POS."
)
threads_option = click.option("--threads", type=COUNT, default=1, help="Number of threads, which share the sentences.")


def tokenize_option(text: str) -> Callable[[Command], Command]:
    """Return the option that names a tokeniser; text: its help."""
    return click.option("--tokenize", type=click.Choice(["auto", *TOKENIZERS]), default="auto", help=text)


def reading_options(command: Command) -> Command:
    """Add the options that say how a file is read."""
    formats = click.Choice(format_names())
    format = click.option("--format", type=formats, default="auto", help="Format of the input file.")
    comments = click.option("--comments", is_flag=True, help="Lines that start with '# ' are comments, not tokens.")
    return format(comments(command))


def tagging_options(command: Command) -> Command:
    """Add the options that say how sentences are tagged."""
    return model_option(decoder_option(threads_option(command)))


def section(title: str, *learners: str) -> Callable[..., Callable[[Command], Command]]:
    """Return `click.option` for a section of the help, whose options are for these learners."""
    return functools.partial(click.option, cls=SectionOption, title=title, usual=learners)


class SectionOption(click.Option):
    """An option of a section; also, but: the learners, with commas between, where they differ from the usual ones."""

    def __init__(
        self, *args: Any, title: str, usual: Sequence[str], also: str = "", but: str = "", **settings: Any
    ) -> None:
        """Say the difference in the help text."""
        self.title = title
        self.learners = {*usual, *also.split(", ")} - {"", *but.split(", ")}
        settings["help"] += (f" Also for {also}." if also else "") + (f" Not for {but}." if but else "")
        super().__init__(*args, **settings)


class Sectioned(click.Command):
    """A command whose help lists its options by section; options without one are in the first."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                sections.setdefault(getattr(parameter, "title", "Common options"), []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)
