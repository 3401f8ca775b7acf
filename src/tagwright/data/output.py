"""Writing, for all that writes: files that appear whole or not at all, and streams that lose no byte."""

from __future__ import annotations

import contextlib
import errno
import functools
import io
import os
import platform
import re
import shlex
import stat
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any, cast

from tagwright import system

Target = str | os.PathLike[str] | IO[bytes]
"""A path, ``"-"`` for standard output, or a binary file object."""

DAY = 24 * 60 * 60  # seconds


class Descriptor(io.RawIOBase):
    """An open file that takes every byte it is given, or else raises an OSError with its name.

    must: whether it raises; without, what cannot be written is dropped.
    """

    def __init__(self, number: int, name: str, must: bool = True) -> None:
        """Write to the open file of this number; whoever opened it closes it."""
        self._number, self._name, self._must = number, name, must

    def fileno(self) -> int:
        """Return the number of the open file."""
        return self._number

    def isatty(self) -> bool:
        """Return whether it is a terminal."""
        return os.isatty(self._number)

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, data: Any, /) -> int:
        """Write all bytes, whatever the system takes at a time, and wait where it takes none yet."""
        left = memoryview(data).cast("B")
        size = len(left)
        while left:
            try:
                left = left[os.write(self._number, left) :]
            except BlockingIOError:
                system.wait_to_write(self._number)
            except OSError as error:
                if not self._must:
                    break
                error.filename = self._name
                raise
        return size


@contextlib.contextmanager
def whole_streams() -> Iterator[None]:
    """Let what is printed arrive whole, in UTF-8, or raise an OSError; messages that cannot be written are dropped.

    Python's own streams drop the rest of a short write if they are unbuffered. Otherwise they keep what a full device
    did not take, and complain again when the process ends.
    """
    before = sys.stdout, sys.stderr
    with contextlib.ExitStack() as stack:
        # Where standard error is closed, no other file may get its number.
        error = sys.stderr or stack.enter_context(open(os.devnull, "w"))
        sys.stdout, sys.stderr = _whole(sys.stdout, "standard output", True), _whole(error, "standard error", False)
        try:
            yield
        finally:
            sys.stdout, sys.stderr = before


def _whole(stream: Any, name: str, must: bool) -> Any:
    number = _number_of(stream)
    if number is None:
        return stream
    stream.flush()
    system.raw_bytes(number)
    # File names that are not UTF-8 are printed as they are.
    errors = "surrogateescape" if must else "backslashreplace"
    raw = cast("IO[bytes]", Descriptor(number, name, must))
    return io.TextIOWrapper(raw, "utf-8", errors, newline="\n", write_through=True)


def _number_of(stream: Any) -> int | None:
    """Return the number of the open file behind a stream; None where there is none, as in tests and notebooks."""
    try:
        return int(stream.fileno())
    except (AttributeError, OSError):
        return None


@contextlib.contextmanager
def writing(target: Target) -> Iterator[Any]:
    """Yield what takes the bytes for `target`, with a method `write`.

    A file appears under its name when it is whole (`replacing`). Standard output, ``/dev/fd/3``, devices and pipes are
    streams, and so are file objects: they get the bytes at once.
    """
    if not isinstance(target, str | os.PathLike):
        yield Descriptor(target.fileno(), str(target.name)) if isinstance(target, io.FileIO) else target
        return
    name = os.fspath(target)
    if not is_stream(name):
        with replacing(name) as file:
            yield file
        return
    if name == "-" and _number_of(sys.stdout) is None:
        yield sys.stdout.buffer
        return
    shown = "standard output" if name == "-" else name
    with _naming(shown):
        number = _opened(name)
    try:
        yield Descriptor(number, shown)
    except BaseException:
        with contextlib.suppress(OSError):
            os.close(number)
        raise
    with _naming(shown):
        os.close(number)  # a network file system says here that there is no room


def _opened(name: str) -> int:
    """Return the number of a stream that was opened."""
    if name == "-":
        sys.stdout.flush()
        return os.dup(sys.stdout.fileno())
    own = _own_file(name)
    if own is not None:
        return os.dup(own)
    _refuse_block_device(name)
    return system.open_stream(name)


def _refuse_block_device(name: str) -> None:
    """Raise an OSError where bytes would overwrite a disk."""
    if stat.S_ISBLK(os.stat(name).st_mode):
        raise OSError(errno.EINVAL, "a block device; write to a file", name)


