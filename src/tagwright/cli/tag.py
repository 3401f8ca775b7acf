"""`tagwright tag`: labels for a file or a pipe, or for many files on a cluster."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import click

from tagwright.cli.options import COUNT, FILES, INPUT, reading_options, tagging_options, tokenize_option
from tagwright.cli.overwriting import check_inputs, force_option
from tagwright.cli.tagging import Tagger, Wanted
from tagwright.data.output import is_standard_output, writing

__all__ = ["tag"]

_SHARES = ("label", "all")


class _Tag(click.Command):
    """A command whose --proba may stand alone: what follows is its value only if it is one."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Write out the value where it is left out, but for what stands after --."""
        end = args.index("--") if "--" in args else len(args)
        read: list[str] = []
        for arg in args[:end]:
            if read and read[-1] == "--proba":
                read[-1] = f"--proba={arg if arg in _SHARES else _SHARES[0]}"
                if arg in _SHARES:
                    continue
            read.append(arg)
        if read and read[-1] == "--proba":
            read[-1] = f"--proba={_SHARES[0]}"
        return super().parse_args(ctx, read + args[end:])


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
@click.option("--diff", is_flag=True, help="With -k: write the best labelling, and where others differ.")
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
    help="Output file; - is standard output. With --ray, a folder.",
)
@force_option
@click.option(
    "--ray",
    "address",
    metavar="ADDRESS",
    help="Tag many files on a Ray cluster: auto for the one of this machine, HOST:6379, or local to start one. INPUT "
    "is files and folders, also Parquet; -o is a folder, which gets a file for each of them.",
)
@click.option("--column", default="tokens", help="With --ray: the column of Parquet files that has lists of tokens.")
@click.option(
    "-l", "--label", help="Where labels go in CoNLL-U; by default where they were in training, or else to XPOS."
)
@click.option(
    "--scheme", metavar="NAME[:PART]", help="Label scheme that labellings keep to: BIO, IOBES, ...; BIO:1 for part 1."
)
@click.option(
    "--dictionary",
    type=INPUT,
    help="File of lines of a word, a tab and the labels that it may have, with commas between them.",
)
@click.option(
    "--partial",
    is_flag=True,
    help="The last column of INPUT has the labels that a token may have, such as NN,VB; _ stands for any.",
)
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
def tag(sources: tuple[str, ...], output: str, force: bool, address: str | None, column: str, **options: Any) -> None:
    """Tag INPUT, by default standard input: write each line with its label as another column.

    INPUT has one token per line, or is CoNLL-U, or plain text with a sentence or paragraph per line, which --tokenize
    splits into tokens. With -k a line '# rank score' stands before each labelling. With --proba the probability of
    each label is one more column (in CoNLL-U, Prob= in MISC), and with -k that of the whole labelling and its logarithm
    replace the score. With --proba all the probability of every label follows, as label/probability.

    With --ray, a run that was interrupted goes on where it was: files that are finished are not tagged again.

    \b
    Example:
      echo "Time flies like an arrow." | tagwright tag -k 5
      echo "Time flies like an arrow." | tagwright tag -k 5 --diff
      tagwright tag -m pos.safetensors --json test.txt
      tagwright tag -m chunk.safetensors --scheme BIO test.txt
      tagwright tag -m pos.safetensors --threads 2 test.txt.xz -o tagged.txt
      tagwright tag -m pos.safetensors --ray auto corpus -o tagged
    """
    wanted = Wanted(**options)
    wanted.check()
    if address is not None:
        from tagwright.cli.many_files import tag_files

        tag_files(wanted, sources, output, address, column)
        return
    folder = next((source for source in sources if os.path.isdir(source)), None)
    if folder is not None or len(sources) > 1:
        what = f"{folder}: a folder is" if folder is not None else "several files are"
        raise click.ClickException(f"{what} tagged with --ray; --ray local starts a cluster here")
    check_inputs(output, [*sources, wanted.model_path, wanted.dictionary], force)
    tagger = Tagger(wanted)
    pieces = tagger.pieces(sources[0] if sources else "-")
    watched = not is_standard_output(output) and sys.stderr.isatty()
    with writing(output) as file:
        for piece in _watched(pieces) if watched else pieces:
            file.write(piece)


def _watched(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the same, with a progress bar that counts lines."""
    from tqdm import tqdm

    with tqdm(unit=" lines", unit_scale=True) as bar:
        for piece in pieces:
            bar.update(piece.count(b"\n"))
            yield piece
