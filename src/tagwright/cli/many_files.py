"""`tagwright tag --ray`: many files, each tagged by a worker of a cluster and written to a folder."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import click
from tqdm import tqdm

from tagwright import __version__
from tagwright.cli.tagging import Tagger, Wanted
from tagwright.cluster.batch_tagger import BatchTagger
from tagwright.cluster.files import Job, Outcome, digest_of, everywhere, jobs_of, once
from tagwright.cluster.parquet import is_parquet, tag_parquet
from tagwright.cluster.ray import connected
from tagwright.learners.interrupts import stops
from tagwright.models.model import BUILT_IN

__all__ = ["FileWork", "tag_files"]

_TEXT_ONLY = ("as_json", "diff", "spans", "scheme", "dictionary", "partial")


@functools.lru_cache(maxsize=1)
def _tagger(wanted: Wanted, key: str) -> Tagger:
    """Return the tagger of this process; key: changes with the model's file."""
    return Tagger(wanted)


@dataclass(frozen=True)
class FileWork:
    """What a worker does for a file.

    Args:
        wanted: the options of `tag`, with absolute paths.
        column: of Parquet files.
        key: stands for the model and all options.

    """

    wanted: Wanted
    column: str
    key: str

    def __call__(self, job: Job) -> Outcome:
        """Tag a file, unless that is done already."""
        said = io.StringIO()
        try:
            with contextlib.redirect_stderr(said):
                made = once(job, self.key, self._tag)
        except (ValueError, OSError, click.ClickException) as error:
            return Outcome(False, _told(error))
        return Outcome(made, said=said.getvalue())

    def _tag(self, source: str, out: Any) -> None:
        if is_parquet(source):
            wanted = self.wanted
            proba = wanted.proba is not None
            tag_parquet(source, out, BatchTagger(wanted.model_path, self.column, wanted.k, proba, wanted.threads))
            return
        for piece in _tagger(self.wanted, self.key).pieces(source):
            out.write(piece)


def _told(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    return error.format_message() if isinstance(error, click.ClickException) else str(error)


def tag_files(wanted: Wanted, sources: Sequence[str], output: str, address: str, column: str) -> None:
    """Tag files and folders on a cluster, and say how many; what could not be tagged is told when the rest is done."""
    if output == "-":
        raise click.ClickException("--ray writes a file for each that it tags; name a folder with -o")
    if "-" in sources or not sources:
        raise click.ClickException("standard input cannot be tagged with --ray; name files or folders")
    if Path(output).exists() and not Path(output).is_dir():
        raise click.ClickException(f"{output}: not a folder; --ray writes a file for each that it tags")
    jobs = jobs_of(sources, output)
    if tables := [job.source for job in jobs if is_parquet(job.source)]:
        _check_tables(wanted, tables[0])
    wanted = replace(wanted, model_path=_absolute(wanted.model_path), dictionary=_absolute(wanted.dictionary))
    work = FileWork(wanted, column, _key(wanted, column))
    if len(tables) < len(jobs):
        Tagger(wanted)  # what the model does not have is told at once
    complaints, made, said = [], 0, ""
    with stops() as check, connected(address) as ray:
        outcomes = everywhere(ray, work, jobs, wanted.threads, check)
        for _, outcome in tqdm(outcomes, total=len(jobs), unit=" files", disable=None):
            made += outcome.made
            if outcome.complaint:
                complaints.append(outcome.complaint)
            if outcome.said and not said:
                said = outcome.said
                with tqdm.external_write_mode():
                    click.echo(said, err=True, nl=False)
    before = len(jobs) - made - len(complaints)
    click.echo(f"{output}: {made:,} files tagged" + f", {before:,} were finished before" * bool(before))
    if complaints:
        raise click.ClickException(f"{len(complaints):,} of {len(jobs):,} files not tagged; {min(complaints)}")


def _absolute(path: str | None) -> str | None:
    return None if path is None else os.path.abspath(path)


def _check_tables(wanted: Wanted, table: str) -> None:
    given = [f"--{name.removeprefix('as_')}" for name in _TEXT_ONLY if getattr(wanted, name)]
    given += ["--proba all"] * (wanted.proba == "all") + ["--decoder"] * (wanted.decoder != "auto")
    if given:
        raise click.ClickException(f"{table}: {given[0]} is not for Parquet files; leave it out, or tag them apart")


def _key(wanted: Wanted, column: str) -> str:
    """Return a digest of all that decides what is written, beside the input; threads do not."""
    options = asdict(replace(wanted, threads=1, model_path=None, dictionary=None)) | {"column": column}
    model = digest_of(BUILT_IN if wanted.model_path is None else wanted.model_path)
    words = None if wanted.dictionary is None else digest_of(wanted.dictionary)
    about = json.dumps([__version__, model, words, options], sort_keys=True)
    return hashlib.sha256(about.encode()).hexdigest()
