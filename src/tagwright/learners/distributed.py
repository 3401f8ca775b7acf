"""Trainings whose sums are done elsewhere: what a cluster must be able to do for them."""

from __future__ import annotations

import contextlib
from typing import Any

from tagwright import checks

__all__ = ["check_cluster", "running"]


def check_cluster(cluster: Any) -> None:
    """Check the option: None, or something like `tw.Ray(...)`."""
    if cluster is None:
        return
    if not hasattr(cluster, "connected"):
        raise ValueError(f"cluster must be None or tw.Ray(...), not {checks.shown(cluster)}")
    cluster.check()


def running(cluster: Any) -> contextlib.AbstractContextManager[Any]:
    """Give the engine that a cluster runs on while a training lasts; None without a cluster."""
    return contextlib.nullcontext() if cluster is None else cluster.connected()
