"""PyTorch is an extra: without it these tests are left out, but never in CI."""

import importlib.util
import os

if importlib.util.find_spec("torch") is None and not os.environ.get("CI"):
    collect_ignore_glob = ["test_*.py"]
