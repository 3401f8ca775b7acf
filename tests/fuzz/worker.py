"""The child process: runs the inputs of a target one after the other, and says what came of each."""

import contextlib
import ctypes
import faulthandler
import gc
import importlib
import json
import os
import resource
import signal
import tempfile
import time
import traceback

from tests.fuzz.draw import Draw

TARGETS = (
    "arrays", "decoding", "sums", "learners", "views", "models", "foreign", "objects", "readers", "texts",
    "memory", "forks",
)  # fmt: skip
GOOD = ("accepted", "checked", "refused")
FINDINGS = ("crash", "hang", "traceback", "wrong", "memory")


def outcome(target, seed, number, show=None):
    """What came of one input, as one of GOOD or FINDINGS, and the traceback of a finding.

    A target has `attempt(draw)`, which returns whether the answer was compared with the truth and raises
    AssertionError for a wrong one, and `EXPECTED`, the errors with which an input may be refused. Each input has a new,
    empty folder to work in, which is removed afterwards: no target deletes anything itself.
    """
    draw = Draw(target.__name__, seed, number, show=show)
    try:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, contextlib.chdir(folder):
            return ("checked" if target.attempt(draw) else "accepted"), ""
    except AssertionError:
        return "wrong", traceback.format_exc()
    except Exception as error:
        expected = (*target.EXPECTED, MemoryError) if draw.large else target.EXPECTED
        if isinstance(error, expected) and not isinstance(error, UnicodeError) and not from_binding(error):
            if show:
                show(f"refused: {type(error).__name__}: {error}")
            return "refused", ""
        return "memory" if isinstance(error, MemoryError) else "traceback", traceback.format_exc()


def from_binding(error):
    """Whether a native function complains about its arguments, which Python should have checked before."""
    return isinstance(error, TypeError) and "incompatible function arguments" in str(error)


def load(name):
    return importlib.import_module(name if "." in name else f"tests.fuzz.{name}")


_PR_SET_PDEATHSIG = 1


def limit(gigabytes):
    """Give this process so much memory, a stack trace where it dies, and no core files; it ends with its parent."""
    faulthandler.enable()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # a worker in an endless loop hears nothing else
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if gigabytes:
        resource.setrlimit(resource.RLIMIT_AS, (int(gigabytes * 2**30),) * 2)


def work(name, seed, first, step, end, seconds, gigabytes):
    """Run inputs first, first + step, ... below `end` for so long, with a line of output after each."""
    limit(gigabytes)
    out = os.dup(1)
    os.dup2(2, 1)  # what the target prints is not an answer

    def say(*words):
        os.write(out, (" ".join(words) + "\n").encode())

    target = load(name)
    say("ready")
    until = time.monotonic() + seconds
    number = first
    while time.monotonic() < until and number < end:
        what, trace = outcome(target, seed, number)
        say(what, json.dumps(trace)) if trace else say(what)
        number += step
        gc.enable()  # which a command may have switched off
