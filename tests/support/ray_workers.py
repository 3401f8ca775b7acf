"""Find, and kill, the worker processes of a Ray that this process has started."""

import os
import signal
import threading
import time
from pathlib import Path

import numpy as np


def parents():
    """The parent of each process."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = stat.read_text(encoding="utf-8", errors="replace")
        except OSError:  # it has ended
            continue
        found[int(stat.parent.name)] = int(text.rpartition(")")[2].split()[1])
    return found


def workers(name):
    """The processes below this one that are workers of Ray with this in their title, as ray::BatchWorker.expect is."""
    known, found = parents(), []
    for pid in known:
        try:
            title = Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        above = pid
        while above not in (0, 1, os.getpid()):
            above = known.get(above, 0)
        if above == os.getpid() and title.startswith(b"ray::") and name.encode() in title:
            found.append(pid)
    return found


class Killer(threading.Thread):
    """Kill a number of workers, one by one, at random moments."""

    def __init__(self, name, times, seed, longest=1.0):
        super().__init__(daemon=True)
        self._name, self._times, self._longest = name, times, longest
        self._rng = np.random.default_rng(seed)
        self._over = threading.Event()
        self.killed = 0

    def run(self):
        while self.killed < self._times and not self._over.wait(self._rng.uniform(0, self._longest)):
            alive = workers(self._name)
            if alive:
                os.kill(int(self._rng.choice(alive)), signal.SIGKILL)
                self.killed += 1

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *error):
        self._over.set()
        self.join()


def wait_for(condition, seconds=60):
    """Wait until something is so; fail after a minute."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited for too long"
        threading.Event().wait(0.02)
