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
from tagwright.cli.options import LABELLING_RULES
from tagwright.cli.tagging import Tagger, TagOptions
from tagwright.cluster.batch_tagger import BatchTagger
from tagwright.cluster.files import Job, Outcome, everywhere, jobs_of, once
from tagwright.cluster.parquet import is_parquet, tag_parquet
from tagwright.cluster.ray import connected
from tagwright.data.files import digest_of
from tagwright.learners.interrupts import stops
from tagwright.models.model import BUILT_IN

_TEXT_ONLY = ("as_json", "to", "spans", "scheme", "dictionary", "partial", *LABELLING_RULES)


@functools.lru_cache(maxsize=1)
def _tagger(options: TagOptions, key: str) -> Tagger:
    """Return the tagger of this process; key: changes with the model's file."""
    return Tagger(options)


@dataclass(frozen=True)
class FileWork:
    """The task of a worker for one file."""

    options: TagOptions
    """With absolute paths."""
    column: str
    """Of Parquet files."""
    key: str
    """A digest of the model and all options."""

    def __call__(self, job: Job) -> Outcome:
        """Tag a file, unless it is finished already."""
        messages = io.StringIO()
        try:
            with contextlib.redirect_stderr(messages):
                made = once(job, self.key, self._tag)
        except (ValueError, OSError, click.ClickException) as error:
            return Outcome(False, _message(error))
        return Outcome(made, said=messages.getvalue())

    def _tag(self, source: str, out: Any) -> None:
        if is_parquet(source):
            options = self.options
            proba = options.proba is not None
            tag_parquet(source, out, BatchTagger(options.model_path, self.column, options.k, proba, options.threads))
            return
        for piece in _tagger(self.options, self.key).pieces(source):
            out.write(piece)


def _message(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    return error.format_message() if isinstance(error, click.ClickException) else str(error)


def tag_files(options: TagOptions, sources: Sequence[str], output: str, address: str, column: str) -> None:
    """Tag files and folders on a cluster, and print how many; errors are reported when all other files are done."""
    if output == "-":
        raise click.ClickException("--ray writes a file for each that it tags; name a folder with -o")
    if "-" in sources or not sources:
        raise click.ClickException("standard input cannot be tagged with --ray; name files or folders")
    if Path(output).exists() and not Path(output).is_dir():
        raise click.ClickException(f"{output}: not a folder; --ray writes a file for each that it tags")
    jobs = jobs_of(sources, output)
    if tables := [job.source for job in jobs if is_parquet(job.source)]:
        _check_tables(options, tables[0])
    options = replace(options, model_path=_absolute(options.model_path), dictionary=_absolute(options.dictionary))
    work = FileWork(options, column, _key(options, column))
    if len(tables) < len(jobs):
        Tagger(options)  # reports at once what the model does not support
    complaints, made, messages = [], 0, ""
    with stops() as check, connected(address) as ray:
        outcomes = everywhere(ray, work, jobs, options.threads, check)
        for _, outcome in tqdm(outcomes, total=len(jobs), unit=" files", disable=None):
            made += outcome.made
            if outcome.complaint:
                complaints.append(outcome.complaint)
            if outcome.said and not messages:
                messages = outcome.said
                with tqdm.external_write_mode():
                    click.echo(messages, err=True, nl=False)
    before = len(jobs) - made - len(complaints)
    click.echo(f"{output}: {made:,} files tagged" + f", {before:,} were finished before" * bool(before))
    if complaints:
        raise click.ClickException(f"{len(complaints):,} of {len(jobs):,} files not tagged; {min(complaints)}")


def _absolute(path: str | None) -> str | None:
    return None if path is None else os.path.abspath(path)


def _check_tables(options: TagOptions, table: str) -> None:
    given = [
        f"--{name.removeprefix('as_').replace('_', '-')}"
        for name in _TEXT_ONLY
        if getattr(options, name) not in (None, False, ())
    ]
    given += ["--proba all"] * (options.proba == "all") + ["--decoder"] * (options.decoder != "auto")
    if given:
        raise click.ClickException(f"{table}: {given[0]} is not for Parquet files; leave it out, or tag them apart")


def _key(options: TagOptions, column: str) -> str:
    """Return a digest of all that decides what is written, except the input; threads do not."""
    values = asdict(replace(options, threads=1, model_path=None, dictionary=None)) | {"column": column}
    model = digest_of(BUILT_IN if options.model_path is None else options.model_path)
    words = None if options.dictionary is None else digest_of(options.dictionary)
    about = json.dumps([__version__, model, words, values], sort_keys=True)
    return hashlib.sha256(about.encode()).hexdigest()
