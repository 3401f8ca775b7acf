"""`tagwright tag`: labels for files or a pipe, in this process or on a cluster."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import click

from tagwright.cli.options import (
    COUNT,
    FILES,
    force_option,
    limit_options,
    reading_options,
    tagging_options,
    tokenize_option,
)
from tagwright.cli.overwriting import check_inputs
from tagwright.cli.tagging import Tagger, TagOptions
from tagwright.cluster.parquet import is_parquet
from tagwright.data.files import inputs_of
from tagwright.data.output import is_standard_output, writing
from tagwright.models.file import is_model

_SHARES = ("label", "all")


class _Tag(click.Command):
    """A command whose --proba may stand alone: the next argument is its value only if it is one of them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert the value where it is left out, except after --."""
        end = args.index("--") if "--" in args else len(args)
        read: list[str] = []
        for arg in [*args[:end], ""]:
            if read and read[-1] == "--proba":
                read[-1] = f"--proba={arg if arg in _SHARES else _SHARES[0]}"
                if arg in _SHARES:
                    continue
            read.append(arg)
        return super().parse_args(ctx, read[:-1] + args[end:])


@click.command(cls=_Tag)
@click.argument("sources", metavar="[INPUT]...", nargs=-1, type=FILES)
@click.option("-k", type=COUNT, default=1, help="Number of labellings per sentence, with their scores.")
@click.option(
    "--proba",
    type=click.Choice(_SHARES),
    help="Add probabilities: of each token's label, which --proba alone means, or of all labels; with -k also of each "
    "labelling.",
)
@click.option("--json", "as_json", is_flag=True, help="Write a JSON object per sentence, each on one line.")
@click.option(
    "--to",
    type=click.Choice(["conllu", "slash", "diff"]),
    help="Write CoNLL-U, a line of word/TAG per sentence, or with -k the best labelling and the differences of the "
    "others; by default, the lines of INPUT with labels.",
)
@click.option(
    "--spans",
    is_flag=True,
    help="Write spans in place of labels, each with its probability: those of the best labelling, or with -k the k "
    "most probable of any. With --json, add them.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(allow_dash=True, readable=False),
    default="-",
    help="Output file; - is standard output. A folder gets a file for each INPUT.",
)
@force_option
@click.option(
    "--ray",
    "address",
    metavar="ADDRESS",
    help="Tag files on a Ray cluster: auto for the one of this machine, HOST:6379, or local to start one. INPUT is "
    "files and folders, also Parquet; -o is a folder.",
)
@click.option("--column", default="tokens", help="With --ray: the column of Parquet files that has lists of tokens.")
@click.option(
    "-l", "--label", help="Where labels go in CoNLL-U; by default where they were in training, or else to XPOS."
)
@limit_options("The last column of INPUT has the labels that a token may have, such as NN,VB; _ stands for any.")
@tagging_options
@tokenize_option("How text becomes tokens; auto: as the model was trained, or else between blanks.")
@click.option(
    "--no-split",
    "split",
    is_flag=True,
    flag_value=False,
    default=True,
    show_default=False,
    help="Take each line of text for one sentence; --tokenize english may find several in it.",
)
@reading_options
def tag(sources: tuple[str, ...], output: str, force: bool, address: str | None, column: str, **settings: Any) -> None:
    """Tag INPUT, by default standard input: write each line with its label as another column.

    INPUT has one token per line, or is CoNLL-U, or plain text with a sentence or paragraph per line, which --tokenize
    splits into tokens. Hard-wrapped text is recognised in files; from a pipe it needs --format paragraphs.
    Several files, and folders, are tagged one after the other. With -k a line '# rank score' stands before each
    labelling. With --proba the probability of each label is one more column (in CoNLL-U, Prob= in MISC), and with -k
    that of the whole labelling and its logarithm replace the score. With --proba all the probability of every label
    follows, as label/probability.

    With --ray, an interrupted run resumes: files that are finished are not tagged again.

    \b
    Example:
      echo "Time flies like an arrow." | tagwright tag -k 5
      echo "Time flies like an arrow." | tagwright tag --to slash
      echo "Time flies like an arrow." | tagwright tag -k 5 --to diff
      tagwright tag -m pos.safetensors --json test.txt
      tagwright tag -m chunk.safetensors --scheme BIO test.txt
      tagwright tag -m pos.safetensors --threads 2 test.txt.xz -o tagged.txt
      tagwright tag -m pos.safetensors a.txt b.txt -o tagged/
      tagwright tag -m pos.safetensors --ray auto corpus -o tagged
    """
    options = TagOptions(**settings)
    options.check()
    _check_no_model(sources)
    if address is not None:
        from tagwright.cli.distributed_tagging import tag_files

        tag_files(options, sources, output, address, column)
        return
    check_inputs(output, [*sources, options.model_path, options.dictionary], force)
    targets = _targets(sources, output)
    tagger = Tagger(options)
    for target, inputs in targets:
        watched = not is_standard_output(target) and sys.stderr.isatty()
        with writing(target) as file:
            for source in inputs:
                pieces = tagger.pieces(source)
                for piece in _watched(pieces) if watched else pieces:
                    file.write(piece)


def _check_no_model(sources: Sequence[str]) -> None:
    for source in sources:
        if os.path.isfile(source) and is_model(source):
            raise click.ClickException(f"{source}: a model, not text; write -m {source} for the model to tag with")


def _targets(sources: Sequence[str], output: str) -> list[tuple[str, list[str]]]:
    """Return the files to write, each with its inputs: one for all, or in a folder one per input."""
    if not sources:
        return [(output, ["-"])]
    if output != "-" and (os.path.isdir(output) or output.endswith(os.sep)):
        from tagwright.cluster.files import jobs_of

        if "-" in sources:
            raise click.ClickException(f"{output}: a folder, which standard input has no file name for; name a file")
        jobs = jobs_of(sources, output)
        for job in jobs:
            os.makedirs(os.path.dirname(job.target), exist_ok=True)
        return [(job.target, [job.source]) for job in jobs]
    files = [[source] if source == "-" else [os.fspath(file.path) for file in inputs_of(source)] for source in sources]
    inputs = [file for some in files for file in some]
    for file in inputs:
        if is_parquet(file):
            raise click.ClickException(f"{file}: Parquet files are tagged with --ray; --ray local starts one")
    return [(output, inputs)]


def _watched(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the same, with a progress bar that counts lines."""
    from tqdm import tqdm

    with tqdm(unit=" lines", unit_scale=True) as bar:
        for piece in pieces:
            bar.update(piece.count(b"\n"))
            yield piece
