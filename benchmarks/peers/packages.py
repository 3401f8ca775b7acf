"""The packages, and what everything that runs them needs."""

from __future__ import annotations

import importlib.util
import logging
import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

Nodes = list[np.ndarray]
Paths = list[Sequence[int]]
Ready = tuple[list[Any], Callable[[Any], list[Paths]]]
"""Inputs, one per call, and what decodes one of them: for each sentence of the input, the labels of up to k paths."""
BATCH = 32


class Package(NamedTuple):
    """What pip installs, and what is then imported."""

    name: str
    module: str

    @property
    def missing(self) -> str | None:
        """A message where it is not installed, else None."""
        installed = not self.module or importlib.util.find_spec(self.module) is not None
        return None if installed else f"not installed (pip install {self.name})"


HERE = Package("", "")  # always installed
CRFSUITE = Package("python-crfsuite", "pycrfsuite")
WAPITI = Package("libwapiti", "wapiti")
PYTORCH_CRF = Package("pytorch-crf", "torchcrf")
HMMLEARN = Package("hmmlearn", "hmmlearn")
POMEGRANATE = Package("pomegranate", "pomegranate")


def one_thread() -> Any:
    """Return PyTorch, with one thread and without gradients."""
    import torch

    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    return torch


def quiet() -> None:
    """Silence this process: Wapiti and hmmlearn report progress, torch-struct warns."""
    warnings.simplefilter("ignore")
    logging.disable()
    with open(os.devnull, "w") as nowhere:
        for stream in (1, 2):
            os.dup2(nowhere.fileno(), stream)
