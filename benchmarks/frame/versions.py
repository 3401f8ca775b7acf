"""This version of tagwright and an earlier one by turns, each in a process of its own.

A process runs a script with its version's Python, and answers one line of JSON per line that it gets; see
benchmarks/ours/tagging_worker.py.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

BEFORE = "TAGWRIGHT_BEFORE"
"""The variable that names the Python of an environment with an earlier version."""


class Version:
    """A process of one version, which waits for requests."""

    def __init__(self, python: str, script: Path, *arguments: object) -> None:
        """Start it. Its folder is the script's, so that it imports what is installed, not what lies around."""
        call = [python, script.name, *map(str, arguments)]
        self._process = subprocess.Popen(
            call, cwd=script.parent, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, what: str, **options: Any) -> Any:
        """Return what the script answers."""
        to, from_it = self._process.stdin, self._process.stdout
        assert to is not None
        assert from_it is not None
        to.write(json.dumps({"what": what, **options}) + "\n")
        to.flush()
        reply = from_it.readline()
        if not reply:
            raise RuntimeError(f"{self._process.args!r} ended before it answered")
        return json.loads(reply)

    def __enter__(self) -> Version:
        """Return the process."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """End it."""
        self._process.communicate()


def pythons() -> dict[str, str]:
    """Return the Python of this version, and where there is one, of the earlier version."""
    before = os.environ.get(BEFORE)
    return {"now": sys.executable} | ({"before": before} if before else {})
