"""What is saved elsewhere when it cannot be written where it should be."""

from __future__ import annotations

import contextlib
import errno
import os
import shlex
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, cast

from tagwright.data.output import Target, is_stream, replacing
from tagwright.system import file_size_limit

__all__ = ["rescued"]

MOST_PIECES = 99
LARGE_PIECE = 1 << 30  # bytes; below what any file system takes


def rescued(save: Callable[[Target], None], path: str, failure: OSError) -> str:
    """Save beside `path`, or in the temporary folder, what could not be written to `path`; return where, in words."""
    requested = Path("model.safetensors" if path == "-" else path)
    folders = [] if is_stream(path) else [requested.absolute().parent]
    with contextlib.suppress(OSError):
        folders.append(Path(tempfile.gettempdir()))
    for folder in folders:
        kept = folder / f"{requested.stem}-{os.urandom(4).hex()}{requested.suffix}"
        with contextlib.suppress(OSError):
            if failure.errno != errno.EFBIG:
                save(kept)
                return f"the model is kept as {kept}"
            with _Pieces(kept) as pieces:
                save(cast("IO[bytes]", pieces))
            name = shlex.quote(os.fspath(kept))
            return f"the model is kept in {pieces.number} pieces, to be joined with: cat {name}.* > {name}"
    return "the model is lost: it could not be written elsewhere either"


class _Pieces(contextlib.ExitStack):
    """Files as large as the limit on file sizes allows, named so that cat joins them; on an error there is none."""

    def __init__(self, path: Path) -> None:
        """Name the files after a path."""
        super().__init__()
        self.number = 0
        self._path, self._room = path, 0
        limit = file_size_limit()
        self._size = LARGE_PIECE if limit is None else min(limit, LARGE_PIECE)

    def write(self, data: Any) -> None:
        """Write to the last file what it has room for, and the rest to new ones."""
        left = memoryview(data).cast("B")
        while left:
            if not self._room:
                self._open_next()
            now, left = left[: self._room], left[self._room :]
            self._file.write(now)
            self._room -= len(now)

    def _open_next(self) -> None:
        if self.number == MOST_PIECES or not self._size:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), os.fspath(self._path))
        self.number += 1
        self._file = self.enter_context(replacing(f"{self._path}.{self.number:02}"))
        self._room = self._size
