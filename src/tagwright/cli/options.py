"""Options that several commands share, and help that lists options in sections."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import click

from tagwright.data.formats import format_names
from tagwright.decoding.decoders import plan

__all__ = [
    "AT_LEAST_ONE",
    "FILE",
    "INPUT",
    "Section",
    "SectionOption",
    "Sectioned",
    "decoder_option",
    "reading_options",
    "tagging_options",
    "threads_option",
]

Command = TypeVar("Command", bound=Callable[..., Any])

AT_LEAST_ONE = click.IntRange(1)
FILE = click.Path(dir_okay=False)
INPUT = click.Path(dir_okay=False, allow_dash=True)


def _known_decoder(context: click.Context, parameter: click.Parameter, value: str) -> str:
    try:
        plan(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    return value


decoder_option = click.option(
    "--decoder",
    callback=_known_decoder,
    default="auto",
    help="Decoder, as tagwright decoders lists them; with options as in beam:16.",
)
threads_option = click.option(
    "--threads", type=AT_LEAST_ONE, default=1, help="Number of threads, which share the sentences."
)


def reading_options(command: Command) -> Command:
    """Add the options that say how a file is read."""
    for option in (
        click.option("--comments", is_flag=True, help="Lines that start with '# ' are comments, not tokens."),
        click.option(
            "--format",
            type=click.Choice(format_names()),
            default="auto",
            help="Format of the input file.",
        ),
    ):
        command = option(command)
    return command


def tagging_options(command: Command) -> Command:
    """Add the options that say how sentences are tagged."""
    for option in (
        threads_option,
        decoder_option,
        click.option(
            "-m", "--model", "model_path", type=FILE, help="Model file; by default the included model of English POS."
        ),
    ):
        command = option(command)
    return command


class Section(NamedTuple):
    """A part of the list of options."""

    title: str
    learners: tuple[str, ...]
    """The learners that its options are for, unless an option names its own."""

    def option(
        self, *names: str, learners: Sequence[str] | None = None, **settings: Any
    ) -> Callable[[Command], Command]:
        """Add an option to this section; learners: those it is for, where they are not the section's."""
        chosen = self.learners if learners is None else tuple(learners)
        return click.option(*names, cls=SectionOption, section=self, learners=chosen, **settings)


class SectionOption(click.Option):
    """An option of a section, whose help says where its learners differ from the section's."""

    def __init__(self, *args: Any, section: Section, learners: tuple[str, ...], **settings: Any) -> None:
        """Add to the help text."""
        self.section, self.learners = section, learners
        more = [name for name in learners if name not in section.learners]
        fewer = [name for name in section.learners if name not in learners]
        for word, differs in (("Also", more), ("Not", fewer)):
            if differs:
                settings["help"] += f" {word} for {', '.join(differs)}."
        super().__init__(*args, **settings)


class Sectioned(click.Command):
    """A command whose help lists its options by section; options without one are in the first."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options."""
        sections: dict[str, list[tuple[str, str]]] = {"Common options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and isinstance(parameter, click.Option):
                title = parameter.section.title if isinstance(parameter, SectionOption) else "Common options"
                sections.setdefault(title, []).append(record)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)
