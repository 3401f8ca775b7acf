"""Distributed work: a tagger for data engines; training and tagging of files on Ray, which is an extra."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tagwright.cluster.batch_tagger import BatchTagger
    from tagwright.cluster.ray import Ray

__all__ = ["BatchTagger", "Ray"]

_WHERE = {"BatchTagger": "tagwright.cluster.batch_tagger", "Ray": "tagwright.cluster.ray"}


def __getattr__(name: str) -> Any:
    """Import a name, once."""
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value = getattr(importlib.import_module(_WHERE[name]), name)
    return value
