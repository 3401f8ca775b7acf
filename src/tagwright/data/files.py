"""Lines of files: plain, ``.gz``, ``.xz`` or standard input, read chunk by chunk, with errors that name the place."""

from __future__ import annotations

import contextlib
import gzip
import itertools
import lzma
import os
import re
import select
import sys
import zlib
from collections.abc import Iterator
from typing import IO, Any

__all__ = ["BLANK", "DataError", "Source", "cells", "line_lists", "name_of", "word_list"]

Source = str | os.PathLike[str] | IO[bytes]
"""A path (``.gz`` and ``.xz`` are unpacked), ``"-"`` for standard input, or a binary file object."""

CHUNK = 1 << 16
BLANK = " \t"
cells = re.compile(r"[^ \t]+").findall
"""Returns what stands between the blanks and TABs of a line."""
OPENERS: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open}


class DataError(ValueError):
    """A file that cannot be read as asked: ``FILE:LINE: what is wrong; what to do``."""


def name_of(source: Source) -> str:
    """Return the name of a source for messages."""
    if isinstance(source, str | os.PathLike):
        path = os.fspath(source)
        return "<stdin>" if path == "-" else path
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else "<stream>"


def word_list(source: Source) -> list[str]:
    """Return the entries of a file with one entry per line, without surrounding blanks and empty lines."""
    lines = itertools.chain.from_iterable(line_lists(source))
    return [entry for line in lines if (entry := line.strip(BLANK))]


def line_lists(source: Source) -> Iterator[list[str]]:
    """Yield the lines that each chunk completes, without line ends; at the end the last line, then a blank one."""
    name = name_of(source)
    parts: list[bytes] = []
    number = 1
    for chunk in itertools.chain(_chunks(source, name), [b"\n\n"]):
        cut = chunk.rfind(b"\n") + 1
        if not cut:
            parts.append(chunk)
            continue
        block = b"".join([*parts, chunk[:cut]])
        parts = [chunk[cut:]]
        try:
            decoded = block.decode()
        except UnicodeDecodeError as error:
            line = number + block.count(b"\n", 0, error.start)
            byte = error.start - block.rfind(b"\n", 0, error.start)
            raise DataError(
                f"{name}:{line}: not UTF-8 at byte {byte} of the line; "
                "convert the file, for example with iconv -f latin1 -t utf8"
            ) from None
        if number == 1:
            decoded = decoded.removeprefix("\ufeff")
        lines = decoded.replace("\r\n", "\n").split("\n")
        lines.pop()
        number += len(lines)
        yield lines


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
                stream = stack.enter_context(opener(source, "rb"))
        take = getattr(stream, "read1", stream.read)
        try:
            while (chunk := take(CHUNK)) or chunk is None:
                if chunk is None:
                    select.select([stream], [], [])
                elif isinstance(chunk, str):
                    raise TypeError(f"{name}: opened as text; open it as bytes, with mode 'rb'")
                else:
                    yield chunk
        except (gzip.BadGzipFile, lzma.LZMAError, zlib.error, EOFError) as error:
            raise DataError(f"{name}: cannot be unpacked, {error}; fetch or pack it again") from None
