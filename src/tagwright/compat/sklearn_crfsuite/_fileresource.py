"""The model file of an estimator: a given path, or a temporary file that is pickled with it."""

from __future__ import annotations

import contextlib
import os
import tempfile
import weakref
from pathlib import Path
from typing import Any


class FileResource:
    """A file that has its path, or a temporary one that is removed with this object.

    Parameters
    ----------
    filename : str or None
        The path; None for a temporary file, which is made when it is needed. When it is pickled, so are its contents.
    keep_tempfiles : bool
        Whether a temporary file stays.
    suffix, prefix : str
        Of the name of a temporary file.
    """

    def __init__(
        self, filename: str | None = None, keep_tempfiles: bool = False, suffix: str = "", prefix: str = ""
    ) -> None:
        """Store the options; no file is made."""
        self.name = filename
        self.auto = filename is None
        self.keep_tempfiles = keep_tempfiles
        self.suffix, self.prefix = suffix, prefix
        self._remove: Any = None

    def ensure_name(self) -> None:
        """Make a temporary file unless there is a path."""
        if self.name is not None:
            return
        number, self.name = tempfile.mkstemp(self.suffix, self.prefix)
        os.close(number)
        if not self.keep_tempfiles:
            self._remove = weakref.finalize(self, _removed, self.name)

    def cleanup(self) -> None:
        """Remove the temporary file, if there is one."""
        if self._remove is not None:
            self._remove()
            self._remove, self.name = None, None

    def refresh(self) -> None:
        """Have a path to write to: the given one, or a new temporary file."""
        self.cleanup()
        if self.auto:
            self.name = None
        self.ensure_name()

    def __getstate__(self) -> dict[str, Any]:
        """Return the options, and the contents of a temporary file."""
        state = {name: value for name, value in self.__dict__.items() if name != "_remove"}
        if self.auto and self.name is not None:
            state["name"] = None
            with contextlib.suppress(OSError):
                state["content"] = Path(self.name).read_bytes()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Write the contents to a temporary file of their own."""
        content = state.pop("content", None)
        self.__dict__.update(state)
        self._remove = None
        if content is not None:
            self.ensure_name()
            assert self.name is not None
            Path(self.name).write_bytes(content)


def _removed(name: str) -> None:
    with contextlib.suppress(OSError):
        os.unlink(name)
