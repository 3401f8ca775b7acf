"""Code run at a kernel level of its own, which is chosen when the package is imported."""

import os
import subprocess
import sys
from pathlib import Path

_DECODING = Path(__file__).resolve().parents[1] / "decoding"


def run_at(level, code):
    """What a Python process does with this code at a level; modules of tests/decoding can be imported in it."""
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "TAGWRIGHT_SIMD": level, "PYTHONPATH": os.pathsep.join([str(_DECODING), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
    )
