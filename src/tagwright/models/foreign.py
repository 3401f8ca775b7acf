"""Models that other tools have written: CRFsuite, CRF++ and Wapiti."""

from __future__ import annotations

import gzip
import os
import pickletools
from typing import TYPE_CHECKING, Any

from tagwright import _core
from tagwright.models.file import ModelError

if TYPE_CHECKING:
    from tagwright.models.model import Model

__all__ = ["import_model", "is_foreign"]

_GZIP = b"\x1f\x8b"
_PICKLE = b"\x80"
_CRFSUITE = b"lCRF"
_START = 64
"""The first bytes of a file, by which its kind is recognised."""


def import_model(source: str | os.PathLike[str] | bytes) -> Model:
    """Return the model of another tool as an ordinary model.

    Parameters
    ----------
    source : path or bytes
        A model of CRFsuite (as python-crfsuite and sklearn-crfsuite write it, or a pickled sklearn-crfsuite estimator,
        of which only the model file inside is read), of CRF++ (binary, or text from ``crf_learn -t``) or of Wapiti
        (CRF, maxent or MEMM); it may be compressed with gzip.

    Returns
    -------
    Model
        A CRF, or a MEMM, with the labels, weights and templates of the tool. CRFsuite stores no templates: tokens are
        then lists or dicts of ready-made features.

    Raises
    ------
    ModelError
        If the file is damaged or not recognised; the message has the offset.

    Examples
    --------
    >>> import tagwright as tw
    >>> tw.import_model(b"not a model")
    Traceback (most recent call last):
    ...
    tagwright.models.file.ModelError: not a model of tagwright, CRFsuite, CRF++ or Wapiti
    """
    if isinstance(source, bytes):
        return _made(source, "")
    with open(source, "rb") as file:
        return _made(file.read(), f"{os.fspath(source)}: ")


def is_foreign(path: str | os.PathLike[str]) -> bool:
    """Return whether a file looks like a model of another tool, judged by its first bytes."""
    with open(path, "rb") as file:
        start = file.read(_START)
    # Behind the length of its header, a model file of our own begins with JSON.
    return start[8:9] != b"{" and (start.startswith((_GZIP, _PICKLE)) or bool(_core.foreign_tool(start)))


def _made(content: bytes, where: str) -> Model:
    from tagwright.models.model import model_from

    try:
        read = _core.read_foreign(_unwrapped(content))
        facts: dict[str, Any] = {"learner": "memm" if read["memm"] else "crf", "imported_from": read["tool"]}
        if read["memm"]:
            # A beam of all labels is exact.
            facts["memm"] = {"direction": "right", "beam": len(read["labels"]), "spans": False}
        meta = {"labels": read["labels"], "templates": read["templates"], "lists": {}, "facts": facts}
        return model_from(meta, read["arrays"])
    except (ValueError, EOFError, OSError) as error:
        raise ModelError(f"{where}{error}") from None


def _unwrapped(content: bytes) -> bytes:
    """Return the model file inside a gzip stream or a pickle."""
    if content.startswith(_GZIP):
        content = gzip.decompress(content)
    if not content.startswith(_PICKLE):
        return content
    # Operations are listed, not executed. Before protocol 3, bytes are stored as text in Latin-1.
    for _, argument, _ in pickletools.genops(content):
        if isinstance(argument, str) and argument.startswith(_CRFSUITE.decode()):
            argument = argument.encode("latin-1")  # noqa: PLW2901
        if isinstance(argument, bytes) and argument.startswith(_CRFSUITE):
            return argument
    raise ModelError("a pickle without a model of CRFsuite; pickles are not loaded")
