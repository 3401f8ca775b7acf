"""The parent process: starts workers, sees how they end, attributes it to an input and keeps that."""

import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from tests.fuzz.worker import FINDINGS

ROOT = Path(__file__).resolve().parents[2]
TURN = 30  # seconds of a target before it is the next one's turn
START = 120  # seconds in which a worker must have imported everything
SHOWN = 40  # lines of a trace that are printed


class Driver:
    """Counts what comes of the inputs of targets, each job in a worker process of its own."""

    def __init__(self, targets, seed, jobs, patience, gigabytes, cases):
        self.targets, self.seed, self.jobs = targets, seed, jobs
        self.patience, self.gigabytes, self.cases = patience, gigabytes, Path(cases)
        self.counts = {target: Counter() for target in targets}
        self.seconds = Counter()
        self.stop = threading.Event()
        self._seen = set()
        self._lock = threading.Lock()

    def run(self, seconds, end, report):
        """Run the inputs below `end` of all targets in alternation, for this long; call report(passed) now and then."""
        began, self.end = time.monotonic(), end
        workers = [threading.Thread(target=self._job, args=(job, began + seconds)) for job in range(self.jobs)]
        for thread in workers:
            thread.start()
        try:
            while any(thread.is_alive() for thread in workers):
                report(time.monotonic() - began)
                self.stop.wait(0.5)
        except KeyboardInterrupt:
            print("stopping", file=sys.stderr)
        finally:
            self.stop.set()
            for thread in workers:
                thread.join()

    def findings(self):
        return sum(counts[kind] for counts in self.counts.values() for kind in FINDINGS)

    def _job(self, job, until):
        """Job j of n takes the inputs j, j + n, j + 2n, ... of every target."""
        following = dict.fromkeys(self.targets, job)
        turn = min(TURN, (until - time.monotonic()) / len(self.targets))
        order = self.targets[job % len(self.targets) :] + self.targets[: job % len(self.targets)]
        while min(following.values()) < self.end and not self.stop.is_set() and time.monotonic() < until:
            for target in order:
                ends = min(until, time.monotonic() + turn)
                while following[target] < self.end and not self.stop.is_set() and time.monotonic() < ends:
                    following[target] = self._worker(target, following[target], ends)

    def _worker(self, target, first, ends):
        """Run one worker until its time is over or it ends; return the input that comes next."""
        arguments = ["--worker", f"{first}:{self.jobs}", "--inputs", str(self.end)]
        arguments += ["--seconds", str(ends - time.monotonic())]
        began, number, ended = time.monotonic(), first, None
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as errors:
            child = self._start(target, arguments, folder, stdout=subprocess.PIPE, stderr=errors)
            for line in self._lines(child):
                if line is None:
                    ended = "hang"
                    break
                what, _, trace = line.partition(" ")
                if what != "ready":
                    self._count(target, what, number, first, json.loads(trace) if trace else "")
                    number += self.jobs
            if ended:
                os.killpg(child.pid, signal.SIGABRT)  # has faulthandler say where it is
                time.sleep(0.5)
            if ended or self.stop.is_set():
                os.killpg(child.pid, signal.SIGKILL)
            child.stdout.close()
            if child.wait() and not ended and not self.stop.is_set():
                ended = "crash"
            if ended:
                errors.seek(0)
                said = errors.read().decode("utf-8", "replace")
                self._count(target, ended, number, first, f"exit code {child.returncode}\n{said}")
                number += self.jobs
        with self._lock:
            self.seconds[target] += time.monotonic() - began
        return number

    def _start(self, target, arguments, folder, **streams):
        command = [sys.executable, "-m", "tests.fuzz", target, "--seed", str(self.seed), *arguments]
        command += ["--memory", str(self.gigabytes)]
        # Sets have the same order in every process; freed objects are overwritten, so that their use is detected.
        fixed = {"TMPDIR": folder, "PYTHONHASHSEED": "0", "PYTHONMALLOC": "debug", "OPENBLAS_NUM_THREADS": "1"}
        return subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, **fixed}, stdin=subprocess.DEVNULL, start_new_session=True, **streams
        )

    def _lines(self, child):
        """Yield the lines of a worker; None where none comes for too long."""
        held, patience = b"", START
        while not self.stop.is_set():
            if not select.select([child.stdout], [], [], min(patience, 1))[0]:
                patience -= 1
                if patience <= 0:
                    yield None
                    return
                continue
            piece = os.read(child.stdout.fileno(), 1 << 16)
            if not piece:
                return
            patience = self.patience
            *lines, held = (held + piece).split(b"\n")
            yield from (line.decode() for line in lines)

    def _count(self, target, what, number, first, trace):
        with self._lock:
            self.counts[target][what] += 1
            # Findings at the same place, that of the first error of a chain, are one case.
            where = re.findall(r'File "[^"]*", line \d+', trace.partition("\n\nThe above exception")[0])
            key = target, what, *(where[-3:] if what in ("traceback", "wrong", "memory") else where[:3])
            if what not in FINDINGS or key in self._seen:
                return
            self._seen.add(key)
            self._keep(target, what, number, first, trace)

    def _keep(self, target, what, number, first, trace):
        """Run an input again, alone, and write what there is to know about it to a file."""
        once = f"{self.seed}:{number}"
        with tempfile.TemporaryDirectory() as folder:
            arguments = ["--input", once, "--patience", str(self.patience)]
            child = self._start(target, arguments, folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            said = child.communicate()[0].decode("utf-8", "replace")
        alone = "the same alone" if child.returncode else f"not alone; try --input {self.seed}:{first}-{number}"
        path = self.cases / f"{target}-{self.seed}-{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        command = f"python -m tests.fuzz {target} --input {once}"
        path.write_text(f"{what}: {command}\n{alone}\n\n{trace}\n--- alone ---\n{said}", encoding="utf-8")
        trace = "\n".join(trace.strip().splitlines()[-SHOWN:])
        print(f"\n{what}: {command}  ({alone}; {path})\n{trace}\n", file=sys.stderr, flush=True)
