"""The model file: one safetensors file with arrays, metadata as JSON, and a digest of both. Read by memory map."""

from __future__ import annotations

import contextlib
import json
import mmap
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tagwright import _core

__all__ = ["ModelError", "read", "replacing", "write"]

FORMAT = 1
"""Format of the file; it is raised when older versions of tagwright could not read a new file."""

_DTYPES = {"U8": "u1", "U16": "<u2", "U32": "<u4", "U64": "<u8", "I32": "<i4", "F32": "<f4", "F64": "<f8"}
_LONGEST_HEADER = 100_000_000  # safetensors' own limit

Arrays = dict[str, npt.NDArray[Any]]


class ModelError(ValueError):
    """A file that is damaged, or not a model."""


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a file beside `path` to write to; it replaces `path` at the end, and is removed on an error."""
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file() and not target.is_dir():
        yield target  # a device or a pipe: there is nothing to replace
        return
    beside = target.with_name(f".{target.name}.{os.urandom(4).hex()}.part")
    try:
        try:
            beside.touch(exist_ok=False)
        except OSError as error:
            raise type(error)(error.errno, error.strerror, os.fspath(path)) from None
        mode = beside.stat().st_mode
        yield beside
        with open(beside, "rb+") as file:
            # safetensors makes it readable for its owner only; a model has the permissions of any other new file.
            os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        os.replace(beside, target)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise


def write(path: str | os.PathLike[str], arrays: Arrays, meta: dict[str, Any]) -> None:
    """Write arrays and metadata beside `path`, then rename: a reader sees the whole old file or the whole new one."""
    from safetensors.numpy import save_file

    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    stored = _text({"about": meta, "digest": _digest(meta, arrays)})
    with replacing(path) as beside:
        save_file(arrays, beside, {"tagwright": stored})


def read(path: str | os.PathLike[str]) -> tuple[Arrays, dict[str, Any]]:
    """Return the arrays of a file, mapped read-only and shared with other readers, and its metadata.

    Raises:
        ModelError: for a file that is cut, altered, of a newer format, or not a model.

    """
    name = os.fspath(path)
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size < 8:
            raise ModelError(f"{name}: not a tagwright model ({size} bytes)")
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    length = int.from_bytes(mapped[:8], "little")
    if length > _LONGEST_HEADER:
        raise ModelError(f"{name}: not a tagwright model (no safetensors header)")
    if 8 + length > size:
        raise ModelError(f"{name}: cut short, or not a tagwright model; get or train it again")
    try:
        header = json.loads(mapped[8 : 8 + length].decode("utf-8"))
        stored = json.loads(header.pop("__metadata__")["tagwright"])
        meta, digest = stored["about"], stored["digest"]
        form = meta["format"]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ModelError(f"{name}: not a tagwright model (a safetensors file of another kind, or damaged)") from None
    if form != FORMAT:
        raise ModelError(f"{name}: written in format {form!r}, but this tagwright reads {FORMAT}; install a newer one")
    arrays = _arrays(name, mapped, 8 + length, header)
    try:
        whole = digest == _digest(meta, arrays)
    except (ValueError, RecursionError):
        whole = False
    if not whole:
        raise ModelError(f"{name}: altered or damaged (its digest does not fit); get or train it again")
    return arrays, meta


def _arrays(name: str, mapped: mmap.mmap, data: int, header: dict[str, Any]) -> Arrays:
    arrays = {}
    for key, entry in header.items():
        try:
            dtype = np.dtype(_DTYPES[entry["dtype"]])
            (count,) = (int(n) for n in entry["shape"])
            begin, end = (int(n) for n in entry["data_offsets"])
        except (KeyError, TypeError, ValueError, OverflowError):
            raise ModelError(f"{name}: damaged (array {key!r} is not described rightly)") from None
        if begin < 0 or count < 0 or end - begin != count * dtype.itemsize or data + end > len(mapped):
            raise ModelError(f"{name}: cut short or damaged (array {key!r} ends beyond the file); get it again")
        array: npt.NDArray[Any] = np.frombuffer(mapped, dtype, count, data + begin) if count else np.empty(0, dtype)
        arrays[key] = array if array.flags.aligned else array.copy()
    return arrays


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False)


def _digest(meta: dict[str, Any], arrays: Arrays) -> str:
    names = sorted(arrays)
    form = _text([meta, [[key, arrays[key].dtype.str, len(arrays[key])] for key in names]])
    return _core.digest([np.frombuffer(form.encode(), np.uint8), *(arrays[key] for key in names)])
