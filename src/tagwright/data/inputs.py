"""Inputs of several files: names, and folders with all the files in them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from tagwright.data.files import DataError


class Input(NamedTuple):
    """A file, and its name below the folder that was named."""

    path: Path
    name: str


def inputs_of(given: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[Input]:
    """Return the files of some paths: a folder stands for all files in it and below it, by their names.

    Files whose names begin with a dot are left out. DataError for a folder without files, and where there is nothing.
    """
    paths = [given] if isinstance(given, str | os.PathLike) else list(given)
    found: list[Input] = []
    for path in map(Path, paths):
        if not path.is_dir():
            found.append(Input(path, path.name))
            continue
        below = sorted(
            file
            for file in path.rglob("*")
            if file.is_file() and not any(part.startswith(".") for part in file.relative_to(path).parts)
        )
        if not below:
            raise DataError(f"{path}: a folder without files; name one that has some")
        found += (Input(file, file.relative_to(path).as_posix()) for file in below)
    if not found:
        raise DataError("no file to read; name one, or a folder")
    return found
