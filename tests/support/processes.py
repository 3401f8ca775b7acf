"""Commands in processes of their own, device nodes for them to write to, and limits on the files they write."""

import contextlib
import os
import resource
import stat
import subprocess
import sys

import pytest

from support.commands import complaints

LONGEST_WAIT = 60  # seconds until a process that hangs is a failure


def command(*arguments):
    return [sys.executable, "-m", "tagwright", *map(str, arguments)]


def ran(*arguments, **options):
    """A process that has ended; without its progress lines."""
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    done = subprocess.run(command(*arguments), timeout=LONGEST_WAIT, check=False, **options)
    if done.stderr is not None:
        done.stderr = complained_of(arguments[0], done.stderr)
    return done


def complained_of(name, said):
    """What a command printed on standard error, without progress lines."""
    return "".join(line + "\n" for line in complaints(name, said.decode("utf-8", "surrogateescape"))).encode(
        "utf-8", "surrogateescape"
    )


@contextlib.contextmanager
def started(*arguments, **options):
    """A process with pipes, which is ended whatever happens."""
    options = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    with subprocess.Popen(command(*arguments), **options) as process:
        try:
            yield process
        finally:
            process.kill()


def complained(done):
    """The one line that a process ended with, its exit code being 2."""
    said = done.stderr.decode()
    assert done.returncode == 2, said
    assert said.startswith("Error: ")
    assert said.endswith("\n")
    assert said.count("\n") == 1, said
    return said.removeprefix("Error: ").rstrip("\n")


def node(path, name):
    """A node like the one of this name in /dev, made for a test, which must never touch the machine's own."""
    kind, *numbers = {"null": (stat.S_IFCHR, 1, 3), "full": (stat.S_IFCHR, 1, 7), "loop": (stat.S_IFBLK, 7, 255)}[name]
    try:
        os.mknod(path, kind | 0o666, os.makedev(*numbers))
        if name != "loop":
            os.close(os.open(path, os.O_WRONLY))
    except PermissionError:
        pytest.skip("not applicable: device nodes cannot be created or opened here")
    return path


def files_of_at_most(size):
    """What a process must do before it starts, for its files to have at most this many bytes."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
