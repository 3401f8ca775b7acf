"""`tagwright classes`: word classes from text without labels."""

from __future__ import annotations

from typing import Any

import click
from tqdm import tqdm

from tagwright import _core
from tagwright.cli.logging import show_log
from tagwright.cli.options import COUNT, FILES, OUTPUT, force_option, reading_options, tokenize_option
from tagwright.cli.overwriting import check_inputs
from tagwright.data.files import inputs_of
from tagwright.data.output import check_target, writing
from tagwright.data.reading import batches_or_answers
from tagwright.data.sentence import Form
from tagwright.features.word_classes import Induction


def _sizes(context: click.Context, parameter: click.Parameter, value: str) -> list[int]:
    try:
        return list(Induction([int(size) for size in value.split(",")]).checked().sizes)
    except ValueError as error:
        if "sizes" in str(error):
            raise click.BadParameter(str(error)) from None
        raise click.BadParameter(f"{value!r} is not a list of numbers such as 64,256,1024") from None


@click.command()
@click.argument("sources", metavar="TEXT...", nargs=-1, type=FILES, required=True)
@click.option("-o", "--output", type=OUTPUT, required=True, help="File to write; - for standard output.")
@click.option(
    "--sizes",
    callback=_sizes,
    default="64,256,1024",
    show_default=True,
    help="Numbers of classes, with commas between them; classes of a smaller number are unions of the finer ones.",
)
@click.option("--min-count", type=COUNT, default=3, help="Words that occur less often get no class; by default, 3.")
@click.option("--keep-case", is_flag=True, help="Words that differ in capitals are different words.")
@click.option("--column", type=click.IntRange(0), default=0, help="Column of the word in column files, from 0.")
@click.option("--sweeps", type=COUNT, default=15, help="How often each word is examined at most; by default, 15.")
@click.option("--seed", type=click.IntRange(0), default=0, help="Determines the classes in which words begin.")
@click.option("--threads", type=COUNT, default=1, help="Number of threads; the classes do not depend on it.")
@tokenize_option(
    "How text is split into tokens and sentences; whitespace: a line is a sentence that is split already.", "english"
)
@reading_options
@force_option
@click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
@click.option("-v", "--verbose", is_flag=True, help="Log each sweep.")
def classes(sources: tuple[str, ...], output: str, force: bool, quiet: bool, verbose: bool, **options: Any) -> None:
    """Find classes of words in TEXT, which needs no labels, and write them to a file for %class in templates.

    TEXT is plain text, a column file or CoNLL-U, plain or compressed; a folder stands for all files in it, and - for
    standard input. Words that occur in similar contexts get the same class. Words are lower-cased, and digits are read
    as 0.

    \b
    Example:
      tagwright classes news.txt.xz -o classes.tsv --threads 2
      tagwright train train.txt pos.safetensors --features my.tpl --list brown=classes.tsv
    """
    if quiet and verbose:
        raise click.ClickException("choose one of --quiet and --verbose")
    if len(sources) > 1 and "-" in sources:
        raise click.ClickException("standard input (-) cannot be one of several texts; name files")
    check_inputs(output, sources, force)
    check_target(output)
    induction = Induction(options["sizes"], *(options[name] for name in ("min_count", "sweeps", "threads", "seed")))
    counter = _core.BigramCounter.make(options["keep_case"])
    tokenizer = "english" if options["tokenize"] == "auto" else options["tokenize"]
    reading = {"format": options["format"], "comments": options["comments"], "tokenize": tokenizer}
    with show_log(quiet, verbose):
        with tqdm(desc="reading", unit=" tokens", unit_scale=True, disable=True if quiet else None) as bar:
            for source in ["-"] if "-" in sources else [str(file.path) for file in inputs_of(sources)]:
                _read(source, options["column"], reading, counter, bar)
        lines = induction.checked().lines(counter, False if quiet else None)
    with writing(output) as file:
        file.write("".join(f"{line}\n" for line in lines).encode())


def _read(source: str, column: int, reading: dict[str, Any], counter: _core.BigramCounter, bar: Any) -> None:
    """Count the words of a file: of text in the core, of other formats sentence by sentence."""

    def counted(form: Form, block: bytes) -> bytes | None:
        before = counter.tokens
        if form.name != "text" or form.request.comments or not counter.add_lines(block, reading["tokenize"]):
            return None
        bar.update(counter.tokens - before)
        return b"counted" if counter.tokens > before else b""

    for piece in batches_or_answers(source, counted, **reading, columns=column + 1):
        if isinstance(piece, list):
            before = counter.tokens
            for sentence in piece:
                counter.add_sentence([row[column] for row in sentence.rows])
            bar.update(counter.tokens - before)
