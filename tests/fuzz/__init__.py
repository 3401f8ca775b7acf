"""Attacks on tagwright that are drawn from a seed: `python -m tests.fuzz --help`."""

import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS.parent)]  # for `support`, and from any folder
