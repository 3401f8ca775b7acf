"""The command line of the benchmarks."""

from __future__ import annotations

import importlib
import inspect
import json
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from benchmarks.frame.bench import DATA, OUT, ROOT, Bench, about, write

MODULES = dict.fromkeys(("huang2012", "kaji2010", "pal2006", "wang2013"), "papers")
MODULES |= {
    "accuracy": "ours",
    "constraints": "ours",
    "decoders": "ours",
    "orders": "ours",
    "peers": "peers",
    "rules": "ours",
    "scale": "ours",
    "serve": "ours",
    "speed": "ours",
    "tagger": "ours",
    "torch": "peers",
}
"""Every module, and the folder that it is in."""
FOLDER = click.Path(file_okay=False, path_type=Path)


def module(name: str) -> ModuleType:
    return importlib.import_module(f"benchmarks.{MODULES[name]}.{name}")


def first_line(name: str) -> str:
    """Return the first line of a module's docstring, read without importing it."""
    text = (Path(__file__).parent / MODULES[name] / f"{name}.py").read_text(encoding="utf-8")
    return text.split('"""')[1].splitlines()[0]


OPTIONS = [
    click.argument("others", nargs=-1, type=click.Choice(tuple(MODULES)), metavar="[MODULE]..."),
    click.option("--only", multiple=True, help="Run this part only; may be given several times."),
    click.option("--quick", is_flag=True, help="Use few sentences and sizes, to see that everything runs."),
    click.option("--again", is_flag=True, help="Measure again what has results already."),
    click.option("--data", type=FOLDER, envvar="TAGWRIGHT_DATA", default=DATA, help="Folder of the corpora."),
    click.option("--out", type=FOLDER, help="Folder of the results; by default build/benchmarks/full, or quick."),
]


def measure(
    names: tuple[str, ...], only: tuple[str, ...], quick: bool, again: bool, data: Path, out: Path | None
) -> None:
    out = out or OUT / ("quick" if quick else "full")
    bench, left_out = Bench(quick, data, out, again), []
    write(out / "about.json", json.dumps(about(out / "about.json"), indent=1))
    try:
        for name in names:
            for part, work in module(name).PARTS.items():
                if (not only or part in only) and not bench.run(name, work):
                    left_out.append(f"{name} {part}")
    except KeyboardInterrupt:
        how = "the same command without --again" if again else "the same command"
        click.echo(f"\nstopped in {bench.module} {bench.part}; {how} continues from here", err=True)
        sys.exit(130)
    bench.say(f"\ntables and figures: {out}" + f"\nleft out: {', '.join(left_out)}" * bool(left_out))


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 120})
def main() -> None:
    """Reproduce the papers' tables, and compare with other packages.

    A run may be interrupted: the same command continues it. Several modules may be named: `decoders tagger --quick`.
    `report` makes docs/benchmarks.md from the results.
    """


def add_command(name: str) -> None:
    def command(others: tuple[str, ...], only: tuple[str, ...], **options: Any) -> None:
        names = tuple(MODULES) if name == "all" else (name, *others)
        known = [part for each in names for part in module(each).PARTS]
        if wrong := [part for part in only if part not in known]:
            raise click.BadParameter(f"{wrong[0]!r} is none of {', '.join(known)}", param_hint="--only")
        measure(names, only, **options)

    for option in OPTIONS:
        command = option(command)
    summary = "Run all modules, one after the other." if name == "all" else first_line(name)
    main.command(name, help=summary, short_help=summary)(command)


for each in (*MODULES, "all"):
    add_command(each)


@main.command("list")
def parts() -> None:
    """List every module and its parts."""
    for name in MODULES:
        for part, work in module(name).PARTS.items():
            click.echo(f"{name:10} {part:14} {(inspect.getdoc(work) or '').splitlines()[0]}")


@main.command()
@click.option("--out", type=FOLDER, default=OUT / "full", help="Folder of the results.")
@click.option("--docs", type=FOLDER, default=ROOT / "docs", help="Folder of the page.")
def report(out: Path, docs: Path) -> None:
    """Make docs/benchmarks.md from the results, and a file of all tables next to them."""
    from benchmarks.frame.report import collect

    try:
        for path in collect(out, docs):
            click.echo(f"written: {os.path.relpath(path)}")
    except FileNotFoundError as missing:
        raise click.ClickException(str(missing)) from None


if __name__ == "__main__":
    main()
