"""How much memory a piece of Python takes, in a process of its own."""

import json
import os
import subprocess
import sys

import pytest

# A sanitizer holds shadows of all memory and keeps what was freed.
measurable = pytest.mark.skipif(
    "libasan" in os.environ.get("LD_PRELOAD", "") or not os.path.exists("/proc/self/status"),
    reason="not applicable: a sanitizer or a system without /proc does not show the memory of a process",
)

_RUN = """
import json, pathlib, re, sys
def resident(what):
    return int(re.search(what + r":\\s+(\\d+) kB", pathlib.Path("/proc/self/status").read_text())[1]) / 1024
before = 0.0
def begin():
    global before
    before = resident("VmRSS")
exec(sys.stdin.read())
print(json.dumps(resident("VmHWM") - before))
"""


def megabytes(code: str) -> float:
    """Return how far above what it held at ``begin()`` the memory of a process rose, at its highest."""
    run = subprocess.run([sys.executable, "-c", _RUN], input=code, capture_output=True, text=True, check=True)
    return json.loads(run.stdout.splitlines()[-1])
