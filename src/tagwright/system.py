"""What differs between operating systems: locks, positions in files, waiting, signals, limits, memory."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio
    import logging
    import socket


def open_log(target: str) -> logging.Handler:
    """Return a handler that appends lines to a file, or to standard output for "-"; OSError if it cannot be opened.

    Where the system allows to rename open files, a file that is renamed is opened again under its name.
    """
    import logging.handlers

    if target == "-":
        return logging.StreamHandler(sys.stdout)
    return logging.handlers.WatchedFileHandler(target, encoding="utf-8")


if sys.platform == "win32":
    import ctypes
    import msvcrt
    from ctypes import wintypes

    _READ, _WRITE, _DELETE = 0x80000000, 0x40000000, 0x00010000
    _SHARE_ALL, _CREATE_NEW, _OPEN_EXISTING, _NOT_THE_TARGET = 7, 1, 3, 0x00200000
    _LOCKED_BYTE = 1 << 62  # beyond the end of any file: locks of Windows keep others from reading
    _PAUSE = 0.01  # seconds

    _kernel = ctypes.WinDLL("kernel32", use_last_error=True)
    _kernel.CreateFileW.restype = wintypes.HANDLE
    _two_numbers = [wintypes.DWORD] * 2
    _kernel.CreateFileW.argtypes = [wintypes.LPCWSTR, *_two_numbers, wintypes.LPVOID, *_two_numbers, wintypes.HANDLE]
    _position = threading.Lock()

    class _MemoryCounters(ctypes.Structure):
        _fields_ = (
            ("cb", wintypes.DWORD),
            ("faults", wintypes.DWORD),
            *((f"size_{n}", ctypes.c_size_t) for n in range(8)),
        )

    def _open(path: str, how: int) -> int:
        """Open a file that may be renamed and removed meanwhile, as files of POSIX may."""
        handle = _kernel.CreateFileW(path, _READ | _WRITE | _DELETE, _SHARE_ALL, None, how, _NOT_THE_TARGET, None)
        if handle == wintypes.HANDLE(-1).value:
            error = ctypes.get_last_error()
            raise OSError(None, ctypes.FormatError(error), path, error)
        return msvcrt.open_osfhandle(handle, os.O_RDWR | os.O_BINARY)

    def create_new(path: str | os.PathLike[str]) -> int:
        """Return the number of a new file, open for reading and writing; it may be renamed while it is open."""
        return _open(os.fspath(path), _CREATE_NEW)

    def open_leftover(path: str | os.PathLike[str]) -> int:
        """Return the number of an open file that is about to be removed; OSError for a symbolic link."""
        if os.path.islink(path):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), os.fspath(path))
        return _open(os.fspath(path), _OPEN_EXISTING)

    def open_stream(path: str) -> int:
        """Return the number of a device or a pipe, open for writing."""
        return os.open(path, os.O_WRONLY | os.O_BINARY)

    def raw_bytes(number: int) -> None:
        """Let the bytes of an open file be written as they are."""
        msvcrt.setmode(number, os.O_BINARY)

    def lock(number: int) -> None:
        """Lock an open file until it is closed; BlockingIOError if another process has locked it."""
        os.lseek(number, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(number, msvcrt.LK_NBLCK, 1)
        except OSError:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from None
        finally:
            os.lseek(number, 0, os.SEEK_SET)

    def read_at(number: int, size: int, at: int) -> bytes:
        """Return up to `size` bytes of an open file from a position."""
        with _position:
            os.lseek(number, at, os.SEEK_SET)
            return os.read(number, size)

    def write_at(number: int, data: memoryview, at: int) -> int:
        """Write to a position of an open file; return the number of bytes that were written."""
        with _position:
            os.lseek(number, at, os.SEEK_SET)
            return os.write(number, data)

    def wait_to_read(stream: Any) -> None:
        """Wait until a stream that does not block has bytes."""
        time.sleep(_PAUSE)

    def wait_to_write(number: int) -> None:
        """Wait until a stream that does not block takes bytes."""
        time.sleep(_PAUSE)

    def file_size_limit() -> int | None:
        """Return the size that files of this process may have, None if any."""
        return None

    def peak_memory() -> int:
        """Return the most bytes that this process had in memory."""
        counters = _MemoryCounters()
        counters.cb = ctypes.sizeof(counters)
        process = wintypes.HANDLE(-1)  # stands for this process
        _kernel.K32GetProcessMemoryInfo(process, ctypes.byref(counters), counters.cb)
        return int(counters.size_0)

    def reserve_address(made: socket.socket) -> None:
        """Let no other program listen at the address of a socket, and free it at once when it is closed."""
        import socket

        made.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)

    def on_signal(loop: asyncio.AbstractEventLoop, name: str, call: Callable[[], object]) -> None:
        """Let a loop call a function when a signal arrives; nothing where the system has no such signal."""
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), lambda *_: loop.call_soon_threadsafe(call))

    def raise_in_main_thread(number: int) -> None:
        """Send a signal to this process."""
        signal.raise_signal(number)

else:
    import fcntl
    import resource
    import select

    def create_new(path: str | os.PathLike[str]) -> int:
        """Return the number of a new file, open for reading and writing; it may be renamed while it is open."""
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)

    def open_leftover(path: str | os.PathLike[str]) -> int:
        """Return the number of an open file that is about to be removed; OSError for a symbolic link."""
        return os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)

    def open_stream(path: str) -> int:
        """Return the number of a device or a pipe, open for writing."""
        return os.open(path, os.O_WRONLY | os.O_NOCTTY)

    def raw_bytes(number: int) -> None:
        """Let the bytes of an open file be written as they are."""

    def lock(number: int) -> None:
        """Lock an open file until it is closed; BlockingIOError if another process has locked it."""
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def read_at(number: int, size: int, at: int) -> bytes:
        """Return up to `size` bytes of an open file from a position."""
        return os.pread(number, size, at)

    def write_at(number: int, data: memoryview, at: int) -> int:
        """Write to a position of an open file; return the number of bytes that were written."""
        return os.pwrite(number, data, at)

    def wait_to_read(stream: Any) -> None:
        """Wait until a stream that does not block has bytes."""
        select.select([stream], [], [])

    def wait_to_write(number: int) -> None:
        """Wait until a stream that does not block takes bytes."""
        select.select([], [number], [])

    def file_size_limit() -> int | None:
        """Return the size that files of this process may have, None if any."""
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
        return None if limit == resource.RLIM_INFINITY else limit

    def peak_memory() -> int:
        """Return the most bytes that this process had in memory."""
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return used if sys.platform == "darwin" else used * 1024

    def reserve_address(made: socket.socket) -> None:
        """Let no other program listen at the address of a socket, and free it at once when it is closed."""
        import socket

        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)

    def on_signal(loop: asyncio.AbstractEventLoop, name: str, call: Callable[[], object]) -> None:
        """Let a loop call a function when a signal arrives; nothing where the system has no such signal."""
        loop.add_signal_handler(getattr(signal, name), call)

    def raise_in_main_thread(number: int) -> None:
        """Send a signal to this process."""
        os.kill(os.getpid(), number)
