"""Input files: names and folders, and lines of plain, ``.gz`` and ``.xz`` files or standard input, chunk by chunk."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import hashlib
import itertools
import lzma
import os
import re
import sys
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

from tagwright import system

Source = str | os.PathLike[str] | IO[bytes]
"""A path (``.gz`` and ``.xz`` are unpacked), ``"-"`` for standard input, or a binary file object."""

CHUNK = 1 << 16
BLANK = " \t"
cells = re.compile(r"[^ \t]+").findall
"""Returns what stands between the blanks and TABs of a line."""
OPENERS: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open}


class DataError(ValueError):
    """A file that cannot be read as requested: ``FILE:LINE: what is wrong; what to do``."""


def name_of(source: Source) -> str:
    """Return the name of a source for messages."""
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        return "<stdin>" if path == "-" else path
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else "<stream>"


def typed(source: Source) -> bool:
    """Return whether the source is typed at a terminal."""
    return source == "-" and sys.stdin is not None and sys.stdin.isatty()


def word_list(source: Source) -> list[str]:
    """Return the entries of a file with one entry per line, without surrounding blanks and empty lines."""
    entries: list[str] = []
    number = 1
    for block in line_blocks(source):
        lines = lines_of(block, name_of(source), number)
        number += len(lines)
        entries += (entry for line in lines if (entry := line.strip(BLANK)))
    return entries


def line_blocks(source: Source) -> Iterator[bytes]:
    """Yield the lines that each chunk completes, without a byte-order mark; at the end the last line, then a blank one.

    Raises
    ------
    DataError
        If the file begins as UTF-16 does.

    """
    parts: list[bytes] = []
    start = True
    for chunk in itertools.chain(_chunks(source, name_of(source)), [b"\n\n"]):
        cut = chunk.rfind(b"\n") + 1
        if not cut:
            parts.append(chunk)
            continue
        block = b"".join([*parts, chunk[:cut]])
        if start:
            start = False
            if block.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                remedy = "convert the file, for example with iconv -f utf-16 -t utf-8"
                raise DataError(f"{name_of(source)}: UTF-16, by its byte-order mark, not UTF-8; {remedy}")
            block = block.removeprefix(codecs.BOM_UTF8)
        yield block
        parts = [chunk[cut:]]


def lines_of(block: bytes, name: str, number: int) -> list[str]:
    """Return the lines of a block that ends with the end of a line; number: of its first line, from 1, for messages."""
    try:
        decoded = block.decode()
    except UnicodeDecodeError as error:
        line = number + block.count(b"\n", 0, error.start)
        byte = error.start - block.rfind(b"\n", 0, error.start)
        raise DataError(
            f"{name}:{line}: not UTF-8 at byte {byte} of the line; "
            "convert the file, for example with iconv -f latin1 -t utf8"
        ) from None
    lines = decoded.replace("\r\n", "\n").split("\n")
    lines.pop()
    return lines


def _chunks(source: Source, name: str) -> Iterator[bytes]:
    """Yield what can be read without waiting for more, at most CHUNK bytes at a time."""
    with contextlib.ExitStack() as stack:
        stream: Any = source
        if isinstance(source, str | os.PathLike):
            if os.fspath(source) == "-":
                if sys.stdin is None:
                    raise DataError(f"{name}: closed; give a file")
                stream = getattr(sys.stdin.buffer, "raw", sys.stdin.buffer)
            else:
                opener = OPENERS.get(os.path.splitext(name)[1].lower(), open)
                try:
                    stream = stack.enter_context(opener(source, "rb"))
                except UnicodeEncodeError:
                    raise DataError(f"{name!a}: no file can have this name (a lone surrogate)") from None
        take = getattr(stream, "read1", None) or getattr(stream, "read", None)
        if take is None:
            raise TypeError(f"{name}: a path or a binary file is needed, not {type(source).__name__}")
        try:
            while (chunk := take(CHUNK)) or chunk is None:
                if chunk is None:
                    system.wait_to_read(stream)
                elif isinstance(chunk, str):
                    raise TypeError(f"{name}: opened as text; open it as bytes, with mode 'rb'")
                elif not isinstance(chunk, bytes | bytearray):
                    raise TypeError(f"{name}: its read() returns {type(chunk).__name__}, not bytes")
                else:
                    yield bytes(chunk)
        except (gzip.BadGzipFile, lzma.LZMAError, zlib.error, EOFError) as error:
            raise DataError(f"{name}: cannot be unpacked, {error}; fetch or pack it again") from None


def digest_of(path: str | os.PathLike[str]) -> str:
    """Return the digest of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


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