def _own_file(name: str) -> int | None:
    """Return the number of this process's open file that a path such as /dev/stdout or /dev/fd/3 stands for.

    Opening such a path would begin at the start of a file that others have written to; a socket cannot be opened.
    """
    for _ in range(40):  # links; more are an error
        folder, last = os.path.split(name)
        folder = os.path.realpath(folder)
        if last.isdecimal() and folder in ("/dev/fd", f"/proc/{os.getpid()}/fd"):
            return int(last)
        name = os.path.join(folder, last)
        if not os.path.islink(name):
            break
        name = os.path.join(folder, os.readlink(name))
    return None


def is_stream(name: str) -> bool:
    """Return whether bytes for this path go straight to it: not a file, and not a name that a file may get."""
    if name == "-" or _own_file(name) is not None:
        return True
    try:
        mode = os.stat(name).st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def is_standard_output(name: str) -> bool:
    """Return whether this path is standard output, by whatever name."""
    number = _number_of(sys.stdout)
    if name == "-" or number is None:
        return name == "-"
    with contextlib.suppress(OSError):
        return os.path.samestat(os.stat(name), os.fstat(number))
    return False


def check_target(path: str | os.PathLike[str], read_again: bool = False) -> None:
    """Raise the OSError that writing to `path` would end in, before any work is done.

    read_again: whether it will be read, too, so that a stream is a ValueError.
    """
    name = os.fspath(path)
    if is_stream(name):
        if read_again:
            raise ValueError(f"{name}: not a file, and it must be one, since it is read again; name another")
        if name != "-" and _own_file(name) is None:
            _refuse_block_device(name)
            if not os.access(name, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)
        return
    target = _file(name)
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder to write to", name)
    with _naming(name), _beside(target):
        pass


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Descriptor]:
    """Yield a file beside `path` to write to; it replaces `path` at the end, and is removed on an error."""
    name = os.fspath(path)
    target = _file(name)
    with contextlib.ExitStack() as stack:
        with _naming(name):
            number, beside = stack.enter_context(_beside(target))
        yield Descriptor(number, name)
        with _naming(name):
            os.fsync(number)
            os.replace(beside, target)


def _file(name: str) -> Path:
    """Return the path that a file gets, which no folder may have."""
    target = Path(os.path.realpath(name))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    return target


@contextlib.contextmanager
def _beside(target: Path) -> Iterator[tuple[int, Path]]:
    """Yield a new file beside the target: its number and its path, which is removed at the end if it is still there.

    It is locked, so that another run recognises that this one is alive.
    """
    _remove_parts_of_killed_runs(target)
    beside, number = target, -1
    try:
        while number < 0:
            beside = target.with_name(f".{target.name}.{_machine()}{os.urandom(4).hex()}.part")
            number = system.create_new(beside)
            if not _locked(number) or not os.fstat(number).st_nlink:
                # Another run has taken it, before it was locked, for that of a killed one.
                os.close(number)
                number = -1
        yield number, beside
    finally:
        if beside != target:
            with contextlib.suppress(OSError):
                beside.unlink()
        if number >= 0:
            os.close(number)


def _locked(number: int) -> bool:
    """Lock an open file until it is closed; return False if another has locked it."""
    try:
        system.lock(number)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks; there, parts of killed runs stay
        return True
    return True


def _remove_parts_of_killed_runs(target: Path) -> None:
    """Remove what killed runs left beside the target. What a run still writes to is locked.

    A lock may not be visible from another machine, so that what others left is removed only if it is a day old.
    """
    part = re.compile(rf"\.{re.escape(target.name)}\.([0-9a-f]{{8}})?[0-9a-f]{{8}}\.part")
    with contextlib.suppress(OSError), os.scandir(target.parent) as entries:
        found = [(entry.path, named[1]) for entry in entries if (named := part.fullmatch(entry.name))]
        for path, machine in found:
            with contextlib.suppress(OSError):
                number = system.open_leftover(path)
                try:
                    system.lock(number)
                    if machine == _machine() or time.time() - os.fstat(number).st_mtime > DAY:
                        os.unlink(path)
                finally:
                    os.close(number)


@functools.cache
def _machine() -> str:
    """Return eight hexadecimal digits for what shares locks: the running system, all containers in it included."""
    try:
        known = Path("/proc/sys/kernel/random/boot_id").read_bytes()
    except OSError:
        known = os.fsencode(platform.node())
    return f"{zlib.crc32(known):08x}"


@contextlib.contextmanager
def _naming(name: str) -> Iterator[None]:
    """Let errors name the requested file, not the file beside it."""
    try:
        yield
    except OSError as error:
        error.filename, error.filename2 = name, None
        raise


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
        super().__init__()
        self.number = 0
        self._path, self._room = path, 0
        limit = system.file_size_limit()
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
