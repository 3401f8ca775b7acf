"""PyTorch is an extra: without it these tests are left out, but never in CI."""

import importlib.util
import os

import pytest

if importlib.util.find_spec("torch") is None and not os.environ.get("CI"):
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    """Keep PyTorch from starting threads for sums of a few numbers, which would only wait for each other."""
    import torch

    torch.set_num_threads(1)
