"""The command `tagwright`: its subcommands, and how errors are reported."""

from __future__ import annotations

import difflib
import importlib
import sys
from typing import Any, NoReturn

import click

from tagwright import __version__
from tagwright.data.output import whole_streams

GROUPS = {
    "Use a model": {
        "tag": "Label files, folders or standard input.",
        "explain": "Show why a token has its label.",
        "serve": "Serve models over HTTP, with a web page.",
    },
    "Train a model": {
        "train": "Train a model on labelled files.",
        "tune": "Search for the options that are best on dev data.",
        "classes": "Find classes of words in text without labels.",
        "import": "Convert a model of CRFsuite, CRF++ or Wapiti.",
    },
    "Measure a model": {
        "eval": "Print accuracy, F1, confusions and calibration.",
        "report": "Write them as an HTML page, or draw one plot.",
        "info": "Describe a model, or list the decoders.",
    },
    "Try it": {"demo": "Tag sentences, and time three exact decoders."},
}
"""The commands by topic, each with a line of help."""
COMMANDS = [name for commands in GROUPS.values() for name in commands]

_KEYWORDS = {"eval": ("eval", "evaluate"), "import": ("importing", "import_")}
"""Module and function of commands whose name Python reserves or has a function for."""
_RENAMED = {"decoders": ["info", "--decoders"]}
"""Commands of 0.5.0; removed in the release after next."""


class OneLine(click.Group):
    """A group that imports a command when it is called, and reports an error as one line with exit code 2."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return COMMANDS

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands by topic."""
        widest = max(map(len, COMMANDS))
        for topic, commands in GROUPS.items():
            with formatter.section(topic):
                formatter.write_dl([(name.ljust(widest), text) for name, text in commands.items()])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command."""
        if cmd_name not in COMMANDS:
            return None
        module, name = _KEYWORDS.get(cmd_name, (cmd_name, cmd_name))
        command: click.Command = getattr(importlib.import_module(f"tagwright.cli.{module}"), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return a command and its arguments; renamed commands with a warning, and for others a suggestion."""
        name = args[0]
        if name in _RENAMED and not ctx.resilient_parsing:
            new = _RENAMED[name]
            click.echo(f"Warning: tagwright {name} is now tagwright {' '.join(new)}", err=True)
            args = [*new, *args[1:]]
        elif name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            near = difflib.get_close_matches(name, COMMANDS, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(COMMANDS)}"
            raise click.UsageError(f"No such command {name!r}; {hint}")
        return super().resolve_command(ctx, args)

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run a command."""
        kwargs["standalone_mode"] = False
        if sys.stdout is None:
            _fail("standard output is closed; redirect it to a file")
        with whole_streams():
            self._run(*args, **kwargs)

    def _run(self, *args: Any, **kwargs: Any) -> None:
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
        """Run a command; a closed pipe is caught here, before click reports it as a failure."""
        try:
            super().invoke(ctx)
        except BrokenPipeError:
            pass  # the reader has gone, as in `tagwright tag ... | head`
        except KeyboardInterrupt as interrupt:
            raise click.Abort from interrupt  # else click prints a line of its own


def _fail(message: str, code: int = 2) -> NoReturn:
    click.echo("Error: " + " ".join(message.split()), err=True)
    sys.exit(code)


@click.group(
    cls=OneLine,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
    options_metavar="",
    subcommand_metavar="COMMAND [OPTIONS] [ARGS]...",
)
@click.version_option(__version__, prog_name="tagwright")
@click.pass_context
def main(context: click.Context) -> None:
    """Sequence labelling with hundreds to thousands of labels: exact decoding, k best, and training.

    \b
    Examples:
      echo "The dog that I saw saw me too." | tagwright tag
      tagwright train train.txt pos.safetensors --dev dev.txt
      tagwright eval -m pos.safetensors test.txt
      tagwright COMMAND --help
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())
