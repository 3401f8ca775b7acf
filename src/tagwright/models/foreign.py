"""Models that other tools have written: CRFsuite and CRF++."""

from __future__ import annotations

import gzip
import os
from typing import TYPE_CHECKING, Any

from tagwright import _core
from tagwright.models.file import ModelError

if TYPE_CHECKING:
    from tagwright.models.model import Model

__all__ = ["import_model"]

_GZIP = b"\x1f\x8b"
_PICKLE = b"\x80"
_CRFSUITE = b"lCRF"


def import_model(source: str | os.PathLike[str] | bytes) -> Model:
    """Return the model of another tool as an ordinary model.

    Parameters
    ----------
    source : path or bytes
        A model of CRFsuite (as python-crfsuite and sklearn-crfsuite write it, or a pickled sklearn-crfsuite estimator,
        of which only the model file inside is read) or of CRF++ (binary, or text from ``crf_learn -t``); it may be
        compressed with gzip.

    Returns
    -------
    Model
        A CRF with the labels, weights and templates of the tool. CRFsuite stores no templates: tokens are then lists
        or dicts of ready-made features.

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
    tagwright.models.file.ModelError: not a model of tagwright, CRFsuite or CRF++
    """
    if isinstance(source, bytes):
        return _made(source, "")
    with open(source, "rb") as file:
        return _made(file.read(), f"{os.fspath(source)}: ")


def is_foreign(start: bytes) -> bool:
    """Return whether a file that begins with these bytes may be a model of another tool."""
    return start.startswith((_GZIP, _PICKLE)) or bool(_core.foreign_tool(start))


def _made(content: bytes, where: str) -> Model:
    from tagwright.models.model import model_from

    try:
        read = _core.read_foreign(_unwrapped(content))
        facts: dict[str, Any] = {"learner": "crf", "imported_from": read["tool"]}
        meta = {"labels": read["labels"], "templates": read["templates"], "lists": {}, "facts": facts}
        return model_from(meta, read["arrays"])
    except (ValueError, EOFError, OSError) as error:
        raise ModelError(f"{where}{error}") from None


def _unwrapped(content: bytes) -> bytes:
    """Return a model file from a gzip stream or a pickle. A pickle is searched, never loaded."""
    if content.startswith(_GZIP):
        content = gzip.decompress(content)
    if content.startswith(_PICKLE):
        begin = content.find(_CRFSUITE)
        if begin < 0:
            raise ModelError("a pickle without a model of CRFsuite; pickles are not loaded")
        return content[begin : begin + int.from_bytes(content[begin + 4 : begin + 8], "little")]
    return content
